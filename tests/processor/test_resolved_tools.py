"""`include_resolved_tools`: a request's tools join the catalog for their own step, and belong to nobody else."""

import logging
from typing import Any

import pytest
from fakes import WordEncoder
from office import NAMES, SYNC, Entry, Make, Rule, Talk, beside_meta, catalog, found, tool

from toolsearch.corpus import Segment
from toolsearch.definitions import read_definition
from toolsearch.processor import ToolSearchProcessor
from toolsearch.tool import Tool
from toolsearch.wire import to_mcp


@pytest.fixture
def open_office(make: Make) -> Make:
    """Makes processors that search the request's tools."""

    def build(tools: Any = None, **options: Any) -> ToolSearchProcessor:
        return make(tools, include_resolved_tools=True, **options)

    return build


def mailbox(owner: str) -> Tool:
    """`get_mail` of one person: for everybody the same text, for each another executor."""
    return tool("get_mail", "Fetch the letters of the mailbox", answer=f"mail of {owner}")


def warnings_of(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    return [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING and name in one.getMessage()]


def test_without_the_option_request_tools_stay_in_the_prompt_and_out_of_the_catalog(make: Make) -> None:
    step = SYNC.step(make(), tools=[mailbox("ann")], thread_id="t")
    assert beside_meta(step) == ["get_mail"]
    assert "get_mail" not in found(step.call("search_tools", {"query": "letters of the mailbox"}).content)


def test_all_tools_of_the_step_leave_the_prompt_and_join_the_static_catalog(open_office: Make, entry: Entry) -> None:
    step = entry.step(open_office(), tools=[mailbox("ann"), tool("polish", "Polish the shoes")], thread_id="t")
    assert beside_meta(step) == []
    for query, name in (
        ("letters of the mailbox", "get_mail"),
        ("polish shoes", "polish"),
        ("tide tables", "get_tides"),
    ):
        assert found(entry.call(step, "search_tools", {"query": query}).content)[0] == name


def test_they_join_for_this_step_only(open_office: Make) -> None:
    talk = Talk(open_office(), {"thread_id": "t"})
    talk.step(tools=[mailbox("ann")])
    talk.load("get_mail")
    assert talk.visible() == []
    assert "get_mail" not in found(talk.search("letters of the mailbox"))
    assert talk.load("get_mail")["not_found"] == ["get_mail"]


def test_names_that_do_not_resolve_are_skipped_and_return_in_place(open_office: Make, entry: Entry) -> None:
    talk = Talk(open_office(), {"thread_id": "t"}, entry)
    ann = [mailbox("ann")]
    talk.step(tools=ann)
    talk.load("send_mail", "get_mail", "get_tides")
    assert beside_meta(talk.step()) == ["send_mail", "get_tides"]
    talk.load("book_flight")
    assert beside_meta(talk.step(tools=ann)) == ["send_mail", "get_mail", "get_tides", "book_flight"]


def test_the_instance_of_this_request_is_loaded_though_anothers_was_indexed_a_moment_before(
    open_office: Make, entry: Entry
) -> None:
    processor = open_office()
    ann, bob = mailbox("ann"), mailbox("bob")
    assert ann.fingerprint == bob.fingerprint
    talks = {
        who: Talk(processor, {"thread_id": who, "tools": [box]}, entry) for who, box in (("ann", ann), ("bob", bob))
    }
    for talk in talks.values():
        talk.search("letters of the mailbox")
        talk.load("get_mail")
    for who, box in (("ann", ann), ("bob", bob)):
        talks[who].step()
        assert talks[who].now.tools["get_mail"] is box
        assert talks[who].call("get_mail") == f"mail of {who}"


def test_equal_definitions_of_two_requests_stay_two_objects(open_office: Make) -> None:
    processor = open_office()
    boxes = [{"name": "get_mail", "description": "Letters", "parameters": {"type": "object"}} for _ in range(3)]
    for who, box in enumerate(boxes):
        talk = Talk(processor, {"thread_id": f"t{who}", "tools": [box]})
        talk.load("get_mail")
        assert talk.step().tools["get_mail"] is box


def test_the_filter_sees_this_requests_instance(open_office: Make) -> None:
    seen: list[Any] = []

    def rule(*, tool: Tool, **_: Any) -> bool:
        seen.append(tool)
        return True

    processor = open_office(filter=rule)
    boxes = [{"name": "get_mail", "description": "Letters", "parameters": {"type": "object"}} for _ in range(2)]
    for who, box in enumerate(boxes):
        seen.clear()
        talk = Talk(processor, {"thread_id": f"t{who}", "tools": [box]})
        talk.search("get_mail")
        talk.load("get_mail")
        talk.step()
        assert [one.original is box for one in seen if one.id == "get_mail"] == [True] * 3


def test_the_answer_holds_this_requests_description_and_not_anothers(open_office: Make) -> None:
    processor = open_office()
    for text in ("Letters of ann", "Letters of bob", "Letters of ann"):
        step = SYNC.step(processor, tools=[tool("get_mail", text)], thread_id="t")
        assert step.call("search_tools", {"query": "get_mail"}).content["results"][0]["description"] == text


def test_the_gate_checks_this_requests_schema(open_office: Make) -> None:
    processor = open_office()
    for who, field in (("ann", "folder"), ("bob", "label")):
        talk = Talk(processor, {"thread_id": who, "tools": [tool("get_mail", "Letters", needs=[field])]})
        talk.load("get_mail")
        talk.step()
        refusal = talk.now.call("get_mail", {}).content
        assert list(refusal["parameters"]["properties"]) == [field]


def thousand(change: int | None = None) -> list[Tool]:
    return [
        tool(f"tool_{n:03}", f"Does the thing number {n}{' and more' if n == change else ''}", answer=n)
        for n in range(1_000)
    ]


def test_a_step_whose_thousand_tools_were_seen_before_embeds_nothing_and_rebuilds_nothing(open_office: Make) -> None:
    encoder = WordEncoder()
    processor = open_office(model=encoder)
    first = SYNC.step(processor, tools=thousand(), thread_id="a")
    first.call("search_tools", {"query": "thing number 7"})
    assert encoder.texts_seen == len(NAMES) + 1_000 + 1
    for who in ("a", "b"):
        step = SYNC.step(processor, tools=thousand(), thread_id=who)
        step.call("search_tools", {"query": "thing number 7"})
        assert encoder.texts_seen == len(NAMES) + 1_000 + 1
        pairs = zip(segments(first), segments(step), strict=True)
        assert [one is other for one, other in pairs] == [True, True]


def test_a_step_that_does_not_search_does_not_index_at_all(open_office: Make) -> None:
    encoder = WordEncoder()
    SYNC.step(open_office(model=encoder), tools=thousand(), thread_id="a")
    assert encoder.texts_seen == len(NAMES)


def test_a_changed_tool_among_a_thousand_embeds_just_itself(open_office: Make) -> None:
    encoder = WordEncoder()
    processor = open_office(model=encoder)
    SYNC.step(processor, tools=thousand(), thread_id="a").call("search_tools", {"query": "x"})
    before = len(encoder.seen)
    step = SYNC.step(processor, tools=thousand(change=500), thread_id="a")
    assert found(step.call("search_tools", {"query": "x"}).content) is not None
    assert [text for role, text in encoder.seen[before:] if role == "document"] == [
        "tool 500: Does the thing number 500 and more"
    ]


def test_tools_that_leave_and_come_in_another_order_embed_nothing(open_office: Make) -> None:
    encoder = WordEncoder()
    processor = open_office(model=encoder)
    for tools in (thousand(), thousand()[::-1], thousand()[:10], thousand()[5:400]):
        SYNC.step(processor, tools=tools, thread_id="a").call("search_tools", {"query": "x"})
    assert sum(role == "document" for role, _ in encoder.seen) == len(NAMES) + 1_000


def test_unchanged_definitions_are_not_read_again(open_office: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = [to_mcp(one) | {"_meta": {}} for one in thousand()]
    processor = open_office()
    SYNC.step(processor, tools=definitions)
    reads: list[Any] = []

    def watched(*args: Any) -> Tool:
        reads.append(args)
        return read_definition(*args)

    monkeypatch.setattr("toolsearch.reading.read_definition", watched)
    SYNC.step(processor, tools=definitions)
    assert reads == []
    definitions[7]["description"] = "Changed in place"
    step = SYNC.step(processor, tools=definitions, thread_id="t")
    answer = step.call("search_tools", {"query": "select:tool_007"}).content
    assert (len(reads), answer["results"][0]["description"]) == (1, "Changed in place")


def segments(step: Any) -> tuple[Segment, ...]:
    """The assembled rows a step searched."""
    found_: tuple[Segment, ...] = step.context.catalog.view.corpus.segments
    return found_


def test_the_requests_tool_wins_over_the_static_one_where_it_is_marked(open_office: Make, entry: Entry) -> None:
    winner = tool("send_mail", "Dispatch pigeons", overrides=True, answer="pigeon")
    talk = Talk(open_office(), {"thread_id": "t", "tools": [winner]}, entry)
    assert talk.search("send_mail")["results"][0]["description"] == "Dispatch pigeons"
    assert found(talk.search("dispatch pigeons"))[0] == "send_mail"
    assert "an email message to a person" not in str(talk.search("email message to a person"))
    talk.load("send_mail")
    assert talk.step().tools["send_mail"] is winner
    assert talk.call("send_mail") == "pigeon"
    assert beside_meta(talk.step(tools=None)) == ["send_mail"]
    assert talk.call("send_mail", {"to": "ann"}) == {"ran": "send_mail", "to": "ann"}


def test_else_it_is_left_out_with_one_warning(
    open_office: Make, entry: Entry, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(open_office(), {"thread_id": "t", "tools": [tool("send_mail", "Dispatch pigeons", answer="no")]}, entry)
    for _ in range(3):
        assert talk.search("send_mail")["results"][0]["description"] == "Send an email message to a person"
        talk.load("send_mail")
        talk.step()
        assert talk.call("send_mail", {"to": "ann"}) == {"ran": "send_mail", "to": "ann"}
    (warning,) = warnings_of(caplog, "send_mail")
    assert "overrides=True" in warning


def test_the_static_tool_itself_coming_with_the_request_is_no_clash(
    open_office: Make, caplog: pytest.LogCaptureFixture
) -> None:
    tools = catalog()
    processor = open_office(tools)
    caplog.clear()
    talk = Talk(processor, {"thread_id": "t", "tools": [*tools, *(to_mcp(one) for one in tools)]})
    talk.load("send_mail")
    assert talk.visible() == ["send_mail"]
    assert warnings_of(caplog, "") == []


BAD: list[tuple[str, Any]] = [
    ("search_tools", tool("search_tools", "An impostor")),
    ("load_tool", tool("load_tool", "An impostor")),
    ("unload_tool", tool("unload_tool", "An impostor")),
    ("two words", Tool(id="two words", name="x", description="Illegal")),
    ("new\\nline", Tool(id="new\nline", name="x", description="Illegal")),
    ("'" + "x" * 65, Tool(id="x" * 65, name="x", description="Illegal")),
    ("pаypal", Tool(id="pаypal", name="x", description="A Cyrillic a")),
    ("number 2", object()),
    ("broken", {"name": "broken", "description": 5, "parameters": {}}),
    ("thief", tool("thief", "Takes a name", aliases=("send_mail",))),
    ("thief", tool("thief", "Takes a name", aliases=("load_tool",))),
    ("thief", tool("thief", "Takes a name", aliases=("clean",))),
    ("thief", tool("thief", "Takes a name", aliases=("post",))),
    ("'post'", tool("post", "Is the alias of a static tool")),
]


@pytest.mark.parametrize(("named", "bad"), BAD)
def test_a_bad_or_clashing_tool_is_left_out_with_one_warning_and_never_kills_the_step(
    open_office: Make, entry: Entry, caplog: pytest.LogCaptureFixture, named: str, bad: Any
) -> None:
    processor = open_office([*catalog(), tool("parcel", "Ship a parcel", aliases=("post",))])
    caplog.clear()
    talk = Talk(processor, {"thread_id": "t", "tools": [tool("clean", "Clean the desk"), bad]}, entry)
    for _ in range(2):
        talk.step()
        assert talk.load("clean")["not_found"] == []
        assert {"Illegal", "An impostor", "Takes a name"} & {
            result["description"] for result in talk.search("impostor illegal thief takes name")["results"]
        } == set()
    (warning,) = warnings_of(caplog, "")
    assert named in warning


def test_a_thief_of_an_alias_does_not_push_out_the_tool_it_robs(open_office: Make) -> None:
    thief, honest = tool("thief", "Takes a name", aliases=("clean",)), tool("clean", "Clean the desk")
    for tools in ([thief, honest], [honest, thief]):
        step = SYNC.step(open_office(), tools=tools, thread_id="t")
        assert found(step.call("search_tools", {"query": "clean"}).content)[0] == "clean"
        assert step.call("load_tool", {"tool_name": "thief"}).content["not_found"] == ["thief"]


def test_of_two_that_share_an_alias_the_second_is_left_out(open_office: Make, caplog: pytest.LogCaptureFixture) -> None:
    tools = [tool("clean", "Clean the desk", aliases=("tidy",)), tool("sort", "Sort the files", aliases=("tidy",))]
    step = SYNC.step(open_office(), tools=tools, thread_id="t")
    assert step.call("load_tool", {"tool_names": ["clean", "sort"]}).content["not_found"] == ["sort"]
    assert len(warnings_of(caplog, "'sort'")) == 1


def test_two_of_one_name_leave_the_first(open_office: Make, caplog: pytest.LogCaptureFixture) -> None:
    tools = [tool("get_mail", "The first"), tool("get_mail", "The second")]
    step = SYNC.step(open_office(), tools=tools, thread_id="t")
    assert step.call("search_tools", {"query": "get_mail"}).content["results"][0]["description"] == "The first"
    assert len(warnings_of(caplog, "get_mail")) == 1


def test_a_mapping_with_keys_that_are_no_names_loses_those_tools_only(
    make: Make, open_office: Make, caplog: pytest.LogCaptureFixture
) -> None:
    tools: Any = {5: tool("five", "Five"), "": tool("empty", "Empty"), "fine": tool("fine", "Fine")}
    assert beside_meta(SYNC.step(make(), tools=tools)) == ["fine"]
    step = SYNC.step(open_office(), tools=tools, thread_id="t")
    assert step.call("load_tool", {"tool_names": ["fine", "five"]}).content["loaded"] == ["fine"]
    assert len(warnings_of(caplog, "has names as its keys")) == 4


def test_every_processor_warns_of_its_own(open_office: Make, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        SYNC.step(open_office(), tools=[tool("load_tool", "An impostor")])
    assert len(warnings_of(caplog, "load_tool")) == 2


def test_close_names_come_from_this_requests_tools_too(open_office: Make) -> None:
    processor = open_office()
    step = SYNC.step(processor, tools=[mailbox("ann")], thread_id="t")
    assert "Did you mean get_mail" in step.call("load_tool", {"tool_name": "get_mial"}).content["message"]
    other = SYNC.step(processor, thread_id="u").call("load_tool", {"tool_name": "get_mial"}).content["message"]
    assert "get_mail" not in other.replace("get_mial", "")


def test_the_statistics_of_anothers_tools_do_not_reach_this_request(open_office: Make) -> None:
    def scores(processor: ToolSearchProcessor) -> Any:
        return SYNC.step(processor, thread_id="t").call("search_tools", {"query": "email message"}).content

    alone, shared = open_office(), open_office()
    SYNC.step(shared, tools=[tool(f"spam_{n}", "email message") for n in range(50)], thread_id="x").call(
        "search_tools", {"query": "email message"}
    )
    assert scores(shared) == scores(alone)


def test_request_tools_are_filtered_like_static_ones(open_office: Make, entry: Entry) -> None:
    rule = Rule(search=["get_mail"], load=["get_mail"], active=["get_mail"])
    talk = Talk(open_office(filter=rule), {"thread_id": "t", "tools": [mailbox("ann")]}, entry)
    assert "get_mail" not in found(talk.search("letters of the mailbox"))
    assert talk.load("get_mail")["not_found"] == ["get_mail"]
    assert entry.call(talk.now, "get_mail").reason == "not-loaded"


def test_a_caller_without_tools_of_its_own_searches_the_static_catalog(open_office: Make) -> None:
    none: list[Any] = [None, [], {}]
    for tools in none:
        step = SYNC.step(open_office(), tools=tools)
        assert found(step.call("search_tools", {"query": "tide tables"}).content)[0] == "get_tides"
