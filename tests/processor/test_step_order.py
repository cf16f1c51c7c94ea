"""The order of a step's tools: the contract that keeps prompt caches valid."""

import copy
from typing import Any

import pytest
from office import NAMES, NEXT, SYNC, Entry, Make, Talk, beside_meta, catalog, tool

from toolsearch.errors import DuplicateToolError
from toolsearch.tool import Tool
from toolsearch.wire import to_mcp


def own_tools() -> dict[str, Tool]:
    return {name: tool(name, f"The caller's {name}") for name in ("zeta", "alpha")}


def test_meta_tools_come_first_then_the_callers_own_in_their_order_then_loaded_ones_in_load_order(
    make: Make, entry: Entry
) -> None:
    talk = Talk(make(), {"thread_id": "t", "tools": own_tools()}, entry)
    talk.load("send_mail", "book_flight")
    talk.step()
    talk.load("close_issue")
    assert list(talk.step().tools) == [
        *("search_tools", "load_tool"),
        *("zeta", "alpha"),
        *("send_mail", "book_flight", "close_issue"),
    ]
    assert talk.now.loaded == ("send_mail", "book_flight", "close_issue")


def test_load_tool_is_absent_with_auto_load(make: Make) -> None:
    assert list(SYNC.step(make(search={"auto_load": True})).tools) == ["search_tools"]


def test_unload_tool_follows_load_tool_where_it_is_asked_for(make: Make) -> None:
    assert list(SYNC.step(make(unload=True)).tools) == ["search_tools", "load_tool", "unload_tool"]
    assert "unload_tool" not in SYNC.step(make()).tools


def test_loading_again_moves_nothing(make: Make, entry: Entry) -> None:
    talk = Talk(make(), {"thread_id": "t"}, entry)
    talk.load("send_mail", "book_flight")
    talk.step()
    talk.load("book_flight", "send_mail")
    assert talk.visible() == ["send_mail", "book_flight"]


def test_loading_again_moves_nothing_in_a_run_without_a_thread_either(make: Make, entry: Entry) -> None:
    talk = Talk(make(), {"run": {}}, entry)
    talk.load("send_mail", "book_flight")
    talk.step()
    talk.load("send_mail", "get_tides")
    assert talk.visible() == ["send_mail", "book_flight", "get_tides"]


def test_loading_appends_in_the_order_of_the_call_not_of_the_catalog(make: Make) -> None:
    talk = Talk(make(), {"thread_id": "t"})
    talk.load(*reversed(NAMES))
    assert talk.visible() == [*reversed(NAMES)]


@pytest.mark.parametrize("options", [{}, {"search": {"auto_load": True}}, {"unload": True}])
def test_the_text_of_the_meta_tools_is_byte_identical_in_every_step(make: Make, options: dict[str, Any]) -> None:
    talk = Talk(make(**options), {"thread_id": "t"})

    def definitions() -> list[str]:
        return [
            one.model_dump_json()
            for name, one in talk.now.tools.items()
            if name.endswith(("_tools", "_tool")) and isinstance(one, Tool) and name not in NAMES
        ]

    first = definitions()
    assert len(first) >= 1
    for request in ({"tools": own_tools()}, {"thread_id": "other"}, {"step_number": 9}):
        talk.search("email message")
        talk.step(**request)
        assert definitions() == first


def test_what_is_loaded_during_a_step_is_not_in_that_steps_tools_and_is_in_the_next_ones(
    make: Make, entry: Entry
) -> None:
    talk = Talk(make(), {"thread_id": "t"}, entry)
    before = list(talk.now.tools)
    talk.load("send_mail")
    assert list(talk.now.tools) == before
    assert "send_mail" not in talk.now.loaded
    assert talk.visible() == ["send_mail"]


def test_a_step_keeps_its_snapshot_while_another_step_of_the_thread_loads(make: Make) -> None:
    processor = make()
    first, second = (SYNC.step(processor, thread_id="t") for _ in range(2))
    second.call("load_tool", {"tool_name": "book_flight"})
    assert first.call("book_flight").reason == "not-loaded"
    assert SYNC.step(processor, thread_id="t").call("book_flight").is_error is False


def test_a_loaded_tool_is_the_original_object_with_all_its_attributes(make: Make) -> None:
    class Foreign(dict[str, Any]):
        needs_approval = True

    foreign = Foreign(name="sign", description="Sign a contract", parameters={"type": "object"})
    ours = tool("seal", "Seal a letter", annotations={"destructiveHint": True})
    talk = Talk(make([foreign, ours]), {"thread_id": "t"})
    talk.load("sign", "seal")
    tools = talk.step().tools
    assert (tools["sign"] is foreign, tools["seal"] is ours) == (True, True)


def test_a_clash_of_the_callers_tool_with_a_loaded_one_is_an_error_that_names_both(make: Make, entry: Entry) -> None:
    talk = Talk(make(), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    with pytest.raises(DuplicateToolError) as caught:
        talk.step(tools=[tool("send_mail", "An impostor", server="elsewhere")])
    assert ("server 'elsewhere'" in str(caught.value), "server 'post'" in str(caught.value)) == (True, True)


def test_a_callers_tool_of_unknown_shape_clashes_with_a_loaded_one_too(make: Make) -> None:
    talk = Talk(make(), {"thread_id": "t"})
    talk.load("send_mail")
    with pytest.raises(DuplicateToolError):
        talk.step(tools={"send_mail": {"type": "provider_tool"}})


def test_a_loaded_tool_fed_back_as_the_same_object_is_no_clash_and_keeps_its_place(make: Make) -> None:
    mail, weather = catalog()[2], catalog()[4]
    talk = Talk(make([mail, weather]), {"thread_id": "t"})
    talk.load("get_weather", "send_mail")
    assert beside_meta(talk.step(tools=[mail, weather])) == ["get_weather", "send_mail"]


def test_a_loaded_tool_fed_back_around_the_same_original_is_no_clash(make: Make) -> None:
    original = {"name": "weather", "description": "Weather", "parameters": {"type": "object"}}
    talk = Talk(make([original]), {"thread_id": "t"})
    talk.load("weather")
    assert beside_meta(talk.step(tools=[Tool(name="weather", original=original)])) == ["weather"]
    assert talk.now.tools["weather"] is original


def test_a_loaded_tool_that_a_framework_rebuilt_is_known_by_our_mark(make: Make, entry: Entry) -> None:
    talk = Talk(make(), {"thread_id": "t"}, entry)
    talk.load("send_mail", "get_weather")
    rebuilt = [to_mcp(one) for one in catalog() if one.id in ("get_weather", "send_mail")]
    talk.step(tools=[*own_tools().values(), *rebuilt])
    assert beside_meta(talk.now) == ["zeta", "alpha", "send_mail", "get_weather"]
    assert isinstance(talk.now.tools["send_mail"], Tool)


def test_a_rebuilt_tool_fed_back_does_not_escape_the_filter_by_passing_for_the_callers_own(make: Make) -> None:
    processor = make(filter=lambda *, phase, **_: phase != "active")
    step = SYNC.step(processor, thread_id="t", tools=[to_mcp(catalog()[2])])
    assert beside_meta(step) == []
    assert step.call("send_mail", {"to": "x"}).reason == "not-loaded"


def test_a_loaded_tool_fed_back_as_it_is_does_not_escape_the_filter_either(make: Make) -> None:
    open_, tools = [True], catalog()
    talk = Talk(make(tools, filter=lambda *, phase, **_: phase != "active" or open_[0]), {"thread_id": "t"})
    talk.load("send_mail")
    open_[0] = False
    assert beside_meta(talk.step(tools=[tools[2]])) == []


def test_meta_tools_that_a_framework_feeds_back_are_not_doubled_and_nobody_is_warned(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    processor = make()
    first = SYNC.step(processor)
    rebuilt = [to_mcp(one) for one in first.tools.values() if isinstance(one, Tool)]
    for fed in (dict(first.tools), rebuilt):
        assert list(SYNC.step(processor, tools=fed).tools) == ["search_tools", "load_tool"]
    assert caplog.messages == []


def test_provider_tools_that_we_cannot_read_pass_through_in_their_place(make: Make) -> None:
    browse = {"type": "web_search_preview"}
    step = SYNC.step(make(), tools=[tool("zeta", "first"), browse, tool("alpha", "last")])
    assert beside_meta(step) == ["zeta", "web_search_preview", "alpha"]
    assert step.tools["web_search_preview"] is browse


def test_a_providers_own_tools_are_called_by_their_names(make: Make) -> None:
    shell = {"type": "bash_20250124", "name": "bash"}
    servers = [{"type": "mcp", "server_label": label} for label in ("a", "b")]
    step = SYNC.step(make(), tools=[shell, *servers])
    assert beside_meta(step) == ["bash", "mcp", "mcp_2"]
    assert [step.tools["bash"], step.tools["mcp"], step.tools["mcp_2"]] == [shell, *servers]
    assert step.check("bash", {"command": "ls"}) is None


@pytest.mark.parametrize("resolve", [True, False])
def test_an_object_that_raises_when_looked_at_kills_no_step(make: Make, resolve: bool) -> None:
    class Hostile:
        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(name)

    step = SYNC.step(make(include_resolved_tools=resolve), tools=[Hostile(), tool("mine", "Mine", pinned=True)])
    assert beside_meta(step) == ["mine"]


def test_nothing_of_the_callers_is_mutated(make: Make, entry: Entry) -> None:
    tools: dict[str, object] = {"mine": {"name": "mine", "description": "Mine", "parameters": {"type": "object"}}}
    messages: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    context = {"user": "ann"}
    before = copy.deepcopy((tools, messages, context))
    step = entry.step(make(), tools=tools, messages=messages, request_context=context, thread_id="t")
    entry.call(step, "search_tools", {"query": "email"})
    entry.call(step, "load_tool", {"tool_name": "send_mail"})
    assert (tools, messages, context) == before
    assert step.tools["mine"] is tools["mine"]
    assert step.messages is not messages


def test_system_messages_are_added_once_and_not_once_a_step(make: Make) -> None:
    talk = Talk(make(inject_catalog=True), {"thread_id": "t"})
    texts = [message["content"] for message in talk.messages if message["role"] == "system"]
    assert (len(talk.now.system_messages), texts) == (2, [*talk.now.system_messages])
    for name in ("send_mail", "get_weather", "get_tides"):
        talk.load(name)
        assert talk.step().system_messages == ()
    assert [message["content"] for message in talk.messages if message["role"] == "system"] == texts


def test_system_messages_stand_behind_the_callers_own_and_before_the_first_turn(make: Make) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    step = SYNC.step(make(), messages=messages)
    assert [message["role"] for message in step.messages] == ["system", "system", "user"]
    assert (step.messages[0] is messages[0], step.messages[2] is messages[1]) == (True, True)


def test_a_user_who_says_our_words_does_not_keep_them_from_the_system_prompt(make: Make) -> None:
    processor = make()
    (text,) = SYNC.step(processor).system_messages
    assert SYNC.step(processor, messages=[{"role": "user", "content": text}]).system_messages == (text,)


def test_our_words_inside_a_longer_system_message_are_not_said_again(make: Make) -> None:
    processor = make()
    (text,) = SYNC.step(processor).system_messages
    merged = [{"role": "system", "content": f"Be brief.\n\n{text}\n\nBe kind."}]
    assert SYNC.step(processor, messages=merged).system_messages == ()


def test_every_text_that_speaks_of_loading_says_when_the_tool_can_be_called(make: Make) -> None:
    step = SYNC.step(make(inject_catalog=True), thread_id="t")
    texts = [*step.system_messages]
    texts += [one.description for name, one in step.tools.items() if name == "load_tool" and isinstance(one, Tool)]
    texts += [step.call("search_tools", {"query": "email message"}).content["message"]]
    texts += [step.call("load_tool", {"tool_name": "send_mail"}).content["message"]]
    texts += [step.call("load_tool", {"tool_name": "send_mail"}).content["message"]]
    texts += [step.call("search_tools", {"query": "send_mail"}).content["message"]]
    texts += [step.call("send_mail", {"to": "x"}).content["message"]]
    assert [NEXT in text for text in texts] == [True] * len(texts)
    assert len(texts) == 8


def test_the_catalog_version_changes_exactly_when_the_catalog_does(make: Make) -> None:
    one, two = make(), make()
    assert SYNC.step(one).catalog_version == SYNC.step(two, thread_id="t").catalog_version
    assert SYNC.step(one).catalog_version != SYNC.step(make(catalog()[1:])).catalog_version
    processor = make(include_resolved_tools=True)
    versions = [
        SYNC.step(processor, tools=tools).catalog_version
        for tools in (None, [tool("a", "x")], [tool("a", "x")], [tool("a", "y")], [tool("b", "x")])
    ]
    assert (versions[1] == versions[2], len(set(versions))) == (True, 4)


@pytest.mark.parametrize("container", [5, "send_mail", b"x", object()])
def test_a_container_that_is_none_is_left_out_with_a_warning(
    make: Make, container: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for resolve in (False, True):
        step = SYNC.step(make(include_resolved_tools=resolve), tools=container, messages=None)
        assert list(step.tools) == ["search_tools", "load_tool"]
    assert len(caplog.messages) == 2
