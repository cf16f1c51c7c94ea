"""Rows and cosine: which rows of a matrix lie nearest to a vector. It knows rows, not tools."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from toolsearch.embedding.encoder import Vectors
from toolsearch.embedding.vectors import unit_rows
from toolsearch.errors import VectorError
from toolsearch.moments import Moments

Rows: TypeAlias = npt.NDArray[np.int64]
"""0-based positions in an index, shape (m,)."""

Cosines: TypeAlias = npt.NDArray[np.float64]
"""Shape (m,), each in -1..1 up to rounding."""

Selection: TypeAlias = npt.NDArray[np.bool_]
"""Shape (n,): which rows a search may return."""

Rough: TypeAlias = npt.NDArray[np.float32]
"""Cosines as faiss rounds them, best first."""

_DIRECT = 256
"""Selections up to this size are scored without faiss: cheaper than walking all rows past a selector."""

_SPARE = 16
"""Rows fetched beyond k, so that a tie or a rounding at the boundary seldom needs a second search."""

_HOME = os.getpid()
"""A process forked from this one has none of its OpenMP threads; faiss would wait for them forever."""

_BLOCK = 4096
"""Rows handled at once in float64, so that a large index never doubles in memory."""


class VectorIndex:
    """Unit rows in a fixed order, searched exactly by cosine.

    Searches may run at the same time in many threads. `add` and `remove` must not run beside a search or each other:
    build a new index and swap it in (`VectorIndex(old.vectors())`), or hold a lock.
    """

    def __init__(self, vectors: Vectors) -> None:
        """Raises:
        VectorError: not a matrix of finite unit rows at least one wide.
        """
        rows = unit_rows(vectors)
        import faiss  # noqa: PLC0415 - heavy; not on `import toolsearch`

        self._faiss: Any = faiss
        self._flat: Any = faiss.IndexFlatIP(rows.shape[1])
        self._flat.add(rows)
        self._moments: Moments | None = None

    @classmethod
    def empty(cls, dim: int) -> Self:
        """An index without rows."""
        return cls(np.empty((0, dim), dtype=np.float32))

    def __len__(self) -> int:
        return int(self._flat.ntotal)

    @property
    def dim(self) -> int:
        """Width of a row."""
        return int(self._flat.d)

    def vectors(self, rows: npt.ArrayLike | None = None) -> Vectors:
        """A copy of all rows, or of these, in the order asked for.

        Raises:
            IndexError: there is no such row.
        """
        if rows is None:
            return np.asarray(self._flat.reconstruct_n(0, len(self)), dtype=np.float32)
        return self._copied(self._known(rows))

    def add(self, vectors: Vectors) -> None:
        """Append rows; they take the positions after the last.

        Raises:
            VectorError: not finite unit rows of this index's width.
        """
        self._flat.add(unit_rows(vectors, dim=self.dim))
        self._moments = None

    def remove(self, rows: npt.ArrayLike) -> None:
        """Take these rows out; the others close ranks and keep their order. A row named twice goes once.

        Raises:
            IndexError: there is no such row.
        """
        self._flat.remove_ids(np.unique(self._known(rows)))
        self._moments = None

    def cosines(self, query: Vectors, rows: npt.ArrayLike) -> Cosines:
        """The cosine of the query, shape (dim,), with each of these rows: bit for bit what `search` gives them.

        Raises:
            IndexError: there is no such row.
            VectorError: the query is not a finite unit vector of this index's width.
        """
        return self._score(_checked_query(query, self.dim), self._known(rows))

    def search(self, query: Vectors, k: int, selection: Selection | None = None) -> tuple[Cosines, Rows]:
        """The k allowed rows nearest to the query, shape (dim,), best first; fewer where fewer are allowed.

        Exact: equal rows get equal cosines wherever they stand, and ties fall in row order, at the edge of k too.

        Raises:
            ValueError: k is negative, or the selection is not one boolean a row.
            VectorError: the query is not a finite unit vector of this index's width.
        """
        return self.search_many(_checked_query(query, self.dim)[None], k, selection)[0]

    def search_many(self, queries: Vectors, k: int, selection: Selection | None = None) -> list[tuple[Cosines, Rows]]:
        """`search` for each of the queries, shape (q, dim), in one pass: the same answers, bit for bit.

        Raises:
            ValueError: k is negative, or the selection is not one boolean a row.
            VectorError: a query is not a finite unit vector of this index's width.
        """
        if k < 0:
            raise ValueError(f"k must not be negative; found {k}")
        wanted = unit_rows(queries, dim=self.dim)
        allowed = self._allowed(selection)
        k = min(k, len(self) if allowed is None else len(allowed))
        if k == 0 or len(wanted) == 0:
            return [(np.empty(0), np.empty(0, dtype=np.int64)) for _ in wanted]
        if allowed is not None and len(allowed) <= max(_DIRECT, k + _SPARE):
            return [self._best(query, allowed, k) for query in wanted]
        most = len(self) if allowed is None else len(allowed)
        first = zip(*self._walk(wanted, min(k + _SPARE, most), selection), strict=True)
        return [self._settled(query, k, most, near, selection) for query, near in zip(wanted, first, strict=True)]

    def moments(self) -> Moments:
        """The sums that give a query's mean and deviation over all rows; kept until rows change."""
        if self._moments is None:
            self._moments = Moments.over(self.vectors())
        return self._moments

    def _settled(
        self, query: Vectors, k: int, most: int, near: tuple[Rough, Rows], selection: Selection | None
    ) -> tuple[Cosines, Rows]:
        """The exact k best, fetching further for as long as a row that faiss left out could be among them."""
        # Faiss rounds in float32: for unit rows by dim * 2^-24 at worst.
        slack = self.dim * 2.0**-23
        rough, rows = near
        while True:
            exact, best = self._best(query, rows, k)
            if len(rows) == most or rough[-1] + slack < exact[-1]:
                return exact, best
            (rough,), (rows,) = self._walk(query[None], min(len(rows) * 4, most), selection)

    def _walk(self, queries: Vectors, k: int, selection: Selection | None) -> tuple[Rough, Rows]:
        """Faiss's own k best, by its own rounding and its own order of ties."""
        params = None
        if selection is not None:
            chosen = self._faiss.IDSelectorBitmap(np.packbits(selection, bitorder="little"))
            params = self._faiss.SearchParameters(sel=chosen)
        if len(queries) > 1 and os.getpid() == _HOME:
            rough, rows = self._flat.search(queries, k, params=params)
        else:
            with self._one_thread():
                rough, rows = self._flat.search(queries, k, params=params)
        return rough, rows

    @contextmanager
    def _one_thread(self) -> Iterator[None]:
        # On a busy machine a second OpenMP thread makes one query in twenty wait for it, ten times as long as the
        # search; in a forked process it never comes. The setting belongs to the calling thread alone, so nobody else sees it change and no lock is needed.
        before = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)
        try:
            yield
        finally:
            self._faiss.omp_set_num_threads(before)

    def _best(self, query: Vectors, rows: Rows, k: int) -> tuple[Cosines, Rows]:
        exact = self._score(query, rows)
        order = np.lexsort((rows, -exact))[:k]
        return exact[order], rows[order]

    def _score(self, query: Vectors, rows: Rows) -> Cosines:
        # Each row's products are summed by themselves, pairwise along the row: a BLAS or einsum kernel would round
        # a row differently at the tail of a block, and equal rows would no longer tie.
        wide = query.astype(np.float64)
        parts = [
            (self._copied(rows[start : start + _BLOCK]).astype(np.float64) * wide).sum(axis=1)
            for start in range(0, len(rows), _BLOCK)
        ]
        return np.concatenate(parts) if parts else np.empty(0)

    def _copied(self, rows: Rows) -> Vectors:
        with self._one_thread():
            return np.asarray(self._flat.reconstruct_batch(rows), dtype=np.float32)

    def _allowed(self, selection: Selection | None) -> Rows | None:
        """The selected rows, ascending; None where that is all of them."""
        if selection is None:
            return None
        if selection.dtype != np.bool_ or selection.shape != (len(self),):
            raise ValueError(
                f"a selection is {len(self)} booleans, one a row; found {selection.dtype} of shape {selection.shape}"
            )
        rows = np.flatnonzero(selection).astype(np.int64)
        return None if len(rows) == len(self) else rows

    def _known(self, rows: npt.ArrayLike) -> Rows:
        wanted = np.asarray(rows)
        if wanted.size == 0:
            return np.empty(0, dtype=np.int64)
        if wanted.ndim != 1 or wanted.dtype.kind not in "iu":
            raise IndexError(f"rows are whole numbers, shape (m,); found {wanted.dtype} of shape {wanted.shape}")
        if wanted.min() < 0 or wanted.max() >= len(self):
            raise IndexError(f"rows are 0 to {len(self) - 1}; found {wanted.min()} to {wanted.max()}")
        return np.ascontiguousarray(wanted, dtype=np.int64)


def _checked_query(query: Vectors, dim: int) -> Vectors:
    if query.ndim != 1:
        raise VectorError(f"one query of shape ({dim},)", f"shape {query.shape}; several go through search_many")
    row: Vectors = unit_rows(query[None], dim=dim)[0]
    return row
