"""The gate: the one way a tool is run, and what it says where it is not."""

import http.server
import json
import threading
from typing import Any

import pytest
from office import ASYNC, NEXT, SYNC, Entry, Make, Rule, Talk, catalog, found, raises, tool

from toolsearch.errors import AsyncFilterError, NoExecutorError
from toolsearch.processor import CallResult
from toolsearch.tool import Tool

MAIL = {"to": "ann"}


@pytest.fixture
def talk(make: Make, entry: Entry) -> Talk:
    """A conversation that has loaded `send_mail`, with a tool of the caller's own beside."""
    own = tool("mine", "The caller's own", needs=["what"])
    talk = Talk(make(), {"thread_id": "t", "tools": [own]}, entry)
    talk.load("send_mail")
    talk.step()
    return talk


def call(talk: Talk, name: str, arguments: Any = None) -> CallResult:
    return talk.entry.call(talk.now, name, arguments)


def test_a_loaded_tool_runs_with_its_arguments(talk: Talk) -> None:
    assert call(talk, "send_mail", MAIL) == CallResult("send_mail", {"ran": "send_mail", "to": "ann"})


def test_the_callers_own_tool_runs(talk: Talk) -> None:
    assert call(talk, "mine", {"what": "x"}).content == {"ran": "mine", "what": "x"}


def test_arguments_may_be_an_object_its_json_text_or_nothing(make: Make, entry: Entry) -> None:
    step = entry.step(make(), tools=[tool("ping", "Ping")], thread_id="t")
    nothing: list[Any] = [{}, "{}", b"{}", "", None]
    for arguments in nothing:
        assert entry.call(step, "ping", arguments).content == {"ran": "ping"}
    assert entry.call(step, "ping", '{"a": 1}').content == {"ran": "ping", "a": 1}


def test_a_tool_that_is_not_loaded_is_refused_and_the_answer_says_what_to_do(talk: Talk) -> None:
    refusal = call(talk, "get_tides", {"harbour": "x"})
    assert (refusal.is_error, refusal.reason, refusal.tool) == (True, "not-loaded", "get_tides")
    assert ("search_tools" in refusal.content["message"], "load_tool" in refusal.content["message"]) == (True, True)
    assert "parameters" not in refusal.content


def test_a_guessed_name_does_not_run(talk: Talk) -> None:
    assert call(talk, "zebra").reason == "not-loaded"


def test_with_auto_load_the_refusal_does_not_send_the_model_to_load_tool(make: Make) -> None:
    step = SYNC.step(make(search={"auto_load": True}), thread_id="t")
    message = step.call("send_mail", MAIL).content["message"]
    assert ("search_tools" in message, "load_tool" in message) == (True, False)


def test_a_tool_loaded_in_this_step_is_refused_until_the_next_model_call(talk: Talk) -> None:
    talk.load("get_tides")
    refusal = call(talk, "get_tides", {"harbour": "x"})
    assert (refusal.is_error, refusal.reason, NEXT in refusal.content["message"]) == (True, "pending", True)
    talk.step()
    assert call(talk, "get_tides", {"harbour": "x"}).is_error is False


@pytest.mark.parametrize("arguments", [{}, {"to": 5}, {"to": None}, "not json", "[1]", "5", 5, ["to"]])
@pytest.mark.parametrize("name", ["send_mail", "mine"])
def test_missing_or_wrong_arguments_are_refused_and_the_answer_carries_the_schema(
    talk: Talk, name: str, arguments: Any
) -> None:
    if name == "mine" and isinstance(arguments, dict):
        arguments = {"what": arguments.get("to")}
    refusal = call(talk, name, arguments)
    schema = tool("mine", needs=["what"]).parameters if name == "mine" else catalog()[2].parameters
    assert (refusal.is_error, refusal.reason) == (True, "arguments")
    assert refusal.content["parameters"] == schema
    assert refusal.content["success"] is False


def test_the_refusal_names_the_argument(talk: Talk) -> None:
    assert "'to' is a required property" in call(talk, "send_mail", {}).content["message"]
    assert "to: 5 is not of type 'string'" in call(talk, "send_mail", {"to": 5}).content["message"]


def test_a_wrong_argument_of_great_length_is_not_repeated_whole(talk: Talk) -> None:
    assert len(json.dumps(call(talk, "send_mail", {"to": ["x" * 100_000]}).content)) < 1_500


def test_a_withdrawn_right_is_noticed_at_the_call(make: Make, entry: Entry) -> None:
    rule = Rule()
    talk = Talk(make(filter=rule), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    talk.step()
    rule.denied["active"] = {"send_mail"}
    assert call(talk, "send_mail", MAIL).reason == "not-loaded"
    assert entry.check(talk.now, "send_mail", MAIL) is not None
    rule.denied["active"] = set()
    assert call(talk, "send_mail", MAIL).is_error is False


def test_a_withdrawn_right_holds_for_a_loaded_tool_that_the_framework_feeds_back_too(make: Make, entry: Entry) -> None:
    rule, tools = Rule(), catalog()
    talk = Talk(make(tools, filter=rule), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    talk.step(tools=[tools[2]])
    assert call(talk, "send_mail", MAIL).is_error is False
    rule.denied["active"] = {"send_mail"}
    assert call(talk, "send_mail", MAIL).reason == "not-loaded"


def test_a_denied_call_with_wrong_arguments_does_not_show_the_schema(make: Make, entry: Entry) -> None:
    rule = Rule()
    talk = Talk(make(filter=rule), {"thread_id": "t"}, entry)
    talk.load("send_mail")
    talk.step()
    rule.denied["active"] = {"send_mail"}
    assert "parameters" not in call(talk, "send_mail", {}).content


def test_what_a_tool_raises_is_raised(make: Make, entry: Entry) -> None:
    step = entry.step(make(), tools=[Tool(name="broken", executor=raises)])
    with pytest.raises(RuntimeError, match="secret reason"):
        entry.call(step, "broken")


def test_an_asynchronous_tool_is_awaited(make: Make, entry: Entry) -> None:
    async def fetch(page: str) -> str:
        """Fetch a page."""
        return f"content of {page}"

    step = entry.step(make(), tools=[fetch])
    assert entry.call(step, "fetch", {"page": "one"}).content == "content of one"


async def test_an_asynchronous_tool_under_the_synchronous_entry_in_a_loop_says_to_use_acall(make: Make) -> None:
    async def fetch() -> str:
        """Fetch."""
        return "content"

    step = make().process_input_step_sync(tools=[fetch])
    with pytest.raises(AsyncFilterError) as caught:
        step.call("fetch")
    assert "acall" in str(caught.value)
    assert (await step.acall("fetch")).content == "content"


async def test_a_synchronous_tool_does_not_hold_up_the_loop(make: Make) -> None:
    threads: list[int] = []
    step = await make().process_input_step(tools=[tool("mine", answer=None)])
    ident = threading.get_ident()

    def run() -> int:
        threads.append(threading.get_ident())
        return 1

    step = await make().process_input_step(tools=[Tool(name="mine", executor=run)])
    await step.acall("mine")
    assert (len(threads), threads[0] != ident) == (1, True)


def test_a_definition_without_an_executor_says_to_run_it_yourself(make: Make, entry: Entry) -> None:
    definition = {"name": "remote", "description": "Remote", "parameters": {"type": "object", "required": ["x"]}}
    step = entry.step(make(), tools=[definition])
    with pytest.raises(NoExecutorError) as caught:
        entry.call(step, "remote", {"x": 1})
    assert "check()" in str(caught.value)
    assert entry.call(step, "remote", {}).reason == "arguments"


def test_check_gives_the_refusal_that_call_would_give_or_none(talk: Talk) -> None:
    for name, arguments in (
        ("send_mail", MAIL),
        ("send_mail", {}),
        ("mine", {"what": "x"}),
        ("mine", "broken"),
        ("get_tides", {}),
        ("zebra", {}),
    ):
        result = call(talk, name, arguments)
        assert talk.entry.check(talk.now, name, arguments) == (result if result.is_error else None)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("load_tool", {"toolName": "x"}), ("load_tool", {"tool_names": "x"}), ("search_tools", {}), ("search_tools", "{")],
)
def test_check_leaves_the_arguments_of_the_meta_tools_to_them(talk: Talk, name: str, arguments: Any) -> None:
    assert talk.entry.check(talk.now, name, arguments) is None
    assert call(talk, name, arguments).is_error is False


def test_a_tool_of_unknown_shape_passes_the_check_and_is_run_by_its_caller(make: Make, entry: Entry) -> None:
    step = entry.step(make(), tools=[{"type": "web_search_preview"}])
    assert entry.check(step, "web_search_preview", {"any": "thing"}) is None
    with pytest.raises(NoExecutorError):
        entry.call(step, "web_search_preview", {"any": "thing"})


def test_a_broken_schema_cannot_object_and_is_logged(
    make: Make, entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    broken = Tool(name="odd", parameters={"type": "no such type"}, executor=lambda **_: "ran")
    assert entry.call(entry.step(make(), tools=[broken]), "odd", {"a": 1}).content == "ran"
    assert "'odd'" in caplog.text


@pytest.mark.parametrize("kind", [5, ["https://json-schema.org/draft/2020-12/schema"]])
def test_a_schema_of_no_known_kind_cannot_object_either(make: Make, entry: Entry, kind: Any) -> None:
    broken = Tool(name="odd", parameters={"$schema": kind, "type": "object"}, executor=lambda **_: "ran")
    assert entry.call(entry.step(make(), tools=[broken]), "odd", {"a": 1}).content == "ran"


def test_no_argument_keeps_the_others_from_being_checked(make: Make, entry: Entry) -> None:
    parameters = {
        "type": "object",
        "properties": {
            "kids": {"type": "array", "items": {"$ref": "#"}},
            "n": {"type": "number", "multipleOf": 0.1},
            "to": {"type": "string"},
        },
    }
    step = entry.step(make(), tools=[Tool(name="go", parameters=parameters, executor=lambda **_: "ran")])
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"kids": [deep]}
    for stopper in (deep, {"n": 10**400}):
        refused = entry.call(step, "go", {**stopper, "to": 5})
        assert (refused.reason, refused.is_error) == ("arguments", True)


def test_a_schema_that_goes_in_circles_cannot_object(make: Make, entry: Entry) -> None:
    circle = {"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}
    step = entry.step(make(), tools=[Tool(name="odd", parameters=circle, executor=lambda **_: "ran")])
    assert entry.call(step, "odd", {"a": 1}).content == "ran"


def test_arguments_have_names(make: Make, entry: Entry) -> None:
    step = entry.step(make(), tools=[Tool(name="mine", executor=lambda **_: "ran")])
    assert entry.call(step, "mine", {1: 2}).reason == "arguments"


def test_schemas_may_refer_to_their_own_definitions(make: Make, entry: Entry) -> None:
    parameters = {
        "type": "object",
        "$defs": {"place": {"type": "string"}},
        "properties": {"to": {"$ref": "#/$defs/place"}, "any": {"oneOf": [{"type": "null"}, {"type": "integer"}]}},
    }
    step = entry.step(make(), tools=[Tool(name="go", parameters=parameters, executor=lambda **_: "ran")])
    assert entry.call(step, "go", {"to": "x", "any": None}).content == "ran"
    assert entry.call(step, "go", {"to": 5}).reason == "arguments"
    assert entry.call(step, "go", {"any": "x"}).reason == "arguments"


def test_a_strangers_schema_makes_us_open_no_address(make: Make, entry: Entry) -> None:
    asked: list[str] = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_error(404)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Listener) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        address = f"http://127.0.0.1:{server.server_port}/secret"
        parameters = {"type": "object", "properties": {"to": {"$ref": address}}}
        step = entry.step(make(), tools=[Tool(name="go", parameters=parameters, executor=lambda **_: "ran")])
        entry.call(step, "go", {"to": "x"})
        server.shutdown()
        thread.join()
    assert asked == []


def test_meta_tools_are_never_refused_by_the_filter(make: Make, entry: Entry) -> None:
    step = entry.step(make(filter=lambda **_: False), thread_id="t")
    assert found(entry.call(step, "search_tools", {"query": "email"}).content) == []
    assert entry.call(step, "load_tool", {"tool_name": "x"}).is_error is False


def test_the_executor_gets_the_arguments_and_nothing_else(make: Make) -> None:
    got: list[dict[str, Any]] = []
    own = Tool(name="mine", executor=lambda **values: got.append(values))
    for entry in (SYNC, ASYNC):
        entry.call(entry.step(make(), tools=[own], request_context={"user": "ann"}), "mine", {"a": {"b": [1]}})
    assert got == [{"a": {"b": [1]}}] * 2


def test_a_tool_that_returns_something_awaitable_is_awaited(make: Make, entry: Entry) -> None:
    async def later() -> str:
        return "later"

    step = entry.step(make(), tools=[Tool(name="mine", executor=later)])
    assert entry.call(step, "mine").content == "later"
