"""The stage: the demo's tools, embedded and behind a processor, and what it took to get there."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolsearch.cache import CachedEncoder
from toolsearch.console.effort import Effort, measured
from toolsearch.demo.agent import Gauge
from toolsearch.processor import ToolSearchProcessor
from toolsearch.tokens import default_counter, tools_tokens
from toolsearch.tool import Tool


@dataclass(frozen=True, slots=True)
class Stage:
    tools: tuple[Tool, ...]
    encoder: CachedEncoder
    processor: ToolSearchProcessor
    gauge: Gauge
    effort: Effort
    """Of making the tools searchable."""

    @property
    def services(self) -> tuple[str, ...]:
        """Each once, in catalog order."""
        return tuple(dict.fromkeys(tool.server or "" for tool in self.tools))


def set_stage(tools: Sequence[Tool], *, encoder: CachedEncoder, top_k: int) -> Stage:
    """Index the tools behind a processor and count what their definitions cost.

    Raises:
        VectorError: the encoder returned something else than unit rows of its width.
    """
    processor, effort = measured(encoder, lambda: ToolSearchProcessor(tools, model=encoder, search={"top_k": top_k}))
    counter = default_counter()
    return Stage(tuple(tools), encoder, processor, Gauge(counter, tools_tokens(tools, counter)), effort)
