"""From evidence to order: fusion of both kinds, a calibrated score, and a place for everybody's servers."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from toolsearch.corpus import Candidates
from toolsearch.embedding.probes import Background
from toolsearch.lexical import Scores
from toolsearch.match import Match

LEXICAL_WEIGHT = 0.6
"""What one nat of BM25 is worth in standard deviations of the cosine; flat from 0.4 to 0.75.

BM25 is a sum of inverse document frequencies, so it is in units of evidence already: dividing it by its own deviation
over the catalog measures worse, and would make the weight depend on the size of the catalog.
"""

EVEN_BET, GROWTH, STEEPNESS, FEWEST = 0.6, 0.25, 3.0, 20
"""The shape of the score, fitted to which results were right on catalogs split by tool; see `calibrate`."""

DEPTH = 256
"""Rows each side proposes; fusing more changes no measured figure."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates' parts of evidence and what they add up to; arrays of shape (m,) in the candidates' order."""

    dense: Scores
    lexical: Scores
    fused: Scores
    score: Scores


def fuse(candidates: Candidates, background: Background, *, lexical_weight: float = LEXICAL_WEIGHT) -> Ranked:
    """Cosine in standard deviations above what the model gives unrelated pairs, plus weighted BM25; and the score of that.

    No statistic of the query over the catalog takes part: what is usual for a query is high where the whole catalog is
    about its subject, and subtracting it made scores of different catalogs less comparable, and no ranking better.
    """
    dense = (candidates.cosine - background.mean) / background.deviation
    lexical = lexical_weight * candidates.bm25
    fused = dense + lexical
    best = (1 - background.mean) / background.deviation + lexical_weight * candidates.attainable
    return Ranked(dense, lexical, fused, calibrate(fused, best, candidates.n))


def calibrate(fused: Scores, best: float, n: int) -> Scores:
    """Evidence as a score: 0 at what an unrelated tool gets, 1 at `best`, what a perfect match would have.

    Half way stands the evidence that is an even bet. It grows with what the query could have, and with the number of
    tools that could have it by chance.
    """
    even = EVEN_BET * best**GROWTH * np.log(n + FEWEST)

    def share(evidence: Scores) -> Scores:
        risen = np.maximum(evidence, 0.0) ** STEEPNESS
        of_all: Scores = risen / (risen + even**STEEPNESS)
        return of_all

    score: Scores = np.minimum(share(fused) / share(np.array(best)), 1.0)
    return score


class Picker:
    """Takes matches best first until k are together; a server that has had its share waits until places remain."""

    def __init__(self, k: int, *, floor: float | None = None, max_per_server: int | None = None) -> None:
        self._k = k
        self._floor = floor
        self._cap = max_per_server
        self._taken: Counter[str] = Counter()
        self._kept: list[Match] = []

    @property
    def full(self) -> bool:
        return len(self._kept) >= self._k

    def proposals(self, ranking: Iterable[Match]) -> Iterator[Match]:
        """The matches to decide about, in turn: `keep` the ones that are allowed. Nobody is asked about a match that
        would not be shown. Names that were typed are under no floor and no cap."""
        waiting: list[Match] = []
        for match in ranking:
            typed = match.evidence.reason != "ranked"
            if self.full or not (typed or self._floor is None or match.score >= self._floor):
                break
            if match.rank > DEPTH:
                # Whoever comes after that many is no competitor; where those who wait are denied, it has a place still.
                yield from self._while_places(waiting)
                waiting = []
                yield from self._while_places([match])
            elif typed or self._has_place(match):
                yield match
            else:
                waiting.append(match)
        yield from self._while_places(waiting)

    def _while_places(self, matches: Iterable[Match]) -> Iterator[Match]:
        for match in matches:
            if self.full:
                return
            yield match

    def keep(self, match: Match) -> None:
        """Count a match in."""
        self._kept.append(match)
        if match.tool.server is not None:
            self._taken[match.tool.server] += 1

    def picked(self) -> list[Match]:
        """The matches kept, in rank order, ranks counted anew from 1."""
        kept = sorted(self._kept, key=lambda match: match.rank)
        return [replace(match, rank=place) for place, match in enumerate(kept, 1)]

    def _has_place(self, match: Match) -> bool:
        return self._cap is None or match.tool.server is None or self._taken[match.tool.server] < self._cap
