"""The text that stands for a tool in the index, and its digest."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from toolsearch.cleaning import clean
from toolsearch.identifiers import squash, words
from toolsearch.tool import Schema, Tool

RECIPE = 1
"""Version of the text below. Vectors of different recipes never meet: the recipe is part of every index's identity."""

_DESCRIPTION = 2_000
"""Characters of a description that are looked at: twice what fits the longest window of the shipped models."""
_PARAMETER = 200
_PARAMETERS = 40
_DESCRIPTION_SHARE = 0.6
"""Where a text does not fit, the description gets this share of the window and the parameters the rest."""

Count = Callable[[str], int]
"""How many tokens a text has for the model that will read it."""


@dataclass(frozen=True, slots=True)
class Document:
    """What is embedded and analysed for one tool."""

    text: str
    digest: str
    """sha256 of the text and the recipe: equal digests mean equal rows."""


def render(tool: Tool, *, count: Count, limit: int) -> Document:
    """The document of a tool, cut so that the model reads all of it: name, server, description, parameters, examples.

    A tool without a description is its name and parameters.
    """
    head = _head(tool)
    description = clean(tool.description, _DESCRIPTION)
    parameters = list(_parameters(tool.parameters))
    examples = [clean(example, _PARAMETER) for example in tool.examples]
    text = _join(head, description, [f"{name}: {note}" if note else name for name, note in parameters], examples)
    if count(text) > limit:
        text = _fit(head, description, parameters, examples, count=count, limit=limit)
    return Document(text, hashlib.sha256(f"{RECIPE}\0{text}".encode("utf-8", "replace")).hexdigest())


def _head(tool: Tool) -> str:
    name = clean(tool.name, _PARAMETER)
    said = words(name) or name
    server = clean(tool.server or "", _PARAMETER)
    # A server whose name the tool repeats (`github`, `github_create_issue`) would only be counted twice.
    if server and squash(server) not in squash(name):
        said = f"{words(server) or server} {said}"
    title = clean(tool.title or "", _PARAMETER)
    return f"{said} ({title})" if title and squash(title) not in squash(said) else said


def _parameters(schema: Schema) -> Iterator[tuple[str, str]]:
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    for name, field in list(properties.items())[:_PARAMETERS]:
        yield words(clean(str(name), _PARAMETER)), clean(_note(field), _PARAMETER)


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
    room = limit - count(head)
    rest = sum(count(f"; {name}: {note}") for name, note in parameters) + sum(count(f"; {text}") for text in examples)
    # What the parameters do not need is the description's.
    description = _cut(description, max(int(room * _DESCRIPTION_SHARE), room - rest - 4), count)
    chosen: list[str] = []
    for name, note in parameters:
        for piece in (f"{name}: {note}", name) if note else (name,):
            if count(_join(head, description, [*chosen, piece], [])) <= limit:
                chosen.append(piece)
                break
    kept: list[str] = []
    for example in examples:
        if count(_join(head, description, chosen, [*kept, example])) <= limit:
            kept.append(example)
    return _join(head, description, chosen, kept)


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
