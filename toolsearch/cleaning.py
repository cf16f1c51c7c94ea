"""Text of strangers made safe to index and to show; the tool it came from stays as it is."""

import re
import unicodedata

_SPACE = re.compile(r"\s+")
# Cc control, Cf format (bidirectional marks, zero-width characters, tags), Cs lone surrogates, Co private use:
# none carries meaning for retrieval, and each has been used to hide text from the reader of a prompt.
_UNWANTED = {"Cc", "Cf", "Cs", "Co"}
# So have these, which Unicode shows as nothing though they count as marks and letters: fillers, variation selectors.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")


def clean(text: str, limit: int) -> str:
    """One line of at most `limit` characters without control, format, bidirectional or invisible characters."""
    # Little is looked at where that is enough: a description of a megabyte costs no more than a short one.
    size = 4 * limit + 64
    while True:
        cleaned = _cleaned(text[:size])
        if len(cleaned) >= limit or size >= len(text):
            return cleaned[:limit].rstrip()
        size *= 8


def shorten(text: str, limit: int) -> str:
    """`clean`, with three dots where something was cut off; never longer than `limit`."""
    # The character behind the limit may be a space, so only the one after that tells whether more follows.
    cleaned = clean(text, limit + 2)
    return cleaned if len(cleaned) <= limit else cleaned[: max(0, limit - 3)].rstrip() + "..."[:limit]


def _cleaned(text: str) -> str:
    if not text.isascii() or not text.isprintable():
        text = "".join(
            " " if char.isspace() else char
            for char in _INVISIBLE.sub("", text)
            if char.isspace() or unicodedata.category(char) not in _UNWANTED
        )
    return _SPACE.sub(" ", text).strip()
