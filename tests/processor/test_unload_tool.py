"""`unload_tool`: an option that is off, and removes what is no longer needed."""

from typing import Any

import pytest
from office import SYNC, Entry, Make, Talk

from toolsearch.tool import Tool


@pytest.fixture(params=["in-memory", "context"])
def talk(request: pytest.FixtureRequest, make: Make, entry: Entry) -> Talk:
    """A conversation that has loaded three tools."""
    talk = Talk(make(unload=True, storage=request.param), {"thread_id": "t", "run": {}}, entry)
    talk.load("send_mail", "get_tides", "book_flight")
    talk.step()
    return talk


def test_it_is_off_unless_asked_for(make: Make) -> None:
    assert "unload_tool" not in SYNC.step(make()).tools


def test_it_says_that_it_costs_one_cache_write(make: Make) -> None:
    unload = SYNC.step(make(unload=True)).tools["unload_tool"]
    assert isinstance(unload, Tool)
    assert "one cache write" in unload.description


@pytest.mark.parametrize("arguments", [{"tool_name": "get_tides"}, {"toolNames": ["get_tides"]}])
def test_it_removes_names_from_the_loaded_set_and_the_others_keep_their_order(talk: Talk, arguments: Any) -> None:
    answer = talk.call("unload_tool", arguments)
    assert (answer["success"], answer["unloaded"], answer["not_loaded"]) == (True, ["get_tides"], [])
    assert talk.visible() == ["send_mail", "book_flight"]


def test_what_is_not_loaded_is_said(talk: Talk) -> None:
    answer = talk.call("unload_tool", {"tool_names": ["get_tides", "pay_invoice"]})
    assert (answer["success"], answer["unloaded"], answer["not_loaded"]) == (False, ["get_tides"], ["pay_invoice"])
    assert '"pay_invoice"' in answer["message"]


def test_neither_argument_says_which_is_missing(talk: Talk) -> None:
    answer = talk.call("unload_tool", {})
    assert (answer["success"], "tool_name" in answer["message"]) == (False, True)


def test_a_tool_loaded_again_goes_to_the_end(talk: Talk) -> None:
    talk.call("unload_tool", {"tool_name": "send_mail"})
    talk.step()
    talk.load("send_mail")
    assert talk.visible() == ["get_tides", "book_flight", "send_mail"]


def test_a_load_that_is_taken_back_in_the_same_step_leaves_nothing(talk: Talk) -> None:
    talk.load("pay_invoice")
    talk.call("unload_tool", {"tool_name": "pay_invoice"})
    assert talk.entry.call(talk.now, "pay_invoice").reason == "not-loaded"
    assert "pay_invoice" not in talk.visible()


def test_an_unloaded_tool_is_no_longer_callable_at_the_next_step(talk: Talk) -> None:
    talk.call("unload_tool", {"tool_name": "book_flight"})
    talk.step()
    assert talk.entry.call(talk.now, "book_flight").reason == "not-loaded"


def test_a_guessed_unload_is_refused_where_it_is_not_offered(make: Make) -> None:
    talk = Talk(make(), {"thread_id": "t"})
    talk.load("send_mail")
    assert talk.call("unload_tool", {"tool_name": "send_mail"})["success"] is False
    assert talk.visible() == ["send_mail"]
