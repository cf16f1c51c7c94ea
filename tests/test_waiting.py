"""One piece of logic, awaited on a loop or driven to its end in a thread."""

import asyncio
import contextvars
import gc
import threading
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterator
from typing import Any

import pytest

from toolsearch.errors import AsyncFilterError
from toolsearch.waiting import InThread, OnLoop, Waiting, drive


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


class Promise:
    """Awaitable without being a coroutine."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __await__(self) -> Generator[Any, Any, Any]:
        return asyncio.sleep(0, self._value).__await__()


def settling(value: Any) -> Callable[[Waiting], Any]:
    async def logic(waiting: Waiting) -> Any:
        return await waiting.settle(value() if callable(value) else value, "The filter")

    return logic


@pytest.fixture(autouse=True)
def nothing_left_unawaited() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield
        gc.collect()


async def on_loop(logic: Callable[[Waiting], Any]) -> Any:
    return await logic(OnLoop())


def in_thread(logic: Callable[[Waiting], Any]) -> Any:
    return drive(logic, use="process_input_step()")


@pytest.mark.parametrize("value", [7, None, "text", lambda: later(7), lambda: Promise(7)])
def test_both_ways_settle_a_value_and_what_it_comes_to(value: Any) -> None:
    expected = 7 if callable(value) else value
    assert in_thread(settling(value)) == expected
    assert asyncio.run(on_loop(settling(value))) == expected


def test_several_awaits_share_one_loop_in_the_thread_and_it_is_closed_after() -> None:
    loops: list[asyncio.AbstractEventLoop] = []

    async def note() -> int:
        loops.append(asyncio.get_running_loop())
        return len(loops)

    async def logic(waiting: Waiting) -> list[int]:
        return [await waiting.settle(note(), "The filter"), await waiting.settle(note(), "The filter")]

    assert in_thread(logic) == [1, 2]
    assert (len(set(loops)), loops[0].is_closed()) == (1, True)


def test_logic_without_anything_asynchronous_runs_inside_a_running_loop() -> None:
    async def main() -> Any:
        return in_thread(settling(7))

    assert asyncio.run(main()) == 7


@pytest.mark.parametrize("value", [lambda: later(7), lambda: Promise(7)])
def test_something_asynchronous_inside_a_running_loop_is_an_error_that_names_what_to_use(value: Any) -> None:
    async def main() -> None:
        in_thread(settling(value))

    with pytest.raises(AsyncFilterError, match=r"The filter is asynchronous.*await process_input_step\(\)") as caught:
        asyncio.run(main())
    assert (caught.value.what, caught.value.use) == ("The filter", "process_input_step()")


def test_a_loop_in_another_thread_is_no_obstacle() -> None:
    async def main() -> Any:
        return await asyncio.to_thread(in_thread, settling(lambda: later(7)))

    assert asyncio.run(main()) == 7


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), StopAsyncIteration("no")])
def test_exceptions_pass_through_unchanged(error: BaseException) -> None:
    async def raising() -> Any:
        raise error

    async def logic(waiting: Waiting) -> None:
        await waiting.settle(raising(), "The filter")

    async def at_once(_: Waiting) -> None:
        raise error

    for failing in (logic, at_once):
        with pytest.raises(type(error)) as caught:
            in_thread(failing)
        assert caught.value is error


def test_logic_may_go_on_after_an_exception_of_what_it_awaited() -> None:
    async def raising() -> str:
        raise ValueError

    async def logic(waiting: Waiting) -> str:
        try:
            return await waiting.settle(raising(), "The filter")
        except ValueError:
            return await waiting.settle(later("second"), "The filter")

    assert in_thread(logic) == "second"


def test_heavy_work_leaves_the_loop_and_stays_in_the_calling_thread_otherwise() -> None:
    async def logic(waiting: Waiting) -> int:
        return await waiting.offload(threading.get_ident)

    assert in_thread(logic) == threading.get_ident()
    assert asyncio.run(on_loop(logic)) != threading.get_ident()


def test_heavy_work_that_fails_fails_the_logic() -> None:
    def failing() -> None:
        raise ValueError("no")

    async def logic(waiting: Waiting) -> None:
        await waiting.offload(failing)

    with pytest.raises(ValueError, match="no"):
        in_thread(logic)
    with pytest.raises(ValueError, match="no"):
        asyncio.run(on_loop(logic))


def test_what_is_awaited_sees_the_callers_context() -> None:
    user: contextvars.ContextVar[str] = contextvars.ContextVar("user")

    async def who() -> str:
        return user.get()

    async def logic(waiting: Waiting) -> str:
        user.set("alice")
        return await waiting.settle(who(), "The filter")

    def run() -> Any:
        return in_thread(logic)

    assert contextvars.copy_context().run(run) == "alice"


def test_a_way_of_waiting_may_be_closed_twice() -> None:
    waiting = InThread("x")

    def settled(value: Awaitable[int]) -> int:
        async def logic() -> int:
            return await waiting.settle(value, "The filter")

        with pytest.raises(StopIteration) as stop:
            logic().send(None)
        result: int = stop.value.value
        return result

    assert settled(later(7)) == 7
    waiting.close()
    waiting.close()
