"""The texts that stand for a tool."""

import re
import subprocess
import sys
from typing import Any

import pytest
from fakes import WordEncoder

from toolsearch import document
from toolsearch.document import Document, render
from toolsearch.lexical import Terms, analyse
from toolsearch.tool import Tool

count = WordEncoder().count_tokens


def text_of(limit: int = 10_000, **fields: Any) -> str:
    return render(Tool(**fields), count=count, limit=limit).text


def words_of(**fields: Any) -> str:
    return render(Tool(**fields), count=count, limit=10_000).words


def schema(**notes: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"description": note} for name, note in notes.items()}}


def test_a_document_is_name_server_description_and_examples_with_the_parameters_among_its_words() -> None:
    made = render(
        Tool(
            name="createIssue",
            server="github",
            title="Open a ticket",
            description="Opens a new issue in a repository.",
            parameters=schema(repoName="where it goes", body=""),
            examples=("file a bug",),
        ),
        count=count,
        limit=10_000,
    )
    head = "github create issue (Open a ticket): Opens a new issue in a repository. "
    assert made.text == head + "Examples: file a bug"
    assert made.words == head + "Parameters: repo name: where it goes; body. Examples: file a bug"


def test_failure_3_identifiers_are_split_before_they_are_lower_cased() -> None:
    names = ["parseHTTPResponse", "parse_http_response", "parse-http-response", "ParseHttpResponse"]
    assert {text_of(name=name) for name in names} == {"parse http response"}


def test_failure_3_the_whole_identifier_is_a_term_too_and_its_words_are_found() -> None:
    tool = Tool(name="createIssue", description="Files a ticket.")
    row = set(Terms.of(render(tool, count=count, limit=99).words, name=tool.name).ids.tolist())
    for query in ("createIssue", "createissue", "create_issue", "issue"):
        assert set(Terms.of(query).ids.tolist()) <= row


@pytest.mark.parametrize(
    ("server", "name", "said"),
    [
        ("github", "create_issue", "github create issue"),
        ("github", "github_create_issue", "github create issue"),
        ("GitHub", "github__createIssue", "github create issue"),
        ("github", "GitHubCreateIssue", "git hub create issue"),
        ("git", "digital_clock", "git digital clock"),
        ("ai", "send_email", "ai send email"),
        ("googleCalendar", "create_event", "google calendar create event"),
        ("!!", "create_issue", "create issue"),
        (None, "create_issue", "create issue"),
    ],
)
def test_failure_4_the_server_is_named_once(server: str | None, name: str, said: str) -> None:
    assert text_of(name=name, server=server) == said


@pytest.mark.parametrize(
    ("server", "name", "said"),
    [
        (None, "mcp__github__create_issue", "github create issue"),
        ("mcp-github", "create_issue", "github create issue"),
        ("github_mcp", "create_issue", "github create issue"),
        (None, "list_mcp_servers", "list mcp servers"),
        ("mcp", "mcp", "mcp"),
    ],
)
def test_failure_4_the_protocol_is_no_part_of_a_name(server: str | None, name: str, said: str) -> None:
    assert text_of(name=name, server=server) == said


def test_a_title_that_only_repeats_the_name_is_left_out() -> None:
    assert text_of(name="create_issue", title="Create Issue", description="x") == "create issue: x"


def test_a_tool_without_a_description_is_its_name_and_parameters() -> None:
    assert text_of(name="get_forecast", parameters=schema(city="", day="")) == "get forecast. Parameters: city; day"


def test_a_document_has_no_control_and_no_bidirectional_characters() -> None:
    made = words_of(
        name="pay\u202e_out",
        server="ba\u0000nk",
        description="Sends\u200b money.\n\x1b[2J",
        parameters=schema(**{"to\u2066": "ac\u0007count"}),
        examples=("pay\n\u202dhim",),
    )
    assert made == "bank pay out: Sends money. [2J. Parameters: to: account. Examples: pay him"


LONG = "Opens a ticket. " + "lorem ipsum dolor sit amet " * 4_000
NOTES = {f"field{'abcdefghijkl'[n]}": "explained at length " * 8 for n in range(12)}


@pytest.mark.parametrize("limit", [60, 120, 254])
def test_name_start_of_description_and_parameters_survive_a_description_of_100_000_characters(limit: int) -> None:
    assert len(LONG) > 100_000
    fields: dict[str, Any] = {
        "name": "createIssue",
        "server": "github",
        "description": LONG,
        "parameters": schema(**NOTES),
    }
    made = render(Tool(**fields), count=count, limit=limit)
    assert made.text.startswith("github create issue: Opens a ticket. lorem")
    assert limit - 2 <= count(made.text) <= limit
    assert [name for name in NOTES if re.search(rf"\b{name}\b", made.words)] == list(NOTES)
    assert len(made.words) < 10_000


def test_examples_survive_a_description_of_100_000_characters() -> None:
    made = text_of(60, name="createIssue", description=LONG, examples=("file a bug", "report a defect"))
    assert made.endswith("Examples: file a bug; report a defect")


def test_a_note_of_a_parameter_goes_before_the_name_of_another() -> None:
    made = text_of(30, name="create_issue", parameters=schema(**NOTES))
    assert [name for name in NOTES if name in made] == list(NOTES)


@pytest.mark.parametrize("limit", [1, 3, 8, 20, 60, 254])
def test_a_document_never_has_more_tokens_than_the_model_reads(limit: int) -> None:
    made = text_of(
        limit,
        name="a_very_long_name_" * 9,
        title="A title of its own",
        description=LONG,
        parameters=schema(**NOTES),
        examples=("one example", "another example " * 30),
    )
    assert 0 < count(made) <= limit


def test_a_name_without_end_leaves_room_for_the_description() -> None:
    made = text_of(30, name="very_long_name_" * 13, description=LONG)
    assert made.startswith("very long name very long")
    assert "Opens a ticket." in made


def test_a_document_that_fits_is_not_cut() -> None:
    made = text_of(name="create_issue", parameters=schema(**NOTES))
    assert text_of(count(made), name="create_issue", parameters=schema(**NOTES)) == made


def test_a_description_of_one_endless_word_is_cut_inside() -> None:
    characters: dict[str, Any] = {"count": len, "limit": 50}
    made = render(Tool(name="run", description="x" * 100_000), **characters).text
    assert made.startswith("run: xxxx")
    assert len(made) <= 50


def test_the_tool_itself_stays_as_it_was() -> None:
    tool = Tool(name="create\u202eIssue", description=LONG, parameters=schema(**NOTES))
    before = tool.model_dump()
    render(tool, count=count, limit=20)
    assert tool.model_dump() == before


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({}, "run"),
        ({"properties": None}, "run"),
        ({"properties": ["a", "b"]}, "run"),
        ({"properties": "a"}, "run"),
        ({"properties": {}}, "run"),
        ({"properties": {"a": None, "b": True, "c": "text", "d": []}}, "run. Parameters: a; b; c; d"),
        ({"properties": {"a": {"description": ["x"]}, "b": {"description": 7}}}, "run. Parameters: a; b"),
        ({"properties": {7: {"description": "seven"}}}, "run. Parameters: 7: seven"),
        ({"properties": {"$": {"description": "sum"}, "": {}, "b": {}}}, "run. Parameters: $: sum; b"),
    ],
)
def test_a_malformed_schema_gives_what_can_be_read_of_it(parameters: dict[str, Any], said: str) -> None:
    assert text_of(name="run", parameters=parameters) == said


def test_ten_thousand_parameters_cost_no_more_than_the_first_that_fit() -> None:
    many = schema(**{f"option{n}": "" for n in range(10_000)})
    counted = 0

    def counting(text: str) -> int:
        nonlocal counted
        counted += 1
        return count(text)

    made = render(Tool(name="run", parameters=many), count=counting, limit=60).text
    assert made.startswith("run. Parameters: option0; option1; option2")
    assert counted < 500


def test_equal_tools_have_equal_documents_and_a_change_of_the_text_changes_the_digest() -> None:
    fields: dict[str, Any] = {"name": "run", "description": "Runs.", "parameters": schema(a="x")}
    first = render(Tool(**fields), count=count, limit=99)
    assert render(Tool(**fields), count=count, limit=99) == first
    changes: list[dict[str, Any]] = [
        {"name": "ran"},
        {"description": "Ran."},
        {"parameters": schema(a="y")},
        {"server": "s"},
        {"title": "T"},
        {"examples": ("e",)},
    ]
    digests = {render(Tool(**{**fields, **change}), count=count, limit=99).digest for change in changes}
    assert len(digests | {first.digest}) == len(changes) + 1


def test_the_digest_is_the_same_in_another_process() -> None:
    program = (
        "from toolsearch.document import render; from toolsearch.tool import Tool;"
        "print(render(Tool(name='run', description='Läuft.'), count=len, limit=99).digest)"
    )
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == render(Tool(name="run", description="Läuft."), count=len, limit=99).digest


def test_the_recipe_is_part_of_the_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool(name="run")
    before = render(tool, count=count, limit=99)
    monkeypatch.setattr(document, "RECIPE", document.RECIPE + 1)
    after = render(tool, count=count, limit=99)
    assert (after.text, after.digest == before.digest) == (before.text, False)
    assert isinstance(after, Document)


def test_the_document_is_analysed_to_the_words_a_person_would_use() -> None:
    assert analyse(text_of(name="listPullRequests", server="github")) == ["github", "list", "pull", "request"]
