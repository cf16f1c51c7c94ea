"""The settings of a processor, checked once at the door."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, ValidationError
from pydantic.alias_generators import to_camel
from rapidfuzz import process

from toolsearch.errors import OptionError

MIN_SCORE = 0.05
"""The default threshold for "no tool fits": measured to cost hardly any right result."""

MAX_PER_SERVER = 4
"""How many of five results one server may take while others match: measured to cost at most half a point of recall@5."""


class _Options(BaseModel):
    """Both spellings load: `top_k` as Python writes it, `topK` as Mastra does.

    Raises:
        OptionError: an option does not exist (names the nearest known one), has the wrong type, or is out of range.
    """

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, arbitrary_types_allowed=True
    )

    prefix: ClassVar[str] = ""
    """Stands before an option's name in an error."""
    also: ClassVar[tuple[str, ...]] = ()
    """Options beside the fields, for suggestions."""

    if not TYPE_CHECKING:  # type checkers read the fields

        def __init__(self, **values: Any) -> None:
            try:
                super().__init__(**values)
            except ValidationError as error:
                raise _option_error(type(self), error) from error


class SearchOptions(_Options):
    """How `search_tools` searches and answers."""

    prefix: ClassVar[str] = "search."

    top_k: Annotated[int, Field(ge=0, strict=True)] = 5
    """At most this many results; 0 gives none."""
    min_score: Annotated[float, Field(ge=0, le=1, strict=True, allow_inf_nan=False)] = MIN_SCORE
    """Results score at least this; 0 disables the cut. Names that were typed are never cut by it."""
    auto_load: StrictBool = False
    """Matches become active without `load_tool`."""
    max_queries: Annotated[int, Field(ge=1, strict=True)] = 5
    """How many `queries` one call may carry."""
    max_per_server: Annotated[int, Field(ge=1, strict=True)] | None = MAX_PER_SERVER
    """How many results one server may take while others match; None for no limit. Not given, it grows with `top_k`."""
    max_fruitless: Annotated[int, Field(ge=1, strict=True)] = 3
    """Searches in a row on one thread without anything new before the message says to stop."""
    max_tokens: Annotated[int, Field(ge=50, strict=True)] = 1_200
    """What one answer may cost: descriptions shorten first, then results are dropped and counted."""

    @property
    def server_cap(self) -> int | None:
        """`max_per_server`, or where it was not given the default for this `top_k`: one place is for others."""
        return self.max_per_server if "max_per_server" in self.model_fields_set else max(MAX_PER_SERVER, self.top_k - 1)


class Settings(_Options):
    """Everything about a processor that can be written down in JSON."""

    also: ClassVar[tuple[str, ...]] = ("tools", "filter", "model", "counter")

    include_resolved_tools: StrictBool = False
    inject_catalog: StrictBool = False
    inject_summary: StrictBool = False
    search: SearchOptions = SearchOptions()
    storage: Any = "in-memory"
    ttl: Annotated[float, Field(ge=0, strict=True, allow_inf_nan=False)] = 3_600_000
    pinned: tuple[str, ...] = ()
    unload: StrictBool = False
    anonymous: Literal["run", "shared"] = "run"
    max_threads: Annotated[int, Field(ge=1, strict=True)] = 10_000
    cache_dir: Path | str | None = None


O = TypeVar("O", bound=_Options)  # noqa: E741 - reads as Options


def checked(kind: type[O], values: Mapping[str, Any] | O | None) -> O:
    """Options from keywords, from JSON in either spelling, or as they are.

    Raises:
        OptionError: an option does not exist (names the nearest known one), has the wrong type, or is out of range.
    """
    if isinstance(values, kind):
        return values
    if values is not None and not isinstance(values, Mapping):
        name = kind.prefix.rstrip(".") or kind.__name__
        raise OptionError(name, f"takes {kind.__name__} or a mapping of options, not {values!r}.")
    return kind(**{str(name): value for name, value in (values or {}).items()})


def _option_error(kind: type[_Options], error: ValidationError) -> OptionError:
    first = error.errors()[0]
    name = str(first["loc"][0]) if first["loc"] else kind.__name__
    if first["type"] != "extra_forbidden":
        return OptionError(kind.prefix + name, f"{first['msg']}, not {first['input']!r}.")
    names = [*kind.model_fields, *kind.also]
    known = names if "_" in name else sorted({*names, *map(to_camel, names)})
    return OptionError(kind.prefix + name, "there is no such option.", process.extractOne(name, known)[0])
