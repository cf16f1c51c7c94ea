"""The catalog of one step: the static tools together with those that exist for this request only."""

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from toolsearch.catalog import Catalog
from toolsearch.search import ToolSearch
from toolsearch.similar import Similar
from toolsearch.tool import Tool
from toolsearch.view import View


@dataclass(frozen=True)
class StepCatalog:
    """What may be searched and loaded in one step: the static tools and this request's. Never shared."""

    search: ToolSearch
    request: Mapping[str, Tool] = field(default_factory=dict)
    taken_over: Collection[str] = ()
    """Static names that a tool in the prompt overrides."""

    @cached_property
    def replaced(self) -> list[str]:
        """Static tools that this request replaces."""
        return [name for name in (*self.request, *self.taken_over) if name in self.search.catalog]

    @property
    def view(self) -> View:
        """The rows behind these tools; made at the first need, which embeds what was never seen."""
        # No cached_property: before Python 3.12 that holds one lock of the whole class while it works, and this may embed.
        view: View | None = self.__dict__.get("_view")
        if view is None:
            view = self.__dict__["_view"] = self.search.view(list(self.request.values()), replaced=self.replaced)
        return view

    def resolve(self, name: str) -> Tool | None:
        """This request's tool of that name, else the static one."""
        return self.request.get(name) or (None if name in self.taken_over else self.search.catalog.get(name))

    def __iter__(self) -> Iterator[Tool]:
        for tool in self.search.catalog:
            if tool.id not in self.request and tool.id not in self.taken_over:
                yield tool
        yield from self.request.values()

    def close(self, name: str) -> list[Tool]:
        """Tools whose names are spelled like this one, nearest first."""
        static = self.search.catalog
        names = [found for found in static.close(name, limit=len(static)) if found not in self.request]
        if self.request:
            names += Catalog(self.request.values()).close(name, limit=len(self.request))
        tools = {found: tool for found in names if (tool := self.resolve(found)) is not None}
        nearest = Similar((found, (found, tool.name, *tool.aliases)) for found, tool in tools.items()).ranked(name)
        return [tools[found] for found in nearest]

    @cached_property
    def version(self) -> str:
        """Changes exactly when the catalog does."""
        static = self.search.catalog.fingerprint
        if not self.request and not self.replaced:
            return static
        parts = [static, *sorted(self.taken_over), *(tool.fingerprint for tool in self.request.values())]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()
