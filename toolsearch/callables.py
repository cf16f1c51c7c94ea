"""Callables: a function, method, partial or callable object as a tool that runs it."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from toolsearch.docstrings import read_docstring
from toolsearch.errors import InvalidToolError
from toolsearch.function_memory import FunctionMemory
from toolsearch.reading import rebind
from toolsearch.signatures import Signature, read_signature
from toolsearch.tool import Tool, make_tool

_LAMBDA = "<lambda>"


@dataclass(frozen=True, slots=True)
class Described:
    """What was read from one function; it holds neither the function nor anything bound to it."""

    tool: Tool
    signature: Signature


@dataclass(frozen=True, slots=True)
class _Inside:
    """The function within a partial, a method or a callable object."""

    function: Any
    positional: int
    """How many positional arguments are bound."""
    named: frozenset[str]
    method: bool


# By function, never by tool: two requests that bring one function share what it says of itself, not the tool.
_described: FunctionMemory[Described] = FunctionMemory()


def tool_from_callable(function: Callable[..., Any], *, key: str | None = None) -> Tool:
    """The tool that runs `function`: its id is `key`, else the function's name.

    The executor takes JSON arguments by name, turns them into what the hints ask for (models, dataclasses, enums)
    and is a coroutine function where `function` is. Parameters that a framework fills (a `RunContext`, `ctx`, `self`)
    are no part of the schema; where such a parameter has no default the tool has no executor, and only the framework runs it.

    Raises:
        InvalidToolError: no name, a class, or a parameter that no JSON argument can fill.
    """
    described = describe(function, key=key)
    executor = None if described.signature.needs_context else _executor(function, described.signature)
    return rebind(described.tool, function, executor)


def describe(function: Callable[..., Any], *, key: str | None = None) -> Described:
    """What a model needs to know of a callable; remembered for as long as the function inside it lives.

    Raises:
        InvalidToolError: as `tool_from_callable`.
    """
    inside = _inside(function)
    variant = (key, inside.positional, inside.named, inside.method)
    known = _described.get(inside.function, variant)
    if known is None:
        known = _describe(function, inside, key)
        _described.put(inside.function, variant, known)
    return known


def _inside(function: Any) -> _Inside:
    positional, named = 0, frozenset[str]()
    while isinstance(function, partial):
        positional, named = positional + len(function.args), named | frozenset(function.keywords)
        function = function.func
    if inspect.isclass(function):
        raise InvalidToolError(
            function.__name__, "tool", "a class is no tool; give an instance that can be called, or a function"
        )
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__")  # noqa: B004, B009 - the method behind the instance is what carries hints
        return _Inside(function, positional, named, method=True)
    if inspect.ismethod(function):
        return _Inside(function.__func__, positional, named, method=True)
    return _Inside(function, positional, named, method=False)


def _core(function: Any) -> Any:
    while isinstance(function, partial):
        function = function.func
    return function


def _describe(function: Any, inside: _Inside, key: str | None) -> Described:
    core = _core(function)
    name = getattr(core, "__name__", type(core).__name__)
    if name == _LAMBDA:
        if key is None:
            raise InvalidToolError(
                name, "name", "a lambda has no name; give it a key in a mapping of tools, or define a function"
            )
        name = key
    # An instance speaks in its `__call__` first, then in its class. `getdoc` would inherit what `type` says of calling.
    told = (
        inspect.getdoc(inside.function)
        if inspect.isroutine(core)
        else inside.function.__doc__ or inspect.getdoc(type(core))
    )
    docstring = read_docstring(told)
    signature = read_signature(
        function, tool=name, hinted=inside.function, bound=inside.named, documented=docstring.parameters
    )
    tool = make_tool(
        name=name, description=docstring.description, parameters=signature.schema, **({"id": key} if key else {})
    )
    tool.fingerprint  # noqa: B018 - computed once, shared by every tool bound to this description
    return Described(tool, signature)


def _executor(function: Callable[..., Any], signature: Signature) -> Callable[..., Any]:
    core = _core(function)
    if inspect.iscoroutinefunction(core if inspect.isroutine(core) else type(core).__call__):

        async def run_async(**arguments: Any) -> Any:
            positional, named = signature.arguments(arguments, function)
            outcome: Awaitable[Any] = function(*positional, **named)
            return await outcome

        return run_async

    def run(**arguments: Any) -> Any:
        positional, named = signature.arguments(arguments, function)
        return function(*positional, **named)

    return run
