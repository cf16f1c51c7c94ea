"""May this tool be seen, loaded, kept? The caller's rule, asked in three phases; a rule that fails says no."""

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Generator
from typing import Any, Literal, Protocol

from toolsearch.errors import AsyncFilterError
from toolsearch.lru import LRU
from toolsearch.tool import Tool
from toolsearch.waiting import Waiting

Phase = Literal["search", "load", "active"]
"""`search`: may it be shown; `load`: may it enter the conversation; `active`: may it stay for this request."""

logger = logging.getLogger(__name__)


class ToolFilter(Protocol):
    """The caller's rule; what it returns is read as true or false. Sync or async."""

    def __call__(
        self, *, tool_name: str, tool: Tool, request_context: Any, phase: Phase
    ) -> object | Awaitable[object]: ...


class Policy:
    """A filter that cannot fail open."""

    def __init__(self, rule: ToolFilter | None) -> None:
        self._rule = rule
        self._told: LRU[tuple[str, Phase], bool] = LRU(10_000)

    @property
    def restricts(self) -> bool:
        """Whether there is a rule at all."""
        return self._rule is not None

    async def allows(self, tool: Tool, phase: Phase, request_context: Any, waiting: Waiting) -> bool:
        """Whether the rule lets this request have the tool. A rule that raises denies; that is logged once a tool and phase.

        Raises:
            AsyncFilterError: an asynchronous rule met the synchronous entry inside a running event loop.
        """
        if self._rule is None:
            return True
        try:
            verdict = self._rule(tool_name=tool.id, tool=tool, request_context=request_context, phase=phase)
            # An `async def` that forgot an `await` gives one more coroutine, and every coroutine is true.
            while inspect.isawaitable(verdict):
                verdict = await waiting.settle(verdict, "The filter")
            return _truth(verdict)
        except AsyncFilterError:
            raise
        except Exception:
            if self._told.get((tool.id, phase)) is None:
                self._told.put((tool.id, phase), True)
                logger.exception("the filter failed for tool %r in phase %r; the tool is denied", tool.id, phase)
            return False


def _truth(verdict: object) -> bool:
    if isinstance(verdict, Generator | AsyncGenerator):
        raise TypeError("the filter yields; a verdict is returned")  # a generator is true, whatever it would yield
    return bool(verdict)
