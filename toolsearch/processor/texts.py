"""Every sentence the model reads. None repeats what a stranger wrote, except names and cleaned descriptions."""

import json
from collections.abc import Sequence

from toolsearch.cleaning import shorten
from toolsearch.processor.metatools import LOAD, NEXT, SEARCH, UNLOAD

INSTRUCTION = (
    f"You have more tools than are listed here. To find one, call {SEARCH} and say in a few words what has to be done. "
    f"To use a tool it finds, call {LOAD} with tool_name or tool_names; a loaded tool is {NEXT}."
)
INSTRUCTION_AUTO_LOAD = (
    f"You have more tools than are listed here. To find one, call {SEARCH} and say in a few words what has to be done. "
    f"The tools it finds are loaded by themselves and {NEXT}; there is no separate load step."
)

CATALOG = (
    f"The following tools can be loaded with {LOAD} (tool_name or tool_names) without searching; "
    f"a loaded tool is {NEXT}. {SEARCH} finds them by what they do.\n\nAvailable tools:\n"
)
CATALOG_AUTO_LOAD = (
    f"The following tools exist. {SEARCH} with a tool's name loads it; a loaded tool is {NEXT}.\n\nAvailable tools:\n"
)
SUMMARY = "The tools come from these servers (number of tools): "

SEARCH_USAGE = (
    f"{SEARCH} takes exactly one of query (a string) and queries (a list of strings). "
    "Say in a few words what the tool should do."
)
NOTHING = (
    "No tool fits. Say it in other words, name the object and the action (such as 'create calendar event'), "
    "or go on without a tool."
)
REPEATED = "You have been given these results before: searching again in the same words brings nothing new."
STOP = "These searches bring nothing new. Stop searching and answer without a tool, or with the tools you have."
NOT_KEPT = "This request has neither a thread id nor a run, so nothing can stay loaded beyond this step."

LOAD_USAGE = f"Say which tool: {LOAD} takes tool_name (a string) or tool_names (a list of strings)."
UNLOAD_USAGE = f"Say which tool: {UNLOAD} takes tool_name (a string) or tool_names (a list of strings)."
NOT_LOADED = f"This tool is not loaded. Find it with {SEARCH} and load it with {LOAD}."
NOT_LOADED_AUTO_LOAD = f"This tool is not loaded. {SEARCH} finds it and loads it."
PENDING = f"This tool has just been loaded and is {NEXT}. Do not call it in this step."


def found(fresh: Sequence[str], here: Sequence[str], coming: Sequence[str], *, auto_load: bool, keeps: bool) -> str:
    """What to do with the results of a search: those to load, those in the prompt, those this step has loaded."""
    said = []
    if fresh and auto_load and keeps:
        said.append(f"Found and loaded {', '.join(fresh)}: {NEXT}.")
    elif fresh and auto_load:
        said.append(f"Found {', '.join(fresh)}. {NOT_KEPT}")
    elif fresh:
        count = len(fresh) + len(here) + len(coming)
        said.append(f"Found {count} tool(s). Load what you need with {LOAD}; it is {NEXT}.")
    if here:
        said.append(f"Already loaded, call directly without loading: {', '.join(shorten(name, 128) for name in here)}.")
    if coming:
        said.append(f"Loaded in this step, {NEXT}: {', '.join(coming)}.")
    return " ".join(said)


def dropped(count: int) -> str:
    """Results that an answer had no room for."""
    return f"{count} more match(es) did not fit: ask more precisely to see them."


def over_top_k(count: int) -> str:
    """Matches of several queries beyond what is activated at once."""
    return f"{count} more match(es) were not loaded: search for one thing at a time to get them."


def too_many_queries(skipped: int, limit: int) -> str:
    """Queries beyond the limit of one call."""
    return f"{skipped} querie(s) were left out: at most {limit} a call."


def load_message(
    *,
    loaded: Sequence[str],
    here: Sequence[str],
    coming: Sequence[str],
    hidden: Sequence[str],
    missing: Sequence[str],
    close: Sequence[str],
    keeps: bool,
) -> str:
    """What a load came to. Unknown and denied names read the same.

    Of the names loaded before, some are in the prompt (`here`), some come with the next model call (`coming`), and some
    this request may not have (`hidden`): a model told to call those would go in circles.
    """
    said = []
    if loaded and keeps:
        said.append(f"Loaded {', '.join(loaded)}: {NEXT}.")
    elif loaded:
        said.append(NOT_KEPT)
    if here:
        said.append(f"Already loaded, call directly: {', '.join(here)}.")
    if coming:
        said.append(f"Already loaded, {NEXT}: {', '.join(coming)}.")
    if hidden:
        said.append(f"Loaded, but not available in this request: {', '.join(hidden)}. Go on without.")
    if missing:
        said.append(f"Not found: {', '.join(map(quoted, missing))}.")
        said.append(f"Did you mean {' or '.join(close)}?" if close else f"Find tools with {SEARCH}.")
    return " ".join(said)


def quoted(name: str) -> str:
    """A name the model wrote, as a JSON string without anything that could end the sentence."""
    return json.dumps(shorten(name, 64))


def wrong_arguments(problems: Sequence[str]) -> str:
    """Arguments that do not fit the schema, which goes beside this sentence."""
    return (
        f"The arguments do not fit the tool's parameters: {'; '.join(problems)}. Call it again with arguments that do."
    )
