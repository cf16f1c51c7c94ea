"""Shapes: tools as dictionaries, the way OpenAI, Anthropic, MCP, Bedrock and this package write them, and objects like those."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from toolsearch.definitions import OUTPUT_KEYS, SCHEMA_KEYS, UNNAMED
from toolsearch.errors import InvalidToolError
from toolsearch.reading import read, read_again, rebind, remember
from toolsearch.tool import Tool


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

    The id is the definition's own, else `key`, else its name.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    if type(definition) is dict:
        if (known := read_again(definition, key, server)) is not None:
            return known
        if (executor := _executor(definition)) is None:
            return remember(definition, key, server, read(definition, key, server))
        return rebind(read(definition, key, server), definition, executor)
    return rebind(read(definition, key, server), definition, _executor(definition))


def tool_from_object(item: object, *, key: str | None = None) -> Tool | None:
    """The tool of an object with the attributes of a definition (an `mcp.types.Tool`), or None where it has none.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    definition = _attributes(item)
    if definition is None:
        return None
    return rebind(read(definition, key, None), item, item if callable(item) else None)


def _executor(definition: Mapping[str, Any]) -> Callable[..., Any] | None:
    candidates = (definition.get(field) for field in ("executor", "function"))
    return next((candidate for candidate in candidates if callable(candidate)), None)


def _attributes(item: object) -> dict[str, Any] | None:
    name = getattr(item, "name", None)
    schema_key = next((field for field in SCHEMA_KEYS if isinstance(getattr(item, field, None), Mapping)), None)
    if isinstance(name, str) and schema_key is not None:
        found = {"name": name, schema_key: getattr(item, schema_key)}
        for field in ("title", "description", "annotations", "meta", "tags", *OUTPUT_KEYS):
            if (value := getattr(item, field, None)) is not None:
                found[field] = _dumped(value) if isinstance(value, BaseModel) else value
        return found
    if isinstance(item, BaseModel):
        try:
            dumped = _dumped(item)
        except ValueError:
            return None  # a framework's own object, with functions and clients inside
        # A class that describes itself otherwise must not pass for a tool without parameters.
        described = isinstance(dumped.get("function"), dict) or any(field in dumped for field in SCHEMA_KEYS)
        return dumped if described else None
    return None


def _dumped(model: BaseModel) -> dict[str, Any]:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


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
