"""A store of the caller's own: two methods, sync or async."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from office import Entry, Make, Rule, Talk, beside_meta

from toolsearch.errors import AsyncFilterError
from toolsearch.state import ThreadKey


class Notebook:
    """Two methods over a dictionary, and no more."""

    def __init__(self) -> None:
        self.pages: dict[ThreadKey, list[str]] = {}

    def get(self, key: ThreadKey) -> Sequence[str]:
        return list(self.pages.get(key, ()))

    def add(self, key: ThreadKey, names: Sequence[str]) -> Sequence[str]:
        page = self.pages.setdefault(key, [])
        new = [name for name in names if name not in page]
        page += new
        return new


class Far:
    """The same, a network away."""

    def __init__(self) -> None:
        self.near = Notebook()

    async def get(self, key: ThreadKey) -> Sequence[str]:
        await asyncio.sleep(0)
        return self.near.get(key)

    async def add(self, key: ThreadKey, names: Sequence[str]) -> Sequence[str]:
        await asyncio.sleep(0)
        return self.near.add(key, names)


@pytest.fixture(params=[Notebook, Far])
def store(request: pytest.FixtureRequest) -> Any:
    return request.param()


def test_a_store_of_two_methods_keeps_the_loaded_sets(make: Make, entry: Entry, store: Any) -> None:
    talk = Talk(make(storage=store), {"thread_id": "t", "resource_id": "ann"}, entry)
    talk.load("send_mail", "get_tides")
    talk.step()
    assert talk.load("get_tides", "book_flight")["already_loaded"] == ["get_tides"]
    assert talk.visible() == ["send_mail", "get_tides", "book_flight"]
    assert getattr(store, "near", store).pages == {ThreadKey("ann", "t"): ["send_mail", "get_tides", "book_flight"]}


def test_two_processors_over_one_store_share_their_threads(make: Make, entry: Entry, store: Any) -> None:
    Talk(make(storage=store), {"thread_id": "t"}, entry).load("send_mail")
    assert beside_meta(entry.step(make(storage=store), thread_id="t")) == ["send_mail"]
    assert beside_meta(entry.step(make(storage=store), thread_id="u")) == []


def test_a_request_without_a_thread_does_not_touch_the_store(make: Make, entry: Entry, store: Any) -> None:
    talk = Talk(make(storage=store), {"run": {}}, entry)
    talk.load("send_mail")
    assert talk.visible() == ["send_mail"]
    assert getattr(store, "near", store).pages == {}


def test_a_load_of_nothing_does_not_write(make: Make, store: Any) -> None:
    talk = Talk(make(storage=store), {"thread_id": "t"})
    talk.load("zebra")
    talk.search("email")
    assert getattr(store, "near", store).pages == {}


def test_a_store_that_can_remove_unloads(make: Make, entry: Entry) -> None:
    class Rubber(Notebook):
        def remove(self, key: ThreadKey, names: Sequence[str]) -> Sequence[str]:
            gone = [name for name in names if name in self.pages.get(key, ())]
            for name in gone:
                self.pages[key].remove(name)
            return gone

    talk = Talk(make(storage=Rubber(), unload=True), {"thread_id": "t"}, entry)
    talk.load("send_mail", "get_tides")
    talk.step()
    assert talk.call("unload_tool", {"tool_name": "send_mail"})["unloaded"] == ["send_mail"]
    assert talk.visible() == ["get_tides"]


async def test_an_asynchronous_store_under_the_synchronous_entry_in_a_loop_says_to_use_the_async_one(
    make: Make,
) -> None:
    processor = make(storage=Far())
    with pytest.raises(AsyncFilterError) as caught:
        processor.process_input_step_sync(thread_id="t")
    assert (caught.value.what, "process_input_step()" in str(caught.value)) == ("The store", True)


def test_the_inspection_methods_are_for_the_store_of_this_process(make: Make, store: Any) -> None:
    processor = make(storage=store)
    Talk(processor, {"thread_id": "t"}).load("send_mail")
    processor.clear_state("t")
    processor.clear_all_state()
    assert processor.get_state_stats() == {"thread_count": 0, "oldest_access_time": None}
    assert processor.cleanup_now() == 0
    assert beside_meta(processor.process_input_step_sync(thread_id="t")) == ["send_mail"]


def test_what_a_store_raises_is_raised_and_not_taken_for_an_empty_set(make: Make, entry: Entry) -> None:
    class Broken(Notebook):
        def get(self, key: ThreadKey) -> Sequence[str]:
            raise ConnectionError("down")

    with pytest.raises(ConnectionError):
        entry.step(make(storage=Broken()), thread_id="t")


def test_names_of_the_store_are_asked_active_and_not_load_again(make: Make, entry: Entry, store: Any) -> None:
    rule = Rule()
    talk = Talk(make(storage=store, filter=rule), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    rule.asked.clear()
    talk.step()
    assert rule.asked == [("active", "send_mail")]
