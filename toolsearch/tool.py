"""A tool: what a model needs to call it, and the object it came from, untouched."""

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from toolsearch.errors import InvalidToolError

Schema = Mapping[str, Any]
"""A JSON Schema document (2020-12 or an older draft), read and never changed."""

EMPTY_SCHEMA: Schema = {"type": "object", "properties": {}}
"""What a tool without parameters accepts."""

_NOT_JSON = (ValueError, TypeError, RecursionError)
"""What serialising an object raises that has no JSON: foreign types, half of a surrogate pair, a circle."""


class Tool(BaseModel):
    """One tool. Immutable; a change is a new value (`tool.model_copy(update=...)`)."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    id: str = ""
    """The callable name, unique in a catalog; `name` where none is given."""
    name: str = Field(min_length=1)
    """The tool's own short name; may repeat between servers."""
    server: str | None = None
    """Where it comes from: an MCP server, a service, a package."""
    title: str | None = None
    """A name for people."""
    description: str = ""
    parameters: Schema = Field(default_factory=lambda: dict(EMPTY_SCHEMA))
    """JSON Schema of the arguments object."""
    output_schema: Schema | None = None
    annotations: Mapping[str, Any] = Field(default_factory=dict)
    """Hints of the tool's author (MCP `annotations`); never trusted for policy."""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    """Other names a query may use; each is unique among all names of a processor's catalog."""
    examples: tuple[str, ...] = ()
    """Queries this tool answers; they become part of its document."""
    pinned: bool = False
    """Stays in the prompt, found or not."""
    overrides: bool = False
    """A request's tool that replaces the static tool of the same name."""
    provenance: str | None = Field(default=None, repr=False)
    """Set by adapters on what they rebuild from one of our tools: the fingerprint of that tool."""
    executor: Callable[..., Any] | None = Field(default=None, exclude=True, repr=False)
    """Runs the tool: called with the validated arguments as keywords; sync or async."""
    original: Any = Field(default=None, exclude=True, repr=False)
    """The foreign object this was read from; None where the tool was made here."""

    @model_validator(mode="after")
    def _id_is_name_by_default(self) -> Self:
        if not self.id:
            # Past the freeze and past `model_fields_set`: an id that was never given yields to a key.
            self.__dict__["id"] = self.name
            self.__pydantic_fields_set__.discard("id")
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copied = super().model_copy(update=update, deep=deep)
        # pydantic copies what cached_property left behind: the fingerprint of the old value.
        copied.__dict__.pop("fingerprint", None)
        return copied

    @property
    def unwrapped(self) -> Any:
        """The object the caller gave: the foreign original, else this tool."""
        return self if self.original is None else self.original

    @cached_property
    def fingerprint(self) -> str:
        """sha256 over everything a model or an index reads of the tool (the executor and the original are not).

        Raises:
            InvalidToolError: a schema or the annotations hold what is not JSON.
        """
        try:
            content = self.model_dump(mode="json", exclude={"provenance"})
            encoded = json.dumps(content, sort_keys=True, default=str).encode()
        except _NOT_JSON as error:
            raise InvalidToolError(self.id, self._field_at_fault(), f"is not JSON: {error}") from error
        return hashlib.sha256(encoded).hexdigest()

    def _field_at_fault(self) -> str:
        for field in ("parameters", "output_schema", "annotations"):
            try:
                self.model_dump(mode="json", include={field})
            except _NOT_JSON:
                return field
        return "tool"

    def __hash__(self) -> int:
        return hash((self.id, self.name))

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Tool)
            and self.original is other.original
            and self.executor == other.executor
            and self.fingerprint == other.fingerprint
        )


def make_tool(**fields: Any) -> Tool:
    """A `Tool` from fields; what is wrong names the tool and the field.

    Raises:
        InvalidToolError: a field is missing or has the wrong shape.
    """
    try:
        return Tool(**fields)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"]) or "tool"
        raise InvalidToolError(str(fields.get("id") or fields.get("name") or "?"), field, first["msg"]) from error
