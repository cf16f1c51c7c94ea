"""The command line: what stands on stdout, what on stderr, and which exit code says what happened."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from fakes import WordEncoder
from typer.testing import CliRunner, Result

import toolsearch
from toolsearch import cli
from toolsearch.errors import ModelNotFoundError

TOOLS = [
    {"name": "create_issue", "description": "Open a ticket for a bug.", "server": "tracker"},
    {"name": "delete_branch", "description": "Delete a branch of a repository.", "server": "git"},
    {"name": "rename_branch", "description": "Give a branch of a repository another name.", "server": "git"},
    {"name": "send_mail", "description": "Send an electronic letter to a person.", "server": "mail"},
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")


@pytest.fixture
def catalog(tmp_path: Path) -> str:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(TOOLS))
    return str(path)


def run(*arguments: str, encoder: WordEncoder | None = None) -> Result:
    return CliRunner().invoke(cli.app, list(arguments), obj=encoder or WordEncoder())


def ids(result: Result) -> list[str]:
    return [line.split("\t")[1] for line in result.stdout.splitlines()]


def test_a_search_prints_one_line_a_tool_best_first_and_exits_0(catalog: str) -> None:
    result = run("search", catalog, "open a ticket for this bug")
    score, name, description = result.stdout.splitlines()[0].split("\t")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (name, description) == ("create_issue", "Open a ticket for a bug.")
    assert 0 < float(score) <= 1


def test_json_is_one_object_with_unrounded_scores_and_what_was_embedded(catalog: str) -> None:
    found = json.loads(run("search", catalog, "open a ticket for this bug", "--json").stdout)
    first = found["results"][0]
    assert found["catalog"] == {"path": catalog, "tools": 4}
    assert found["query"] == "open a ticket for this bug"
    assert (first["rank"], first["id"], first["name"], first["server"]) == (
        1,
        "create_issue",
        "create_issue",
        "tracker",
    )
    assert [(found[work]["new"], found[work]["cached"]) for work in ("indexing", "effort")] == [(4, 0), (1, 0)]


def test_nothing_found_exits_1_and_says_so_on_stderr_only(catalog: str) -> None:
    result = run("search", catalog, "zzz qqq xxx", "--min-score", "0.9")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "No tool fits" in result.stderr


def test_nothing_found_is_still_a_json_object(catalog: str) -> None:
    result = run("search", catalog, "zzz qqq xxx", "--min-score", "0.9", "--json")
    assert (result.exit_code, json.loads(result.stdout)["results"]) == (1, [])


def test_a_min_score_of_0_shows_the_best_of_whatever_there_is(catalog: str) -> None:
    assert len(ids(run("search", catalog, "zzz qqq xxx", "--min-score", "0"))) == 4


def test_k_limits_the_results(catalog: str) -> None:
    assert len(ids(run("search", catalog, "branch of a repository", "-k", "1"))) == 1


def test_a_server_filter_leaves_the_others_out_and_may_be_repeated(catalog: str) -> None:
    query = ["search", catalog, "open a ticket for this bug", "--min-score", "0"]
    assert set(ids(run(*query, "--server", "git"))) == {"delete_branch", "rename_branch"}
    assert set(ids(run(*query, "--server", "git", "--server", "mail"))) == {
        "delete_branch",
        "rename_branch",
        "send_mail",
    }


def test_a_typed_name_comes_first(catalog: str) -> None:
    assert ids(run("search", catalog, "renameBranch"))[0] == "rename_branch"


def test_explain_says_why_a_tool_ranks_where_it_does(catalog: str) -> None:
    line = run("search", catalog, "open a ticket", "-k", "1", "--explain").stdout
    record = json.loads(run("search", catalog, "open a ticket", "-k", "1", "--explain", "--json").stdout)["results"][0]
    assert "rank 1 of 4" in line
    assert "open" in record["shared_terms"]
    assert record["evidence"]["reason"] == "ranked"
    assert "Open a ticket" in record["document"]


def test_a_gzipped_file_of_lines_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, TOOLS)).encode()))
    assert ids(run("search", str(path), "send a letter"))[0] == "send_mail"


def test_a_second_search_takes_every_vector_from_the_cache(catalog: str, tmp_path: Path) -> None:
    folder = str(tmp_path / "elsewhere")
    first, second = WordEncoder(), WordEncoder()
    run("search", catalog, "open a ticket", "--cache-dir", folder, encoder=first)
    run("search", catalog, "open a ticket", "--cache-dir", folder, encoder=second)
    assert (first.texts_seen, second.texts_seen) == (5, 0)


@pytest.mark.parametrize("content", ["{", '[{"description": "nameless"}]', "[1]"])
def test_a_file_that_holds_no_tools_exits_2_with_one_sentence_that_names_it(content: str, tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text(content)
    result = run("search", str(path), "anything")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"toolsearch: {path}")
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["search"],
        ["search", "tools.json"],
        ["search", "tools.json", "q", "-k", "0"],
        ["fly"],
        ["search", "/no/file.json", "q"],
    ],
)
def test_wrong_usage_exits_2(arguments: list[str]) -> None:
    assert run(*arguments).exit_code == 2


def test_a_model_that_cannot_be_used_exits_3_with_the_remedy(catalog: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(model: Any) -> None:
        raise ModelNotFoundError(model, "nothing answers to it.", "pip install it")

    monkeypatch.setattr("toolsearch.embedding.registry.load_encoder", missing)
    result = CliRunner().invoke(cli.app, ["search", catalog, "anything", "--model", "gone"])
    assert result.exit_code == 3
    assert result.stderr == "toolsearch: Model 'gone' was not found: nothing answers to it. Run: pip install it\n"


def test_a_demo_without_botocore_exits_3_and_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "botocore.loaders", None)
    result = run("demo")
    assert result.exit_code == 3
    assert "pip install 'toolsearch[demo]'" in result.stderr


def test_a_service_nobody_knows_exits_2() -> None:
    result = run("demo", "--services", "sns,dynamo")
    assert result.exit_code == 2
    assert "Did you mean 'dynamodb'?" in result.stderr


def test_warnings_go_to_stderr_and_leave_the_results_alone(tmp_path: Path) -> None:
    path = tmp_path / "bare.json"
    path.write_text(json.dumps([{"name": "create_issue"}]))
    result = run("search", str(path), "create issue", "--json")
    assert result.stderr.startswith(
        "warning: Tools without a description are found by name and parameters only: 'create_issue'"
    )
    assert json.loads(result.stdout)["results"][0]["id"] == "create_issue"


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    result = run("search", str(tmp_path / "none.json"), "anything", "--debug")
    assert isinstance(result.exception, toolsearch.errors.CatalogFileError)


def test_an_interruption_exits_130_and_says_what_is_kept(catalog: str) -> None:
    class Interrupted(WordEncoder):
        def encode(self, texts: Any, role: Any) -> Any:
            raise KeyboardInterrupt

    result = run("search", catalog, "anything", encoder=Interrupted())
    assert (result.exit_code, result.stdout) == (130, "")
    assert (
        result.stderr
        == "toolsearch: Interrupted. What was embedded stays in the cache: the same command goes on from there.\n"
    )


def test_demo_ask_searches_real_operations() -> None:
    result = run("demo", "--services", "sns,sqs,sts", "--ask", "publish message topic", "--ask", "delete queue")
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[0].startswith("77 tools of 3 cloud services: sns, sqs, sts.")
    assert "publish message topic" in result.stdout
    assert "sns__publish" in result.stdout
    assert "sqs__delete_queue" in result.stdout


def test_demo_ask_as_json_answers_each_question_in_order() -> None:
    result = run("demo", "--services", "sqs", "--ask", "delete queue", "--ask", "purge queue", "--json")
    found = json.loads(result.stdout)
    assert [answer["query"] for answer in found["answers"]] == ["delete queue", "purge queue"]
    assert [answer["results"][0]["name"] for answer in found["answers"]] == ["DeleteQueue", "PurgeQueue"]


def test_demo_ask_says_where_nothing_fits_and_exits_1_where_nothing_at_all_was_found() -> None:
    result = run("demo", "--services", "sts", "--ask", "zzz qqq xxx")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (1, "No tool fits.")


def test_the_version_is_the_package_s() -> None:
    assert run("--version").stdout == f"{toolsearch.__version__}\n"


def commands() -> list[str]:
    return sorted(
        command.name or command.callback.__name__ for command in cli.app.registered_commands if command.callback
    )


@pytest.mark.parametrize("command", commands())
def test_each_command_s_help_has_examples_and_says_what_the_exit_codes_mean(command: str) -> None:
    text = run(command, "--help").stdout
    assert f"toolsearch {command} " in text
    assert all(
        code in text for code in ("0 found", "1 nothing fits", "2 wrong usage", "3 the model", "130 interrupted")
    )


HEAVY = ("faiss", "torch", "sentence_transformers", "diskcache", "botocore")


@pytest.mark.parametrize(
    "statement", ["import toolsearch", "import toolsearch.cli as c; c.app(['--help'], standalone_mode=False)"]
)
def test_neither_the_package_nor_its_help_imports_anything_heavy(statement: str) -> None:
    code = f"{statement}\nimport sys; sys.stderr.write(','.join(n for n in {HEAVY!r} if n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""


def script(tmp_path: Path, *arguments: str) -> list[str]:
    """The real command in a real process, with the fake encoder as its model."""
    path = tmp_path / "command.py"
    path.write_text(
        f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from fakes import WordEncoder\nfrom toolsearch import cli\ncli.app(obj=WordEncoder(), prog_name='toolsearch')\n"
    )
    return [sys.executable, str(path), *arguments]


def test_a_reader_that_goes_away_is_no_error(catalog: str, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        script(tmp_path, "search", catalog, "open a ticket"), stdout=write, stderr=subprocess.PIPE, check=False
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_long_description_stays_on_one_line_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "long.json"
    path.write_text(json.dumps([{"name": "long", "description": "word " * 100 + "\n and\tmore"}]))
    (line,) = run("search", str(path), "word").stdout.splitlines()
    assert line.count("\t") == 2
