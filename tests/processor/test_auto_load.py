"""`auto_load`: what a search finds is active without a second call."""

from typing import Any

import pytest
from office import NAMES, NEXT, Entry, Make, Rule, Talk, found, tool

from toolsearch.transcript import activated_names, loaded_names


@pytest.fixture
def auto(make: Make) -> Make:
    """Makes processors that load by themselves."""

    def build(tools: Any = None, *, search: Any = None, **options: Any) -> Any:
        return make(tools, search={"auto_load": True, **(search or {})}, **options)

    return build


def test_every_returned_match_is_activated_in_rank_order(auto: Make, entry: Entry) -> None:
    talk = Talk(auto(), {"thread_id": "t"}, entry)
    names = found(talk.search("email message inbox"))
    assert len(names) >= 2
    assert talk.visible() == names


def test_the_answer_carries_the_activation_receipt(auto: Make, entry: Entry) -> None:
    answer = Talk(auto(), {"thread_id": "t"}, entry).search("email message")
    assert answer["activation"] == {"type": "tool-search-auto-load", "version": 1, "loaded": found(answer)}
    assert list(activated_names(answer)) == found(answer)


def test_a_search_without_auto_load_carries_no_receipt_and_loads_nothing(make: Make) -> None:
    talk = Talk(make(), {"thread_id": "t"})
    assert "activation" not in talk.search("email message")
    assert talk.visible() == []


def test_the_message_names_the_tools_and_says_when_they_are_callable(auto: Make) -> None:
    answer = Talk(auto(), {"thread_id": "t"}).search("email message")
    assert all(name in answer["message"] for name in found(answer))
    assert NEXT in answer["message"]


def test_the_instruction_says_that_there_is_no_load_step(auto: Make) -> None:
    (text,) = Talk(auto(), {"thread_id": "t"}).now.system_messages
    assert ("load_tool" in text, NEXT in text) == (False, True)


def test_nothing_found_activates_nothing(auto: Make) -> None:
    talk = Talk(auto(), {"thread_id": "t"})
    answer = talk.search("zebra")
    assert (answer["results"], answer["activation"]["loaded"], talk.visible()) == ([], [], [])


def test_a_match_that_the_load_phase_denies_is_left_out_and_the_next_allowed_one_takes_its_place(
    auto: Make, entry: Entry
) -> None:
    best, second, third = found(Talk(auto(search={"top_k": 3, "min_score": 0}), {"thread_id": "t"}).search("email"))
    rule = Rule(load=[best])
    talk = Talk(auto(search={"top_k": 2, "min_score": 0}, filter=rule), {"thread_id": "t"}, entry)
    answer = talk.search("email")
    assert (found(answer), answer["activation"]["loaded"]) == ([second, third], [second, third])
    assert best not in answer["message"]
    assert talk.visible() == [second, third]


def test_a_match_that_the_search_phase_denies_is_not_asked_about_again(auto: Make) -> None:
    rule = Rule(search=NAMES)
    Talk(auto(filter=rule), {"thread_id": "t"}).search("email")
    assert rule.names("load") == []


def test_several_queries_activate_at_most_top_k_in_all_and_the_rest_is_counted(auto: Make, entry: Entry) -> None:
    talk = Talk(auto(search={"top_k": 2}), {"thread_id": "t"}, entry)
    answer = talk.call("search_tools", {"queries": ["select:send_mail,read_mail", "select:get_tides,get_weather"]})
    assert (len(answer["results"]), len(answer["activation"]["loaded"])) == (2, 2)
    assert "2 more match(es) were not loaded" in answer["message"]
    assert talk.visible() == found(answer)


def test_a_selection_activates_at_most_top_k_too(auto: Make) -> None:
    talk = Talk(auto(search={"top_k": 2}), {"thread_id": "t"})
    talk.search(f"select:{','.join(NAMES)}")
    assert talk.visible() == NAMES[:2]


def test_what_the_budget_has_no_room_for_is_not_activated(auto: Make) -> None:
    tools = [tool("post", "email", id=f"{'mail' * 15}_{n:02}") for n in range(20)]
    talk = Talk(auto(tools, search={"top_k": 20, "max_tokens": 300, "min_score": 0}), {"thread_id": "t"})
    answer = talk.search("email")
    shown = found(answer)
    assert 0 < len(shown) < 20
    assert (answer["activation"]["loaded"], talk.visible()) == (shown, shown)
    assert f"{20 - len(shown)} more match(es) were not loaded" in answer["message"]


def test_loading_again_moves_nothing_and_is_marked(auto: Make, entry: Entry) -> None:
    talk = Talk(auto(search={"top_k": 2}), {"thread_id": "t"}, entry)
    talk.search("select:send_mail,get_tides")
    talk.step()
    answer = talk.search("select:get_tides,send_mail")
    assert [result["status"] for result in answer["results"]] == ["loaded", "loaded"]
    assert "call directly without loading: get_tides, send_mail" in answer["message"]
    assert talk.visible() == ["send_mail", "get_tides"]


def test_a_tool_found_twice_in_one_step_is_not_said_to_be_callable_yet(auto: Make) -> None:
    talk = Talk(auto(search={"top_k": 1}), {"thread_id": "t"})
    talk.search("send_mail")
    answer = talk.search("send mail please now")
    assert answer["results"][0]["status"] == "loaded"
    assert "call directly" not in answer["message"]
    assert NEXT in answer["message"]


def test_the_receipts_of_a_conversation_re_derive_its_loaded_set(auto: Make) -> None:
    talk = Talk(auto(search={"top_k": 2}), {"thread_id": "t"})
    for query in ("email", "send_mail", "tide tables", "zebra", "email"):
        talk.search(query)
        talk.step()
    assert list(loaded_names(talk.messages)) == list(talk.now.loaded) != []


def test_a_tool_of_the_callers_own_is_shown_and_is_not_loaded(auto: Make) -> None:
    talk = Talk(auto(), {"thread_id": "t", "tools": [tool("read_news", "Read the news")]})
    assert talk.search("read_news")["results"][0]["status"] == "loaded"
    assert "read_news" not in talk.step().loaded


def test_without_a_thread_or_a_run_the_message_says_that_nothing_is_kept(auto: Make) -> None:
    answer = Talk(auto(), {}).search("email")
    assert "nothing can stay loaded" in answer["message"]
    assert NEXT not in answer["message"]


def test_loading_ends_a_row_of_fruitless_searches(auto: Make) -> None:
    talk = Talk(auto(search={"max_fruitless": 2, "top_k": 1}), {"thread_id": "t"})
    talk.search("zebra")
    talk.search("send_mail")
    assert "Stop searching" not in talk.search("zebra")["message"]


def test_a_guessed_load_tool_call_is_refused(auto: Make) -> None:
    talk = Talk(auto(), {"thread_id": "t"})
    answer = talk.load("send_mail")
    assert answer["success"] is False
    assert ("load_tool" in answer["message"], "search_tools" in answer["message"]) == (False, True)
    assert talk.visible() == []
