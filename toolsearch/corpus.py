"""The rows of a catalog, in segments that are built once and read together as if they were one."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolsearch.embedding.encoder import Vectors
from toolsearch.index import VectorIndex
from toolsearch.lexical import LexicalIndex, Scores, Terms, bm25
from toolsearch.moments import Moments

Rows: TypeAlias = npt.NDArray[np.int64]
"""Positions in a corpus, counted through its segments."""
Selection: TypeAlias = npt.NDArray[np.bool_]
"""Shape (n,): which rows may be returned."""


@dataclass(frozen=True, slots=True)
class Row:
    """What the index keeps of one document."""

    vector: Vectors
    """Shape (dim,)."""
    terms: Terms


class Segment:
    """Rows built together: vectors and postings. Holds no tool, so it may be shared by everybody."""

    __slots__ = ("lexical", "vectors")

    def __init__(self, rows: Sequence[Row], dim: int) -> None:
        stacked = np.stack([row.vector for row in rows]) if rows else np.empty((0, dim), np.float32)
        self.vectors = VectorIndex(stacked)
        self.lexical = LexicalIndex([row.terms for row in rows])

    def __len__(self) -> int:
        return len(self.lexical)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The rows worth ranking for one query, with both kinds of evidence."""

    rows: Rows
    """Shape (m,): the best of the dense and the best of the lexical side, each row once."""
    cosine: Scores
    """Shape (m,)."""
    bm25: Scores
    """Shape (m,)."""
    attainable: float
    """The BM25 of a row that holds every term of the query many times over."""
    n: int
    """Live rows."""
    complete: bool
    """No selected row was left out."""


class Corpus:
    """Segments end to end; some rows may be hidden (`live` false): they take part in nothing."""

    def __init__(self, segments: Sequence[Segment], live: Selection | None = None) -> None:
        self.segments = tuple(segments)
        self.size = sum(len(segment) for segment in segments)
        self.live = np.ones(self.size, bool) if live is None else live
        self.n = int(self.live.sum())
        bounds = np.cumsum([0, *(len(segment) for segment in segments)])
        self._spans = [slice(int(start), int(stop)) for start, stop in itertools.pairwise(bounds)]

    @cached_property
    def moments(self) -> Moments:
        """Of the live rows; computed when first asked for."""
        total = Moments.over(self.segments[0].vectors.vectors([]))
        for segment, span in zip(self.segments, self._spans, strict=True):
            total = total + segment.vectors.moments()
            hidden = np.flatnonzero(~self.live[span])
            if len(hidden):
                total = total - Moments.over(segment.vectors.vectors(hidden))
        return total

    def usual(self, query: Vectors) -> tuple[float, float]:
        """Mean and standard deviation of the query's cosines with all live rows, exactly; zeros where there are none."""
        return self.moments.of(query) if self.n else (0.0, 0.0)

    def candidates(
        self, query: Vectors, terms: Terms, *, depth: int, selection: Selection | None = None, also: Rows | None = None
    ) -> Candidates:
        """The `depth` best selected rows by cosine together with the `depth` best by BM25, and the rows `also` asked for.

        Rows that tie with the last of either side are in too: which rows are candidates depends on no order of rows.
        All selected rows where they are no more than `depth`.
        """
        allowed = self.live if selection is None else self.live & selection
        scores, attainable = bm25(
            [segment.lexical for segment in self.segments], terms, [self.live[span] for span in self._spans]
        )
        total = int(allowed.sum())
        if total <= depth:
            rows = np.flatnonzero(allowed)
        else:
            rows = np.union1d(self._nearest(query, depth, allowed), _highest(scores, depth, allowed))
            if also is not None:
                rows = np.union1d(rows, also[allowed[also]])
        cosine = self._cosines(query, rows)
        return Candidates(
            rows=rows.astype(np.int64),
            cosine=cosine,
            bm25=scores[rows],
            attainable=attainable,
            n=self.n,
            complete=len(rows) == total,
        )

    def _nearest(self, query: Vectors, depth: int, allowed: Selection) -> Rows:
        masks = [None if allowed[span].all() else allowed[span] for span in self._spans]
        near = [segment.vectors.search(query, depth, mask) for segment, mask in zip(self.segments, masks, strict=True)]
        # Each segment gave its own best; the last of the best of all says how near is near enough.
        edge = np.sort(np.concatenate([cosines for cosines, _ in near]))[-depth]
        found: list[Rows] = []
        for segment, span, mask, first in zip(self.segments, self._spans, masks, near, strict=True):
            (cosines, rows), k = first, depth
            while len(rows) == k and cosines[-1] >= edge:
                k *= 4
                cosines, rows = segment.vectors.search(query, k, mask)
            found.append(rows[cosines >= edge] + span.start)
        return np.concatenate(found)

    def _cosines(self, query: Vectors, rows: Rows) -> Scores:
        cosine = np.empty(len(rows))
        for segment, span in zip(self.segments, self._spans, strict=True):
            inside = (rows >= span.start) & (rows < span.stop)
            if inside.any():
                cosine[inside] = segment.vectors.cosines(query, rows[inside] - span.start)
        return cosine


def _highest(scores: Scores, depth: int, allowed: Selection) -> Rows:
    """The rows with the `depth` highest scores above 0, and those that tie with the last."""
    matching = np.flatnonzero(allowed & (scores > 0))
    if len(matching) <= depth:
        return matching
    edge = np.partition(scores[matching], -depth)[-depth]
    highest: Rows = matching[scores[matching] >= edge]
    return highest
