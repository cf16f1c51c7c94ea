"""Many requests on one processor: nobody gets another's tools, nothing loaded is lost, and nobody waits for a lock."""

import asyncio
import random
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from fakes import WordEncoder
from office import NAMES, SYNC, Make, Talk, beside_meta, found, tool

from toolsearch.embedding.encoder import Role, Vectors
from toolsearch.state import InMemoryStore, ThreadKey
from toolsearch.tool import Tool

PEOPLE = 100


def belongings(person: int) -> list[Tool]:
    """Three tools of the same names and texts for everybody; each answers with its owner."""
    return [
        tool("get_mail", "Fetch the letters of the mailbox", answer=f"mail of {person}"),
        tool("get_diary", "Open the pages of the diary", answer=f"diary of {person}"),
        tool("get_keys", "Find the keys of the house", answer=f"keys of {person}"),
    ]


HIDDEN = {0: "get_mail", 1: "get_diary", 2: "get_keys"}
"""What the policy hides from a person, by the person's number modulo 4; the fourth may have everything."""


def allowed(person: int) -> list[str]:
    return [one.id for one in belongings(person) if one.id != HIDDEN.get(person % 4)]


def policy(*, tool_name: str, tool: Tool, request_context: Any, phase: str) -> bool:
    """Nobody's tool is judged for somebody else: that would be seen here."""
    person = request_context["person"]
    if tool_name in ("get_mail", "get_diary", "get_keys"):
        assert tool.executor is not None
        assert tool.executor().endswith(f" of {person}")
    return HIDDEN.get(person % 4) != tool_name


def check_person(person: int, story: dict[str, Any]) -> None:
    """What one person must have seen, no more and no less."""
    mine = allowed(person)
    assert story["found"] == mine
    assert story["loaded"] == mine
    assert story["visible"] == mine
    assert story["objects"] == [True] * len(mine)
    assert story["answers"] == [f"{name.removeprefix('get_')} of {person}" for name in mine]
    assert story["refused"] == ([HIDDEN[person % 4]] if person % 4 in HIDDEN else [])


async def live(processor: Any, person: int, dice: random.Random) -> dict[str, Any]:
    """One person's whole conversation, giving way at every turn."""
    mine = belongings(person)
    request: dict[str, Any] = {
        "tools": mine,
        "request_context": {"person": person, "thread_id": f"thread {person % 10}", "resource_id": str(person)},
    }

    async def breathe() -> None:
        for _ in range(dice.randrange(4)):
            await asyncio.sleep(0)

    await breathe()
    step = await processor.process_input_step(**request)
    await breathe()
    answer = await step.acall("search_tools", {"query": "select:get_mail,get_diary,get_keys"})
    await breathe()
    names = [one.id for one in mine]
    receipts = [(await step.acall("load_tool", {"tool_name": name})).content for name in names]
    await breathe()
    step = await processor.process_input_step(**request)
    await breathe()
    return await told(step, mine, found(answer.content), receipts)


async def told(step: Any, mine: Sequence[Tool], seen: list[str], receipts: list[Any]) -> dict[str, Any]:
    results = [await step.acall(one.id) for one in mine]
    return {
        "found": seen,
        "loaded": [name for receipt in receipts for name in receipt["loaded"]],
        "visible": beside_meta(step),
        "objects": [step.tools[one.id] is one for one in mine if one.id in step.tools],
        "answers": [result.content for result in results if not result.is_error],
        "refused": [result.tool for result in results if result.reason == "not-loaded"],
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("later", [False, True], ids=["sync filter", "async filter"])
async def test_a_hundred_tasks_each_see_their_own_tools_only_and_each_call_reaches_its_own_executor(
    make: Make, seed: int, later: bool
) -> None:
    async def slow_policy(**question: Any) -> bool:
        await asyncio.sleep(0)
        verdict = policy(**question)
        await asyncio.sleep(0)
        return verdict

    processor = make(include_resolved_tools=True, filter=slow_policy if later else policy)
    dice = [random.Random(f"{seed} {person}") for person in range(PEOPLE)]
    stories = await asyncio.gather(*(live(processor, person, dice[person]) for person in range(PEOPLE)))
    for person, story in enumerate(stories):
        check_person(person, story)


def test_a_hundred_conversations_in_threads_each_see_their_own_tools_only(make: Make) -> None:
    processor = make(include_resolved_tools=True, filter=policy)
    start = threading.Barrier(10)

    def conversation(person: int) -> dict[str, Any]:
        mine = belongings(person)
        request: dict[str, Any] = {
            "tools": mine,
            "request_context": {"person": person},
            "thread_id": f"thread {person % 10}",
            "resource_id": str(person),
        }
        if person < 10:
            start.wait(10)
        step = SYNC.step(processor, **request)
        answer = step.call("search_tools", {"query": "select:get_mail,get_diary,get_keys"}).content
        receipts = [step.call("load_tool", {"tool_name": one.id}).content for one in mine]
        step = SYNC.step(processor, **request)
        return asyncio.run(told(step, mine, found(answer), receipts))

    with ThreadPoolExecutor(10) as pool:
        for person, story in enumerate(pool.map(conversation, range(PEOPLE))):
            check_person(person, story)


async def test_two_steps_of_one_thread_that_load_at_once_lose_nothing_and_order_is_that_of_completion(
    make: Make,
) -> None:
    gates = {name: asyncio.Event() for name in NAMES}

    async def wait_for_turn(*, tool_name: str, phase: str, **_: Any) -> bool:
        if phase == "load":
            await gates[tool_name].wait()
        return True

    processor = make(filter=wait_for_turn)
    steps = [await processor.process_input_step(thread_id="t") for _ in NAMES]
    tasks = {
        name: asyncio.create_task(step.acall("load_tool", {"tool_name": name}))
        for name, step in zip(NAMES, steps, strict=True)
    }
    order = random.Random(7).sample(NAMES, len(NAMES))
    for name in order:
        gates[name].set()
        assert (await tasks[name]).content["loaded"] == [name]
    assert beside_meta(await processor.process_input_step(thread_id="t")) == order


@pytest.mark.parametrize("kind", ["thread", "run", "shared"])
def test_threads_that_load_at_once_lose_nothing_and_each_name_is_new_to_exactly_one(make: Make, kind: str) -> None:
    requests: dict[str, dict[str, Any]] = {"thread": {"thread_id": "t"}, "run": {"run": {}}, "shared": {}}
    request = requests[kind]
    processor = make(anonymous="shared" if kind == "shared" else "run")
    workers = 8
    start = threading.Barrier(workers)

    def worker(number: int) -> list[str]:
        step = SYNC.step(processor, **request)
        start.wait(10)
        names = random.Random(number).sample(NAMES, len(NAMES))
        return [name for name in names if step.call("load_tool", {"tool_name": name}).content["loaded"]]

    with ThreadPoolExecutor(workers) as pool:
        new = [name for names in pool.map(worker, range(workers)) for name in names]
    assert sorted(new) == sorted(NAMES)
    assert sorted(beside_meta(SYNC.step(processor, **request))) == sorted(NAMES)


def test_a_search_and_the_first_load_of_a_run_at_once_lose_nothing(make: Make) -> None:
    met = threading.Barrier(2)

    class Racing(dict[str, Any]):
        """Gives both threads time to find nothing there, and lets the search be the last to say so."""

        def get(self, key: str, default: Any = None) -> Any:
            value = super().get(key, default)
            with suppress(threading.BrokenBarrierError):
                met.wait(0.5)
            time.sleep(0.05 * (threading.current_thread() is searching))
            return value

    processor, run = make(), Racing()
    searching = threading.current_thread()
    step = SYNC.step(processor, run=run)
    met.reset()
    searching = threading.Thread(target=step.call, args=("search_tools", {"query": "email message"}))
    searching.start()
    assert step.call("load_tool", {"tool_name": "send_mail"}).content["loaded"] == ["send_mail"]
    searching.join()
    assert beside_meta(SYNC.step(processor, run=dict(run))) == ["send_mail"]


def test_no_lock_is_held_while_a_filter_runs(make: Make) -> None:
    """The filter of the first step waits until a second step of the same thread has searched, loaded and stepped on."""
    inside, done = threading.Event(), threading.Event()

    def patient(*, request_context: Any, **_: Any) -> bool:
        if request_context == "first":
            inside.set()
            assert done.wait(10)
        return True

    for storage in ("in-memory", "context"):
        inside.clear()
        done.clear()
        processor = make(filter=patient, storage=storage, include_resolved_tools=True)
        run: dict[str, Any] = {}
        request: dict[str, Any] = {"thread_id": "t", "run": run, "tools": belongings(1)}

        def first(processor: Any = processor, request: Any = request) -> Any:
            step = SYNC.step(processor, **request, request_context="first")
            return step.call("load_tool", {"tool_names": ["send_mail"]}).content["loaded"]

        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(first)
            assert inside.wait(10)
            second = SYNC.step(processor, **request, request_context="second")
            assert found(second.call("search_tools", {"query": "get_mail"}).content)[0] == "get_mail"
            assert second.call("load_tool", {"tool_name": "get_tides"}).content["loaded"] == ["get_tides"]
            assert beside_meta(SYNC.step(processor, **request, request_context="second")) == ["get_tides"]
            done.set()
            assert waiting.result(10) == ["send_mail"]
        after = SYNC.step(processor, **request, request_context="second")
        assert beside_meta(after) == ["get_tides", "send_mail"]


class Pausing(WordEncoder):
    """Waits in the middle of encoding one text until it is told to go on."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.inside, self.go_on = threading.Event(), threading.Event()
        self._text = text

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        if self._text in texts:
            self.inside.set()
            assert self.go_on.wait(10)
        return super().encode(texts, role)


def test_no_lock_is_held_while_an_embedding_runs(make: Make) -> None:
    encoder = Pausing("slow words")
    processor = make(model=encoder)

    def slow_search() -> Any:
        return SYNC.step(processor, thread_id="t").call("search_tools", {"query": "slow words"}).content

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(slow_search)
        assert encoder.inside.wait(10)
        step = SYNC.step(processor, thread_id="t")
        assert found(step.call("search_tools", {"query": "tide tables"}).content)[0] == "get_tides"
        assert step.call("load_tool", {"tool_name": "get_tides"}).content["loaded"] == ["get_tides"]
        encoder.go_on.set()
        assert waiting.result(10)["results"] == []


async def test_an_embedding_does_not_hold_up_the_event_loop(make: Make) -> None:
    encoder = Pausing("slow words")
    processor = make(model=encoder)
    step = await processor.process_input_step(thread_id="t")
    search = asyncio.create_task(step.acall("search_tools", {"query": "slow words"}))
    assert await asyncio.to_thread(encoder.inside.wait, 10)
    assert (await step.acall("load_tool", {"tool_name": "get_tides"})).content["loaded"] == ["get_tides"]
    encoder.go_on.set()
    assert (await search).content["results"] == []


async def test_an_embedding_of_request_tools_does_not_hold_up_the_event_loop(make: Make) -> None:
    encoder = Pausing("slow: Slow tool")
    processor = make(model=encoder, include_resolved_tools=True)
    step = await processor.process_input_step(thread_id="t", tools=[tool("slow", "Slow tool")])
    search = asyncio.create_task(step.acall("search_tools", {"query": "slow"}))
    assert await asyncio.to_thread(encoder.inside.wait, 10)
    other = await processor.process_input_step(thread_id="u", tools=[tool("quick", "Quick tool")])
    assert found((await other.acall("search_tools", {"query": "quick"})).content)[0] == "quick"
    encoder.go_on.set()
    assert found((await search).content)[0] == "slow"


def test_a_filter_may_use_the_processor_itself(make: Make) -> None:
    made: list[Any] = []

    def nosy(*, phase: str, tool_name: str, **_: Any) -> bool:
        if phase != "load" or not made:
            return True
        inner = SYNC.step(made[0], thread_id="t")
        return "get_tides" in beside_meta(inner) or tool_name == "get_tides"

    processor = make(filter=nosy)
    made.append(processor)
    talk = Talk(processor, {"thread_id": "t"})
    assert talk.load("send_mail", "get_tides")["loaded"] == ["get_tides"]
    assert talk.load("send_mail")["loaded"] == ["send_mail"]


async def test_steps_of_one_thread_that_search_with_auto_load_at_once_lose_nothing(make: Make) -> None:
    processor = make(search={"auto_load": True, "top_k": 1})
    steps = [await processor.process_input_step(thread_id="t") for _ in NAMES]
    await asyncio.gather(
        *(step.acall("search_tools", {"query": name}) for step, name in zip(steps, NAMES, strict=True))
    )
    assert sorted(beside_meta(await processor.process_input_step(thread_id="t"))) == sorted(NAMES)


@pytest.mark.parametrize("act", [lambda s, k, n: s.add(k, [n]), lambda s, k, n: (s.add(k, [n]), s.remove(k, [n]))])
def test_threads_that_write_one_entry_at_once_leave_it_whole(act: Callable[..., Any]) -> None:
    store, key = InMemoryStore(), ThreadKey("ann", "t")
    store.add(key, ["kept"])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: act(store, key, f"n{number % 5}"), range(400)))
    names = store.get(key)
    assert names[0] == "kept"
    assert len(set(names)) == len(names)
    store.close()


async def test_a_hundred_repeats_of_one_search_by_many_do_not_mix_their_histories(make: Make) -> None:
    processor = make()

    async def twice(person: int) -> list[bool]:
        said = []
        for _ in range(2):
            step = await processor.process_input_step(thread_id="t", resource_id=str(person))
            answer = await step.acall("search_tools", {"query": "email message"})
            said.append("been given" in answer.content["message"])
        return said

    assert await asyncio.gather(*map(twice, range(PEOPLE))) == [[False, True]] * PEOPLE
