"""Files of tools: what is read, and what an unreadable one says."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from toolsearch.errors import CatalogFileError
from toolsearch.sources import read_tools

DEFINITIONS: list[dict[str, Any]] = [
    {
        "id": "az account clear",
        "name": "az_account_clear",
        "description": "Forget",
        "parameters": {},
        "server": "account",
        "category": "account",
    },
    {
        "id": "common/!",
        "name": "!",
        "description": "History",
        "parameters": {},
        "server_description": "Shell",
        "source": "tldr",
    },
]
LINES = "\n".join(json.dumps(definition) for definition in DEFINITIONS)
IDS = ["az account clear", "common/!"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("tools.jsonl", LINES),
        ("tools.ndjson", "\n" + LINES.replace("\n", "\r\n\n") + "\n\n"),
        ("tools.json", json.dumps(DEFINITIONS, indent=2)),
        ("tools.json", json.dumps({"tools": DEFINITIONS, "nextCursor": None})),
        ("tools.json", "\ufeff" + json.dumps(DEFINITIONS)),
        ("tools", json.dumps(DEFINITIONS)),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_each_format_holds_the_same_tools(tmp_path: Path, name: str, text: str, zipped: bool) -> None:
    path = tmp_path / (f"{name}.gz" if zipped else name)
    content = text.encode()
    path.write_bytes(gzip.compress(content) if zipped else content)
    tools = read_tools(path)
    assert [tool.id for tool in tools] == IDS
    assert [(tool.server, tool.tags) for tool in tools] == [("account", ("account",)), (None, ())]


def test_gzip_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_bytes(gzip.compress(LINES.encode()))
    assert [tool.id for tool in read_tools(path)] == IDS


def test_a_mapping_gives_names_to_definitions(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"first": {"name": "a"}, "second": {"description": "b"}}))
    assert [(tool.id, tool.name) for tool in read_tools(path)] == [("first", "a"), ("second", "second")]


@pytest.mark.parametrize("definition", [{"name": "a"}, {"type": "function", "function": {"name": "a"}}])
def test_one_definition_is_a_file_of_one_tool(tmp_path: Path, definition: dict[str, Any]) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps(definition))
    assert [tool.id for tool in read_tools(path)] == ["a"]


@pytest.mark.parametrize("name", ["tools.json", "tools.jsonl"])
@pytest.mark.parametrize("content", [b"", b" \n\n", b"\xef\xbb\xbf", gzip.compress(b"")])
def test_an_empty_file_has_no_tools(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert read_tools(path) == []


def test_a_line_separator_inside_a_text_ends_no_line(tmp_path: Path) -> None:
    path = tmp_path / "tools.jsonl"
    path.write_text(json.dumps({"name": "a", "description": "one\u2028two"}, ensure_ascii=False), encoding="utf-8")
    assert read_tools(path)[0].description == "one\u2028two"


@pytest.mark.parametrize(
    ("name", "content", "line", "field", "reason"),
    [
        ("tools.jsonl", b'{"name": "a"}\n\n{"name": ', 3, None, "is no JSON"),
        ("tools.jsonl", b'{"name": "a"}\n[1]', 2, None, "expected an object, got a list"),
        ("tools.jsonl", b'{"name": "a"}\n{"name": "b", "parameters": "x"}', 2, "parameters", "tool 'b'"),
        ("tools.jsonl", b'{"name": "a"}\n{"description": "b"}', 2, "name", "a tool needs a name"),
        ("tools.json", b'[\n{"name": "a"},\n{"name"}\n]', 3, None, "is no JSON"),
        ("tools.json", b'[{"name": "a"}, {"name": "b", "parameters": []}]', None, "[1].parameters", "tool 'b'"),
        ("tools.json", b'[{"name": "a"}, 3]', None, "[1]", "expected an object, got a number"),
        ("tools.json", b'{"first": {"parameters": 1}}', None, "parameters", "tool 'first'"),
        ("tools.json", b'{"first": null}', None, "tool", "is no tool"),
        ("tools.json", b'"text"', None, None, "got a text"),
        ("tools.json", b"null", None, None, "got null"),
        ("tools.json", b"[" * 100_000, 1, None, "nested too deeply"),
        ("tools.json", b'[{"name": "a"},\n{"name": "\xff"}]', 2, None, "is not UTF-8"),
        ("tools.json.gz", gzip.compress(LINES.encode())[:-12], None, None, "no complete gzip"),
        ("tools.json.gz", b"\x1f\x8b\x08\x00" + b"\xff" * 30, None, None, "no complete gzip"),
    ],
)
def test_a_bad_file_names_its_path_line_and_field(  # noqa: PLR0917 - one row of the table
    tmp_path: Path, name: str, content: bytes, line: int | None, field: str | None, reason: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(CatalogFileError) as caught:
        read_tools(path)
    error = caught.value
    assert (error.path, error.line, error.field) == (str(path), line, field)
    assert reason in str(error)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CatalogFileError, match="no such file"):
        read_tools(tmp_path / "nowhere.json")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(CatalogFileError, match="is a folder"):
        read_tools(tmp_path)


def test_a_path_no_system_accepts_is_named() -> None:
    with pytest.raises(CatalogFileError, match="cannot be read"):
        read_tools(Path("x" * 5000))
