"""One step's tools put in their places: the caller's own, the pinned ones, and the catalog that is searched."""

import hashlib
import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from toolsearch.callable_names import legal_name
from toolsearch.catalog import Catalog, as_tools_leniently
from toolsearch.errors import DuplicateToolError
from toolsearch.lru import LRU
from toolsearch.owners import owner, same
from toolsearch.processor.metatools import PROVENANCE, RESERVED
from toolsearch.search import ToolSearch
from toolsearch.similar import Similar
from toolsearch.tool import Tool
from toolsearch.view import View

logger = logging.getLogger(__name__)

_told: LRU[tuple[str, str], bool] = LRU(10_000)
"""A tool that is left out is warned of once, not in every step."""


@dataclass(frozen=True)
class StepCatalog:
    """What may be searched and loaded in one step: the static tools and this request's. Never shared."""

    search: ToolSearch
    request: Mapping[str, Tool] = field(default_factory=dict)

    @cached_property
    def replaced(self) -> list[str]:
        """Static tools that this request replaces."""
        return [name for name in self.request if name in self.search.catalog]

    @cached_property
    def view(self) -> View:
        """The rows behind these tools; made at the first need, which embeds what was never seen."""
        return self.search.view(list(self.request.values()), replaced=self.replaced)

    def resolve(self, name: str) -> Tool | None:
        """This request's tool of that name, else the static one."""
        return self.request.get(name) or self.search.catalog.get(name)

    def __iter__(self) -> Iterator[Tool]:
        for tool in self.search.catalog:
            if tool.id not in self.request:
                yield tool
        yield from self.request.values()

    def close(self, name: str, *, limit: int) -> list[Tool]:
        """Tools whose names are spelled like this one, nearest first."""
        hidden = len(self.replaced)
        names = [found for found in self.search.catalog.close(name, limit=limit + hidden) if found not in self.request]
        if self.request:
            names += Catalog(self.request.values()).close(name, limit=limit)
        tools = {found: tool for found in names if (tool := self.resolve(found)) is not None}
        nearest = Similar((found, (found, tool.name, *tool.aliases)) for found, tool in tools.items()).ranked(name)
        return [tools[found] for found, _ in zip(nearest, range(limit), strict=False)]

    @cached_property
    def version(self) -> str:
        """Changes exactly when the catalog does."""
        static = self.search.catalog.fingerprint
        if not self.request:
            return static
        parts = [static, *(tool.fingerprint for tool in self.request.values())]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()


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

    def without(self, names: Collection[str]) -> "StepTools":
        """The same less some of the caller's own."""
        return replace(
            self,
            own={name: tool for name, tool in self.own.items() if name not in names},
            prompt={name: tool for name, tool in self.prompt.items() if name not in names},
        )


def assemble(
    search: ToolSearch, tools: Mapping[str, object] | Iterable[object] | None, *, resolve: bool, pinned: Collection[str]
) -> StepTools:
    """Sort the tools that came with a step. A bad or clashing one is left out with one warning, and kills nothing.

    With `resolve` they join the catalog, the pinned ones aside; else they are the caller's own.
    """
    own: dict[str, Tool | None] = {}
    prompt: dict[str, object] = {}
    request: dict[str, Tool] = {}
    for name, item, tool in _read(tools, keep_foreign=not resolve):
        static = search.catalog.get(name)
        if tool is not None and tool.provenance == PROVENANCE:
            continue  # our own meta-tool, fed back
        if name in RESERVED:
            _leave_out(name, f"the name is reserved for a meta-tool; try {legal_name(name + '_2')!r}")
        elif name in own or name in request:
            _leave_out(name, "another tool of this request has the same name")
        elif tool is None or not resolve or tool.pinned or name in pinned:
            own[name], prompt[name] = tool, item
        elif name != legal_name(name):
            _leave_out(name, f"providers refuse the name; give it the id {legal_name(name)!r}")
        elif static is None or tool.overrides:
            request[name] = tool
        elif not is_same(static, tool):
            _leave_out(name, "a static tool has the same name; mark the request's tool overrides=True if it should win")
    return StepTools(StepCatalog(search, request), own, prompt, guarded=frozenset(own) if resolve else ())


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
    tools: Mapping[str, object] | Iterable[object] | None, *, keep_foreign: bool
) -> Iterator[tuple[str, object, Tool | None]]:
    """Name, object and tool of everything that came, in order; what cannot be read has no tool, or is left out."""
    if not tools:
        return
    if not keep_foreign:
        readable, errors = as_tools_leniently(tools)
        yield from ((tool.id, tool.unwrapped, tool) for tool in readable)
        for error in errors:
            _leave_out(str(getattr(error, "tool", "?")), str(error))
        return
    keyed = isinstance(tools, Mapping)
    for key, item in tools.items() if isinstance(tools, Mapping) else ((_type_of(tool), tool) for tool in tools):
        readable, errors = as_tools_leniently({key: item} if keyed and key is not None else [item])
        yield from ((tool.id, tool.unwrapped, tool) for tool in readable)
        if errors and key is not None:
            yield key, item, None
        elif errors:
            _leave_out(str(getattr(errors[0], "tool", "?")), str(errors[0]))


def _type_of(item: object) -> str | None:
    kind = item.get("type") if isinstance(item, Mapping) else getattr(item, "type", None)
    return kind if isinstance(kind, str) and kind != "function" else None


def _leave_out(name: str, reason: str) -> None:
    if _told.get((name, reason)) is None:
        _told.put((name, reason), True)
        logger.warning("left out the request's tool %r: %s", name, reason)
