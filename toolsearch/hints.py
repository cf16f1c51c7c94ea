"""Type hints: what a parameter accepts, as far as it can be resolved, and which parameters belong to a framework."""

import inspect
import logging
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

import typing_extensions

logger = logging.getLogger(__name__)

# Frameworks pass an object of such a class themselves; a model can never fill it.
# Pydantic AI, OpenAI Agents, LangChain, FastMCP and MCP, ADK, Strands, Agent Framework.
CONTEXT_CLASSES = frozenset(
    {
        "RunContext", "RunContextWrapper", "AgentRunContext", "ToolContext", "ToolRuntime", "RunnableConfig", "Context",
        "CallToolRequestContext", "ServerRequestContext", "RequestContext", "ReadonlyContext", "CallbackContext",
        "InvocationContext", "FunctionInvocationContext",
    }
)  # fmt: skip
CONTEXT_NAMES = frozenset({"ctx", "context", "run_context"})
"""A first parameter of this name without an annotation belongs to a framework too."""


def resolved_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Hints by parameter name; one that names something unknown stays the text it is, and a warning says so."""
    try:
        return typing.get_type_hints(function, include_extras=True)
    except Exception:  # noqa: BLE001 - evaluating a hint runs what its author wrote
        return _one_by_one(function)


def _one_by_one(function: Callable[..., Any]) -> dict[str, Any]:
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    try:
        annotations = dict(function.__annotations__)
    except Exception:  # noqa: BLE001 - from Python 3.14 on, reading the annotations evaluates them
        return {}
    hints: dict[str, Any] = {}
    for name, annotation in annotations.items():
        hints[name] = annotation
        if isinstance(annotation, str):
            probe = types.SimpleNamespace(__annotations__={name: annotation})
            try:
                hints[name] = typing.get_type_hints(probe, globalns=scope, include_extras=True)[name]
            except Exception as error:  # noqa: BLE001 - as above
                if name != "return" and not is_context(annotation):
                    logger.warning(
                        "%s: the hint %r of parameter %r cannot be resolved (%s); it accepts anything",
                        getattr(function, "__qualname__", function), annotation, name, error,
                    )  # fmt: skip
    return hints


def is_context(annotation: Any) -> bool:
    """Whether a hint, resolved or still text, says that the framework fills this parameter."""
    if isinstance(annotation, str):
        head = annotation.removeprefix("Optional[").split("[")[0].split("|")[0].strip(" \"'")
        return head.rsplit(".", 1)[-1] in CONTEXT_CLASSES
    origin = typing.get_origin(annotation)
    if origin is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        return is_context(inner) or any(map(_is_injected, metadata))
    if origin in (typing.Union, types.UnionType):
        return any(map(is_context, typing.get_args(annotation)))
    named = annotation if origin is None else origin
    return getattr(named, "__name__", None) in CONTEXT_CLASSES


def _is_injected(metadata: Any) -> bool:
    # LangChain: InjectedState, InjectedStore, InjectedToolArg, InjectedToolCallId, as class or instance.
    kind = metadata if isinstance(metadata, type) else type(metadata)
    return any(base.__name__.startswith("Injected") for base in kind.__mro__)


def modern(annotation: Any) -> Any:
    """The same hint with each `typing.TypedDict` rebuilt as `typing_extensions.TypedDict`.

    Before Python 3.12 pydantic takes only the latter.
    """
    if sys.version_info >= (3, 12):
        return annotation
    return _modern(annotation, {})


def _modern(annotation: Any, known: dict[Any, Any]) -> Any:
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        if annotation not in known:
            known[annotation] = dict[str, Any]  # a dictionary that contains itself is described one level deep
            known[annotation] = _rebuilt(annotation, known)
        return known[annotation]
    arguments = typing.get_args(annotation)
    if not arguments or typing.get_origin(annotation) is typing.Literal:
        return annotation
    renewed = tuple(_modern(argument, known) for argument in arguments)
    if renewed == arguments:
        return annotation
    if isinstance(annotation, types.UnionType):
        return typing.Union[renewed]  # noqa: UP007 - a tuple of types
    if typing.get_origin(annotation) is typing.Annotated:
        return typing.Annotated[renewed]
    return annotation.copy_with(renewed) if hasattr(annotation, "copy_with") else typing.get_origin(annotation)[renewed]


def _rebuilt(typed: Any, known: dict[Any, Any]) -> Any:
    hints: Mapping[str, Any] = typing.get_type_hints(typed, include_extras=True)
    fields = {}
    for name, hint in hints.items():
        if typing.get_origin(hint) in (typing.Required, typing.NotRequired):
            hint = typing.get_args(hint)[0]  # noqa: PLW2901 - the wrapper is put back below
        wrapper = typing_extensions.Required if name in typed.__required_keys__ else typing_extensions.NotRequired
        fields[name] = wrapper[_modern(hint, known)]
    rebuilt = typing_extensions.TypedDict(typed.__name__, fields)  # type: ignore[misc]
    rebuilt.__doc__ = typed.__doc__
    rebuilt.__module__ = typed.__module__
    return rebuilt
