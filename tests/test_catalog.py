"""Catalogs: order, unique ids, names that providers accept, and names that are close or look alike."""

import logging
import re
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch import catalog as catalog_module
from toolsearch.catalog import (
    Catalog,
    as_tool,
    as_tools,
    as_tools_leniently,
    check_callable,
    legal_name,
    legal_names,
    register_reader,
)
from toolsearch.errors import (
    DuplicateToolError,
    IllegalNameError,
    InvalidToolError,
    ReservedNameError,
    UnknownToolError,
)
from toolsearch.naming import warn_of_silent
from toolsearch.tool import Tool

PROVIDERS_ACCEPT = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def named(*names: str, **fields: Any) -> list[Tool]:
    return [Tool(name=name, description="d", **fields) for name in names]


def send_mail(to: str) -> str:
    """Send a mail."""
    return to


def test_a_tool_is_itself() -> None:
    tool = Tool(name="a")
    assert as_tool(tool) is tool


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        (Tool(name="n"), "key"),
        (Tool(name="n", id="own"), "own"),
        (Tool(name="n", id="n"), "n"),
        ({"name": "n"}, "key"),
        ({"name": "n", "id": "own"}, "own"),
        ({"type": "function", "function": {"name": "n"}}, "key"),
        ({"description": "only a key"}, "key"),
        (send_mail, "key"),
    ],
)
def test_a_callable_name_is_the_id_or_the_key_where_there_is_none(item: object, expected: str) -> None:
    assert as_tools({"key": item})[0].id == expected


@pytest.mark.parametrize(
    ("item", "expected"),
    [({"name": "n"}, "n"), ({"id": "own"}, "own"), (send_mail, "send_mail"), (Tool(name="n"), "n")],
)
def test_without_a_key_the_name_serves(item: object, expected: str) -> None:
    assert as_tools([item])[0].id == expected


def test_a_tool_under_a_key_is_a_new_value_with_a_new_fingerprint() -> None:
    tool = Tool(name="n")
    before = tool.fingerprint
    keyed = as_tools({"key": tool})[0]
    assert (tool.id, keyed.name, keyed.fingerprint != before) == ("n", "n", True)


def test_a_container_may_mix_shapes_and_be_a_generator() -> None:
    items: Iterable[object] = (item for item in [Tool(name="a"), send_mail, {"name": "c"}])
    assert [tool.id for tool in as_tools(items)] == ["a", "send_mail", "c"]


def test_a_change_to_the_container_changes_nothing() -> None:
    tools = named("a")
    catalog = Catalog(tools)
    tools.append(Tool(name="b"))
    assert catalog.ids == ("a",)


@pytest.mark.parametrize("tools", [3, "create_issue", send_mail, None])
def test_what_is_no_container_is_refused(tools: Any) -> None:
    with pytest.raises(InvalidToolError, match="a mapping or an iterable"):
        as_tools(tools)


@pytest.mark.parametrize("key", [1, "", None])
def test_a_key_is_a_name(key: Any) -> None:
    with pytest.raises(InvalidToolError, match="names as its keys"):
        as_tools({key: send_mail})


def test_an_item_without_a_name_is_told_by_its_place() -> None:
    with pytest.raises(InvalidToolError, match="Tool 'number 2', field 'name'"):
        as_tools([{"name": "a"}, {"description": "b"}])


def test_lenient_reading_leaves_out_what_is_bad_and_says_why() -> None:
    class Hostile:
        @property
        def name(self) -> str:
            raise RuntimeError("not now")

    good, bad = as_tools_leniently([{"name": "a"}, {"name": 3}, Hostile(), 4, send_mail])
    assert [tool.id for tool in good] == ["a", "send_mail"]
    assert [error.tool for error in bad if isinstance(error, InvalidToolError)] == ["number 2", "number 3", "number 4"]
    assert "not now" in str(bad[1])


def test_a_reader_teaches_a_shape_and_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "_readers", ())

    def read(item: object, key: str | None) -> list[Tool] | None:
        return [Tool(name=key or "special", original=item)] if isinstance(item, SimpleNamespace) else None

    assert register_reader(read) is read
    register_reader(read)
    item = SimpleNamespace(name="n", input_schema={})
    assert [tool.id for tool in as_tools([item, {"name": "b"}])] == ["special", "b"]
    assert as_tool(item).original is item


def test_order_length_positions_and_access() -> None:
    catalog = Catalog(named("b", "a", "c"))
    assert (catalog.ids, len(catalog), [tool.id for tool in catalog]) == (("b", "a", "c"), 3, ["b", "a", "c"])
    assert [catalog.position(name) for name in ("b", "c")] == [0, 2]
    assert ("a" in catalog, "x" in catalog, catalog.get("x"), catalog["a"].id) == (True, False, None, "a")


def test_an_empty_catalog_is_one() -> None:
    assert (len(Catalog([])), Catalog([]).ids, Catalog([]).close("a")) == (0, (), [])


@pytest.mark.parametrize("ask", [lambda catalog: catalog["send_mial"], lambda catalog: catalog.position("send_mial")])
def test_an_unknown_name_names_close_ones(ask: Any) -> None:
    with pytest.raises(UnknownToolError, match="Did you mean 'send_mail'"):
        ask(Catalog(as_tools([send_mail])))


def test_two_tools_of_one_id_are_an_error_that_names_both() -> None:
    with pytest.raises(DuplicateToolError) as caught:
        Catalog([*named("get", server="github"), *named("get", server="gitlab")])
    assert "'github'" in str(caught.value)
    assert "'gitlab'" in str(caught.value)


@pytest.mark.parametrize("other", [{"name": "send_mail"}, Tool(name="send_mail", description="another")])
def test_a_function_that_clashes_is_named_by_its_module(other: object) -> None:
    with pytest.raises(DuplicateToolError, match=r"function .*test_catalog\.send_mail"):
        Catalog(as_tools([send_mail, other]))


class Box:
    def open(self) -> str:
        return "open"


def test_one_object_twice_is_no_clash() -> None:
    definition, box, tool = {"name": "a"}, Box(), Tool(name="t")
    twice = [definition, send_mail, box.open, tool, definition, send_mail, box.open, tool]
    assert Catalog(as_tools(twice)).ids == ("a", "send_mail", "open", "t")


def test_two_boxes_are_two_owners() -> None:
    with pytest.raises(DuplicateToolError):
        Catalog(as_tools([Box().open, Box().open]))


def test_equal_catalogs_have_equal_fingerprints_and_order_counts() -> None:
    first, again, turned = Catalog(named("a", "b")), Catalog(named("a", "b")), Catalog(named("b", "a"))
    assert (first.fingerprint == again.fingerprint, first.fingerprint == turned.fingerprint) == (True, False)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("send_mial", "send_mail"),
        ("sendMail", "send_mail"),
        ("issue_create", "create_issue"),
        ("createTheIssue", "create_issue"),
        ("mail", "send_mail"),
        ("post", "create_issue"),
    ],
)
def test_close_names_by_spelling_by_words_and_by_alias(asked: str, expected: str) -> None:
    tools = [*named("send_mail", "get_weather"), Tool(name="create_issue", aliases=("post",))]
    assert Catalog(tools).close(asked)[0] == expected


def test_nothing_is_close_to_nonsense() -> None:
    assert [Catalog(named("send_mail")).close(name) for name in ("xyzzy", "", "???", "日本語")] == [[]] * 4


def test_ties_fall_in_name_order_and_the_limit_holds() -> None:
    catalog = Catalog(named("get_d", "get_b", "get_a", "get_c"))
    assert (catalog.close("get_x"), catalog.close("get_x", limit=1)) == (["get_a", "get_b", "get_c"], ["get_a"])


def test_failure_23_no_suggestion_names_what_is_not_allowed() -> None:
    catalog = Catalog(named("get_a", "get_b", "get_c"))
    assert catalog.close("get_x", limit=2, allowed=lambda tool: tool.id != "get_a") == ["get_b", "get_c"]


@pytest.mark.parametrize(
    ("name", "legal"),
    [
        ("create_issue", "create_issue"),
        ("az account clear", "az_account_clear"),
        ("github.create/issue:new", "github_create_issue_new"),
    ],
)
def test_separators_become_underscores(name: str, legal: str) -> None:
    assert legal_name(name) == legal


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("pаypal", "paypal_"),
        ("create\nissue", "create_issue_"),
        ("x" * 65, "x" * 55 + "_"),
        ("héllo", "hello_"),
        ("日本", "tool_"),
        ("", "tool_"),
        ("...", "tool_"),
    ],
)
def test_what_is_lost_leaves_a_digest(name: str, begins: str) -> None:
    assert re.fullmatch(re.escape(begins) + "[0-9a-f]{8}", legal_name(name))


@pytest.mark.parametrize(("one", "other"), [("x" * 70, "x" * 71), ("日本", "中国"), ("héllo", "hèllo")])
def test_names_that_lost_different_things_stay_different(one: str, other: str) -> None:
    assert legal_name(one)[:-8] == legal_name(other)[:-8]
    assert legal_name(one) != legal_name(other)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=100))
def test_a_legal_name_is_legal_and_stays(name: str) -> None:
    legal = legal_name(name)
    assert PROVIDERS_ACCEPT.fullmatch(legal)
    assert legal_name(legal) == legal
    assert legal == name or not PROVIDERS_ACCEPT.fullmatch(name)


names_that_meet = st.sampled_from(["a.b", "a/b", "a_b", "a b", "s_a.b", "a\nb", "é", "e", "x" * 70, "x" * 71])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(names_that_meet, st.sampled_from([None, "s", "t u"]), st.sampled_from([(), ("a_b",), ("é",)])),
        max_size=12,
    )
)
def test_legal_names_are_unique_and_aliases_tell_tools_apart(
    rows: list[tuple[str, str | None, tuple[str, ...]]],
) -> None:
    tools = [Tool(name=name, server=server, aliases=aliases) for name, server, aliases in rows]
    renamed = legal_names(tools)
    ids = [tool.id for tool in renamed]
    assert len(set(ids)) == len(ids) == len(tools)
    assert all(PROVIDERS_ACCEPT.fullmatch(name) for name in ids)
    assert [tool.name for tool in renamed] == [tool.name for tool in tools]
    added = [
        alias for new, old in zip(renamed, tools, strict=True) for alias in new.aliases if alias not in old.aliases
    ]
    others = ids + [alias for tool in tools for alias in tool.aliases]
    assert len(set(added)) == len(added)
    assert not set(added) & set(others)


def test_an_original_id_stays_as_an_alias() -> None:
    assert [(tool.id, tool.aliases) for tool in legal_names([Tool(name="az account", aliases=("az",))])] == [
        ("az_account", ("az account", "az"))
    ]


def test_a_legal_tool_is_returned_as_it_is() -> None:
    tools = named("a", "b")
    assert all(new is old for new, old in zip(legal_names([*tools, *tools]), tools, strict=True))


def test_failure_20_tools_of_one_name_are_qualified_by_their_server() -> None:
    tools = [*named("create_issue", server="github"), *named("create_issue", server="gitlab")]
    assert [tool.id for tool in legal_names(tools)] == ["github_create_issue", "gitlab_create_issue"]


@pytest.mark.parametrize("names", [("a.b", "a/b", "a_b", "c d"), ("a.b", "a/b")])
def test_derived_names_do_not_depend_on_the_order(names: tuple[str, ...]) -> None:
    tools = named(*names)
    forth, back = legal_names(tools), legal_names(reversed(tools))
    assert {tool.name: tool.id for tool in forth} == {tool.name: tool.id for tool in back}


def test_a_renamed_definition_keeps_its_original() -> None:
    definition = {"name": "a b"}
    assert legal_names(as_tools([definition]))[0].original is definition


@pytest.mark.parametrize("name", ["create issue", "create\nissue", "x" * 65, "pаypal", "größe"])
def test_failure_24_an_illegal_name_is_refused_and_a_legal_one_offered(name: str) -> None:
    with pytest.raises(IllegalNameError) as caught:
        check_callable(Catalog(named(name)), ())
    assert PROVIDERS_ACCEPT.fullmatch(caught.value.legal)
    assert caught.value.legal in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("fields", [{"name": "search_tools"}, {"name": "a", "aliases": ("search_tools",)}])
def test_a_reserved_name_is_refused_and_a_free_one_offered(fields: dict[str, Any]) -> None:
    with pytest.raises(ReservedNameError) as caught:
        check_callable(Catalog([Tool(**fields)]), {"search_tools", "load_tool"})
    assert PROVIDERS_ACCEPT.fullmatch(caught.value.legal)
    assert caught.value.name == "search_tools"


@pytest.mark.parametrize(
    "tools",
    [
        [Tool(name="mail"), Tool(name="post", aliases=("mail",))],
        [Tool(name="post", aliases=("mail",)), Tool(name="mail")],
        [Tool(name="a", aliases=("mail",)), Tool(name="b", aliases=("mail",))],
    ],
)
def test_an_alias_that_is_anothers_name_is_an_error_that_names_both(tools: list[Tool]) -> None:
    with pytest.raises(DuplicateToolError) as caught:
        check_callable(Catalog(tools), ())
    assert caught.value.name == "mail"
    assert set(caught.value.owners) == {repr(tool.name) for tool in tools}


def test_an_alias_that_is_the_own_name_is_no_clash() -> None:
    check_callable(Catalog([Tool(name="a", description="d", aliases=("a", "a", "long name"))]), ())


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"title": "pаypal"}, {"title": "paypal"}),
        ({"aliases": ("pаypal",)}, {"aliases": ("paypal",)}),
        ({"title": "ｐａｙｐａｌ"}, {"aliases": ("paypal",)}),
        ({"title": "ΡΑΥΡΑL"}, {"title": "paypal"}),
        ({"id": "get_l"}, {"id": "get_1"}),
        ({"id": "get_I"}, {"id": "get_l"}),
        ({"id": "item0"}, {"id": "itemO"}),
        ({"id": "getMail"}, {"id": "getmail"}),
    ],
)
def test_failure_24_look_alikes_are_one_warning_that_names_both(
    first: dict[str, Any], second: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    tools = [Tool(name=name, description="d", **fields) for name, fields in (("one", first), ("two", second))]
    with caplog.at_level(logging.WARNING):
        check_callable(Catalog(tools), ())
    assert len(caplog.records) == 1
    for fields in (first, second):
        value = next(iter(fields.values()))
        text = value[0] if isinstance(value, tuple) else value
        assert repr(text) in caplog.text


@pytest.mark.parametrize(
    "tools",
    [
        named("get_a", "get_b", "get_2", "list_1", "list_2"),
        [
            Tool(id=f"x{number}", name="search", title=title, description="d")
            for number, title in enumerate(["Search", "search", "Search"])
        ],
        [Tool(id=name, name=name, title=name.upper(), aliases=(name.title(),), description="d") for name in ("a", "b")],
        [Tool(name="x", title="Отправить", description="d"), Tool(name="y", title="Получить", description="d")],
    ],
)
def test_what_does_not_look_alike_is_not_warned_of(tools: list[Tool], caplog: pytest.LogCaptureFixture) -> None:
    check_callable(Catalog(tools), ())
    assert caplog.records == []


def test_thousands_of_look_alikes_do_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    tools = [
        Tool(name=f"t{number}", description="d", title="".join(pair))
        for number, pair in enumerate(zip("lI1" * 1000, "0" * 3000, strict=True))
    ]
    check_callable(Catalog(tools), ())
    assert len(caplog.text) < 5000


def test_one_warning_names_the_tools_without_a_description(caplog: pytest.LogCaptureFixture) -> None:
    warn_of_silent([Tool(name="a"), Tool(name="b", description="d"), Tool(name="c", description=" ")])
    assert [record.getMessage() for record in caplog.records] == [
        "Tools without a description are found by name and parameters only: 'a', 'c'"
    ]


def test_a_definition_seen_before_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    definitions = [{"name": f"seen_before_{number}", "description": "Create an issue"} for number in range(10)]
    first = as_tools(definitions)
    again = as_tools(definitions)
    monkeypatch.setattr("toolsearch.tool.Tool.__init__", None)  # making a tool anew fails now
    again = as_tools(definitions)
    assert [tool.fingerprint for tool in again] == [tool.fingerprint for tool in first]
