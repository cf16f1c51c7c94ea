"""One step's tools put in their places: the caller's own, the pinned ones, and the catalog that is searched."""

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from toolsearch.callable_names import legal_name
from toolsearch.catalog import as_tools_leniently
from toolsearch.errors import DuplicateToolError
from toolsearch.lru import LRU
from toolsearch.messages import field
from toolsearch.owners import owner, same
from toolsearch.processor.metatools import PROVENANCE, RESERVED
from toolsearch.processor.stepcatalog import StepCatalog
from toolsearch.search import ToolSearch
from toolsearch.tool import Tool

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StepTools:
    """Where each tool of a step stands."""

    catalog: StepCatalog
    own: Mapping[str, Tool | None]
    """The caller's own tools that stay in the prompt, by callable name, in their order; None where the shape is not
    known (a provider's built-in tools): those are passed through."""
    prompt: Mapping[str, object]
    """The same, as the objects the caller gave."""
    guarded: Collection[str] = ()
    """Those of them that are under the filter's `active`: a request's pinned tools, where the others are searched."""

    def is_callers(self, name: str) -> bool:
        """Whether the name is that of a tool of the caller's own which is no tool of the catalog."""
        if name not in self.own:
            return False
        own, known = self.own[name], self.catalog.resolve(name)
        return own is None or known is None or not is_same(known, own)

    def without(self, names: Collection[str]) -> "StepTools":
        """The same less some of the caller's own."""
        if not names:
            return self
        return replace(
            self,
            own={name: tool for name, tool in self.own.items() if name not in names},
            prompt={name: tool for name, tool in self.prompt.items() if name not in names},
        )


class LeftOut:
    """Warns of a tool that is left out, once and not in every step."""

    def __init__(self) -> None:
        self._told: LRU[tuple[str, str], bool] = LRU(10_000)

    def note(self, name: str, reason: str) -> None:
        """Say why; a second time says nothing."""
        if self._told.get((name, reason)) is None:
            self._told.put((name, reason), True)
            logger.warning("left out the request's tool %r: %s", name, reason)


def assemble(
    search: ToolSearch,
    tools: Mapping[str, object] | Iterable[object] | None,
    *,
    resolve: bool,
    pinned: Collection[str],
    aliases: Mapping[str, str],
    left_out: LeftOut,
) -> StepTools:
    """Sort the tools that came with a step. A bad or clashing one is left out with one warning, and kills nothing.

    With `resolve` they join the catalog, the pinned ones aside; else they are the caller's own. `aliases` are the static
    tools' aliases with their owners' ids.
    """
    own: dict[str, Tool | None] = {}
    prompt: dict[str, object] = {}
    request: dict[str, Tool] = {}
    taken_over: set[str] = set()
    for name, item, tool in _read(tools, keep_foreign=not resolve, left_out=left_out):
        static = search.catalog.get(name)
        if tool is not None and _is_fed_back(tool, static):
            continue
        if name in RESERVED:
            left_out.note(name, f"the name is reserved for a meta-tool; try {legal_name(name + '_2')!r}")
        elif name in own or name in request:
            left_out.note(name, "another tool of this request has the same name")
        elif tool is None or not resolve:
            own[name], prompt[name] = tool, item
        elif name != legal_name(name):
            left_out.note(name, f"providers refuse the name; give it the id {legal_name(name)!r}")
        elif static is not None and not tool.overrides and not is_same(static, tool):
            left_out.note(
                name, "a static tool has the same name; mark the request's tool overrides=True if it should win"
            )
        elif tool.pinned or name in pinned:
            own[name], prompt[name] = tool, item
            if static is not None and not is_same(static, tool):
                taken_over.add(name)
        elif static is None or not is_same(static, tool):
            request[name] = tool
    if resolve:
        for name, reason in _clashing(search, own, request, aliases):
            left_out.note(name, reason)
            for names in (own, prompt, request):
                names.pop(name, None)
            taken_over.discard(name)
    catalog = StepCatalog(search, request, frozenset(taken_over))
    return StepTools(catalog, own, prompt, guarded=frozenset(own) if resolve else ())


def _is_fed_back(tool: Tool, static: Tool | None) -> bool:
    """Whether a framework rebuilt one of our tools and gives it back: a meta-tool, or a loaded tool of the catalog.

    What is loaded the processor knows itself; taken for the caller's own, the tool would escape the filter.
    """
    return tool.provenance == PROVENANCE or (static is not None and tool.provenance == static.fingerprint)


def _clashing(
    search: ToolSearch, own: Mapping[str, Tool | None], request: Mapping[str, Tool], aliases: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Tools of a request that answer to the name of another tool, and why they go."""
    claimed: set[str] = set()
    for name, tool in [*own.items(), *request.items()]:
        if aliases.get(name, name) != name:
            yield name, f"the static tool {aliases[name]!r} has this name as an alias"
        for alias in () if tool is None else tool.aliases:
            holder = aliases.get(alias, name)
            known = alias in RESERVED or alias in own or alias in request or alias in search.catalog
            if alias != name and (known or alias in claimed or holder != name):
                yield name, f"its alias {alias!r} is the name of another tool"
                break
            claimed.add(alias)


def is_same(first: Tool, second: Tool) -> bool:
    """Whether two tools are one: one object, one original, or the second made by us from the first."""
    return same(first, second) or second.provenance == first.fingerprint or first.provenance == second.fingerprint


def check_clash(name: str, own: Tool | None, loaded: Tool) -> None:
    """One name in the prompt has one owner; `own` is None for a caller's tool of unknown shape.

    Raises:
        DuplicateToolError: two different tools have this name.
    """
    if own is None or not is_same(loaded, own):
        caller = "of a shape not known here" if own is None else owner(own)
        raise DuplicateToolError(name, (f"the caller's own tool {caller}", f"the loaded tool {owner(loaded)}"))


def _read(
    tools: Mapping[str, object] | Iterable[object] | None, *, keep_foreign: bool, left_out: LeftOut
) -> Iterator[tuple[str, object, Tool | None]]:
    """Name, object and tool of everything that came, in order; what cannot be read has no tool, or is left out."""
    if not tools:
        return
    if isinstance(tools, Mapping):
        for key in [key for key in tools if not isinstance(key, str) or not key]:
            left_out.note(repr(key), "a mapping of tools has names as its keys")
        tools = {key: item for key, item in tools.items() if isinstance(key, str) and key}
    elif isinstance(tools, str | bytes) or not isinstance(tools, Iterable):
        left_out.note(type(tools).__name__, "tools come in a mapping or an iterable")
        return
    if not keep_foreign:
        readable, errors = as_tools_leniently(tools)
        yield from ((tool.id, tool.unwrapped, tool) for tool in readable)
        for error in errors:
            left_out.note(str(getattr(error, "tool", "?")), str(error))
        return
    keyed = isinstance(tools, Mapping)
    for key, item in tools.items() if isinstance(tools, Mapping) else _with_foreign_names(tools):
        readable, errors = as_tools_leniently({key: item} if keyed and key is not None else [item])
        yield from ((tool.id, tool.unwrapped, tool) for tool in readable)
        if errors and key is not None:
            yield key, item, None
        elif errors:
            left_out.note(str(getattr(errors[0], "tool", "?")), str(errors[0]))


def _with_foreign_names(tools: Iterable[object]) -> Iterator[tuple[str | None, object]]:
    """Each with what a provider's own tool is called by: its name, else its type (`mcp`, `mcp_2`); None for others."""
    nameless: Counter[str] = Counter()
    for item in tools:
        kind, name = field(item, "type"), field(item, "name")
        if not isinstance(kind, str) or kind == "function":
            yield None, item
        elif isinstance(name, str) and name:
            yield name, item
        else:
            nameless[kind] += 1
            yield kind if nameless[kind] == 1 else f"{kind}_{nameless[kind]}", item
