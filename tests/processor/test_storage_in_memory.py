"""In-memory storage, seen through the processor: whose loads meet, how long they last, and what can be asked."""

import json
import logging
import threading
from typing import Any

import pytest
from office import SYNC, Entry, Make, Talk, beside_meta

from toolsearch.processor import ToolSearchProcessor, storage
from toolsearch.state import InMemoryStore


class Clock:
    """Seconds since the epoch, set by hand."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Every store made in this test goes by this clock."""
    clock = Clock()

    class Timed(InMemoryStore):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options, clock=clock)

    monkeypatch.setattr(storage, "InMemoryStore", Timed)
    return clock


def loaded(processor: ToolSearchProcessor, entry: Entry = SYNC, **request: Any) -> list[str]:
    return beside_meta(entry.step(processor, **request))


def load(processor: ToolSearchProcessor, name: str, entry: Entry = SYNC, **request: Any) -> None:
    assert entry.call(entry.step(processor, **request), "load_tool", {"tool_name": name}).content["success"] is True


def test_loads_belong_to_their_thread(make: Make, entry: Entry) -> None:
    processor = make()
    load(processor, "send_mail", entry, thread_id="one")
    assert (loaded(processor, entry, thread_id="one"), loaded(processor, entry, thread_id="two")) == (["send_mail"], [])


def test_equal_thread_ids_of_two_resources_never_meet(make: Make, entry: Entry) -> None:
    processor = make()
    load(processor, "send_mail", entry, thread_id="t", resource_id="ann")
    load(processor, "get_tides", entry, thread_id="t")
    assert loaded(processor, entry, thread_id="t", resource_id="ann") == ["send_mail"]
    assert loaded(processor, entry, thread_id="t", resource_id="bob") == []
    assert loaded(processor, entry, thread_id="t") == ["get_tides"]


class Context:
    """A request context that is no mapping but has `get`, as Mastra's."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def get(self, key: str) -> Any:
        return self._values.get(key)


@pytest.mark.parametrize("key", ["thread_id", "threadId", "mastra__threadId"])
@pytest.mark.parametrize("kind", [dict, Context])
def test_the_thread_id_is_read_from_the_request_context(make: Make, key: str, kind: Any) -> None:
    processor = make()
    load(processor, "send_mail", request_context=kind(**{key: "t"}))
    assert loaded(processor, thread_id="t") == ["send_mail"]


@pytest.mark.parametrize("key", ["resource_id", "resourceId", "mastra__resourceId"])
def test_the_resource_id_is_read_from_the_request_context(make: Make, key: str) -> None:
    processor = make()
    load(processor, "send_mail", request_context={"thread_id": "t", key: "ann"})
    assert loaded(processor, thread_id="t", resource_id="ann") == ["send_mail"]
    assert loaded(processor, thread_id="t") == []


def test_the_explicit_ids_win_over_the_request_context(make: Make) -> None:
    processor = make()
    context = {"thread_id": "context", "resource_id": "context"}
    load(processor, "send_mail", thread_id="explicit", resource_id="ann", request_context=context)
    assert loaded(processor, thread_id="explicit", resource_id="ann") == ["send_mail"]
    assert loaded(processor, request_context=context) == []


@pytest.mark.parametrize("context", [None, {}, {"thread_id": ""}, {"thread_id": None}, object(), "text", Context()])
def test_without_a_thread_id_nothing_is_shared_between_requests(make: Make, entry: Entry, context: Any) -> None:
    processor = make()
    step = entry.step(processor, request_context=context)
    entry.call(step, "load_tool", {"tool_name": "send_mail"})
    assert loaded(processor, entry, request_context=context) == []
    assert loaded(processor, entry, thread_id="default") == []
    assert processor.get_state_stats()["thread_count"] == 0


def test_a_request_without_a_thread_keeps_its_loads_for_its_own_run(make: Make, entry: Entry) -> None:
    processor = make()
    mine: dict[str, Any] = {}
    load(processor, "send_mail", entry, run=mine)
    load(processor, "get_tides", entry, run=mine)
    assert loaded(processor, entry, run=mine) == ["send_mail", "get_tides"]
    assert loaded(processor, entry, run={}) == []


def test_what_a_run_keeps_can_be_written_down_and_read_back(make: Make) -> None:
    mine: dict[str, Any] = {"the caller's": "own"}
    load(make(), "send_mail", run=mine)
    assert loaded(make(), run=json.loads(json.dumps(mine))) == ["send_mail"]
    assert mine["the caller's"] == "own"


@pytest.mark.parametrize("notes", ["text", {"loaded": "send_mail"}, {"loaded": [1, None]}, None])
def test_a_run_with_strange_notes_is_an_empty_one(make: Make, notes: Any) -> None:
    mine = {"tool-search": notes}
    assert loaded(make(), run=mine) == []
    load(make(), "send_mail", run=mine)
    assert loaded(make(), run=mine) == ["send_mail"]


def test_a_thread_wins_over_a_run(make: Make) -> None:
    processor = make()
    mine: dict[str, Any] = {}
    load(processor, "send_mail", thread_id="t", run=mine)
    assert (loaded(processor, thread_id="t"), loaded(processor, run=mine)) == (["send_mail"], [])


def test_anonymous_requests_share_one_entry_only_where_it_is_asked_for(make: Make, entry: Entry) -> None:
    processor = make(anonymous="shared")
    load(processor, "send_mail", entry)
    assert (loaded(processor, entry), loaded(processor, entry, run={})) == (["send_mail"], ["send_mail"])
    assert loaded(processor, entry, thread_id="t") == []


def test_expiry_is_exact_swept_or_not(make: Make, clock: Clock) -> None:
    processor = make(ttl=10_000)
    load(processor, "send_mail", thread_id="t")
    clock.now += 10
    assert loaded(processor, thread_id="t") == ["send_mail"]
    clock.now += 10.001
    assert loaded(processor, thread_id="t") == []


def test_a_step_that_reads_an_entry_counts_as_access(make: Make, clock: Clock) -> None:
    processor = make(ttl=10_000)
    load(processor, "send_mail", thread_id="t")
    for _ in range(5):
        clock.now += 9
        assert loaded(processor, thread_id="t") == ["send_mail"]


def test_a_ttl_of_0_disables_expiry(make: Make, clock: Clock) -> None:
    processor = make(ttl=0)
    load(processor, "send_mail", thread_id="t")
    clock.now += 10**9
    assert (loaded(processor, thread_id="t"), processor.cleanup_now()) == (["send_mail"], 0)


def test_the_default_ttl_is_an_hour(make: Make, clock: Clock) -> None:
    processor = make()
    load(processor, "send_mail", thread_id="t")
    clock.now += 3_600
    assert loaded(processor, thread_id="t") == ["send_mail"]
    clock.now += 3_600.001
    assert loaded(processor, thread_id="t") == []


def test_a_step_that_loads_nothing_creates_no_entry(make: Make, entry: Entry) -> None:
    processor = make()
    step = entry.step(processor, thread_id="t")
    entry.call(step, "search_tools", {"query": "email"})
    entry.call(step, "load_tool", {"tool_name": "zebra"})
    assert processor.get_state_stats() == {"thread_count": 0, "oldest_access_time": None}


def test_the_statistics_count_threads_and_give_the_oldest_access_in_epoch_milliseconds(
    make: Make, clock: Clock
) -> None:
    processor = make()
    load(processor, "send_mail", thread_id="one")
    clock.now += 5
    load(processor, "send_mail", thread_id="two")
    assert processor.get_state_stats() == {"thread_count": 2, "oldest_access_time": 1_000_000_000}


def test_cleanup_now_removes_what_has_expired_and_says_how_many(make: Make, clock: Clock) -> None:
    processor = make(ttl=10_000)
    for name in ("one", "two", "three"):
        load(processor, "send_mail", thread_id=name)
        clock.now += 5
    assert processor.cleanup_now() == 1
    assert processor.cleanup_now() == 0
    assert processor.get_state_stats()["thread_count"] == 2


def test_a_request_context_that_has_to_be_awaited_names_no_thread(make: Make) -> None:
    class Session:
        async def get(self, key: str) -> str:
            return key

    step = SYNC.step(make(), request_context=Session())
    assert step.context.key is None


def test_clear_state_forgets_a_thread_of_all_resources_unless_one_is_given(make: Make) -> None:
    processor = make()

    def fill() -> None:
        for who in ("ann", "bob"):
            for thread in ("t", "u"):
                load_again(processor, thread_id=thread, resource_id=who)

    def kept() -> list[tuple[str, str]]:
        return [
            (who, thread)
            for who in ("ann", "bob")
            for thread in ("t", "u")
            if loaded(processor, thread_id=thread, resource_id=who)
        ]

    fill()
    processor.clear_state("t", "ann")
    assert kept() == [("ann", "u"), ("bob", "t"), ("bob", "u")]
    fill()
    processor.clear_state("t")
    assert kept() == [("ann", "u"), ("bob", "u")]
    processor.clear_all_state()
    assert kept() == []
    assert processor.get_state_stats()["thread_count"] == 0


def load_again(processor: ToolSearchProcessor, **request: Any) -> None:
    SYNC.step(processor, **request).call("load_tool", {"tool_name": "send_mail"})


def test_over_the_cap_the_least_recently_used_thread_goes_and_is_logged(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    processor = make(max_threads=2)
    load(processor, "send_mail", thread_id="one")
    load(processor, "send_mail", thread_id="two")
    loaded(processor, thread_id="one")
    load(processor, "send_mail", thread_id="three")
    assert [bool(loaded(processor, thread_id=name)) for name in ("one", "two", "three")] == [True, False, True]
    assert [one.levelno for one in caplog.records if "'two'" in one.getMessage()] == [logging.WARNING]


def test_closing_stops_the_sweep_and_keeps_the_state(make: Make) -> None:
    processor = make()
    load(processor, "send_mail", thread_id="t")
    processor.close()
    assert loaded(processor, thread_id="t") == ["send_mail"]


def test_leaving_the_context_ends_the_sweep(make: Make) -> None:
    before = set(threading.enumerate())
    with make() as processor:
        load(processor, "send_mail", thread_id="t")
        (sweeper,) = set(threading.enumerate()) - before
    sweeper.join(timeout=10)
    assert not sweeper.is_alive()


def test_two_processors_share_nothing(make: Make) -> None:
    one, two = make(), make()
    load(one, "send_mail", thread_id="t")
    assert loaded(two, thread_id="t") == []


def test_a_forged_transcript_loads_nothing_in_memory(make: Make) -> None:
    real = Talk(make(), {"thread_id": "t"})
    real.load("send_mail")
    assert loaded(make(), thread_id="t", messages=real.messages) == []
