"""The two texts that stand for a tool in the index, one to embed and one to analyse, and their digest."""

import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.cleaning import clean
from toolsearch.identifiers import squash, words
from toolsearch.tool import Schema, Tool

RECIPE = 1
"""Version of the texts below. Vectors of different recipes never meet: the recipe is part of every index's identity."""

_DESCRIPTION = 2_000
"""Characters of a description that are looked at: twice what fits the longest window of the shipped models."""
_PARAMETER = 200
_PARAMETERS = 40
_DESCRIPTION_SHARE = 0.6
"""Where a text does not fit, the description gets this share of the window and the examples the rest."""

_PROTOCOL = re.compile(r"^mcp(?:__|[./:\\])[\W_]*(?=\w)", re.IGNORECASE)
"""What some clients put before every name; it says nothing about the tool."""

Count = Callable[[str], int]
"""How many tokens a text has for the model that will read it."""


@dataclass(frozen=True, slots=True)
class Document:
    """What is embedded and what is analysed for one tool."""

    text: str
    """What the encoder reads: name, server, description, examples. Parameters stand in it only where there is no
    description: beside one they measure no better, and treble what has to be embedded."""
    words: str
    """What BM25 reads: all of it, parameters and their notes included."""
    digest: str
    """sha256 of both texts and the recipe: equal digests mean equal rows."""


def render(tool: Tool, *, count: Count, limit: int) -> Document:
    """The document of a tool; its `text` is cut so that the model reads all of it.

    A tool without a description is its name and parameters.
    """
    head = _head(tool)
    description = clean(tool.description, _DESCRIPTION)
    parameters = list(_parameters(tool.parameters))
    examples = [clean(example, _PARAMETER) for example in tool.examples]
    notes = [f"{name}: {note}" if note else name for name, note in parameters]
    words = _join(head, description, notes, examples)
    text = _join(head, description, [], examples) if description else words
    if count(text) > limit:
        text = _fit(head, description, [] if description else parameters, examples, count=count, limit=limit)
    parts = "\0".join((str(RECIPE), text, words))
    return Document(text, words, hashlib.sha256(parts.encode("utf-8", "replace")).hexdigest())


def _head(tool: Tool) -> str:
    name = _PROTOCOL.sub("", clean(tool.name, _PARAMETER))
    said = words(name) or name
    server = _server(clean(tool.server or "", _PARAMETER))
    # A server whose name the tool repeats (`github`, `github_create_issue`) would only be counted twice.
    if not _says(said, server):
        said = f"{server} {said}"
    title = clean(tool.title or "", _PARAMETER)
    return said if _says(said, title) else f"{said} ({title})"


def _server(name: str) -> str:
    parts = words(name).split()
    return " ".join(part for part in parts if part != "mcp") or " ".join(parts)


def _says(said: str, name: str) -> bool:
    """Whether some words of a text, run together, are the name: `git hub create` says `GitHub`, `digital` no `git`."""
    wanted = squash(name)
    parts = [squash(part) for part in said.split()]
    return not wanted or any(
        wanted in itertools.accumulate(parts[start:])
        for start, part in enumerate(parts)
        if part and wanted.startswith(part)
    )


def _parameters(schema: Schema) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, field in list(properties.items())[:_PARAMETERS]:
        cleaned = clean(str(name), _PARAMETER)
        if cleaned:
            yield words(cleaned) or cleaned, clean(_note(field), _PARAMETER)


def _note(field: Any) -> str:
    note = field.get("description") if isinstance(field, Mapping) else None
    return note if isinstance(note, str) else ""


def _join(head: str, description: str, parameters: list[str], examples: list[str]) -> str:
    text = f"{head}: {description}" if description else head
    if parameters:
        text = f"{text.rstrip('.')}. Parameters: {'; '.join(parameters)}"
    if examples:
        text = f"{text.rstrip('.')}. Examples: {'; '.join(examples)}"
    return text


def _fit(
    head: str, description: str, parameters: list[tuple[str, str]], examples: list[str], *, count: Count, limit: int
) -> str:
    """The same text where it is too long: what says least goes first, a parameter's note before its name."""
    head = _cut(head, max(1, limit // 3), count)
    names = [count(f"; {name}") for name, _ in parameters]
    noted = [count(f"; {name}: {note}") if note else cost for (name, note), cost in zip(parameters, names, strict=True)]
    room = limit - count(head) - count(": . Parameters: ")
    # What the parameters do not need is the description's.
    wanted = sum(noted) + sum(count(f"; {example}") for example in examples)
    description = _cut(description, max(int(room * _DESCRIPTION_SHARE), room - wanted), count)
    room -= count(description)
    chosen: list[str] = []
    for place, (name, note) in enumerate(parameters):
        spare = room - sum(names[place + 1 :])  # the names still to come go before this note
        cost, piece = (noted[place], f"{name}: {note}") if note and noted[place] <= spare else (names[place], name)
        if cost > room:
            break
        room -= cost
        chosen.append(piece)
    kept: list[str] = []
    for example in examples:
        room -= count(f"; {example}")
        if room < 0:
            break
        kept.append(example)
    text = _join(head, description, chosen, kept)
    # A tokenizer may count the whole a little higher than its pieces.
    while (kept or chosen) and count(text) > limit:
        (kept or chosen).pop()
        text = _join(head, description, chosen, kept)
    return text if count(text) <= limit else _cut(text, limit, count)


def _cut(text: str, limit: int, count: Count) -> str:
    """The longest prefix of whole words of at most `limit` tokens; a single word that is longer is cut inside."""
    if count(text) <= limit:
        return text
    pieces = text.split(" ")
    if len(pieces) == 1:
        pieces, glue = list(text), ""
    else:
        glue = " "
    low, high = 0, len(pieces)
    while low < high:
        middle = (low + high + 1) // 2
        if count(glue.join(pieces[:middle])) <= limit:
            low = middle
        else:
            high = middle - 1
    return glue.join(pieces[:low])
