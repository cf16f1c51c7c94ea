"""Resuming a paused run: its loaded tools, in both modes, in the same process and after a restart."""

from typing import Any

import pytest
from conversations import SHAPES, load
from office import Entry, Make, Rule, Talk, beside_meta, catalog, tool

STORAGES = ["in-memory", "context"]


def paused(make: Make, entry: Entry, **options: Any) -> Talk:
    """A run that has loaded two tools and now waits for an approval."""
    talk = Talk(make(**options), {"request_context": {"thread_id": "t"}}, entry)
    talk.load("send_mail", "get_tides")
    talk.step()
    return talk


@pytest.mark.parametrize("storage", STORAGES)
def test_a_run_is_resumed_in_the_process_that_paused_it(make: Make, entry: Entry, storage: str) -> None:
    tools = catalog()
    talk = paused(make, entry, tools=tools, storage=storage)
    resumed = entry.resume(talk.processor, {"thread_id": "t"}, None, talk.messages)
    assert list(resumed) == ["send_mail", "get_tides"]
    assert resumed["send_mail"] is tools[2]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_is_resumed_after_a_restart_from_its_messages(make: Make, entry: Entry, storage: str, shape: str) -> None:
    messages = SHAPES[shape](["help", [load("1", "send_mail", "get_tides")]])
    resumed = entry.resume(make(storage=storage), {"thread_id": "t"}, None, messages)
    assert list(resumed) == ["send_mail", "get_tides"]


def test_in_memory_what_was_read_back_is_kept_again(make: Make, entry: Entry) -> None:
    messages = paused(make, entry).messages
    restarted = make()
    entry.resume(restarted, {"thread_id": "t"}, None, messages)
    assert beside_meta(entry.step(restarted, thread_id="t")) == ["send_mail", "get_tides"]
    assert beside_meta(entry.step(restarted, thread_id="u")) == []


def test_in_memory_the_store_needs_no_messages(make: Make, entry: Entry) -> None:
    talk = paused(make, entry)
    assert list(entry.resume(talk.processor, {"thread_id": "t"})) == ["send_mail", "get_tides"]
    assert list(entry.resume(talk.processor, thread_id="t")) == ["send_mail", "get_tides"]
    assert list(entry.resume(talk.processor, thread_id="u")) == []


@pytest.mark.parametrize("storage", STORAGES)
def test_a_run_without_a_thread_is_resumed_with_its_run_or_its_messages(make: Make, entry: Entry, storage: str) -> None:
    talk = Talk(make(storage=storage), {"run": {}}, entry)
    talk.load("send_mail")
    talk.step()
    assert list(entry.resume(talk.processor, run=talk.request["run"])) == ["send_mail"]
    assert list(entry.resume(make(storage=storage), messages=talk.messages, run={})) == ["send_mail"]


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("phase", ["load", "active"])
def test_a_transcript_is_evidence_and_not_permission(make: Make, entry: Entry, storage: str, phase: str) -> None:
    messages = paused(make, entry).messages
    processor = make(storage=storage, filter=Rule(**{phase: ["send_mail"]}))
    assert list(entry.resume(processor, {"thread_id": "t"}, None, messages)) == ["get_tides"]
    after = entry.step(processor, thread_id="t", messages=messages)
    assert beside_meta(after) == ["get_tides"]


def test_a_denied_load_does_not_enter_the_store_by_way_of_a_transcript(make: Make, entry: Entry) -> None:
    rule = Rule(load=["send_mail"])
    messages = paused(make, entry).messages
    processor = make(filter=rule)
    entry.resume(processor, {"thread_id": "t"}, None, messages)
    rule.denied["load"] = set()
    assert beside_meta(entry.step(processor, thread_id="t")) == ["get_tides"]


@pytest.mark.parametrize("storage", STORAGES)
def test_loaded_request_tools_resume_with_this_requests_instances(make: Make, entry: Entry, storage: str) -> None:
    def box(owner: str) -> Any:
        return tool("get_mail", "Letters", answer=f"mail of {owner}")

    options: dict[str, Any] = {"storage": storage, "include_resolved_tools": True}
    talk = Talk(make(**options), {"thread_id": "t", "tools": [box("before")]}, entry)
    talk.load("get_mail", "send_mail")
    talk.step()
    fresh = box("after")
    for processor in (talk.processor, make(**options)):
        resumed = entry.resume(processor, {"thread_id": "t"}, [fresh], talk.messages)
        assert list(resumed) == ["get_mail", "send_mail"]
        assert resumed["get_mail"] is fresh
        assert list(entry.resume(processor, {"thread_id": "t"}, None, talk.messages)) == ["send_mail"]


@pytest.mark.parametrize("storage", STORAGES)
def test_loaded_tools_that_the_framework_feeds_back_are_no_clash(make: Make, entry: Entry, storage: str) -> None:
    talk = paused(make, entry, storage=storage)
    resumed = entry.resume(talk.processor, {"thread_id": "t"}, None, talk.messages)
    again = entry.resume(talk.processor, {"thread_id": "t"}, dict(resumed), talk.messages)
    assert list(again) == ["send_mail", "get_tides"]


@pytest.mark.parametrize("storage", STORAGES)
def test_a_receipt_for_a_tool_of_the_callers_own_resumes_as_that_tool(make: Make, entry: Entry, storage: str) -> None:
    own = tool("send_mail", "The caller's own", answer="own")
    messages = paused(make, entry).messages
    resumed = entry.resume(make(storage=storage), {"thread_id": "t"}, [own], messages)
    assert list(resumed) == ["get_tides"]


@pytest.mark.parametrize("storage", STORAGES)
def test_resuming_embeds_nothing(make: Make, entry: Entry, storage: str) -> None:
    from fakes import WordEncoder

    messages = paused(make, entry).messages
    encoder = WordEncoder()
    processor = make(storage=storage, model=encoder)
    before = encoder.texts_seen
    entry.resume(processor, {"thread_id": "t"}, None, messages)
    assert encoder.texts_seen == before
