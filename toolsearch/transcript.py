"""A transcript: the messages of a conversation, and the set of loaded tools that they prove.

What a message says is evidence only where its place in the conversation makes it so: a result of a meta-tool counts when
it answers an assistant's call of that very meta-tool made before it. Everything else is talk.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from toolsearch.messages import Call, Part, Result, read_message
from toolsearch.messages import field as value_of

SEARCH_TOOLS = "search_tools"
LOAD_TOOL = "load_tool"
UNLOAD_TOOL = "unload_tool"

RECEIPT_TYPE = "tool-search-auto-load"
RECEIPT_VERSION = 1


def read(messages: Iterable[object]) -> list[Part]:
    """The parts of all messages in their order; what has no known shape is one opaque part each."""
    return [part for message in messages for part in read_message(message).parts]


def loaded_names(messages: Iterable[object]) -> tuple[str, ...]:
    """The names that the messages prove loaded, in load order, each once.

    Counted are `load_tool` results (`loaded` and `already_loaded`, also of a partial failure) and `search_tools` results
    with a valid activation receipt; `unload_tool` results take names away again. Nothing that a message holds makes
    this raise: what cannot be read proves nothing.

    A result that its message flags as an error proves nothing either: flag a partial load as an answer, not an error.
    A name both loaded before and named by `already_loaded` keeps its place; one known from `already_loaded` alone comes
    before what the same call loaded, for so it was.
    """
    loaded: dict[str, None] = {}  # a set that keeps its order
    for tool, result in _answers(read(messages)):
        if tool == LOAD_TOOL:
            payload = result.payload
            gained = (*_names(value_of(payload, "already_loaded")), *_names(value_of(payload, "loaded")))
        elif tool == SEARCH_TOOLS:
            gained = activated_names(result.payload)
        else:
            gained = ()
        loaded |= dict.fromkeys(gained)  # what is in already keeps its place
        if tool == UNLOAD_TOOL:
            for name in _names(value_of(result.payload, "unloaded")):
                loaded.pop(name, None)
    return tuple(loaded)


def activated_names(payload: object) -> tuple[str, ...]:
    """The names of a `search_tools` result's activation receipt; empty unless the receipt is valid.

    Valid means: type and version are ours exactly, and its names are unique and those of the results, all of them.
    """
    receipt = value_of(payload, "activation")
    kind, version = value_of(receipt, "type"), value_of(receipt, "version")
    ours = isinstance(kind, str) and kind == RECEIPT_TYPE
    if not ours or type(version) is not int or version != RECEIPT_VERSION:  # True and 1.0 equal 1 and are not it
        return ()
    names = _names(value_of(receipt, "loaded"))
    results = value_of(payload, "results")
    found = _names([value_of(result, "name") for result in results] if isinstance(results, list | tuple) else None)
    return names if len(set(names)) == len(names) and sorted(names) == sorted(found) else ()


@dataclass(slots=True)
class _Pending:
    """The calls under one id that wait for their results."""

    names: set[str] = field(default_factory=set)
    count: int = 0


def _answers(parts: Iterable[Part]) -> Iterator[tuple[str, Result]]:
    """The called tool and the result, for every result that answers a call before it, errors aside.

    Some servers restart their ids each turn, so an id may serve again once its call is answered. While two calls of
    different tools wait under one id, no result tells which it answers, and none of them counts.
    """
    waiting: dict[str, _Pending] = {}
    for part in parts:
        if isinstance(part, Call) and part.id is not None:
            pending = waiting.setdefault(part.id, _Pending())
            pending.names.add(part.name)
            pending.count += 1
        elif isinstance(part, Result) and part.id is not None and (answered := waiting.get(part.id)) is not None:
            answered.count -= 1
            if answered.count == 0:
                del waiting[part.id]
            if len(answered.names) == 1 and not part.is_error and part.name in (None, *answered.names):
                yield next(iter(answered.names)), part


def _names(value: object) -> tuple[str, ...]:
    """A list of names; one with anything else in it is none of ours and gives no name at all."""
    if isinstance(value, list | tuple) and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    return ()
