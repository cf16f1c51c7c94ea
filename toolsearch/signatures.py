"""A signature: what a function takes, as a JSON Schema and as a model that turns JSON into its arguments."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, Optional, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolsearch.errors import InvalidToolError
from toolsearch.hints import CONTEXT_NAMES, is_context, modern, resolved_hints

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_FIRST = frozenset({"self", "cls"}) | CONTEXT_NAMES


class _Schema(GenerateJsonSchema):
    """JSON Schema without the titles that only repeat a name: they cost tokens and tell a model nothing."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - pydantic declares it so

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ARG002 - as pydantic calls it
        return False


@dataclass(frozen=True, slots=True)
class Signature:
    """What one function takes from a model."""

    schema: Mapping[str, Any]
    model: type[BaseModel]
    fields: Mapping[str, str]
    """Parameter name by field name of the model. Fields are numbered, so that a parameter may bear any name."""
    positional_only: tuple[str, ...]
    defaults_in_model: frozenset[str]
    """Parameters whose default stands in a `Field`, not in the signature: the function has to be given it."""
    needs_context: bool
    """A framework has to fill a parameter that has no default: the function cannot run without one."""

    def arguments(self, given: Mapping[str, Any], function: Callable[..., Any]) -> tuple[list[Any], dict[str, Any]]:
        """JSON arguments as Python ones, positional and by name; what was not given keeps the function's own default.

        Raises:
            pydantic.ValidationError: an argument is missing, unknown or of the wrong type.
        """
        filled = self.model.model_validate(dict(given))
        values = {
            name: getattr(filled, field)
            for field, name in self.fields.items()
            if field in filled.model_fields_set or name in self.defaults_in_model
        } | (filled.model_extra or {})
        positional: list[Any] = []
        if self.positional_only:
            last = max((place for place, name in enumerate(self.positional_only, 1) if name in values), default=0)
            own = inspect.signature(function).parameters
            positional = [values.pop(name, own[name].default) for name in self.positional_only[:last]]
        return positional, values


def read_signature(
    function: Callable[..., Any],
    *,
    tool: str,
    hinted: Callable[..., Any],
    bound: Collection[str],
    documented: Mapping[str, str],
) -> Signature:
    """The signature of `function`, without what is `bound`; hints come from `hinted`, the function inside.

    Raises:
        InvalidToolError: a parameter that no JSON argument can fill.
    """
    try:
        own = inspect.signature(function)
    except (ValueError, TypeError) as error:
        raise InvalidToolError(
            tool, "signature", f"cannot be read ({error}); wrap it in a function with named parameters"
        ) from error
    hints = resolved_hints(hinted)
    needs_context = False
    taken: list[inspect.Parameter] = []
    open_ended = False
    for place, parameter in enumerate(own.parameters.values()):
        hint = hints.get(parameter.name, parameter.annotation)
        if parameter.name in bound:
            continue
        if _is_framework(parameter, hint, place):
            needs_context |= parameter.default is parameter.empty and parameter.kind in (
                *_POSITIONAL,
                parameter.KEYWORD_ONLY,
            )
        elif parameter.kind is parameter.VAR_KEYWORD:
            open_ended = True
        elif parameter.kind is parameter.VAR_POSITIONAL:
            raise InvalidToolError(
                tool, f"*{parameter.name}", "a model names its arguments; take a list parameter instead"
            )
        else:
            taken.append(parameter.replace(annotation=hint))
    if open_ended and not taken:
        raise InvalidToolError(
            tool, "**", "a model cannot know which names it takes; declare the parameters, or use functools.wraps"
        )
    return _signature(tool, taken, documented, open_ended=open_ended, needs_context=needs_context)


def _is_framework(parameter: inspect.Parameter, hint: Any, place: int) -> bool:
    if hint is not parameter.empty:
        return is_context(hint)
    return (
        place == 0
        and parameter.name in _FIRST
        and parameter.kind in _POSITIONAL
        and parameter.default is parameter.empty
    )


def _signature(
    tool: str,
    taken: Sequence[inspect.Parameter],
    documented: Mapping[str, str],
    *,
    open_ended: bool,
    needs_context: bool,
) -> Signature:
    try:
        model = _model(tool, taken, open_ended=open_ended)
        schema = model.model_json_schema(schema_generator=_Schema)
    except Exception as error:
        usable = [parameter for parameter in taken if _has_schema(tool, parameter)]
        if len(usable) == len(taken):
            raise InvalidToolError(tool, "signature", f"has no JSON Schema ({error})") from error
        return _signature(tool, usable, documented, open_ended=open_ended, needs_context=needs_context)
    properties = schema.get("properties", {})
    for parameter in taken:
        _document(properties[parameter.name], parameter, documented)
    for name, definition in schema.get("$defs", {}).items():
        if definition.get("title") == name:
            del definition["title"]
    ordered = {"type": "object", "properties": properties}
    return Signature(
        schema=ordered | {key: schema[key] for key in ("required", "additionalProperties", "$defs") if key in schema},
        model=model,
        fields={f"p{place}": parameter.name for place, parameter in enumerate(taken)},
        positional_only=tuple(parameter.name for parameter in taken if parameter.kind is parameter.POSITIONAL_ONLY),
        defaults_in_model=frozenset(
            parameter.name
            for parameter, field in zip(taken, model.model_fields.values(), strict=True)
            if not _has_own_default(parameter) and not field.is_required()
        ),
        needs_context=needs_context,
    )


def _model(tool: str, taken: Sequence[inspect.Parameter], *, open_ended: bool) -> type[BaseModel]:
    fields: dict[str, Any] = {f"p{place}": _field(parameter) for place, parameter in enumerate(taken)}
    config = ConfigDict(extra="allow" if open_ended else "forbid")
    model: type[BaseModel] = create_model(tool, __config__=config, **fields)
    return model


def _field(parameter: inspect.Parameter) -> tuple[Any, Any]:
    hint, default = modern(_resolved(parameter.annotation)), parameter.default
    if isinstance(default, FieldInfo):  # `city: str = Field("Rome", description=...)`
        return Annotated[hint, default], Field(alias=parameter.name)
    if default is parameter.empty:
        return hint, Field(alias=parameter.name)
    # The model's default only makes the field optional: the function's own is never copied, encoded or kept alive.
    return _or_none(hint) if default is None else hint, Field(alias=parameter.name, default=None)


def _resolved(hint: Any) -> Any:
    return Any if hint is inspect.Parameter.empty or isinstance(hint, str) else hint


def _or_none(hint: Any) -> Any:
    """`limit: int = None` accepts null, whatever its hint forgot."""
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return Annotated[(_or_none(inner), *metadata)]
    return Optional[hint]  # noqa: UP045 - `|` refuses what some people write as a hint


def _has_own_default(parameter: inspect.Parameter) -> bool:
    return parameter.default is not parameter.empty and not isinstance(parameter.default, FieldInfo)


def _has_schema(tool: str, parameter: inspect.Parameter) -> bool:
    try:
        _model(tool, [parameter], open_ended=False).model_json_schema(schema_generator=_Schema)
    except Exception as error:
        if _has_own_default(parameter):
            return False  # it keeps its default; the model never hears of it
        reason = str(error).split("\n", 1)[0]
        raise InvalidToolError(
            tool,
            parameter.name,
            f"no JSON value can fill it ({reason}). Give it a default, or bind it with functools.partial",
        ) from error
    return True


def _document(described: dict[str, Any], parameter: inspect.Parameter, documented: Mapping[str, str]) -> None:
    if parameter.name in documented:
        described.setdefault("description", documented[parameter.name])
    if _has_own_default(parameter):
        described.pop("default", None)
        # A connection or a sentinel is no JSON, and nothing a model could use.
        with suppress(PydanticSerializationError, ValueError):
            described["default"] = to_jsonable_python(parameter.default)
