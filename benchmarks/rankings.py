"""The ranks that several ways of ranking give the relevant tools of a set: dense alone, BM25 alone, both at any weight."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Dataset
from benchmarks.metrics import Ranks
from toolsearch.corpus import Candidates
from toolsearch.embedding.encoder import Encoder
from toolsearch.lexical import Terms
from toolsearch.ranking import fuse
from toolsearch.search import ToolSearch
from toolsearch.view import View

DEEP = 100
"""A tool that is not among the first so many counts as not found, whatever the method."""

DENSE, BM25, SEARCH = "dense", "bm25", "search"

PerQuery: TypeAlias = list[Ranks]
"""One entry a query, in the set's order."""


@dataclass(frozen=True, slots=True)
class Rankings:
    """One set as every method ranks it."""

    fused: Mapping[float, PerQuery]
    """By lexical weight."""
    alone: Mapping[str, PerQuery]
    """`dense`, `bm25`, and `search`: what `ToolSearch.search` returns, its own weight and exact names included."""


def rank(dataset: Dataset, model: str | Encoder, weights: Sequence[float]) -> Rankings:
    """Every query of a set ranked over its whole catalog, once per method; no candidate is left out."""
    searched = ToolSearch(dataset.tools, model=model)
    view = searched.view()
    texts = [query.text for query in dataset.queries]
    dense: PerQuery = []
    lexical: PerQuery = []
    fused: dict[float, PerQuery] = {weight: [] for weight in weights}
    order = _name_order(view)
    for query, vector in zip(dataset.queries, searched.encode(texts), strict=True):
        found = view.corpus.candidates(vector, Terms.of(query.text), depth=len(view.tools))
        wanted = [searched.catalog.position(tool) if tool in searched.catalog else None for tool in query.relevant]
        dense.append(_ranks(found, found.cosine, wanted, order))
        # A tool that shares no term with the query is no answer of BM25's.
        lexical.append(_ranks(found, np.where(found.bm25 > 0, found.bm25, -np.inf), wanted, order))
        for weight, ranks in fused.items():
            ranked = fuse(found, view.background, lexical_weight=weight)
            ranks.append(_ranks(found, ranked.fused, wanted, order))
    matches = searched.search_many(texts, DEEP)
    places = [{match.tool.id: match.rank for match in ranking} for ranking in matches]
    search: PerQuery = [
        tuple(map(place.get, query.relevant)) for place, query in zip(places, dataset.queries, strict=True)
    ]
    searched.close()
    return Rankings(fused, {DENSE: dense, BM25: lexical, SEARCH: search})


def _name_order(view: View) -> npt.NDArray[np.int64]:
    """Each tool's place when all are sorted by name, which is how ties fall."""
    tools = sorted(range(len(view.tools)), key=lambda place: (view.tools[place].name, view.tools[place].id, place))
    order = np.empty(len(tools), np.int64)
    order[tools] = np.arange(len(tools))
    return order


def _ranks(
    found: Candidates,
    scores: npt.NDArray[np.float64],
    wanted: Sequence[int | None],
    order: npt.NDArray[np.int64],
) -> Ranks:
    ranks: list[int | None] = []
    for position in wanted:
        if position is None:
            ranks.append(None)
            continue
        place = int(np.searchsorted(found.rows, position))
        own = scores[place]
        before = (scores > own) | ((scores == own) & (order[found.rows] < order[position]))
        rank = 1 + int(before.sum())
        ranks.append(rank if rank <= DEEP and own > -np.inf else None)
    return tuple(ranks)
