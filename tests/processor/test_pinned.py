"""Pinned tools: they stay in the prompt, found or not, under the filter's `active` phase."""

import logging
from typing import Any

import pytest
from office import SYNC, Entry, Make, Rule, Talk, beside_meta, catalog, found, tool


def pinned_request() -> list[Any]:
    return [tool("clock", "Tell the time", pinned=True), tool("calendar", "List the appointments")]


def test_a_pinned_name_stays_in_the_prompt_and_can_be_called(make: Make, entry: Entry) -> None:
    step = entry.step(make(pinned=["book_flight", "send_mail"]), thread_id="t")
    assert beside_meta(step) == ["send_mail", "book_flight"]
    assert entry.call(step, "book_flight").content == {"ran": "book_flight"}
    assert step.loaded == ()


def test_a_tool_marked_pinned_stays_in_the_prompt(make: Make) -> None:
    assert beside_meta(SYNC.step(make([*catalog(), tool("clock", "Tell the time", pinned=True)]))) == ["clock"]


def test_a_pinned_tool_is_the_original_object(make: Make) -> None:
    original = {"name": "weather", "description": "Weather", "parameters": {"type": "object"}}
    assert SYNC.step(make([original], pinned=["weather"])).tools["weather"] is original


def test_a_pinned_name_that_nobody_has_is_no_trouble(make: Make) -> None:
    assert beside_meta(SYNC.step(make(pinned=["nobody"]))) == []


@pytest.mark.parametrize("how", ["mark", "option"])
def test_a_requests_pinned_tool_stays_in_the_prompt_where_the_others_are_searched(
    make: Make, entry: Entry, how: str
) -> None:
    clock, calendar = tool("clock", "Tell the time", pinned=how == "mark"), tool("calendar", "List the appointments")
    options: dict[str, Any] = {"include_resolved_tools": True, "pinned": ["clock"] if how == "option" else []}
    step = entry.step(make(**options), tools=[clock, calendar], thread_id="t")
    assert beside_meta(step) == ["clock"]
    assert step.tools["clock"] is clock
    assert entry.call(step, "clock").content == {"ran": "clock"}


def test_a_pinned_request_tool_is_not_in_the_searched_catalog_beside_the_prompt(make: Make) -> None:
    step = SYNC.step(make(include_resolved_tools=True), tools=pinned_request(), thread_id="t")
    results = step.call("search_tools", {"query": "clock"}).content["results"]
    assert [(result["name"], result["status"]) for result in results if result["name"] == "clock"] == [
        ("clock", "loaded")
    ]
    assert found(step.call("search_tools", {"query": "appointments"}).content)[0] == "calendar"


@pytest.mark.parametrize("phase", ["search", "load", "active"])
@pytest.mark.parametrize("kind", ["static", "request"])
def test_the_active_phase_applies_to_pinned_tools(make: Make, entry: Entry, phase: str, kind: str) -> None:
    rule = Rule(**{phase: ["clock"]})
    clock = tool("clock", "Tell the time", pinned=True)
    if kind == "static":
        step = entry.step(make([clock], filter=rule), thread_id="t")
    else:
        step = entry.step(make(filter=rule, include_resolved_tools=True), tools=[clock], thread_id="t")
    assert beside_meta(step) == ([] if phase == "active" else ["clock"])
    assert entry.call(step, "clock").is_error is (phase == "active")


def test_a_denied_pinned_tool_shows_nowhere(make: Make) -> None:
    processor = make(filter=Rule(search=["clock"], load=["clock"], active=["clock"]), include_resolved_tools=True)
    step = SYNC.step(processor, tools=pinned_request(), thread_id="t")
    answers = [
        step.call("search_tools", {"query": query}).content for query in ("clock", "tell the time", "select:clock")
    ]
    answers += [step.call("load_tool", {"tool_name": name}).content["message"] for name in ("clok", "clock_")]
    assert ["clock" in str(found(one)) for one in answers[:3]] == [False] * 3
    assert ["clock," in str(one) or "mean clock" in str(one) for one in answers[3:]] == [False] * 2


def test_a_right_withdrawn_after_the_step_began_is_noticed_at_the_call(make: Make) -> None:
    rule = Rule()
    processor = make(filter=rule, include_resolved_tools=True)
    step = SYNC.step(processor, tools=pinned_request(), thread_id="t")
    rule.denied["active"] = {"clock"}
    assert step.call("clock").reason == "not-loaded"


def test_pinned_tools_stand_in_the_same_place_in_every_step(make: Make) -> None:
    talk = Talk(make(pinned=["get_tides"]), {"thread_id": "t", "tools": [tool("mine", "Mine")]})
    first = list(talk.now.tools)
    talk.load("send_mail")
    assert list(talk.step().tools) == [*first, "send_mail"]


def test_loading_a_pinned_tool_says_that_it_is_there_and_doubles_nothing(make: Make, entry: Entry) -> None:
    talk = Talk(make(pinned=["get_tides"]), {"thread_id": "t"}, entry)
    assert talk.load("get_tides")["already_loaded"] == ["get_tides"]
    assert talk.visible() == ["get_tides"]


def test_a_pinned_tool_that_was_loaded_before_is_there_once(make: Make) -> None:
    talk = Talk(make(storage="context"), {"run": {}})
    talk.load("get_tides")
    again = Talk(make(storage="context", pinned=["get_tides"]), {"run": {}})
    again.messages = talk.messages
    assert again.visible() == ["get_tides"]


def test_a_clashing_pinned_request_tool_is_left_out_with_a_warning_and_kills_nothing(
    make: Make, entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    processor = make(include_resolved_tools=True)
    talk = Talk(processor, {"thread_id": "t"}, entry)
    talk.load("send_mail")
    step = talk.step(tools=[tool("send_mail", "An impostor", pinned=True)])
    assert entry.call(step, "send_mail", {"to": "ann"}).content == {"ran": "send_mail", "to": "ann"}
    assert [one.levelno for one in caplog.records if "'send_mail'" in one.getMessage()] == [logging.WARNING]


def test_a_pinned_request_tool_that_overrides_takes_the_static_ones_place(make: Make, entry: Entry) -> None:
    winner = tool("send_mail", "The request's own post office", pinned=True, overrides=True, answer="from the request")
    talk = Talk(make(include_resolved_tools=True), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    step = talk.step(tools=[winner])
    assert (beside_meta(step), step.tools["send_mail"] is winner) == (["send_mail"], True)
    assert entry.call(step, "send_mail").content == "from the request"
    results = entry.call(step, "search_tools", {"query": "email message to a person"}).content["results"]
    assert [one for one in results if one["name"] == "send_mail" and "email" in one["description"]] == []
    assert entry.call(talk.step(tools=None), "send_mail", {"to": "ann"}).content == {"ran": "send_mail", "to": "ann"}


def test_a_pinned_request_tool_with_an_illegal_name_is_left_out(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    bad = {"name": "two words", "description": "Bad", "parameters": {"type": "object"}}
    step = SYNC.step(make(include_resolved_tools=True, pinned=["two words"]), tools=[bad])
    assert (beside_meta(step), "two_words" in caplog.text) == ([], True)


def test_a_pinned_static_tool_replaced_by_the_requests_is_not_shown_under_its_name(make: Make) -> None:
    winner = tool("get_tides", "The request's own tides", overrides=True, answer="mine")
    step = SYNC.step(make(include_resolved_tools=True), tools=[winner], thread_id="t")
    assert beside_meta(step) == []
    pinned = SYNC.step(make(include_resolved_tools=True, pinned=["get_tides"]), tools=[winner], thread_id="t")
    assert pinned.tools["get_tides"] is winner
