"""`load_tool` and `unload_tool` at work: exact names, and close ones for what is not there."""

from collections.abc import Mapping
from itertools import takewhile
from typing import Any

from pydantic import ValidationError

from toolsearch.identifiers import words
from toolsearch.processor import texts
from toolsearch.processor.context import StepContext
from toolsearch.processor.metatools import NameArguments
from toolsearch.processor.options import MIN_SCORE
from toolsearch.tool import Tool
from toolsearch.view import refusal
from toolsearch.waiting import Waiting

_SUGGESTIONS = 3
_ECHO = 256
"""Characters of a name the model wrote that come back to it."""


async def run_load(step: StepContext, arguments: Mapping[str, Any], waiting: Waiting) -> dict[str, Any]:
    """The answer of `load_tool`."""
    names = _names(arguments)
    if not names:
        return _answer(success=False, message=texts.LOAD_USAGE)
    missing, may_load = [], []
    already = [name for name in names if name in step.tools.own or name in step.pinned]
    for name in names:
        tool = step.catalog.resolve(name)
        if name in already:
            continue
        if tool is not None and await step.allows(tool, "load", waiting):
            may_load.append(name)
        else:
            missing.append(name)
    # One atomic act decides what is new, however many steps of this thread load at the same time.
    new = await step.loaded_set.add(may_load, waiting)
    step.note_loaded(new)
    if new:
        step.history.progress()
    already = [name for name in names if name in already or (name in may_load and name not in new)]
    here = [name for name in already if step.in_prompt(name)]
    hidden = [name for name in already if name in step.hidden and name not in here]
    close = await _close(step, missing, waiting) if missing else []
    keeps = step.loaded_set.keeps
    return _answer(
        success=not missing and (keeps or not new),
        message=texts.load_message(
            loaded=new,
            here=here,
            coming=[name for name in already if name not in here and name not in hidden],
            hidden=hidden,
            missing=missing,
            close=close,
            keeps=keeps,
        ),
        tool_name=names[0] if len(names) == 1 else None,
        loaded=new if keeps else [],
        not_found=missing,
        already_loaded=already,
    )


async def run_unload(step: StepContext, arguments: Mapping[str, Any], waiting: Waiting) -> dict[str, Any]:
    """The answer of `unload_tool`."""
    names = _names(arguments)
    if not names:
        return {"success": False, "message": texts.UNLOAD_USAGE, "unloaded": [], "not_loaded": []}
    gone = await step.loaded_set.remove(names, waiting)
    for name in gone:
        step.pending.pop(name, None)
    absent = [name for name in names if name not in gone]
    said = [f"Unloaded {', '.join(gone)}: no longer listed from the next model call on."] if gone else []
    if absent:
        said.append(f"Not loaded: {', '.join(map(texts.quoted, absent))}.")
    return {"success": not absent, "message": " ".join(said), "unloaded": gone, "not_loaded": absent}


def _names(arguments: Mapping[str, Any]) -> list[str]:
    try:
        return NameArguments.model_validate(dict(arguments)).names
    except ValidationError:
        return []


def _answer(
    *,
    success: bool,
    message: str,
    tool_name: str | None = None,
    loaded: list[str] | None = None,
    not_found: list[str] | None = None,
    already_loaded: list[str] | None = None,
) -> dict[str, Any]:
    return {
        "success": success,
        "message": message,
        "tool_name": tool_name and _echo(tool_name),
        "loaded": loaded or [],
        "not_found": [_echo(name) for name in not_found or []],
        "already_loaded": already_loaded or [],
        "loaded_count": len(loaded or []),
    }


def _echo(name: str) -> str:
    return name if len(name) <= _ECHO else name[: _ECHO - 3] + "..."


async def _close(step: StepContext, missing: list[str], waiting: Waiting) -> list[str]:
    """Up to three names like the missing ones that this request may see and load, nearest first.

    A denied tool is treated as if it did not exist, so the answer for it is the answer for an unknown name; however
    many denied ones stand in front, they take no place from those that are allowed.
    """
    found: dict[str, None] = {}
    asked = set(missing)
    for name in missing:
        for look in (_spelled_alike, _meant_alike):
            for tool in await look(step, name, waiting):
                if tool.id in asked:
                    continue
                asked.add(tool.id)
                if await step.allows(tool, "search", waiting) and await step.allows(tool, "load", waiting):
                    found[tool.id] = None
                    if len(found) == _SUGGESTIONS:
                        return list(found)
    return list(found)


async def _spelled_alike(step: StepContext, name: str, waiting: Waiting) -> list[Tool]:
    return await waiting.offload(lambda: step.catalog.close(name))


async def _meant_alike(step: StepContext, name: str, waiting: Waiting) -> list[Tool]:
    query = words(name)
    if refusal(query) is not None:
        return []

    def alike() -> list[Tool]:
        (vector,) = step.search.encode([query])
        ranking = step.catalog.view.ranking(query, vector)
        # A cut that is off for searching would make everything a suggestion.
        floor = step.options.min_score or MIN_SCORE
        return [match.tool for match in takewhile(lambda match: match.score >= floor, ranking)]

    return await waiting.offload(alike)
