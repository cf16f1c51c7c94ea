"""Reading: definitions become tools, each content once; one that comes again costs a microsecond or two.

What is remembered is what a definition says. It is looked up by content, and for the very same dictionary, unchanged,
by a snapshot of it; a dictionary changed in place is read anew.
"""

import marshal
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from toolsearch.definitions import UNNAMED, read_definition
from toolsearch.errors import InvalidToolError
from toolsearch.snapshots import Snapshot
from toolsearch.tool import Tool

# One step of an agent may bring thousands of definitions; one longer than this is not worth its place.
_REMEMBERED = 16_384
_LONGEST_REMEMBERED = 65_536
_SIGHTED = 4_096

# The setters behind the slots of a pydantic model: `Tool` itself is frozen, and validating again would cost tenfold.
_new = object.__new__
_set_fields_set = BaseModel.__dict__["__pydantic_fields_set__"].__set__
_set_extra = BaseModel.__dict__["__pydantic_extra__"].__set__
_set_private = BaseModel.__dict__["__pydantic_private__"].__set__


def rebind(tool: Tool, original: object, executor: Callable[..., Any] | None = None) -> Tool:
    """The same tool, read from another object; nothing is validated again and the known fingerprint is kept."""
    bound = _new(Tool)
    values = bound.__dict__
    values.update(tool.__dict__)
    values["original"] = original
    values["executor"] = executor
    _set_fields_set(bound, tool.__pydantic_fields_set__)
    _set_extra(bound, None)
    _set_private(bound, None)
    return bound


def read(definition: Mapping[str, Any], key: str | None, server: str | None) -> Tool:
    """The tool a definition describes, without an original.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    if type(definition) is dict:
        try:
            # Format 4 is the fastest. It may write equal values in more than one way, which costs a second
            # reading; two different values never share a form.
            content = marshal.dumps(definition, 4)
        except ValueError:
            pass  # holds something beyond plain data: read each time
        else:
            if len(content) <= _LONGEST_REMEMBERED:
                return _read_content(content, key, server)
    return _read(definition, key, server)


def read_again(definition: dict[str, Any], key: str | None, server: str | None) -> Tool | None:
    """The tool of this very dictionary, bound to it, where it was read twice and has not been changed since."""
    kept = _sighting(id(definition), key, server).kept
    if kept is not None:
        snapshot, bound = kept
        if bound.original is definition and snapshot.matches(definition):
            return bound
    return None


def remember(definition: dict[str, Any], key: str | None, server: str | None, tool: Tool) -> Tool:
    """The tool bound to the dictionary it was read from; a snapshot is taken once the dictionary comes again."""
    sighting = _sighting(id(definition), key, server)
    bound = rebind(tool, definition)
    snapshot = _snapshot(definition) if sighting.fingerprint == tool.fingerprint else None
    sighting.kept = None if snapshot is None else (snapshot, bound)
    sighting.fingerprint = tool.fingerprint
    return bound


@dataclass(slots=True)
class _Sighting:
    """What was last read from the dictionary at one address."""

    fingerprint: str | None = None
    kept: tuple[Snapshot, Tool] | None = None
    """One value, so that no thread pairs an old snapshot with a new tool."""


def _snapshot(definition: dict[str, Any]) -> Snapshot | None:
    try:
        return Snapshot(definition)
    except ValueError:  # holds something beyond plain JSON, such as a set, whose changes a snapshot would miss
        return None


@lru_cache(maxsize=_SIGHTED)
def _sighting(identity: int, key: str | None, server: str | None) -> _Sighting:  # noqa: ARG001 - what it is looked up by
    return _Sighting()


@lru_cache(maxsize=_REMEMBERED)
def _read_content(content: bytes, key: str | None, server: str | None) -> Tool:
    # Loaded from the bytes, so that nothing remembered is shared with the caller's own, changeable object.
    return _read(marshal.loads(content), key, server)  # noqa: S302 - bytes that this module wrote


def _read(definition: Mapping[str, Any], key: str | None, server: str | None) -> Tool:
    try:
        copied = _plain(definition)
    except RecursionError as error:
        raise InvalidToolError(str(definition.get("name", key or UNNAMED)), "parameters", "contains itself") from error
    return read_definition(copied, key, server)


def _plain(value: Any) -> Any:
    """A copy made of dicts, lists and scalars only."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(inner) for inner in value]
    return value
