"""A catalog: tools in a stable order, each under one name; and how whatever a caller calls a tool becomes one."""

import hashlib
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import TypeAlias

from toolsearch.callable_names import legal_name
from toolsearch.callables import tool_from_callable
from toolsearch.definitions import UNNAMED
from toolsearch.errors import DuplicateToolError, InvalidToolError, ToolError, UnknownToolError
from toolsearch.naming import check_callable, legal_names
from toolsearch.owners import owner, same
from toolsearch.shapes import tool_from_object, tools_from_mapping
from toolsearch.similar import Similar
from toolsearch.tool import Tool

__all__ = [
    "Catalog",
    "Reader",
    "as_tool",
    "as_tools",
    "as_tools_leniently",
    "check_callable",
    "legal_name",
    "legal_names",
    "register_reader",
]

Reader: TypeAlias = Callable[[object, str | None], Iterable[Tool] | None]
"""Reads one shape: the tools of an item under an optional key, or None where the item has another shape."""

_readers: tuple[Reader, ...] = ()


def register_reader(reader: Reader) -> Reader:
    """Teach every catalog one more shape; the newest reader is asked first, before the shapes known here.

    Returns the reader, so that it serves as a decorator. Registering it again changes nothing.
    """
    global _readers  # noqa: PLW0603 - replaced whole, so that a reading thread sees the old or the new list
    if reader not in _readers:
        _readers = (reader, *_readers)
    return reader


def as_tool(item: object, *, key: str | None = None) -> Tool:
    """The tool that an item is; `key` becomes its id where it has none of its own.

    Raises:
        InvalidToolError: the item has no known shape, several tools in it, or a field that is missing or wrong.
    """
    tools = _read(item, key)
    if len(tools) != 1:
        raise InvalidToolError(key or UNNAMED, "tools", f"expected one tool, found {len(tools)}; use as_tools")
    return tools[0]


def as_tools(tools: Mapping[str, object] | Iterable[object]) -> list[Tool]:
    """The tools of a mapping or an iterable, in its order; what is shared with it is the tools, not the container.

    Raises:
        InvalidToolError: as `as_tool`, for the first item that is no tool.
    """
    return [tool for place, key, item in _items(tools) for tool in _read_at(place, key, item)]


def as_tools_leniently(tools: Mapping[str, object] | Iterable[object]) -> tuple[list[Tool], list[ToolError]]:
    """The tools of a mapping or an iterable, and what was wrong with those left out; no item makes this raise."""
    good: list[Tool] = []
    bad: list[ToolError] = []
    for place, key, item in _items(tools):
        try:
            good.extend(_read_at(place, key, item))
        except ToolError as error:
            bad.append(error)
        except Exception as error:  # noqa: BLE001 - a foreign object may raise anything from a property
            bad.append(InvalidToolError(_named(place), "tool", f"reading it raised {type(error).__name__}: {error}"))
    return good, bad


def _items(tools: object) -> Iterator[tuple[int | str, str | None, object]]:
    """Each with its place and its key."""
    if isinstance(tools, Mapping):
        for key, item in tools.items():
            if not isinstance(key, str) or not key:
                raise InvalidToolError(repr(key), "key", "a mapping of tools has names as its keys")
            yield key, key, item
    elif isinstance(tools, Iterable) and not isinstance(tools, (str, bytes)):
        for position, item in enumerate(tools, 1):
            yield position, None, item
    else:
        raise InvalidToolError(
            UNNAMED, "tools", f"expected a mapping or an iterable of tools, got {type(tools).__name__}"
        )


def _read_at(place: int | str, key: str | None, item: object) -> Iterable[Tool]:
    try:
        return _read(item, key)
    except InvalidToolError as error:
        if error.tool != UNNAMED:
            raise
        raise InvalidToolError(_named(place), error.field, error.reason) from error


def _named(place: int | str) -> str:
    return place if isinstance(place, str) else f"number {place}"


def _read(item: object, key: str | None) -> list[Tool]:
    for reader in _readers:
        if (tools := reader(item, key)) is not None:
            return list(tools)
    if type(item) is dict or isinstance(item, Mapping):  # asking an ABC costs more than reading a known definition
        return tools_from_mapping(item, key=key)
    if isinstance(item, Tool):
        item.fingerprint  # noqa: B018 - what is not JSON shows here, not in the middle of a search
        given = key is None or "id" in item.model_fields_set
        return [item if given or item.id == key else item.model_copy(update={"id": key})]
    if not inspect.isroutine(item) and (tool := tool_from_object(item, key=key)) is not None:
        return [tool]
    if callable(item):
        return [tool_from_callable(item, key=key)]
    raise InvalidToolError(
        key or UNNAMED,
        "tool",
        f"{type(item).__name__} is no tool: expected a Tool, a function, a definition, or an object with a name and a schema",
    )


class Catalog:
    """Tools in the order given, unique by id; immutable.

    Raises:
        DuplicateToolError: two tools have one id. The same object given twice is one tool.
    """

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            known = self._tools.setdefault(tool.id, tool)
            if known is not tool and not same(known, tool):
                raise DuplicateToolError(tool.id, (owner(known), owner(tool)))

    def __len__(self) -> int:
        return len(self._tools)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __getitem__(self, name: str) -> Tool:
        """Raises:
        UnknownToolError: no tool has this id; the error names close ones.
        """
        try:
            return self._tools[name]
        except KeyError:
            raise UnknownToolError(name, self.close(name)) from None

    def get(self, name: str) -> Tool | None:
        return self._tools.get(name)

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._tools)

    def position(self, name: str) -> int:
        """0-based place in the order of the catalog.

        Raises:
            UnknownToolError: no tool has this id.
        """
        self[name]
        return self._positions[name]

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over the tools' fingerprints in order: equal catalogs, equal fingerprints."""
        return hashlib.sha256("\n".join([tool.fingerprint for tool in self]).encode()).hexdigest()

    def close(self, name: str, *, limit: int = 3, allowed: Callable[[Tool], bool] | None = None) -> list[str]:
        """Ids that `name` may have meant, best first, ties by id; only tools that `allowed` lets through are named."""
        ranked = self._similar.ranked(name)
        if allowed is not None:
            ranked = (tool_id for tool_id in ranked if allowed(self._tools[tool_id]))
        return [tool_id for tool_id, _ in zip(ranked, range(limit), strict=False)]

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {tool_id: position for position, tool_id in enumerate(self._tools)}

    @cached_property
    def _similar(self) -> Similar:
        return Similar((tool.id, (tool.id, tool.name, *tool.aliases)) for tool in self)
