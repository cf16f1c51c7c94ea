"""Shapes: tools as dictionaries, the way OpenAI, Anthropic, MCP, Bedrock and this package write them."""

import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any

from pydantic import BaseModel

from toolsearch.definitions import OUTPUT_KEYS, SCHEMA_KEYS, UNNAMED, read_definition
from toolsearch.errors import InvalidToolError
from toolsearch.snapshots import Snapshot
from toolsearch.tool import Tool

# One step of an agent may bring thousands of definitions; one longer than this is not worth its place.
_REMEMBERED = 16_384
_LONGEST_REMEMBERED = 65_536
_SIGHTED = 4_096


def tools_from_mapping(definition: Mapping[str, Any], *, key: str | None = None) -> list[Tool]:
    """The tool of a definition, or all functions of an OpenAI namespace, each with the namespace as its server.

    Raises:
        InvalidToolError: as `tool_from_mapping`; or a namespace without a name or a list of functions.
    """
    if definition.get("type") == "namespace" and "tools" in definition:
        return list(_namespace(definition))
    return [tool_from_mapping(definition, key=key)]


def tool_from_mapping(definition: Mapping[str, Any], *, key: str | None = None, server: str | None = None) -> Tool:
    """The tool that a definition describes; its `original` is the definition itself.

    The id is the definition's own, else `key`, else its name. What was read is remembered by content, never by
    identity: a definition changed in place is read anew, and an unchanged one costs a few microseconds.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    if type(definition) is not dict:
        return rebind(_read(definition, key, server), definition, _executor(definition))
    sighting = _sighting(id(definition), key, server)
    tool, snapshot = sighting[0]
    if tool is not None and snapshot is not None and snapshot.matches(definition):
        return rebind(tool, definition)
    try:
        # Format 4 is the fastest. It may write equal values in more than one way, which costs a second
        # reading; two different values never share a form.
        content = marshal.dumps(definition, 4)
    except ValueError:  # holds something beyond plain JSON: read each time
        return rebind(_read(definition, key, server), definition, _executor(definition))
    if len(content) > _LONGEST_REMEMBERED:
        return rebind(_read(definition, key, server), definition)
    known = _read_content(content, key, server)
    sighting[0] = (known, _snapshot(definition) if known is tool else None)
    return rebind(known, definition)


def tool_from_object(item: object, *, key: str | None = None) -> Tool | None:
    """The tool of an object with the attributes of a definition (an `mcp.types.Tool`), or None where it has none.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    definition = _attributes(item)
    if definition is None:
        return None
    return rebind(tool_from_mapping(definition, key=key), item, item if callable(item) else None)


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


@lru_cache(maxsize=_REMEMBERED)
def _read_content(content: bytes, key: str | None, server: str | None) -> Tool:
    # Loaded from the bytes, so that nothing remembered is shared with the caller's own, changeable object.
    return _read(marshal.loads(content), key, server)  # noqa: S302 - bytes that this module wrote


@lru_cache(maxsize=_SIGHTED)
def _sighting(identity: int, key: str | None, server: str | None) -> list[tuple[Tool | None, Snapshot | None]]:  # noqa: ARG001 - the key
    """What was last read from the object at this address: a hint where to look first, checked against a snapshot."""
    return [(None, None)]


def _snapshot(definition: dict[str, Any]) -> Snapshot | None:
    # Worth its price only for an object that comes again; the second sighting says that it does.
    try:
        return Snapshot(definition)
    except ValueError:
        return None


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


def _executor(definition: Mapping[str, Any]) -> Callable[..., Any] | None:
    candidates = (definition.get(field) for field in ("executor", "function"))
    return next((candidate for candidate in candidates if callable(candidate)), None)


def _attributes(item: object) -> dict[str, Any] | None:
    name = getattr(item, "name", None)
    schema_key = next((field for field in SCHEMA_KEYS if isinstance(getattr(item, field, None), Mapping)), None)
    if isinstance(name, str) and schema_key is not None:
        fields = ("title", "description", "annotations", "meta", "tags", *OUTPUT_KEYS)
        found = {"name": name, schema_key: getattr(item, schema_key)} | {
            field: getattr(item, field, None) for field in fields
        }
        plain: dict[str, Any] = _plain({field: value for field, value in found.items() if value is not None})
        return plain
    if isinstance(item, BaseModel):
        try:
            dumped: dict[str, Any] = _plain(item)
        except ValueError:
            return None  # a framework's own object, with functions and clients inside
        # A class that describes itself otherwise must not pass for a tool without parameters.
        described = isinstance(dumped.get("function"), dict) or any(field in dumped for field in SCHEMA_KEYS)
        return dumped if described else None
    return None


def _namespace(definition: Mapping[str, Any]) -> Iterator[Tool]:
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        raise InvalidToolError(UNNAMED, "name", "a namespace needs a name")
    inner = definition["tools"]
    if not isinstance(inner, Sequence) or isinstance(inner, str):
        raise InvalidToolError(name, "tools", "a namespace holds a list of functions")
    for position, function in enumerate(inner):
        if not isinstance(function, Mapping):
            raise InvalidToolError(name, f"tools.{position}", "a function definition is an object")
        yield tool_from_mapping(function, server=name)
