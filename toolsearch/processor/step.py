"""What one step gives the agent: the tools the model sees now, and the gate they run through."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolsearch.processor import gate
from toolsearch.processor.context import StepContext
from toolsearch.processor.gate import CallResult
from toolsearch.waiting import OnLoop, drive


@dataclass(frozen=True)
class StepResult:
    """One step. `tools` is what to send with the next model call, in this order."""

    tools: Mapping[str, object]
    """Name to tool: the meta-tools (our `Tool`), then pinned and the caller's own, then loaded ones in load order; each
    is the object its owner gave."""
    system_messages: tuple[str, ...]
    """Texts that the conversation does not hold yet; they belong before the first turn."""
    messages: Sequence[Any]
    """The caller's messages with those texts in their place: a new list of the same objects."""
    loaded: tuple[str, ...]
    """Loaded tools the model sees, in load order."""
    catalog_version: str
    """Equal exactly when the searchable catalog is."""
    context: StepContext = field(repr=False, compare=False)

    def call(self, name: str, arguments: Any = None) -> CallResult:
        """Run a tool of this step, a meta-tool too: it is in `tools`, the filter allows it, its arguments fit its schema.

        Anything else is a `CallResult` with `is_error` that tells the model what to do. `arguments` is an object or its
        JSON text. What the tool itself raises is raised.

        Raises:
            NoExecutorError: the tool came as a definition only; use `check` and run it yourself.
            AsyncFilterError: the filter, the store or the tool is async and an event loop runs here; use `acall`.
        """
        return drive(lambda waiting: gate.call(self.context, name, arguments, waiting), use="StepResult.acall()")

    async def acall(self, name: str, arguments: Any = None) -> CallResult:
        """`call` on an event loop; synchronous tools and the encoding run in a thread.

        Raises:
            NoExecutorError: the tool came as a definition only; use `acheck` and run it yourself.
        """
        return await gate.call(self.context, name, arguments, OnLoop())

    def check(self, name: str, arguments: Any = None) -> CallResult | None:
        """The refusal `call` would give, or None where the tool may run: for frameworks that run tools themselves.

        Raises:
            AsyncFilterError: the filter is async and an event loop runs here; use `acheck`.
        """
        found = drive(lambda waiting: gate.check(self.context, name, arguments, waiting), use="StepResult.acheck()")
        return found if isinstance(found, CallResult) else None

    async def acheck(self, name: str, arguments: Any = None) -> CallResult | None:
        """`check` on an event loop."""
        found = await gate.check(self.context, name, arguments, OnLoop())
        return found if isinstance(found, CallResult) else None
