"""Moments: what mean and deviation of a query's cosines over many rows follow from, without touching the rows."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from toolsearch.embedding.encoder import Vectors

_BLOCK = 4096
"""Rows widened to float64 at once, so that a large index never doubles in memory."""


@dataclass(frozen=True, slots=True)
class Moments:
    """Kept as sums, so that several indexes add up to the moments of their union."""

    sum: npt.NDArray[np.float64]
    """Sum of the rows, shape (dim,)."""
    outer: npt.NDArray[np.float64]
    """Sum of the outer products of the rows, shape (dim, dim)."""
    n: int
    """How many rows."""

    @classmethod
    def over(cls, vectors: Vectors) -> Self:
        """The moments of these rows; no rows give zeros."""
        dim = vectors.shape[1]
        total, outer = np.zeros(dim), np.zeros((dim, dim))
        for start in range(0, len(vectors), _BLOCK):
            block = vectors[start : start + _BLOCK].astype(np.float64)
            total += block.sum(axis=0)
            outer += block.T @ block
        return cls(total, outer, len(vectors))

    def __add__(self, other: Self) -> Self:
        return type(self)(self.sum + other.sum, self.outer + other.outer, self.n + other.n)

    def __sub__(self, other: Self) -> Self:
        return type(self)(self.sum - other.sum, self.outer - other.outer, self.n - other.n)

    def of(self, query: Vectors) -> tuple[float, float]:
        """Mean and (population) deviation of the query's cosines with all rows; (0, 0) where there are none."""
        if self.n == 0:
            return 0.0, 0.0
        wide = query.astype(np.float64)
        mean = float(self.sum @ wide) / self.n
        variance = float(wide @ self.outer @ wide) / self.n - mean * mean
        # Equal rows leave a variance of rounding noise, which may fall below zero.
        return mean, float(np.sqrt(max(variance, 0.0)))
