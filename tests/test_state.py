"""Which tools a conversation has loaded, by a clock moved by hand."""

import gc
import logging
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.state import InMemoryStore, ThreadKey

ALICE, BOB = ThreadKey("alice", "t1"), ThreadKey("bob", "t1")
TTL = 1_000.0
"""Milliseconds."""


class Clock:
    """Seconds since the epoch, moved by hand. All numbers here are exact in binary."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> Iterator[InMemoryStore]:
    made = InMemoryStore(ttl=TTL, max_threads=3, clock=clock)
    yield made
    made.close()


def test_names_are_kept_in_load_order_each_once(store: InMemoryStore) -> None:
    assert store.add(ALICE, ["b", "a", "b"]) == ("b", "a")
    assert store.add(ALICE, ["a", "c", "b"]) == ("c",)
    assert store.get(ALICE) == ("b", "a", "c")


def test_resource_and_thread_together_are_the_key(store: InMemoryStore) -> None:
    store.add(ALICE, ["a"])
    store.add(BOB, ["b"])
    store.add(ThreadKey(None, "t1"), ["c"])
    assert [store.get(key) for key in (ALICE, BOB, ThreadKey(None, "t1"), ThreadKey("alice", "t2"))] == [("a",), ("b",), ("c",), ()]  # fmt: skip


def test_an_entry_is_honoured_until_its_ttl_and_not_a_moment_longer(store: InMemoryStore, clock: Clock) -> None:
    store.add(ALICE, ["a"])
    store.add(BOB, ["b"])
    clock.now += 1.0
    assert store.get(ALICE) == ("a",)
    clock.now += 2.0**-10
    assert store.get(BOB) == ()


def test_an_expired_entry_is_not_added_to_but_begun_anew(store: InMemoryStore, clock: Clock) -> None:
    store.add(ALICE, ["a", "b"])
    clock.now += 1.5
    assert store.add(ALICE, ["b"]) == ("b",)
    assert store.get(ALICE) == ("b",)


def test_reading_and_adding_count_as_access(store: InMemoryStore, clock: Clock) -> None:
    store.add(ALICE, ["a"])
    for _ in range(5):
        clock.now += 0.75
        assert store.get(ALICE) == ("a",)
        clock.now += 0.75
        assert store.add(ALICE, ["a"]) == ()


def test_a_ttl_of_0_never_expires_and_starts_no_sweeper(clock: Clock) -> None:
    store = InMemoryStore(ttl=0, clock=clock)
    before = threading.active_count()
    store.add(ALICE, ["a"])
    clock.now += 1e9
    assert (store.get(ALICE), store.sweep(), threading.active_count()) == (("a",), 0, before)


def test_reading_and_adding_nothing_create_no_entry(store: InMemoryStore) -> None:
    assert (store.get(ALICE), store.add(BOB, []), store.remove(ALICE, ["a"])) == ((), (), ())
    assert store.stats() == {"thread_count": 0, "oldest_access_time": None}


def test_stats_count_the_living_and_tell_the_oldest_access_in_epoch_milliseconds(
    store: InMemoryStore, clock: Clock
) -> None:
    store.add(ALICE, ["a"])
    clock.now += 0.5
    store.add(BOB, ["b"])
    assert store.stats() == {"thread_count": 2, "oldest_access_time": 1_000_000.0}
    clock.now += 0.75
    assert store.stats() == {"thread_count": 1, "oldest_access_time": 1_000_500.0}


def test_looking_at_stats_is_no_access(store: InMemoryStore, clock: Clock) -> None:
    store.add(ALICE, ["a"])
    clock.now += 0.75
    store.stats()
    clock.now += 0.75
    assert store.get(ALICE) == ()


def test_a_sweep_drops_what_has_expired_and_says_how_many(store: InMemoryStore, clock: Clock) -> None:
    store.add(ALICE, ["a"])
    store.add(BOB, ["b"])
    clock.now += 0.75
    store.get(BOB)
    clock.now += 0.75
    assert (store.sweep(), store.sweep(), store.get(BOB)) == (1, 0, ("b",))


def test_the_least_recently_used_entry_goes_when_there_are_too_many_and_is_logged(
    store: InMemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    keys = [ThreadKey("alice", name) for name in "abcd"]
    for key in keys[:3]:
        store.add(key, ["x"])
    store.get(keys[0])
    with caplog.at_level(logging.WARNING):
        store.add(keys[3], ["x"])
    assert [store.get(key) for key in keys] == [("x",), (), ("x",), ("x",)]
    assert [("more than 3" in record.getMessage(), repr(keys[1]) in record.getMessage()) for record in caplog.records] == [(True, True)]  # fmt: skip


def test_an_expired_entry_makes_room_without_a_word(
    store: InMemoryStore, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    for name in "abc":
        store.add(ThreadKey(None, name), ["x"])
    clock.now += 5
    with caplog.at_level(logging.WARNING):
        store.add(ALICE, ["a"])
    assert (store.get(ALICE), caplog.records) == (("a",), [])


def test_removed_names_are_gone_and_the_rest_keeps_its_order(store: InMemoryStore) -> None:
    store.add(ALICE, ["a", "b", "c"])
    assert store.remove(ALICE, ["b", "x", "b"]) == ("b",)
    assert store.get(ALICE) == ("a", "c")
    assert store.add(ALICE, ["b"]) == ("b",)
    assert store.get(ALICE) == ("a", "c", "b")


def test_clear_forgets_a_thread_of_all_resources_or_of_one(store: InMemoryStore) -> None:
    other = ThreadKey("alice", "t2")
    for key in (ALICE, BOB, other):
        store.add(key, ["a"])
    store.clear("t1", "bob")
    assert [store.get(key) for key in (ALICE, BOB, other)] == [("a",), (), ("a",)]
    store.add(BOB, ["a"])
    store.clear("t1")
    assert [store.get(key) for key in (ALICE, BOB, other)] == [(), (), ("a",)]
    store.clear("nowhere")


def test_clear_all_forgets_everything(store: InMemoryStore) -> None:
    store.add(ALICE, ["a"])
    store.add(BOB, ["b"])
    store.clear_all()
    assert (store.get(ALICE), store.stats()["thread_count"]) == ((), 0)


def test_what_was_read_does_not_change_with_the_store(store: InMemoryStore) -> None:
    store.add(ALICE, ["a"])
    before = store.get(ALICE)
    store.add(ALICE, ["b"])
    assert before == ("a",)


operations = st.lists(
    st.tuples(st.sampled_from(["add", "remove", "get", "wait"]), st.sampled_from("pq"), st.lists(st.sampled_from("abc"))),
    max_size=30,
)  # fmt: skip


@given(operations)
def test_any_history_gives_what_a_plain_list_with_a_date_gives(history: list[tuple[str, str, list[str]]]) -> None:
    clock, plain = Clock(), dict[str, tuple[float, list[str]]]()
    store = InMemoryStore(ttl=TTL, clock=clock)
    for act, thread, names in history:
        key = ThreadKey(None, thread)
        when, held = plain.get(thread, (clock.now, []))
        held = held if clock.now - when <= TTL / 1000 else []
        if act == "wait":
            clock.now += len(names) / 4
            continue
        expected: list[str] = []
        if act == "add":
            expected = [name for name in dict.fromkeys(names) if name not in held]
            held = held + expected
            assert store.add(key, names) == tuple(expected)
        elif act == "remove":
            expected = [name for name in dict.fromkeys(names) if name in held]
            held = [name for name in held if name not in names]
            assert store.remove(key, names) == tuple(expected)
        else:
            assert store.get(key) == tuple(held)
        if act != "add" or names:
            plain[thread] = (clock.now, held)
    store.close()


def sweepers() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "toolsearch-sweep"]


def test_the_sweeper_is_a_daemon_that_starts_with_the_first_entry_and_ends_with_close(clock: Clock) -> None:
    before = set(sweepers())
    store = InMemoryStore(ttl=TTL, clock=clock)
    store.get(ALICE)
    assert set(sweepers()) == before
    store.add(ALICE, ["a"])
    store.add(BOB, ["b"])
    (sweeper,) = set(sweepers()) - before
    assert sweeper.daemon
    store.close()
    store.close()
    sweeper.join(5)
    assert not sweeper.is_alive()


def test_a_closed_store_is_still_a_store_and_sweeps_no_more(clock: Clock) -> None:
    before = set(sweepers())
    store = InMemoryStore(ttl=TTL, clock=clock)
    store.close()
    store.add(ALICE, ["a"])
    assert (store.get(ALICE), set(sweepers())) == (("a",), before)


def test_the_sweeper_dies_with_its_store() -> None:
    before = set(sweepers())
    store = InMemoryStore()
    store.add(ALICE, ["a"])
    (sweeper,) = set(sweepers()) - before
    gone = weakref.ref(store)
    del store
    gc.collect()
    sweeper.join(5)
    assert (gone(), sweeper.is_alive()) == (None, False)


def test_the_sweeper_frees_what_has_expired(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolsearch.state._SHORTEST_SWEEP", 0.001)
    swept = threading.Event()

    class Watched(InMemoryStore):
        def sweep(self) -> int:
            dropped = super().sweep()
            if dropped:
                swept.set()
            return dropped

    store = Watched(ttl=1, clock=clock)
    store.add(ALICE, ["a"])
    clock.now += 5
    assert swept.wait(5)
    assert store._entries == {}
    store.close()


def test_a_process_ends_although_the_sweeper_runs() -> None:
    program = (
        "from toolsearch.state import InMemoryStore, ThreadKey\n"
        "store = InMemoryStore()\n"
        "store.add(ThreadKey(None, 't'), ['a'])\n"
        "assert store._sweeper.is_alive()\n"
    )
    finished = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=30, check=False)  # fmt: skip
    assert (finished.returncode, finished.stderr) == (0, "")


def test_threads_that_add_at_once_lose_nothing_and_add_nothing_twice(store: InMemoryStore) -> None:
    start = threading.Barrier(8)

    def work(worker: int) -> list[str]:
        start.wait(10)
        added: list[str] = []
        for step in range(100):
            added += store.add(ALICE, [f"shared{step}", f"own{worker}-{step}"])
            store.get(ALICE)
        return added

    with ThreadPoolExecutor(8) as pool:
        reported = list(chain.from_iterable(pool.map(work, range(8))))
    expected = {f"shared{step}" for step in range(100)} | {f"own{w}-{step}" for w in range(8) for step in range(100)}
    assert sorted(reported) == sorted(expected)
    assert sorted(store.get(ALICE)) == sorted(expected)
