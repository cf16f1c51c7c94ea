"""How one piece of logic waits: on the event loop it runs in, or in the thread that called.

The processor's logic is written once, as coroutines. The asynchronous entry awaits them; the synchronous entry drives
them to their end with a `Waiting` that never suspends.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from toolsearch.errors import AsyncFilterError

T = TypeVar("T")


class Waiting(Protocol):
    """What the logic asks of whoever runs it."""

    async def settle(self, value: T | Awaitable[T], what: str) -> T:
        """The value itself, or what it comes to once awaited; `what` names it in an error."""

    async def offload(self, work: Callable[[], T]) -> T:
        """The result of work that would hold up an event loop."""


class OnLoop:
    """Awaits on the running loop, and sends heavy work to a thread."""

    async def settle(self, value: T | Awaitable[T], what: str) -> T:  # noqa: ARG002 - nothing can go wrong here
        return await value if inspect.isawaitable(value) else value

    async def offload(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)


class InThread:
    """Never suspends: awaitables run on a loop of its own, which inside a running loop is an error."""

    def __init__(self, use: str) -> None:
        self._use = use
        self._runner: asyncio.Runner | None = None

    async def settle(self, value: T | Awaitable[T], what: str) -> T:
        if not inspect.isawaitable(value):
            return value
        if _loop_is_running():
            if inspect.iscoroutine(value):
                value.close()
            raise AsyncFilterError(what, self._use)
        if self._runner is None:
            self._runner = asyncio.Runner()
        # asyncio.Runner starts a loop inside this call and ends it before it returns: nothing suspends out here.
        result: T = self._runner.run(_awaited(value))
        return result

    async def offload(self, work: Callable[[], T]) -> T:
        return work()

    def close(self) -> None:
        """End the loop, if one was needed."""
        if self._runner is not None:
            self._runner.close()
            self._runner = None


def drive(logic: Callable[[Waiting], Coroutine[Any, Any, T]], *, use: str) -> T:
    """Run the logic to its end in this thread; `use` is what an error recommends instead.

    Raises:
        AsyncFilterError: something asynchronous was met and an event loop is running in this thread.
    """
    waiting = InThread(use)
    coroutine = logic(waiting)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: T = stop.value
        return result
    finally:
        coroutine.close()
        waiting.close()
    raise AssertionError("logic suspended although its Waiting never does")  # pragma: no cover - a bug of ours


def _loop_is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _awaited(value: Awaitable[T]) -> T:
    return await value
