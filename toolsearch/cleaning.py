"""Text of strangers made safe to index and to show; the tool it came from stays as it is."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
# Cc control, Cf format (bidirectional marks, zero-width characters, tags), Cs lone surrogates, Co private use:
# none carries meaning for retrieval, and each has been used to hide text from the reader of a prompt.
_UNWANTED = {"Cc", "Cf", "Cs", "Co"}


def clean(text: str, limit: int) -> str:
    """One line of at most `limit` characters without control, format or bidirectional characters."""
    # Cut first, generously: a description of a megabyte costs no more than a short one.
    head = text[: 4 * limit + 64]
    if not head.isascii() or not head.isprintable():
        head = "".join(
            " " if char.isspace() else char
            for char in head
            if char.isspace() or unicodedata.category(char) not in _UNWANTED
        )
    return _SPACE.sub(" ", head).strip()[:limit]


def shorten(text: str, limit: int) -> str:
    """`clean`, with three dots where something was cut off; never longer than `limit`."""
    cleaned = clean(text, limit + 1)
    return cleaned if len(cleaned) <= limit else cleaned[: max(0, limit - 3)].rstrip() + "..."[:limit]
