"""A labelled set: tools, and queries that say which of them they need."""

import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolsearch.sources import read_tools
from toolsearch.tool import Tool


@dataclass(frozen=True, slots=True)
class Query:
    """What somebody asked, and the tools it takes."""

    id: str
    text: str
    relevant: tuple[str, ...]
    """Ids of all tools the query needs, each once, at least one; they need not stand in the catalog."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """One catalog and the queries asked of it."""

    name: str
    tools: tuple[Tool, ...]
    queries: tuple[Query, ...]
    digests: Mapping[str, str]
    """sha256 of each file as it lies on disk, by its name."""


def read_dataset(folder: Path, *, lang: str | None = "en") -> Dataset:
    """The set in a folder that holds `tools.jsonl` and `queries.jsonl`, plain or gzipped.

    Where any query is flagged `core`, only those that are count. A query of another language than `lang` does not
    count; one that names no language, or with `lang` None any, does.

    Raises:
        FileNotFoundError: one of the two files is not there.
        CatalogFileError: the tools cannot be read.
        ValueError: a line of the queries is no query; names file and line.
    """
    tools, queries = _file(folder, "tools"), _file(folder, "queries")
    records = [record for record in _records(queries) if lang is None or record.get("lang", lang) == lang]
    if any("core" in record for record in records):
        records = [record for record in records if record.get("core")]
    return Dataset(
        name=folder.resolve().name,
        tools=tuple(read_tools(tools)),
        queries=tuple(
            Query(str(record["id"]), record["query"], tuple(dict.fromkeys(record["relevant"]))) for record in records
        ),
        digests={path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (tools, queries)},
    )


def _file(folder: Path, stem: str) -> Path:
    for path in (folder / f"{stem}.jsonl.gz", folder / f"{stem}.jsonl"):
        if path.is_file():
            return path
    raise FileNotFoundError(f"{folder} holds neither {stem}.jsonl.gz nor {stem}.jsonl: is it a labelled set?")


def _records(path: Path) -> Iterator[dict[str, Any]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
    # Not splitlines(): a text inside JSON may hold U+2028, which ends no line of the file.
    for line, content_of_line in enumerate(text.split("\n"), 1):
        if not content_of_line.strip():
            continue
        try:
            record = json.loads(content_of_line)
            sound = record["id"] is not None and isinstance(record["query"], str) and bool(record["relevant"])
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{path}:{line}: no query ({error!r})") from error
        if not sound:
            raise ValueError(f"{path}:{line}: a query has an id, a text, and at least one relevant tool")
        yield record
