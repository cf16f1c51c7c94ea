"""What every part of one step needs to know."""

from collections.abc import Collection, Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from typing import Any

from toolsearch.filter import Phase, Policy
from toolsearch.processor.assembly import StepTools
from toolsearch.processor.conversation import LoadedSet
from toolsearch.processor.history import Histories, SearchHistory
from toolsearch.processor.options import SearchOptions
from toolsearch.processor.stepcatalog import StepCatalog
from toolsearch.search import ToolSearch
from toolsearch.state import ThreadKey
from toolsearch.tokens import TokenCounter
from toolsearch.tool import Tool
from toolsearch.waiting import Waiting


@dataclass(frozen=True)
class StepContext:
    """One step: its tools, whose conversation it is, and what the request may do."""

    search: ToolSearch
    options: SearchOptions
    policy: Policy
    counter: TokenCounter
    histories: Histories
    key: ThreadKey | None
    run: MutableMapping[str, Any] | None
    loaded_set: LoadedSet
    request_context: Any
    tools: StepTools
    meta: Mapping[str, Tool]
    """The meta-tools by name."""
    active: Mapping[str, Tool]
    """Loaded tools that may be called in this step, in load order: the snapshot."""
    pinned: Mapping[str, Tool]
    """Static tools that stay in the prompt."""
    hidden: Collection[str] = ()
    """Loaded names that this request may not have: they keep their place, and are not there."""
    pending: dict[str, None] = field(default_factory=dict)
    """What this step itself has loaded; an ordered set."""

    @property
    def history(self) -> SearchHistory:
        """What this conversation's searches have brought so far."""
        return self.histories.of(self.key, self.run)

    @property
    def catalog(self) -> StepCatalog:
        return self.tools.catalog

    def in_prompt(self, name: str) -> bool:
        """Whether the model can call a tool of that name now."""
        return name in self.active or name in self.tools.own or name in self.pinned

    def note_loaded(self, names: Iterable[str]) -> None:
        """Remember what this step itself loads: it comes with the next model call, where loads are kept at all."""
        if self.loaded_set.keeps:
            self.pending.update(dict.fromkeys(name for name in names if not self.in_prompt(name)))

    async def allows(self, tool: Tool, phase: Phase, waiting: Waiting) -> bool:
        """What the filter says for this request."""
        return await self.policy.allows(tool, phase, self.request_context, waiting)
