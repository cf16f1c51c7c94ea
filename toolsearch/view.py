"""What one request may search: its tools over a corpus, and the order a query puts them in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from toolsearch.corpus import Candidates, Corpus, Selection
from toolsearch.embedding.encoder import Vectors
from toolsearch.embedding.probes import Background
from toolsearch.lexical import Terms
from toolsearch.match import Evidence, Match, Reason
from toolsearch.names import Names, selected_names
from toolsearch.ranking import DEPTH, Ranked, fuse
from toolsearch.tool import Tool

LONGEST_QUERY = 10_000
"""Characters; a longer text is no query but a document."""


def refusal(query: str) -> str | None:
    """Why a text cannot be searched for, as a sentence; None where it can.

    Raises:
        TypeError: the query is not a string.
    """
    if not isinstance(query, str):
        raise TypeError(f"A query is a string, not {type(query).__name__}.")
    if len(query) > LONGEST_QUERY:
        return f"The query is longer than {LONGEST_QUERY} characters: describe the task in a sentence."
    if not any(char.isalnum() for char in query):
        return "The query is empty: describe in a few words what the tool should do."
    return None


@dataclass(frozen=True)
class View:
    """Tools and the rows that stand for them, position by position. Belongs to one request; its corpus may be shared."""

    tools: Sequence[Tool]
    corpus: Corpus
    background: Background

    @cached_property
    def names(self) -> Names:
        return Names(self.tools)

    def ranking(self, query: str, vector: Vectors, selection: Selection | None = None) -> Iterator[Match]:
        """Every selected tool, best first, worked out as far as it is asked for: typed names, then by evidence.

        A `select:` query gives the tools it names and nothing else; a query that cannot be searched for gives nothing.
        """
        if refusal(query) is not None:
            return
        chosen = selected_names(query)
        typed = self._typed(query, chosen, selection)
        terms = Terms.of(query)
        seen: set[int] = set()
        score, depth = 1.0, DEPTH
        while True:
            found = self.corpus.candidates(
                vector, terms, depth=depth, selection=selection, also=np.array(typed, dtype=np.int64)
            )
            ranked = fuse(found, self.background)
            if typed and not seen:
                places = {int(row): place for place, row in enumerate(found.rows)}
                for position in typed:
                    seen.add(position)
                    reason: Reason = "exact-name" if chosen is None else "select"
                    evidence = _evidence(found, ranked, places[position], reason)
                    yield Match(self.tools[position], 1.0, len(seen), evidence)
            if chosen is not None:
                return
            for place in self._order(found, ranked):
                position = int(found.rows[place])
                if position not in seen:
                    seen.add(position)
                    # A deeper look may find a row that would have stood higher; it comes late and claims no more.
                    score = min(score, float(ranked.score[place]))
                    yield Match(self.tools[position], score, len(seen), _evidence(found, ranked, place, "ranked"))
            if found.complete:
                return
            depth *= 8

    def _typed(self, query: str, chosen: list[str] | None, selection: Selection | None) -> list[int]:
        """The positions a query names: as listed in a `select:`, else in name order with the very same spelling first."""
        spelled = [query] if chosen is None else chosen
        positions = dict.fromkeys(position for name in spelled for position in self.names.spelled(name))
        allowed = self.corpus.live if selection is None else self.corpus.live & selection
        typed = [position for position in positions if allowed[position]]
        if chosen is None:
            typed.sort(key=lambda position: (self.tools[position].id != query.strip(), self._name_order(position)))
        return typed

    def _order(self, found: Candidates, ranked: Ranked) -> list[int]:
        """Places of the candidates, best first; equal evidence falls in name order."""
        order = np.argsort(-ranked.fused, kind="stable")
        ordered: list[int] = order.tolist()
        same = np.flatnonzero(np.diff(ranked.fused[order]) == 0)
        for start, stop in _stretches(same.tolist()):
            ordered[start:stop] = sorted(
                ordered[start:stop], key=lambda place: self._name_order(int(found.rows[place]))
            )
        return ordered

    def _name_order(self, position: int) -> tuple[str, str, int]:
        tool = self.tools[position]
        return tool.name, tool.id, position


def _stretches(joints: list[int]) -> Iterator[tuple[int, int]]:
    """Half-open spans of neighbours joined at these places: 3, 4 and 9 give (3, 6) and (9, 11)."""
    for _, group in groupby(enumerate(joints), key=lambda pair: pair[1] - pair[0]):
        places = [place for _, place in group]
        yield places[0], places[-1] + 2


def _evidence(found: Candidates, ranked: Ranked, place: int, reason: Reason) -> Evidence:
    return Evidence(
        cosine=float(found.cosine[place]),
        dense=float(ranked.dense[place]),
        bm25=float(found.bm25[place]),
        lexical=float(ranked.lexical[place]),
        fused=float(ranked.fused[place]),
        reason=reason,
    )
