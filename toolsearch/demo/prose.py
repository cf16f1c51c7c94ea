"""Prose: documentation written as HTML, read as its first plain sentences."""

import re
from html.parser import HTMLParser

_ASIDES = frozenset({"note", "important", "caution", "warning", "danger"})
"""Boxes beside the text: rarely what an operation does, often what it costs or no longer supports."""
_BLOCKS = frozenset({"p", "li", "ul", "ol", "dl", "dd", "dt", "br", "h1", "h2", "h3", "table", "tr", "div", *_ASIDES})
_SPACE = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(A-Z])")


class _Paragraphs(HTMLParser):
    """The paragraphs of a text, those of its asides apart."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.body: list[str] = [""]
        self.asides: list[str] = [""]
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self._depth += tag in _ASIDES
        self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        self._break(tag)
        self._depth = max(0, self._depth - (tag in _ASIDES))

    def handle_data(self, data: str) -> None:
        (self.asides if self._depth else self.body)[-1] += data

    def _break(self, tag: str) -> None:
        if tag in _BLOCKS:
            (self.asides if self._depth else self.body).append("")


def first_sentences(html: str, limit: int) -> str:
    """Whole sentences while they fit into `limit` characters; the first one is cut where it alone is longer.

    Asides are read only where a text has nothing else; tags vanish, entities become characters, "" stays "".
    """
    parser = _Paragraphs()
    # Some documentation is a book. Ten times the limit leaves room for tags; the cut falls between two of them.
    parser.feed(html if len(html) <= 10 * limit else html[: 10 * limit].rpartition("<")[0])
    parser.close()
    plain = _plain(parser.body) or _plain(parser.asides)
    kept = ""
    for sentence in _SENTENCE_END.split(plain):
        longer = f"{kept} {sentence}".lstrip()
        if len(longer) > limit:
            break
        kept = longer
    return kept or _cut(plain, limit)


def _plain(paragraphs: list[str]) -> str:
    return " ".join(stripped for text in paragraphs if (stripped := _SPACE.sub(" ", text).strip()))


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    return text[: limit - 3].rsplit(" ", 1)[0].rstrip(" ,;:") + "..."
