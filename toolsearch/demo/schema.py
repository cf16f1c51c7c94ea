"""Schemas: the shapes that botocore describes an operation with, as JSON Schema."""

from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from toolsearch.demo.prose import first_sentences

if TYPE_CHECKING:
    from botocore.model import Shape, StructureShape

_NOTE = 120
"""Characters of a member's documentation that are kept."""
_PLAIN: dict[str, dict[str, Any]] = {
    "string": {"type": "string"},
    "character": {"type": "string", "minLength": 1, "maxLength": 1},
    "blob": {"type": "string"},  # JSON has no bytes
    "timestamp": {"type": "string", "format": "date-time"},
    "boolean": {"type": "boolean"},
    "integer": {"type": "integer"},
    "long": {"type": "integer"},
    "float": {"type": "number"},
    "double": {"type": "number"},
}
_BOUNDS = {
    "string": ("minLength", "maxLength"),
    "list": ("minItems", "maxItems"),
    "map": ("minProperties", "maxProperties"),
    "integer": ("minimum", "maximum"),
    "long": ("minimum", "maximum"),
    "float": ("minimum", "maximum"),
    "double": ("minimum", "maximum"),
}
"""A blob's bounds count bytes, which no keyword does; patterns are Java's and stay out."""


def arguments_schema(shape: "StructureShape | None", *, filled_in: Collection[str] = ()) -> dict[str, Any]:
    """The schema of an operation's arguments; `filled_in` members are never required, their caller's client sets them.

    A structure that occurs more than once, or inside itself, is written once under `$defs`.
    """
    if shape is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    shared = {name for name, times in Counter(_structures(shape)).items() if times > 1}
    writer = _Writer(shared)
    schema = writer.structure(shape, filled_in=filled_in)
    return {**schema, "$defs": writer.definitions} if writer.definitions else schema


def _structures(shape: "Shape") -> Iterator[str]:
    """The name of each structure, as often as something refers to it."""
    seen: set[str] = set()
    waiting = [shape]
    while waiting:
        current = waiting.pop()
        if current.type_name == "structure":
            yield current.name
            if current.name in seen:
                continue
            seen.add(current.name)  # a list is walked as often as it is met: the structure inside counts each time
        waiting.extend(_parts(current))


def _parts(shape: Any) -> list["Shape"]:
    if shape.type_name == "structure":
        return list(shape.members.values())
    if shape.type_name == "list":
        return [shape.member]
    return [shape.value] if shape.type_name == "map" else []


class _Writer:
    """One schema being written, and the definitions it refers to."""

    def __init__(self, shared: set[str]) -> None:
        self.shared = shared
        self.definitions: dict[str, Any] = {}

    def member(self, shape: "Shape") -> dict[str, Any]:
        note = first_sentences(shape.documentation, _NOTE)
        schema = self.shape(shape)
        return {**schema, "description": note} if note else schema

    def shape(self, shape: Any) -> dict[str, Any]:
        if shape.type_name == "structure":
            return self.structure_or_reference(shape)
        if shape.serialization.get("jsonvalue"):
            return {}  # any JSON value: the client writes it as text
        schema = dict(_PLAIN.get(shape.type_name, {}))
        if shape.type_name == "list":
            schema = {"type": "array", "items": self.shape(shape.member)}
        elif shape.type_name == "map":
            schema = {"type": "object", "additionalProperties": self.shape(shape.value)}
        elif getattr(shape, "enum", ()):
            schema["enum"] = list(shape.enum)
        return schema | self.bounds(shape)

    def bounds(self, shape: Any) -> dict[str, Any]:
        names = _BOUNDS.get(shape.type_name, ("", ""))
        found = zip(names, (shape.metadata.get("min"), shape.metadata.get("max")), strict=True)
        return {name: bound for name, bound in found if name and bound is not None}

    def structure_or_reference(self, shape: "StructureShape") -> dict[str, Any]:
        if getattr(shape, "is_document_type", False):
            return {}
        if shape.name not in self.shared:
            return self.structure(shape)
        if shape.name not in self.definitions:
            self.definitions[shape.name] = {}  # a place first: the structure may contain itself
            self.definitions[shape.name] = self.structure(shape)
        return {"$ref": f"#/$defs/{shape.name}"}

    def structure(self, shape: "StructureShape", *, filled_in: Collection[str] = ()) -> dict[str, Any]:
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.member(member) for name, member in shape.members.items()},
        }
        if required := [name for name in shape.required_members if name not in filled_in]:
            schema["required"] = required
        if getattr(shape, "is_tagged_union", False):
            schema |= {"minProperties": 1, "maxProperties": 1}
        return {**schema, "additionalProperties": False}
