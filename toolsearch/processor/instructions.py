"""The system messages of a step, and their one place in a conversation."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from toolsearch.cleaning import shorten
from toolsearch.messages import Text, read_message
from toolsearch.processor import texts
from toolsearch.tool import Tool

_DESCRIPTION = 150
_SUMMARY = 40
"""Servers named in a summary; the rest is counted."""


def catalog_text(tools: Iterable[Tool], *, auto_load: bool) -> str | None:
    """The catalog as a list for the prompt; None where it is empty."""
    lines = []
    for tool in tools:
        description = shorten(tool.description, _DESCRIPTION)
        lines.append(f"- `{tool.id}`: {description}" if description else f"- `{tool.id}`")
    if not lines:
        return None
    return (texts.CATALOG_AUTO_LOAD if auto_load else texts.CATALOG) + "\n".join(lines)


def summary_text(tools: Iterable[Tool]) -> str | None:
    """Where the tools come from, largest servers first, of bounded size; None where no tool names a server."""
    counts = Counter(shorten(tool.server, 64) for tool in tools if tool.server)
    if not counts:
        return None
    largest = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    named = ", ".join(f"{server} ({count})" for server, count in largest[:_SUMMARY])
    rest = len(largest) - _SUMMARY
    return texts.SUMMARY + named + (f" and {rest} more servers." if rest > 0 else ".")


def place(messages: Iterable[Any], wanted: Sequence[str]) -> tuple[tuple[str, ...], list[Any]]:
    """The texts a conversation does not hold yet, and the conversation with them behind its leading system messages.

    An older catalog text of ours gives way to the new one; all other messages stay, the very same objects.
    """
    given = list(messages)
    said = [_system_text(message) for message in given]
    pairs = [(message, held) for message, held in zip(given, said, strict=True) if not _is_stale(held, wanted)]
    missing = tuple(text for text in wanted if not any(_holds(held, text) for _, held in pairs))
    kept = [message for message, _ in pairs]
    lead = next((place for place, (_, held) in enumerate(pairs) if held is None), len(pairs))
    return missing, [*kept[:lead], *({"role": "system", "content": text} for text in missing), *kept[lead:]]


def _is_stale(held: str | None, wanted: Sequence[str]) -> bool:
    return held is not None and held.startswith((texts.CATALOG, texts.CATALOG_AUTO_LOAD)) and held not in wanted


def _holds(held: str | None, text: str) -> bool:
    """Whether a system text says this, be it among other things; a catalog that goes on after it is another catalog."""
    return held is not None and text in held and not held.partition(text)[2].startswith("\n- ")


def _system_text(message: Any) -> str | None:
    reading = read_message(message)
    if reading.role != "system":
        return None
    return "".join(part.text for part in reading.parts if isinstance(part, Text))
