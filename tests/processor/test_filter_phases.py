"""The filter: three phases, false-like and raising deny, and nothing hidden shows through anywhere."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from office import NAMES, Entry, Make, Rule, Talk, beside_meta, catalog, denying, found, raises, sayings, slow, tool

from toolsearch.errors import AsyncFilterError
from toolsearch.tool import Tool


class Odd:
    """A verdict whose truth cannot be told."""

    def __bool__(self) -> bool:
        raise ValueError("neither")


FALSE_LIKE: list[Any] = [False, None, 0, 0.0, "", [], {}, ()]
TRUE_LIKE: list[Any] = [True, 1, "no", [0], {"allowed": False}]
PHASES = ["search", "load", "active"]


def in_phase(denied: str, verdict: Any) -> Callable[..., Any]:
    """A filter that answers so in one phase and lets everything through in the others."""
    return lambda *, phase, **_: verdict if phase == denied else True


def raising_in(denied: str) -> Callable[..., Any]:
    return lambda *, phase, **question: raises() if phase == denied else True


def test_it_is_asked_with_the_name_our_tool_the_request_context_and_the_phase(make: Make, entry: Entry) -> None:
    asked: list[dict[str, Any]] = []

    def rule(**question: Any) -> bool:
        asked.append(question)
        return True

    original = {"name": "weather", "description": "Weather forecast", "parameters": {"type": "object"}}
    context = {"user": "ann"}
    talk = Talk(make([original], filter=rule), {"thread_id": "t", "request_context": context}, entry)
    talk.search("weather")
    talk.load("weather")
    talk.step()
    assert [question["phase"] for question in asked] == ["search", "load", "active"]
    for question in asked:
        assert set(question) == {"tool_name", "tool", "request_context", "phase"}
        assert (question["tool_name"], question["request_context"] is context) == ("weather", True)
        assert isinstance(question["tool"], Tool)
        assert question["tool"].original is original


# The table of steps. Loaded before, what is called, what is refused in which phase: what is loaded and visible after.
Row: TypeAlias = tuple[list[str], tuple[str, Any], str | None, list[str], list[str]]
TABLE: list[Row] = [
    ([], ("load_tool", {"tool_name": "send_mail"}), None, ["send_mail"], ["send_mail"]),
    ([], ("load_tool", {"tool_name": "send_mail"}), "search", ["send_mail"], ["send_mail"]),
    ([], ("load_tool", {"tool_name": "send_mail"}), "load", [], []),
    ([], ("load_tool", {"tool_name": "send_mail"}), "active", ["send_mail"], []),
    (
        ["get_tides"],
        ("load_tool", {"tool_name": "send_mail"}),
        None,
        ["get_tides", "send_mail"],
        ["get_tides", "send_mail"],
    ),
    (["get_tides"], ("load_tool", {"tool_name": "send_mail"}), "load", ["get_tides"], ["get_tides"]),
    (["get_tides"], ("load_tool", {"tool_name": "send_mail"}), "active", ["get_tides", "send_mail"], ["get_tides"]),
    (
        ["send_mail", "get_tides"],
        ("load_tool", {"tool_name": "get_tides"}),
        None,
        ["send_mail", "get_tides"],
        ["send_mail", "get_tides"],
    ),
    (
        ["send_mail", "get_tides"],
        ("load_tool", {"tool_name": "get_tides"}),
        "search",
        ["send_mail", "get_tides"],
        ["send_mail", "get_tides"],
    ),
    (
        ["send_mail", "get_tides"],
        ("load_tool", {"tool_name": "get_tides"}),
        "active",
        ["send_mail", "get_tides"],
        ["get_tides"],
    ),
    (["send_mail"], ("search_tools", {"query": "send_mail"}), None, ["send_mail"], ["send_mail"]),
    ([], ("search_tools", {"query": "send_mail"}), None, [], []),
    (
        ["send_mail"],
        ("load_tool", {"tool_names": ["nonsense", "book_flight"]}),
        None,
        ["send_mail", "book_flight"],
        ["send_mail", "book_flight"],
    ),
    (
        ["get_tides"],
        ("load_tool", {"tool_names": ["send_mail", "book_flight"]}),
        "load",
        ["get_tides", "book_flight"],
        ["get_tides", "book_flight"],
    ),
]


@pytest.mark.parametrize("refusal", ["denies", "raises", "denies later", "raises later"])
@pytest.mark.parametrize("row", TABLE)
def test_a_step_as_a_row_of_the_table(make: Make, entry: Entry, refusal: str, row: Row) -> None:
    loaded, call, wanted, loaded_after, visible_after = row
    strict = [False]

    def rule(*, tool_name: str, phase: str, **_: Any) -> bool:
        if strict[0] and (phase, tool_name) == (wanted, "send_mail"):
            return bool(raises()) if refusal.startswith("raises") else False
        return True

    talk = Talk(make(filter=slow(rule) if refusal.endswith("later") else rule), {"thread_id": "t"}, entry)
    if loaded:
        talk.load(*loaded)
    strict[0] = True
    talk.step()
    talk.call(*call)
    assert talk.visible() == visible_after
    strict[0] = False
    assert talk.visible() == loaded_after


@pytest.mark.parametrize("verdict", FALSE_LIKE, ids=repr)
@pytest.mark.parametrize("phase", PHASES)
def test_what_is_false_like_denies(make: Make, verdict: Any, phase: str) -> None:
    assert permitted(make, in_phase(phase, verdict)) == {one: one != phase for one in PHASES}


@pytest.mark.parametrize("verdict", TRUE_LIKE, ids=repr)
def test_what_is_true_like_allows(make: Make, verdict: Any) -> None:
    assert permitted(make, lambda **_: verdict) == dict.fromkeys(PHASES, True)


@pytest.mark.parametrize("phase", PHASES)
def test_raising_denies_and_so_does_a_verdict_whose_truth_raises(make: Make, phase: str) -> None:
    for rule in (raising_in(phase), slow(raising_in(phase)), in_phase(phase, Odd())):
        assert permitted(make, rule) == {one: one != phase for one in PHASES}


def permitted(make: Make, rule: Callable[..., Any]) -> dict[str, bool]:
    """Which phases let `send_mail` through, seen from outside."""
    talk = Talk(make(filter=rule), {"thread_id": "t"})
    seen = found(talk.search("send_mail"))[:1] == ["send_mail"]
    loaded = talk.load("send_mail")["success"]
    if not loaded:
        return {"search": seen, "load": False, "active": True}
    return {"search": seen, "load": True, "active": talk.visible() == ["send_mail"]}


@pytest.mark.parametrize("phase", PHASES)
def test_a_failure_is_logged_once_with_the_tools_name_and_the_phase_and_never_shown_to_the_model(
    make: Make, entry: Entry, caplog: pytest.LogCaptureFixture, phase: str
) -> None:
    talk = Talk(make(filter=raising_in(phase), search={"top_k": 1, "max_per_server": None}), {"thread_id": "t"}, entry)
    answers = []
    for _ in range(3):
        answers += [talk.search("send_mail"), talk.load("send_mail"), entry.call(talk.now, "send_mail").content]
        talk.step()
    logged = [
        one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR and "send_mail" in one.getMessage()
    ]
    assert [("'send_mail'" in text, f"'{phase}'" in text) for text in logged] == [(True, True)]
    assert "secret reason" not in sayings(talk.now, answers)


def test_an_asynchronous_filter_is_awaited(make: Make, entry: Entry) -> None:
    talk = Talk(make(filter=slow(denying("send_mail"))), {"thread_id": "t"}, entry)
    assert "send_mail" not in found(talk.search("send_mail"))
    assert talk.load("send_mail", "get_tides")["loaded"] == ["get_tides"]
    assert talk.visible() == ["get_tides"]


async def test_the_synchronous_entry_with_an_async_filter_in_a_running_loop_says_to_use_the_async_one(
    make: Make,
) -> None:
    processor = make(filter=slow(Rule()))
    step = processor.process_input_step_sync(thread_id="t")
    with pytest.raises(AsyncFilterError) as caught:
        step.call("search_tools", {"query": "email"})
    assert ("acall" in str(caught.value), caught.value.what) == (True, "The filter")
    await step.acall("load_tool", {"tool_name": "send_mail"})
    with pytest.raises(AsyncFilterError) as caught:
        processor.process_input_step_sync(thread_id="t")
    assert "process_input_step()" in str(caught.value)
    with pytest.raises(AsyncFilterError) as caught:
        processor.get_loaded_tools_sync(thread_id="t")
    assert "get_loaded_tools()" in str(caught.value)


async def test_the_synchronous_entry_with_a_sync_filter_works_in_a_running_loop(make: Make) -> None:
    step = make(filter=Rule()).process_input_step_sync(thread_id="t")
    assert step.call("load_tool", {"tool_name": "send_mail"}).content["success"] is True


@pytest.mark.parametrize("search", [{}, {"max_per_server": 2, "min_score": 0}])
def test_an_always_true_filter_changes_nothing(make: Make, entry: Entry, search: dict[str, Any]) -> None:
    tools = [*catalog(), *(tool(f"post_{n}", "Send an email message", server="post") for n in range(4))]
    queries = ["email message", "send_mail", "zebra", "select:get_tides", "close the bug", ""]
    plain, filtered = (
        [Talk(make(tools, search=search, filter=rule), {"thread_id": "t"}, entry).search(query) for query in queries]
        for rule in (None, lambda **_: True)
    )
    assert plain == filtered


def test_a_denial_never_shortens_the_result_while_allowed_matches_remain(make: Make) -> None:
    tools = [tool("post", "email message", id=f"mail_{n:04}", server=f"s{n % 7}") for n in range(1_000)]
    for allowed in (["mail_0999"], ["mail_0500", "mail_0998", "mail_0999"]):
        rule = denying(*(one.id for one in tools if one.id not in allowed))
        talk = Talk(make(tools, filter=rule, search={"min_score": 0}), {"thread_id": "t"})
        assert sorted(found(talk.search("email message"))) == allowed


def test_a_denial_never_shortens_the_result_of_a_greedy_server_either(make: Make) -> None:
    greedy = [tool("post", "email message", id=f"greedy_{n:04}", server="greedy") for n in range(600)]
    late = tool("message", "parcel", id="late", server="other")
    allowed = ["greedy_0000", "late"]
    rule = denying(*(one.id for one in greedy if one.id not in allowed))
    options = {"search": {"min_score": 0, "max_per_server": 1, "top_k": 3}}
    talk = Talk(make([*greedy, late], filter=rule, **options), {"thread_id": "t"})
    assert found(talk.search("email message")) == allowed


def test_a_denial_does_not_change_the_scores_of_the_others(make: Make) -> None:
    options = {"search": {"min_score": 0, "top_k": 8, "max_per_server": None}}
    everything = Talk(make(**options), {"thread_id": "t"}).search("email message")["results"]
    rule = denying("send_mail", "get_tides")
    some = Talk(make(filter=rule, **options), {"thread_id": "t"}).search("email message")["results"]
    assert some == [result for result in everything if result["name"] not in ("send_mail", "get_tides")]


def test_the_filter_is_asked_in_rank_order_about_no_more_than_is_needed(make: Make) -> None:
    options: dict[str, Any] = {"search": {"min_score": 0, "top_k": 3, "max_per_server": None}}
    ranking = found(Talk(make(search={**options["search"], "top_k": 8}), {"thread_id": "t"}).search("email message"))
    rule = Rule(search=ranking[1:3])
    Talk(make(filter=rule, **options), {"thread_id": "t"}).search("email message")
    assert rule.asked == [("search", name) for name in ranking[:5]]


def test_load_is_asked_on_every_explicit_load(make: Make) -> None:
    rule = Rule()
    talk = Talk(make(filter=rule), {"thread_id": "t"})
    for _ in range(2):
        talk.load("send_mail", "get_tides")
    assert rule.names("load") == ["send_mail", "get_tides"] * 2


def test_active_is_asked_on_every_step_for_every_loaded_tool(make: Make, entry: Entry) -> None:
    rule = Rule()
    talk = Talk(make(filter=rule), {"thread_id": "t"}, entry)
    talk.load("send_mail", "get_tides")
    for _ in range(2):
        rule.asked.clear()
        talk.step()
        assert rule.asked == [("active", "send_mail"), ("active", "get_tides")]


def test_a_denial_by_active_hides_the_tool_for_this_request_only_and_its_place_is_kept(
    make: Make, entry: Entry
) -> None:
    rule = Rule()
    processor = make(
        filter=lambda *, request_context, **question: request_context or rule(request_context=None, **question)
    )
    talk = Talk(processor, {"thread_id": "t"}, entry)
    talk.load("send_mail", "get_tides", "book_flight")
    rule.denied["active"] = {"get_tides"}
    assert talk.visible() == ["send_mail", "book_flight"]
    assert talk.now.loaded == ("send_mail", "book_flight")
    assert beside_meta(talk.step(request_context="admin")) == ["send_mail", "get_tides", "book_flight"]
    rule.denied["active"] = set()
    talk.step()
    talk.load("pay_invoice")
    assert talk.visible() == ["send_mail", "get_tides", "book_flight", "pay_invoice"]


def test_it_never_touches_the_callers_own_tools_or_the_meta_tools(make: Make, entry: Entry) -> None:
    rule = denying(*NAMES, "mine", "search_tools", "load_tool")
    step = entry.step(make(filter=rule), tools=[tool("mine", "Mine")], thread_id="t")
    assert list(step.tools) == ["search_tools", "load_tool", "mine"]
    assert entry.call(step, "mine").content == {"ran": "mine"}
    assert found(entry.call(step, "search_tools", {"query": "mine"}).content) == ["mine"]
    assert {name for _, name in rule.asked} <= set(NAMES)


def test_no_message_names_a_tool_that_this_request_may_not_see(make: Make, entry: Entry) -> None:
    secret = tool(
        "launch_rocket", "Launch the secret rocket", needs=["target"], aliases=("fire_rocket",), server="nasa"
    )
    rule = denying("launch_rocket")
    options: dict[str, Any] = {
        "filter": rule,
        "inject_catalog": True,
        "unload": True,
        "search": {"min_score": 0, "top_k": 9},
    }
    talk = Talk(make([*catalog(), secret], **options), {"thread_id": "t"}, entry)
    answers = [
        talk.search(query)
        for query in ("rocket", "launch the secret", "fire_rocket", "nasa", "select:launch_rocket", "launch rocke")
    ]
    answers += [
        talk.load(name) for name in ("launch_rockets", "fire_rocket", "rocket", "launch_rocke", "rocket_launch")
    ]
    answers.append(talk.call("load_tool", {"tool_name": "launch_rockt"}))
    answers.append(talk.call("unload_tool", {"tool_name": "rocket"}))
    answers += [entry.call(talk.now, name, {"target": "moon"}).content for name in ("launch_rockets", "fire_rocket")]
    talk.step()
    heard = json.dumps([answer.get("message") for answer in answers]) + json.dumps(
        [answer.get("results", []) for answer in answers]
    )
    heard += " ".join(message["content"] for message in talk.messages if message["role"] == "system")
    for word in ("launch_rocket\\", '"launch_rocket"', "Launch the secret", "nasa", "`launch_rocket`"):
        assert word not in heard
    assert "target" not in heard


def test_a_request_that_may_not_see_a_tool_is_answered_as_if_it_did_not_exist(make: Make, entry: Entry) -> None:
    """Not a word differs, whatever is done; scores alone come from the whole catalog, so they are compared in order."""
    secret = tool("zz_launch", "Quokka quokka", server="zoo")

    def story(processor: Any) -> list[Any]:
        talk = Talk(processor, {"thread_id": "t"}, entry)
        said: list[Any] = []
        for query in ("quokka", "zz_launch", "zz launch", "email message", "select:zz_launch,send_mail", "zoo", "zoo"):
            answer = talk.search(query)
            said.append((found(answer), answer["message"]))
        said += [talk.load(*names) for names in (["zz_launch"], ["zz_launc"], ["send_mail", "zz_launch"], ["quokka"])]
        said += [entry.call(talk.now, "zz_launch", arguments).content for arguments in ({}, {"x": 1}, "not json")]
        said += [entry.check(talk.now, "zz_launch", {"x": 1})]
        talk.step()
        return [*said, list(talk.now.tools), [one for one in talk.messages if one["role"] == "system"]]

    options: dict[str, Any] = {"inject_catalog": True, "search": {"top_k": 3}}
    with_secret = story(make([*catalog(), secret], filter=denying("zz_launch"), **options))
    assert with_secret == story(make(filter=Rule(), **options))


@pytest.mark.parametrize("phase", PHASES)
def test_the_gate_reads_the_same_for_unknown_unloaded_and_denied(make: Make, entry: Entry, phase: str) -> None:
    talk = Talk(make(filter=Rule(**{phase: ["send_mail"]})), {"thread_id": "t"}, entry)
    if phase == "active":
        talk.load("send_mail")
        talk.step()
    texts = {
        json.dumps(entry.call(talk.now, name, arguments).content)
        for name in ("send_mail", "get_tides", "zebra")
        for arguments in ({}, {"to": "x"}, "broken")
    }
    assert len(texts) == 1


def test_every_request_is_judged_by_its_own_context(make: Make) -> None:
    processor = make(filter=lambda *, tool_name, request_context, **_: tool_name in request_context["may"])
    for may in (["send_mail"], ["get_tides"], []):
        talk = Talk(processor, {"thread_id": "t", "request_context": {"may": may}})
        assert talk.load("send_mail", "get_tides")["loaded"] == may
        assert talk.visible() == may


def test_a_cancelled_step_is_cancelled_and_not_denied(make: Make) -> None:
    async def never(**_: Any) -> bool:
        await asyncio.Event().wait()
        return True

    async def story() -> bool:
        step = await make(filter=never).process_input_step(thread_id="t")
        task = asyncio.create_task(step.acall("search_tools", {"query": "email"}))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(story()) is True
