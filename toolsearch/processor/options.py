"""The settings of a processor, checked once at the door."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from rapidfuzz import process

from toolsearch.errors import OptionError

MIN_SCORE = 0.1
"""The default threshold for "no tool fits"."""

MAX_PER_SERVER = 4
"""How many of the results one server may take while others match."""


class _Options(BaseModel):
    """Both spellings load: `top_k` as Python writes it, `topK` as Mastra does."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, arbitrary_types_allowed=True
    )


class SearchOptions(_Options):
    """How `search_tools` searches and answers."""

    top_k: Annotated[int, Field(ge=0, strict=True)] = 5
    """At most this many results; 0 gives none."""
    min_score: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = MIN_SCORE
    """Results score at least this; 0 disables the cut. Names that were typed are never cut by it."""
    auto_load: bool = False
    """Matches become active without `load_tool`."""
    max_queries: Annotated[int, Field(ge=1)] = 5
    """How many `queries` one call may carry."""
    max_per_server: Annotated[int, Field(ge=1)] | None = MAX_PER_SERVER
    """How many results one server may take while others match; None for no limit."""
    max_fruitless: Annotated[int, Field(ge=1)] = 3
    """Searches in a row on one thread without anything new before the message says to stop."""
    max_tokens: Annotated[int, Field(ge=50)] = 1_200
    """What one answer may cost: descriptions shorten first, then results are dropped and counted."""


class Settings(_Options):
    """Everything about a processor that can be written down in JSON."""

    include_resolved_tools: bool = False
    inject_catalog: bool = False
    inject_summary: bool = False
    search: SearchOptions = SearchOptions()
    storage: Any = "in-memory"
    ttl: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 3_600_000
    pinned: tuple[str, ...] = ()
    unload: bool = False
    anonymous: Literal["run", "shared"] = "run"
    max_threads: Annotated[int, Field(ge=1)] = 10_000


O = TypeVar("O", bound=_Options)  # noqa: E741 - reads as Options


def checked(kind: type[O], values: Mapping[str, Any] | O | None) -> O:
    """Options from keywords, from JSON in either spelling, or as they are.

    Raises:
        OptionError: an option does not exist (names the nearest known one) or is out of range.
    """
    if isinstance(values, kind):
        return values
    try:
        return kind.model_validate(dict(values or {}))
    except ValidationError as error:
        first = error.errors()[0]
        path = [str(part) for part in first["loc"]] or [kind.__name__]
        name = ".".join(path)
        if first["type"] != "extra_forbidden":
            raise OptionError(name, f"{first['msg']}, not {first['input']!r}.") from error
        known = _known(SearchOptions if path[0] == "search" else kind, camel="_" not in path[-1])
        nearest = process.extractOne(path[-1], known)
        raise OptionError(name, "there is no such option.", nearest[0]) from error


def _known(kind: type[_Options], *, camel: bool) -> list[str]:
    names = list(kind.model_fields)
    return sorted({*names, *map(to_camel, names)} if camel else names)
