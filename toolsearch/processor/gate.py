"""The one gate through which a tool runs: it is in the prompt, the filter allows it, its arguments fit."""

import inspect
import json
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import jsonschema
import jsonschema_specifications  # type: ignore[import-untyped] # ships none
from jsonschema.exceptions import SchemaError
from jsonschema.validators import validator_for
from referencing.exceptions import Unresolvable

from toolsearch.cleaning import shorten
from toolsearch.errors import NoExecutorError
from toolsearch.lru import LRU
from toolsearch.processor import texts
from toolsearch.processor.context import StepContext
from toolsearch.processor.loading import run_load, run_unload
from toolsearch.processor.metatools import LOAD, SEARCH, UNLOAD
from toolsearch.processor.searching import run_search
from toolsearch.tool import Tool
from toolsearch.waiting import Waiting

logger = logging.getLogger(__name__)

Reason = Literal["not-loaded", "pending", "arguments"]
"""Why a call was refused: the tool is not in the prompt (or denied, or unknown), it comes with the next model call,
or its arguments do not fit."""

_META = {SEARCH: run_search, LOAD: run_load, UNLOAD: run_unload}
_PROBLEMS = 3
_DEEP = 16
"""Levels of arguments; where the check of deeper ones runs out of stack, it is they that are refused."""

_validators: LRU[str, Any] = LRU(4_096)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call came to."""

    tool: str
    """The name that was called."""
    content: Any
    """What the tool returned; for a refusal a dictionary that tells the model what to do."""
    is_error: bool = False
    """The tool did not run."""
    reason: Reason | None = None


async def check(step: StepContext, name: str, arguments: Any, waiting: Waiting) -> CallResult | dict[str, Any]:
    """The arguments as an object, or the refusal. Asks the filter anew: a right may have been withdrawn since the step began."""
    tool = await _callable(step, name, waiting)
    if isinstance(tool, CallResult):
        return tool
    values = _object(arguments)
    if name in step.meta:
        return (
            values or {}
        )  # wrong arguments are answered by the meta-tool, which reads more spellings than its schema says
    problems = ["the arguments are not a JSON object"] if values is None else _problems(tool, values)
    if values is None or problems:
        schema = {} if tool is None else dict(tool.parameters)
        content = {"success": False, "message": texts.wrong_arguments(problems), "parameters": schema}
        return CallResult(name, content, is_error=True, reason="arguments")
    return values


async def call(step: StepContext, name: str, arguments: Any, waiting: Waiting) -> CallResult:
    """Run a tool through the gate. What the tool raises is the caller's to handle.

    Raises:
        NoExecutorError: the tool may run, and came as a definition only.
    """
    if name in step.meta:
        return CallResult(name, await _META[name](step, _object(arguments) or {}, waiting))
    values = await check(step, name, arguments, waiting)
    if isinstance(values, CallResult):
        return values
    tool = step.active.get(name) or step.pinned.get(name) or step.tools.own.get(name)
    if tool is None or tool.executor is None:
        raise NoExecutorError(name)
    executor = tool.executor
    step.history.progress()
    if inspect.iscoroutinefunction(executor) or inspect.iscoroutinefunction(type(executor).__call__):
        result = executor(**values)
    else:
        result = await waiting.offload(lambda: executor(**values))
    return CallResult(name, await waiting.settle(result, f"The tool {name!r}"))


async def _callable(step: StepContext, name: str, waiting: Waiting) -> Tool | CallResult | None:
    """The tool of that name if the model may call it now; None for a caller's tool of a shape we do not know."""
    if name in step.meta:
        return step.meta[name]
    if name in step.tools.own and name not in step.tools.guarded and name not in step.active:
        return step.tools.own[name]
    tool = step.active.get(name) or step.pinned.get(name) or step.tools.own.get(name)
    if tool is not None and await step.allows(tool, "active", waiting):
        return tool
    if name in step.pending and tool is None:
        return CallResult(name, {"success": False, "message": texts.PENDING}, is_error=True, reason="pending")
    # Unknown, never loaded and denied read the same.
    message = texts.NOT_LOADED_AUTO_LOAD if step.options.auto_load else texts.NOT_LOADED
    return CallResult(name, {"success": False, "message": message}, is_error=True, reason="not-loaded")


def _object(arguments: Any) -> dict[str, Any] | None:
    """Arguments as a dictionary: a mapping, its JSON text, or nothing at all."""
    if arguments is None or arguments == "":
        return {}
    if isinstance(arguments, str | bytes):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    if not isinstance(arguments, Mapping) or not all(isinstance(name, str) for name in arguments):
        return None
    return dict(arguments)


def _problems(tool: Tool | None, values: Mapping[str, Any]) -> list[str]:
    """What is wrong with the arguments, in words for the model; a schema that is itself broken cannot object.

    Arguments that keep the check from its end are wrong: else one deep or huge value would let all the others pass.
    """
    if tool is None:
        return []
    try:
        errors = sorted(_validator(tool).iter_errors(values), key=lambda error: list(map(str, error.path)))
    except OverflowError:
        return ["a number is too large"]
    except (SchemaError, Unresolvable, RecursionError) as error:
        if isinstance(error, RecursionError) and _is_deep(values):
            return ["the arguments are nested too deeply"]
        logger.warning(
            "the parameters of tool %r are no usable JSON schema, its calls go unchecked: %s", tool.id, error
        )
        return []
    return [
        shorten(f"{'.'.join(map(str, error.path)) or 'arguments'}: {error.message}", 200)
        for error in errors[:_PROBLEMS]
    ]


def _is_deep(values: Mapping[str, Any]) -> bool:
    level: list[Any] = [values]
    for _ in range(_DEEP):
        level = [inner for value in level for inner in _inside(value)]
    return bool(level)


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list | tuple) else ()


def _validator(tool: Tool) -> Any:
    found = _validators.get(tool.fingerprint)
    if found is None:
        kind: Any = jsonschema.Draft202012Validator
        if isinstance(tool.parameters.get("$schema"), str):
            kind = validator_for(tool.parameters, default=kind)
        kind.check_schema(dict(tool.parameters))
        # With a registry of its own nothing is fetched: a stranger's `$ref` must not make us open addresses.
        found = kind(dict(tool.parameters), registry=jsonschema_specifications.REGISTRY)
        _validators.put(tool.fingerprint, found)
    return found
