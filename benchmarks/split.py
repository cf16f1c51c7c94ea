"""A split of queries in two halves that share no relevant tool: constants are chosen on one, figures come from the other."""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.dataset import Query

_GIANT = 0.05
"""Queries that hang together and are more than this share of all go to the measuring half first: figures need them more."""


@dataclass(frozen=True, slots=True)
class Halves:
    """Positions of the queries, ascending; together all of them."""

    tune: tuple[int, ...]
    measure: tuple[int, ...]


def halves(queries: Sequence[Query]) -> Halves:
    """Groups of queries connected by their relevant tools, dealt to the half that has fewer queries so far.

    The order of dealing follows from the ids of the tools alone, so the same queries always fall the same way.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    root = _components(queries)
    for place, query in enumerate(queries):
        groups[root[query.relevant[0]]].append(place)
    tune: list[int] = []
    measure: list[int] = []
    for tool in sorted(groups, key=lambda tool: (_giant(len(groups[tool]), len(queries)), _scatter(tool))):
        (measure if len(measure) <= len(tune) else tune).extend(groups[tool])
    return Halves(tuple(sorted(tune)), tuple(sorted(measure)))


def _giant(size: int, total: int) -> int:
    return -size if size > _GIANT * total else 0


def _scatter(tool: str) -> str:
    return hashlib.sha256(tool.encode()).hexdigest()


def _components(queries: Sequence[Query]) -> dict[str, str]:
    """For each relevant tool, the first in name order of the tools that queries connect it with."""
    parent: dict[str, str] = {}

    def root(tool: str) -> str:
        while parent.setdefault(tool, tool) != tool:
            parent[tool] = parent[parent[tool]]
            tool = parent[tool]
        return tool

    for query in queries:
        first, *others = query.relevant
        for other in others:
            low, high = sorted((root(first), root(other)))
            parent[high] = low
        root(first)
    return {tool: root(tool) for tool in list(parent)}
