"""Unit rows: the check every vector passes at the door, whoever made it."""

import numpy as np
import numpy.typing as npt

from toolsearch.embedding.encoder import Vectors
from toolsearch.errors import VectorError

UNIT_TOLERANCE = 1e-3
"""How far a row's length may be from 1: float32 of any encoder is within 1e-6, half precision within 1e-3."""


def unit_rows(vectors: Vectors, *, dim: int | None = None) -> Vectors:
    """The same rows as C-contiguous float32, copied only where they are not; no rows are fine.

    Raises:
        VectorError: not a matrix of floats, of another width than `dim`, or a row is not finite or not of length 1.
    """
    expected = f"finite unit rows of shape (n, {dim or 'dim'})"
    if vectors.ndim != 2 or vectors.shape[1] != (dim or vectors.shape[1]) or vectors.shape[1] == 0:
        raise VectorError(expected, f"shape {vectors.shape}")
    if vectors.dtype.kind != "f":
        raise VectorError(expected, f"numbers of type {vectors.dtype}")
    with np.errstate(over="ignore", invalid="ignore"):
        rows: Vectors = np.ascontiguousarray(vectors, dtype=np.float32)
    lengths = _lengths(rows)
    wrong = np.flatnonzero(~_near_one(lengths))
    if len(wrong):
        raise VectorError(expected, f"row {wrong[0]} of length {lengths[wrong[0]]:.6g} ({len(wrong)} such in all)")
    return rows


def are_unit(rows: Vectors) -> npt.NDArray[np.bool_]:
    """Shape (n,): which rows are finite and of length 1."""
    return _near_one(_lengths(rows))


def _lengths(rows: Vectors) -> npt.NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float64)


def _near_one(lengths: npt.NDArray[np.float64]) -> npt.NDArray[np.bool_]:
    # A comparison with NaN is false, so what is not finite is not near.
    return np.asarray(np.abs(lengths - 1) <= UNIT_TOLERANCE)
