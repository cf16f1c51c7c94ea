"""Naming: callable names for a whole catalog, and the rules a processor's catalog keeps."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator

from toolsearch.callable_names import is_legal, legal_name, with_digest
from toolsearch.errors import DuplicateToolError, IllegalNameError, ReservedNameError
from toolsearch.lookalikes import Spelling, look_alikes
from toolsearch.owners import owner, same
from toolsearch.tool import Tool

logger = logging.getLogger(__name__)

_SHOWN = 20
"""A warning names this many; a catalog of thousands would fill the log."""


def legal_names(tools: Iterable[Tool]) -> list[Tool]:
    """The tools in their order with legal, unique ids; an id that had to change stays as an alias where no other tool claims it.

    Of tools that share an id each is qualified by its server (`github_create_issue`). What still clashes ends in a
    digest of where the tool comes from. A tool whose id is legal and its own is returned as it is;
    the same object given twice is one tool.
    """
    given = list({id(tool): tool for tool in tools}.values())
    shared = Counter(tool.id for tool in given)
    wished = [legal_name(tool.id if shared[tool.id] == 1 else _qualified(tool)) for tool in given]
    contested = Counter(wished)
    # A tool keeps the name it came with; only those that had to change make room.
    taken = {tool.id for tool, wish in zip(given, wished, strict=True) if tool.id == wish and shared[tool.id] == 1}
    names: list[str] = []
    for tool, wish in zip(given, wished, strict=True):
        kept = tool.id == wish and shared[tool.id] == 1
        names.append(wish if kept else _free(wish, tool, taken, contested=contested[wish] > 1))
        taken.add(names[-1])
    claimed = Counter(alias for tool in given for alias in tool.aliases)
    return [
        _renamed(tool, name, keep=shared[tool.id] == 1 and tool.id not in taken and not claimed[tool.id])
        for tool, name in zip(given, names, strict=True)
    ]


def check_callable(tools: Collection[Tool], reserved: Collection[str]) -> None:
    """Check the names of a processor's catalog; warn once of those that look alike.

    Raises:
        IllegalNameError: an id that providers refuse; the error offers a legal one.
        ReservedNameError: an id or alias that belongs to a meta-tool.
        DuplicateToolError: an alias that is another tool's id or alias.
    """
    owners: dict[str, Tool] = {}
    for tool in tools:
        if not is_legal(tool.id):
            raise IllegalNameError(tool.id, legal_name(tool.id))
        owners[tool.id] = tool
    for tool in tools:
        for name in (tool.id, *tool.aliases):
            if name in reserved:
                raise ReservedNameError(name, _unreserved(tool, owners))
            known = owners.setdefault(name, tool)
            if known is not tool and not same(known, tool):
                raise DuplicateToolError(name, (owner(known), owner(tool)))
    _warn(tools)


def warn_of_silent(tools: Iterable[Tool]) -> None:
    """Log the tools without a description, in one warning."""
    silent = [repr(tool.id) for tool in tools if not tool.description.strip()]
    if silent:
        logger.warning("Tools without a description are found by name and parameters only: %s", _listed(silent))


def _warn(tools: Collection[Tool]) -> None:
    pairs = [f"{first!r} and {second!r}" for first, second in look_alikes(_spelled(tools))]
    if pairs:
        logger.warning("Tool names that look alike and are not the same: %s", _listed(pairs))


def _spelled(tools: Iterable[Tool]) -> Iterator[Spelling]:
    for place, tool in enumerate(tools):
        for name in dict.fromkeys((tool.id, *tool.aliases)):
            yield Spelling(name, place)
        # Titles and short names repeat between servers.
        for name in dict.fromkeys((tool.name, tool.title or "")):
            if name and name != tool.id:
                yield Spelling(name, place, cased=False)


def _listed(items: list[str]) -> str:
    more = len(items) - _SHOWN
    return ", ".join(items[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _qualified(tool: Tool) -> str:
    return f"{tool.server}_{tool.id}" if tool.server else tool.id


def _free(wish: str, tool: Tool, taken: Collection[str], *, contested: bool) -> str:
    # Every contestant gets a digest, not all but the first: names then do not depend on the order of the catalog.
    if not contested and wish not in taken:
        return wish
    source = f"{tool.server}\n{tool.id}\n{tool.fingerprint}"
    candidates = (with_digest(wish, of=f"{source}\n{attempt}") for attempt in range(len(taken) + 1))
    return next(name for name in candidates if name not in taken)


def _renamed(tool: Tool, name: str, *, keep: bool) -> Tool:
    if name == tool.id:
        return tool
    aliases = (tool.id, *(alias for alias in tool.aliases if alias != tool.id)) if keep else tool.aliases
    return tool.model_copy(update={"id": name, "aliases": aliases})


def _unreserved(tool: Tool, owners: Collection[str]) -> str:
    plain = legal_name(f"{tool.server}_{tool.id}" if tool.server else f"my_{tool.id}")
    return plain if plain not in owners else with_digest(plain, of=tool.fingerprint)
