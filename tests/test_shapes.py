"""Tools as dictionaries and objects of every known shape."""

import copy
import threading
from enum import Enum
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from toolsearch.catalog import as_tool, as_tools
from toolsearch.errors import InvalidToolError
from toolsearch.snapshots import Snapshot
from toolsearch.tool import EMPTY_SCHEMA, Tool
from toolsearch.wire import to_anthropic, to_mcp, to_openai, to_responses

SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string", "description": "A headline"}},
    "required": ["title"],
}
MEANT = Tool(name="create_issue", description="Open a ticket", parameters=SCHEMA)

SHAPES: dict[str, dict[str, Any]] = {
    "openai chat": {"type": "function", "function": {"name": "create_issue", "description": "Open a ticket", "parameters": SCHEMA, "strict": True}},
    "openai responses": {"type": "function", "name": "create_issue", "description": "Open a ticket", "parameters": SCHEMA, "strict": None, "defer_loading": True},
    "anthropic": {"name": "create_issue", "description": "Open a ticket", "input_schema": SCHEMA, "type": "custom", "cache_control": {"type": "ephemeral"}},
    "mcp": {"name": "create_issue", "description": "Open a ticket", "inputSchema": SCHEMA, "icons": [], "execution": {"taskSupport": "optional"}},
    "mcp, snake case": {"name": "create_issue", "description": "Open a ticket", "input_schema": SCHEMA, "output_schema": None},
    "pydantic ai": {"name": "create_issue", "description": "Open a ticket", "parameters_json_schema": SCHEMA, "kind": "function"},
    "openai agents": {"name": "create_issue", "description": "Open a ticket", "params_json_schema": SCHEMA},
    "bedrock": {"toolSpec": {"name": "create_issue", "description": "Open a ticket", "inputSchema": {"json": SCHEMA}}},
    "our own": {"name": "create_issue", "description": "Open a ticket", "parameters": SCHEMA, "source": "a book", "server_description": "Trackers"},
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_says_the_same(shape: str) -> None:
    assert as_tool(SHAPES[shape]).fingerprint == MEANT.fingerprint


@pytest.mark.parametrize("shape", SHAPES)
def test_the_original_is_the_very_object_and_unchanged(shape: str) -> None:
    definition = copy.deepcopy(SHAPES[shape])
    tools = [as_tool(definition) for _ in range(4)]
    assert all(tool.original is definition for tool in tools)
    assert definition == SHAPES[shape]


def test_a_namespace_gives_its_functions_with_itself_as_server() -> None:
    functions = [SHAPES["openai responses"], {"type": "function", "name": "close_issue"}]
    tools = as_tools([{"type": "namespace", "name": "tracker", "description": "Tickets", "tools": functions}])
    assert [(tool.id, tool.server) for tool in tools] == [("create_issue", "tracker"), ("close_issue", "tracker")]
    assert all(tool.original is function for tool, function in zip(tools, functions, strict=True))


@pytest.mark.parametrize(
    ("namespace", "field"),
    [
        ({"type": "namespace", "tools": []}, "name"),
        ({"type": "namespace", "name": "n", "tools": "x"}, "tools"),
        ({"type": "namespace", "name": "n", "tools": [1]}, "tools.0"),
    ],
)
def test_a_bad_namespace_is_named(namespace: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidToolError) as caught:
        as_tools([namespace])
    assert caught.value.field == field


def test_one_namespace_is_not_one_tool() -> None:
    with pytest.raises(InvalidToolError, match="use as_tools"):
        as_tool({"type": "namespace", "name": "n", "tools": [SHAPES["mcp"], {"name": "b"}]})


def test_the_own_fields_arrive() -> None:
    given_fields = {
        "id": "github.create", "name": "create", "server": "github", "title": "Create", "tags": ["write"], "category": "code",
        "aliases": ["new"], "examples": ["file a bug"], "pinned": True, "overrides": True,
        "output_schema": {"type": "object"}, "annotations": {"readOnlyHint": False},
    }  # fmt: skip
    tool = as_tool(given_fields)
    expected = {**given_fields, "tags": ("write", "code"), "aliases": ("new",), "examples": ("file a bug",)}
    del expected["category"]
    assert {field: getattr(tool, field) for field in expected} == expected


def test_a_definition_that_a_server_wrote_takes_no_other_tools_name() -> None:
    assert as_tool({"name": "send_mail", "inputSchema": {"type": "object"}, "overrides": True}).overrides is False


@pytest.mark.parametrize("category", [None, 3, ["a"], ""])
def test_a_category_that_is_no_text_is_left_aside(category: Any) -> None:
    assert as_tool({"name": "a", "category": category}).tags == ()


def test_a_category_alone_is_the_tag() -> None:
    assert as_tool({"name": "a", "category": "mail"}).tags == ("mail",)


@pytest.mark.parametrize("empty", [None, {}])
def test_no_parameters_are_an_empty_schema(empty: Any) -> None:
    assert as_tool({"name": "ping", "parameters": empty}).parameters == EMPTY_SCHEMA


def test_a_custom_tool_takes_one_text() -> None:
    assert as_tool({"type": "custom", "name": "run_code"}).parameters["required"] == ["input"]


@pytest.mark.parametrize(
    ("definition", "title"),
    [
        ({"title": "One", "annotations": {"title": "Two"}}, "One"),
        ({"annotations": {"title": "Two"}}, "Two"),
        ({"annotations": {"readOnlyHint": True}}, None),
    ],
)
def test_a_title_goes_before_the_title_in_the_annotations(definition: dict[str, Any], title: Any) -> None:
    assert as_tool({"name": "n", "inputSchema": {}, **definition}).title == title


def test_meta_pins_hints_and_marks() -> None:
    meta = {"anthropic/alwaysLoad": True, "anthropic/searchHint": "bug reports", "toolsearch/fingerprint": "f00d"}
    tool = as_tool({"name": "n", "inputSchema": SCHEMA, "examples": ["first"], "_meta": meta})
    assert (tool.pinned, tool.examples, tool.provenance) == (True, ("first", "bug reports"), "f00d")


def test_only_true_pins() -> None:
    assert as_tool({"name": "n", "_meta": {"anthropic/alwaysLoad": "yes"}}).pinned is False


def test_a_mark_among_the_annotations_is_read_and_taken_out() -> None:
    tool = as_tool({"name": "n", "annotations": {"toolsearch/fingerprint": "f00d", "readOnlyHint": True}})
    assert (tool.provenance, tool.annotations) == ("f00d", {"readOnlyHint": True})


@pytest.mark.parametrize(
    ("definition", "tool", "field"),
    [
        ({"description": "no name"}, "number 1", "name"),
        ({"name": 5}, "number 1", "name"),
        ({"name": ""}, "number 1", "name"),
        ({"type": "function", "function": "create"}, "number 1", "name"),
        ({"name": "n", "id": 7}, "n", "id"),
        ({"name": "n", "description": ["text"]}, "n", "description"),
        ({"name": "n", "parameters": "x"}, "n", "parameters"),
        ({"name": "n", "parameters": {"type": "string"}}, "n", "parameters"),
        ({"name": "n", "inputSchema": []}, "n", "inputSchema"),
        ({"name": "n", "input_schema": {"type": ["array", "null"]}}, "n", "input_schema"),
        ({"name": "n", "parameters": {"properties": []}}, "n", "parameters.properties"),
        ({"name": "n", "parameters": {"required": "title"}}, "n", "parameters.required"),
        ({"name": "n", "parameters": {"required": [1]}}, "n", "parameters.required"),
        ({"name": "n", "parameters": {"type": "object", "x": object()}}, "n", "parameters"),
        ({"name": "n", "tags": "one"}, "n", "tags"),
        ({"name": "n", "aliases": [1]}, "n", "aliases.0"),
        ({"name": "n", "annotations": []}, "n", "annotations"),
        ({"name": "n", "_meta": "m"}, "n", "_meta"),
        ({"name": "n", "server": 4}, "n", "server"),
        ({"name": "a\ud800", "description": "half a character"}, "a\ud800", "name"),
        ({"type": "web_search_20250305", "name": "web_search"}, "web_search", "type"),
    ],
)
def test_a_bad_tool_names_itself_and_the_field(definition: dict[str, Any], tool: str, field: str) -> None:
    with pytest.raises(InvalidToolError) as caught:
        as_tools([definition])
    assert (caught.value.tool, caught.value.field) == (tool, field)


def test_a_schema_that_contains_itself_is_an_error() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    schema["properties"]["again"] = schema
    for definition in ({"name": "n", "parameters": schema}, MappingProxyType({"name": "n", "parameters": schema})):
        with pytest.raises(InvalidToolError, match=r"'n', field 'parameters': (is not JSON|contains itself)"):
            as_tool(definition)


def test_an_unknown_type_with_a_schema_is_a_tool() -> None:
    assert as_tool({"name": "n", "type": "rest", "parameters": SCHEMA}).name == "n"


def test_a_definition_changed_in_place_is_read_anew() -> None:
    definition = copy.deepcopy(SHAPES["mcp"])
    before = [as_tool(definition) for _ in range(4)]
    definition["inputSchema"]["properties"]["title"]["description"] = "A title"
    after = as_tool(definition)
    assert [tool.parameters["properties"]["title"]["description"] for tool in (before[-1], after)] == [
        "A headline",
        "A title",
    ]


@pytest.mark.parametrize(("was", "becomes"), [(1, True), (0, 0.0), (False, 0), ("1", 1), (None, 0), ([1], [True])])
def test_values_that_only_python_calls_equal_are_told_apart(was: Any, becomes: Any) -> None:
    definition: dict[str, Any] = {"name": "n", "parameters": {"type": "object", "properties": {"a": {"default": was}}}}
    for _ in range(4):
        as_tool(definition)
    definition["parameters"]["properties"]["a"]["default"] = becomes
    default = as_tool(definition).parameters["properties"]["a"]["default"]
    assert repr(default) == repr(becomes)


def test_the_same_definition_unchanged_becomes_the_same_tool() -> None:
    definition = copy.deepcopy(SHAPES["mcp"])
    tools = [as_tool(definition) for _ in range(4)]
    assert tools[-1] is tools[-2]


def test_a_provenance_mark_set_in_place_is_read() -> None:
    definition: dict[str, Any] = {"name": "n", "_meta": {"toolsearch/fingerprint": "old"}}
    for _ in range(4):
        as_tool(definition)
    definition["_meta"]["toolsearch/fingerprint"] = "new"
    assert [as_tool(definition).provenance for _ in range(4)] == ["new"] * 4


def test_what_a_caller_changes_later_reaches_no_other_definition() -> None:
    first, second = copy.deepcopy(SHAPES["mcp"]), copy.deepcopy(SHAPES["mcp"])
    as_tool(first)
    first["inputSchema"]["properties"].clear()
    assert as_tool(second).parameters == SCHEMA


def test_equal_definitions_of_two_requests_keep_their_own_originals() -> None:
    first, second = copy.deepcopy(SHAPES["mcp"]), copy.deepcopy(SHAPES["mcp"])
    tools = [as_tool(definition) for definition in (first, second, first, second)]
    assert [tool.original is owner for tool, owner in zip(tools, (first, second) * 2, strict=True)] == [True] * 4


def test_one_definition_under_two_keys_has_two_ids() -> None:
    definition = SHAPES["mcp"]
    assert [tool.id for tool in as_tools({"a": definition, "b": definition})] == ["a", "b"]


def test_threads_read_each_its_own() -> None:
    definitions = [{"name": f"tool_{number}", "description": "d"} for number in range(200)]
    found: list[list[bool]] = []

    def read() -> None:
        for _ in range(5):
            tools = as_tools(definitions)
            found.append([tool.original is given_one for tool, given_one in zip(tools, definitions, strict=True)])

    threads = [threading.Thread(target=read) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[True] * 200] * 40


def test_tuples_are_lists() -> None:
    schema = {"type": "object", "properties": {"a": {"enum": ("x", "y")}}, "required": ("a",)}
    definition = {"name": "n", "tags": ("one",), "category": "two", "parameters": schema}
    tools = [as_tool(definition) for _ in range(4)]
    assert [tool.tags for tool in tools] == [("one", "two")] * 4
    assert tools[-1].parameters["properties"] == {"a": {"enum": ["x", "y"]}}


def test_a_set_changed_in_place_is_read_anew() -> None:
    definition: dict[str, Any] = {"name": "n", "tags": {"one"}}
    for _ in range(4):
        as_tool(definition)
    definition["tags"].add("two")
    assert set(as_tool(definition).tags) == {"one", "two"}


def test_members_of_an_enum_are_their_values() -> None:
    class Kind(Enum):
        OBJECT = "object"

    assert as_tool({"name": "n", "parameters": {"type": Kind.OBJECT}}).parameters == {"type": "object"}


def test_a_snapshot_of_what_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}
    with pytest.raises(ValueError, match="nested too deeply"):
        Snapshot(deep)


def test_a_model_full_of_machinery_is_no_definition() -> None:
    class Framework(BaseModel):
        name: str
        run: Any

    with pytest.raises(InvalidToolError, match="is no tool"):
        as_tool(Framework(name="n", run=object()))


def test_a_mapping_that_is_no_dict_is_read() -> None:
    definition = MappingProxyType({"name": "n", "parameters": MappingProxyType(SCHEMA)})
    tool = as_tool(definition)
    assert (tool.original is definition, tool.parameters) == (True, SCHEMA)


def test_a_definition_longer_than_what_is_remembered_is_read() -> None:
    tool = as_tool({"name": "n", "description": "x" * 100_000})
    assert len(tool.description) == 100_000


def test_a_definition_may_carry_its_function() -> None:
    tool = as_tool({"name": "add", "parameters": {}, "function": lambda a, b: a + b})
    assert tool.executor is not None
    assert tool.executor(a=1, b=2) == 3


class Annotations(BaseModel):
    """As `mcp.types.ToolAnnotations`: camelCase attributes."""

    title: str | None = None
    readOnlyHint: bool | None = None  # noqa: N815


class McpTool(BaseModel):
    """As `mcp.types.Tool`."""

    name: str
    description: str | None = None
    inputSchema: dict[str, Any]  # noqa: N815
    outputSchema: dict[str, Any] | None = None  # noqa: N815
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = None


def test_an_mcp_object_is_read_by_its_attributes() -> None:
    item = McpTool(
        name="create_issue",
        description="Open a ticket",
        inputSchema=SCHEMA,
        annotations=Annotations(title="Create", readOnlyHint=False),
        meta={"anthropic/alwaysLoad": True},
    )
    tool = as_tool(item)
    assert (tool.parameters, tool.title, tool.annotations["readOnlyHint"], tool.pinned) == (
        SCHEMA,
        "Create",
        False,
        True,
    )
    assert tool.original is item


def test_an_object_in_snake_case_is_read() -> None:
    item = SimpleNamespace(name="create_issue", description="Open a ticket", input_schema=SCHEMA)
    assert as_tool(item).fingerprint == MEANT.fingerprint


def test_a_model_that_holds_a_function_definition_is_read() -> None:
    class Function(BaseModel):
        name: str
        description: str
        parameters: dict[str, Any]

    class ChatTool(BaseModel):
        type: str = "function"
        function: Function

    item = ChatTool(function=Function(name="create_issue", description="Open a ticket", parameters=SCHEMA))
    assert as_tool(item).fingerprint == MEANT.fingerprint


@pytest.mark.parametrize("item", [3, object(), SimpleNamespace(name="x"), None, "create_issue"])
def test_what_has_no_shape_is_refused(item: object) -> None:
    with pytest.raises(InvalidToolError, match="is no tool"):
        as_tool(item)


def test_a_model_without_a_schema_does_not_pass_for_a_tool_without_parameters() -> None:
    class Person(BaseModel):
        name: str

    with pytest.raises(InvalidToolError, match="is no tool"):
        as_tool(Person(name="Ada"))


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
schemas = st.fixed_dictionaries(
    {
        "type": st.just("object"),
        "properties": st.dictionaries(texts, st.fixed_dictionaries({"default": json_values}), max_size=3),
    }
)
described = st.fixed_dictionaries(
    {"name": st.from_regex(r"[A-Za-z0-9_-]{1,64}", fullmatch=True), "description": texts, "parameters": schemas}
)
annotations = st.dictionaries(texts.filter(lambda key: key != "toolsearch/fingerprint"), json_values, max_size=2)


@pytest.mark.parametrize("write", [to_openai, to_responses, to_anthropic])
@settings(max_examples=40, deadline=None)
@given(fields=described)
def test_a_tool_comes_back_from_the_wire_as_it_was(write: Any, fields: dict[str, Any]) -> None:
    tool = Tool(**fields)
    assert as_tool(write(tool)).fingerprint == tool.fingerprint


@settings(max_examples=40, deadline=None)
@given(fields=described, title=st.none() | texts.filter(bool), output=st.none() | schemas, hints=annotations)
def test_a_tool_comes_back_from_mcp_with_titles_hints_and_a_mark(
    fields: dict[str, Any], title: Any, output: Any, hints: dict[str, Any]
) -> None:
    hints.pop("title", None)
    tool = Tool(**fields, title=title, output_schema=output, annotations=hints)
    back = as_tool(to_mcp(tool))
    assert (back.fingerprint, back.provenance) == (tool.fingerprint, tool.fingerprint)


@settings(max_examples=40, deadline=None)
@given(fields=described)
def test_a_dumped_tool_is_a_definition_of_itself(fields: dict[str, Any]) -> None:
    tool = Tool(**fields, server="s", tags=("a",), examples=("b",), pinned=True)
    assert as_tool(tool.model_dump()).fingerprint == tool.fingerprint


@settings(max_examples=40, deadline=None)
@given(
    definition=st.dictionaries(
        st.sampled_from(
            [
                "name",
                "id",
                "type",
                "function",
                "parameters",
                "inputSchema",
                "tags",
                "_meta",
                "annotations",
                "description",
                "title",
            ]
        ),
        json_values,
    )
)
def test_any_definition_is_a_tool_or_an_invalid_tool(definition: dict[str, Any]) -> None:
    try:
        tools = as_tools([definition])
    except InvalidToolError:
        return
    assert all(tool.original is definition for tool in tools) or definition["type"] == "namespace"
