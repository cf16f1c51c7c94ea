"""The exact-name lane: a query that spells a tool's name finds that tool, whatever ranking thinks of it."""

from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache

from toolsearch.identifiers import last_segment, squash
from toolsearch.tool import Tool

SELECT = "select:"
"""`select:name_a,name_b` asks for exactly those tools."""

_LONGEST = 256
"""Characters; a longer query is no name."""


@lru_cache(maxsize=65_536)
def _keys(tool_id: str, name: str, server: str | None, aliases: tuple[str, ...]) -> tuple[str, ...]:
    spelled = [tool_id, name, *aliases]
    spelled += [last_segment(one) for one in spelled]
    if server:
        spelled.append(f"{server} {name}")
    return tuple(dict.fromkeys(key for key in map(squash, spelled) if key))


class Names:
    """Which of these tools answer to a name, in any case and with any separators; an ambiguous name has several."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._by_key: defaultdict[str, list[int]] = defaultdict(list)
        self._by_id = {tool.id: position for position, tool in enumerate(tools)}
        for position, tool in enumerate(tools):
            for key in _keys(tool.id, tool.name, tool.server, tool.aliases):
                self._by_key[key].append(position)

    def spelled(self, query: str) -> list[int]:
        """Positions of the tools whose name the query is; the id in the very same spelling comes first."""
        if len(query) > _LONGEST:
            return []
        exact = self._by_id.get(query.strip())
        found = self._by_key.get(squash(query), ())
        return ([] if exact is None else [exact]) + [position for position in found if position != exact]

    def selected(self, name: str) -> list[int]:
        """Positions a `select:` means by a name: the tool of that very id, else all that answer to the name."""
        exact = self._by_id.get(name)
        return self.spelled(name) if exact is None else [exact]


def selected_names(query: str) -> list[str] | None:
    """The names a `select:` query asks for, in order, each once; None where it is no such query."""
    if not query.strip().lower().startswith(SELECT):
        return None
    names = query.strip()[len(SELECT) :].split(",")
    return list(dict.fromkeys(name.strip() for name in names if name.strip()))


def exactly(names: Sequence[str], tools: Sequence[Tool]) -> list[int]:
    """Positions of the tools that a `select:` of these names means, in its order, each once."""
    known = Names(tools)
    return list(dict.fromkeys(position for name in names for position in known.selected(name)))
