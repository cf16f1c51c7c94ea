"""Unit rows: the check every vector passes at the door, whoever made it."""

import numpy as np

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
    wrong = np.flatnonzero(~are_unit(rows))
    if len(wrong):
        length = np.linalg.norm(vectors[wrong[0]])
        raise VectorError(expected, f"row {wrong[0]} of length {length:.6g} ({len(wrong)} such in all)")
    return rows


def are_unit(rows: Vectors) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Shape (n,): which rows are finite and of length 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        # A comparison with NaN is false, so what is not finite is not unit.
        return np.abs(lengths - 1) <= UNIT_TOLERANCE  # type: ignore[no-any-return]
