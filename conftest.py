"""The documentation's Python runs as tests, with a small encoder in the place of the model."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sybil import Document, Region, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.example import Example
from sybil.parsers.markdown.lexers import FencedCodeBlockLexer

sys.path.insert(0, str(Path(__file__).parent / "tests"))

_PRINTED = re.compile(r"^ *#> ?(.*)$", re.MULTILINE)


class PrintedPython:
    """Python blocks; what they print must be what the `#>` comments below each print say, line by line."""

    def __init__(self) -> None:
        self._lexer = FencedCodeBlockLexer("python")
        self._run = PythonEvaluator()

    def __call__(self, document: Document) -> Iterator[Region]:
        for region in self._lexer(document):
            region.parsed = region.lexemes["source"]
            region.evaluator = self.evaluate
            yield region

    def evaluate(self, example: Example) -> str | None:
        printed: list[str] = []

        def note(*values: Any) -> None:
            printed.extend(" ".join(map(str, values)).splitlines())

        example.namespace["print"] = note
        self._run(example)
        expected = _PRINTED.findall(str(example.parsed))
        return None if printed == expected else f"printed {printed!r}, the document says {expected!r}"


@pytest.fixture
def word_encoder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Searches by shared words instead of by the model."""
    from fakes import WordEncoder  # noqa: PLC0415

    monkeypatch.setattr("toolsearch.search.load_encoder", lambda _: WordEncoder())
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path))


pytest_collect_file = Sybil(
    parsers=[PrintedPython()],
    patterns=["README.md", "docs/*.md"],
    fixtures=["word_encoder"],
).pytest()
