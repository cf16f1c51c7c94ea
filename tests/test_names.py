"""The exact-name lane: whoever spells a tool's name gets that tool."""

import pytest

from toolsearch.names import Names, exactly, selected_names
from toolsearch.tool import Tool

GITHUB = Tool(id="github__create_issue", name="create_issue", server="github", aliases=("newTicket",))
GITLAB = Tool(id="gitlab__create_issue", name="create_issue", server="gitlab")
MAIL = Tool(id="send_mail", name="sendMail", server="post office")
LEGAL = Tool(id="files_read_a1b2c3", name="files.read", aliases=("fs/readFile",))
TOOLS = [GITHUB, GITLAB, MAIL, LEGAL]
names = Names(TOOLS)


def spelled(query: str) -> list[str]:
    return [TOOLS[position].id for position in names.spelled(query)]


@pytest.mark.parametrize(
    "query",
    [
        "send_mail",
        "sendMail",
        "SEND-MAIL",
        "Send mail",
        " send mail ",
        "send.mail?",
        "post office sendMail",
        "post-office/send_mail",
    ],
)
def test_failure_2_a_name_is_recognised_in_any_case_and_with_any_separator(query: str) -> None:
    assert spelled(query) == ["send_mail"]


@pytest.mark.parametrize("query", ["github.create issue", "github__create_issue", "GitHub createIssue", "new ticket"])
def test_failure_20_server_and_name_or_an_alias_mean_one_tool(query: str) -> None:
    assert spelled(query) == ["github__create_issue"]


@pytest.mark.parametrize("query", ["create_issue", "createIssue", "Create issue"])
def test_failure_20_an_ambiguous_short_name_means_all_its_owners(query: str) -> None:
    assert spelled(query) == ["github__create_issue", "gitlab__create_issue"]


@pytest.mark.parametrize("query", ["read", "files.read", "readFile", "fs/readFile", "files_read_a1b2c3"])
def test_failure_2_the_part_behind_the_server_is_a_name_in_id_name_and_alias(query: str) -> None:
    assert spelled(query) == ["files_read_a1b2c3"]


@pytest.mark.parametrize("query", ["create", "create issue now", "mail", "!!!", "", "x" * 10_000])
def test_what_is_no_name_means_no_tool(query: str) -> None:
    assert spelled(query) == []


def test_the_very_same_spelling_comes_before_others() -> None:
    tools = [Tool(name="createIssue"), Tool(name="create_issue"), Tool(name="create-issue")]
    assert Names(tools).spelled("create_issue") == [1, 0, 2]


def test_names_in_other_alphabets_are_names() -> None:
    tools = [Tool(name="создать_задачу"), Tool(name="天气"), Tool(name="की"), Tool(name="का")]
    found = [Names(tools).spelled(query) for query in ("Создать задачу", "天气", "की")]
    assert found == [[0], [1], [2]]


def test_a_name_of_signs_only_is_found_by_its_very_spelling_only() -> None:
    tools = [Tool(name="++"), Tool(name="--")]
    assert (Names(tools).spelled("++"), Names(tools).spelled("**")) == ([0], [])


@pytest.mark.parametrize(
    ("query", "chosen"),
    [
        ("select:a,b", ["a", "b"]),
        (" Select: b , a,b ,,", ["b", "a"]),
        ("SELECT:send mail", ["send mail"]),
        ("select:", []),
        ("select a,b", None),
        ("please select:a", None),
    ],
)
def test_a_select_query_lists_names_in_order_each_once(query: str, chosen: list[str] | None) -> None:
    assert selected_names(query) == chosen


@pytest.mark.parametrize(
    ("chosen", "meant"),
    [
        (["send_mail", "github__create_issue"], [2, 0]),
        (["Send mail"], [2]),
        (["create_issue"], [0, 1]),
        (["gitlab__create_issue", "create_issue"], [1, 0]),
        (["nowhere"], []),
        ([], []),
    ],
)
def test_a_select_means_the_tool_of_that_very_id_else_all_that_answer_to_the_name(
    chosen: list[str], meant: list[int]
) -> None:
    assert exactly(chosen, TOOLS) == meant


def test_a_select_of_an_id_does_not_mean_others_that_answer_to_it() -> None:
    tools = [Tool(id="x__get", name="get"), Tool(id="get", name="get")]
    assert exactly(["get"], tools) == [1]
