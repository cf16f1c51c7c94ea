"""`load_tool` and `unload_tool` at work: exact names, and close ones for what is not there."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from toolsearch.identifiers import words
from toolsearch.processor import texts
from toolsearch.processor.context import StepContext
from toolsearch.processor.metatools import NameArguments
from toolsearch.tool import Tool
from toolsearch.view import refusal
from toolsearch.waiting import Waiting

_SUGGESTIONS = 3
_NEAR = 12
"""Close names that are looked at: the filter is asked about these, not about the catalog."""


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
    step.pending.update(dict.fromkeys(name for name in new if name not in step.active))
    if new:
        step.history.progress()
    already = [name for name in names if name in already or (name in may_load and name not in new)]
    close = await _close(step, missing, waiting) if missing else []
    keeps = step.loaded_set.keeps
    return _answer(
        success=not missing and (keeps or not new),
        message=texts.load_message(new, already, missing, close, keeps=keeps),
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
        "tool_name": tool_name,
        "loaded": loaded or [],
        "not_found": not_found or [],
        "already_loaded": already_loaded or [],
        "loaded_count": len(loaded or []),
    }


async def _close(step: StepContext, missing: list[str], waiting: Waiting) -> list[str]:
    """Up to three names like the missing ones that this request may see and load, nearest first.

    A denied tool is treated as if it did not exist, so the answer for it is the answer for an unknown name.
    """
    found: dict[str, None] = {}
    for name in missing:
        for tool in await _near(step, name, waiting):
            if len(found) == _SUGGESTIONS:
                return list(found)
            if (
                tool.id not in found
                and tool.id not in missing
                and await step.allows(tool, "search", waiting)
                and await step.allows(tool, "load", waiting)
            ):
                found[tool.id] = None
    return list(found)


async def _near(step: StepContext, name: str, waiting: Waiting) -> list[Tool]:
    """Tools whose names are spelled alike, then those that mean what the name says."""
    near = {tool.id: tool for tool in step.catalog.close(name, limit=_NEAR)}
    query = words(name)
    if refusal(query) is None:

        def alike() -> list[Tool]:
            (vector,) = step.search.encode([query])
            ranking = step.catalog.view.ranking(query, vector)
            enough = (match for match in ranking if match.score >= step.options.min_score)
            return [match.tool for match, _ in zip(enough, range(_NEAR), strict=False)]

        near.update((tool.id, tool) for tool in await waiting.offload(alike) if tool.id not in near)
    return list(near.values())
