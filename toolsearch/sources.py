"""Sources: files that hold tools, as JSON or JSON Lines, plain or gzipped."""

import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolsearch.catalog import as_tools
from toolsearch.errors import CatalogFileError, InvalidToolError
from toolsearch.tool import Tool

_GZIP_MAGIC = b"\x1f\x8b"
_LINES = (".jsonl", ".ndjson")


def read_tools(path: Path) -> list[Tool]:
    """The tools of a file in its order, ids as they stand; an empty file has none.

    JSON holds a list of definitions, `{"tools": [...]}`, a mapping of names to definitions, or one definition;
    JSON Lines (`.jsonl`, `.ndjson`) one definition a line. gzip is recognised by content.

    Raises:
        CatalogFileError: the file cannot be read, is no such JSON, or holds a tool that is none; it names the line
            (JSON Lines and syntax errors) or the place in the list, and the field.
    """
    text = _text(path)
    return (
        _from_lines(path, text) if _LINES[0] in path.suffixes or _LINES[1] in path.suffixes else _from_json(path, text)
    )


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        if content.startswith(_GZIP_MAGIC):
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")  # some editors begin a file with a byte order mark
    except FileNotFoundError as error:
        raise CatalogFileError(str(path), "there is no such file") from error
    except IsADirectoryError as error:
        raise CatalogFileError(str(path), "is a folder; give a .json or .jsonl file, which may be gzipped") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise CatalogFileError(str(path), f"is no complete gzip file ({error}); fetch it again") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise CatalogFileError(str(path), f"is not UTF-8 ({error.reason}); save it as UTF-8", line=line) from error
    except OSError as error:
        raise CatalogFileError(str(path), f"cannot be read: {error.strerror or error}") from error


def _from_lines(path: Path, text: str) -> list[Tool]:
    tools: list[Tool] = []
    # Not splitlines(): a text inside JSON may hold U+2028, which ends no line of the file.
    for line, content in enumerate(text.split("\n"), 1):
        if content.strip():
            definition = _parsed(path, content, line)
            if not isinstance(definition, dict):
                raise CatalogFileError(str(path), f"expected an object, got {_kind(definition)}", line=line)
            tools.extend(_tools(path, [definition], line))
    return tools


def _from_json(path: Path, text: str) -> list[Tool]:
    if not text.strip():
        return []
    content = _parsed(path, text, 1)
    if isinstance(content, dict) and isinstance(content.get("tools"), list):
        content = content["tools"]
    if isinstance(content, dict) and any(isinstance(content.get(field), str) for field in ("name", "id", "type")):
        content = [content]
    if isinstance(content, dict):
        return [tool for key, definition in content.items() for tool in _tools(path, {key: definition}, None)]
    if isinstance(content, list):
        return list(_numbered(path, content))
    raise CatalogFileError(str(path), f"expected a list of tools or an object, got {_kind(content)}")


def _numbered(path: Path, definitions: list[Any]) -> Iterator[Tool]:
    for place, definition in enumerate(definitions):
        if not isinstance(definition, dict):
            raise CatalogFileError(str(path), f"expected an object, got {_kind(definition)}", field=f"[{place}]")
        yield from _tools(path, [definition], None, within=f"[{place}].")


def _tools(path: Path, definitions: dict[str, Any] | list[Any], line: int | None, *, within: str = "") -> list[Tool]:
    try:
        return as_tools(definitions)
    except InvalidToolError as error:
        raise CatalogFileError(
            str(path), f"tool {error.tool!r}: {error.reason}", line=line, field=within + error.field
        ) from error


def _parsed(path: Path, text: str, line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CatalogFileError(
            str(path), f"is no JSON: {error.msg} (column {error.colno})", line=line + error.lineno - 1
        ) from error
    except RecursionError as error:
        raise CatalogFileError(str(path), "is nested too deeply", line=line) from error


def _kind(value: Any) -> str:
    kinds = {type(None): "null", bool: "a truth value", str: "a text", list: "a list", dict: "an object"}
    return kinds.get(type(value), "a number")
