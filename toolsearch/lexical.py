"""Rows of terms and BM25 over them: identifier-aware, accent-aware, without spaces where a script has none."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolsearch.identifiers import runs, split_identifier

TermIds: TypeAlias = npt.NDArray[np.uint64]
"""Terms as 64-bit digests: no vocabulary to share, to grow or to store; two of 10^7 terms collide with p < 10^-5."""
Scores: TypeAlias = npt.NDArray[np.float64]

K1 = 1.5
"""How soon a repeated term stops counting."""
B = 0.75
"""How much a long document is held against itself. Both measured, both flat around here."""

UNSEEN = 100
"""Tools without any of the query's terms that are counted along, so that a term says about as much in a catalog of 5
tools as of 5,000; without them the first would have hardly any lexical evidence."""

NAME_WEIGHT = 3
"""How often a tool's name counts beside its place in the text."""

FUNCTION_WORDS = frozenset(
    [
        "a",
        "an",
        "the",
        "of",
        "to",
        "in",
        "on",
        "for",
        "and",
        "or",
        "is",
        "are",
        "be",
        "with",
        "by",
        "at",
        "from",
        "as",
        "it",
        "this",
        "that",
        "i",
        "my",
        "me",
        "you",
        "your",
        "we",
        "our",
        "can",
        "do",
        "does",
        "how",
        "what",
        "which",
        "please",
        "would",
        "could",
        "want",
        "need",
        "like",
        "have",
        "has",
        "if",
        "not",
        "any",
        "some",
        "will",
    ]
)
"""Words of requests that say nothing about tools; the longer lists of search engines measure worse here."""

# Scripts written without spaces, or (Hangul) with endings grown on: their terms are pairs of neighbours.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)


def analyse(text: str) -> list[str]:
    """The terms of a text in order, repeats kept; the same for queries and documents.

    An identifier gives its words and, when there are several, itself as a whole. Function words are left out, unless
    the text has no others.
    """
    terms = _all_terms(text)
    return [term for term in terms if term not in FUNCTION_WORDS] or terms


def _all_terms(text: str) -> list[str]:
    terms: list[str] = []
    for run in runs(unicodedata.normalize("NFKC", text)):
        parts = [term for part in split_identifier(run) for term in _terms(part)]
        terms += parts
        if len(parts) > 1 and run.isascii():
            terms.append("".join(char for char in run.lower() if char.isalnum()))
    return terms


def _terms(word: str) -> Iterable[str]:
    folded = _fold(word)
    position = 0
    for match in _UNSPACED.finditer(folded):
        if match.start() > position:
            yield stem(folded[position : match.start()])
        run = match.group()
        if len(run) == 1:
            yield run
        for start in range(len(run) - 1):
            yield run[start : start + 2]
        position = match.end()
    if position < len(folded):
        yield stem(folded[position:])


def _fold(word: str) -> str:
    lowered = word.casefold()
    if lowered.isascii():
        return lowered
    bare = "".join(char for char in unicodedata.normalize("NFKD", lowered) if not unicodedata.combining(char))
    # Only Latin letters lose their accents: in other scripts the mark is part of the letter.
    return bare if bare.isascii() else lowered


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its plural ending; a full stemmer measures no better once both sides are fused."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith(("ses", "xes", "zes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@lru_cache(maxsize=65_536)
def _term_id(term: str) -> int:
    return int.from_bytes(blake2b(term.encode("utf-8", "replace"), digest_size=8).digest(), "little")


@dataclass(frozen=True, slots=True)
class Terms:
    """One row: which terms, how often each, and how many in all."""

    ids: TermIds
    """Shape (m,), ascending, each once."""
    counts: npt.NDArray[np.float32]
    """Shape (m,)."""
    length: float

    @classmethod
    def of(cls, text: str, *, name: str = "") -> "Terms":
        """The terms of a text; an empty text has none. Those of a `name` count `NAME_WEIGHT` times more."""
        counted = Counter(_term_id(term) for term in [*analyse(text), *analyse(name) * NAME_WEIGHT])
        ids = np.fromiter(counted, np.uint64, len(counted))
        order = np.argsort(ids)
        counts = np.fromiter(counted.values(), np.float32, len(counted))[order]
        return cls(ids[order], counts, float(counts.sum()))


class LexicalIndex:
    """Postings of n rows. Immutable: a change is a new index, which costs one sort of the postings."""

    __slots__ = ("_counts", "_ids", "_rows", "_starts", "lengths")

    def __init__(self, rows: Sequence[Terms]) -> None:
        self.lengths = np.array([row.length for row in rows], np.float64)
        """Shape (n,): how many terms each row has."""
        ids = np.concatenate([row.ids for row in rows]) if rows else np.empty(0, np.uint64)
        counts = np.concatenate([row.counts for row in rows]) if rows else np.empty(0, np.float32)
        owners = np.repeat(np.arange(len(rows), dtype=np.int64), [len(row.ids) for row in rows])
        order = np.argsort(ids, kind="stable")
        self._ids, self._starts = np.unique(ids[order], return_index=True)
        self._starts = np.append(self._starts, len(ids))
        self._rows = owners[order]
        self._counts = counts[order].astype(np.float64)

    def __len__(self) -> int:
        return len(self.lengths)

    def postings(self, term: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        """The rows that have a term, ascending, and how often each has it."""
        place = int(np.searchsorted(self._ids, np.uint64(term)))
        if place == len(self._ids) or self._ids[place] != term:
            return self._rows[:0], self._counts[:0]
        span = slice(self._starts[place], self._starts[place + 1])
        return self._rows[span], self._counts[span]


def bm25(
    indexes: Sequence[LexicalIndex],
    query: Terms,
    live: Sequence[npt.NDArray[np.bool_] | None] | None = None,
    *,
    unseen: int = UNSEEN,
) -> tuple[Scores, float]:
    """BM25 of a query over the rows of several indexes, end to end, as if they were one; and the most it could be.

    Lucene's form: idf = ln(1 + (n + unseen - df + .5) / (df + .5)), tf / (tf + k1 (1 - b + b len / mean len)), each query term
    once. Rows that are not `live` count in no statistic and score 0. Shape (n of all,), every score >= 0.
    """
    masks = list(live) if live is not None else [None] * len(indexes)
    lengths = np.concatenate([index.lengths for index in indexes]) if indexes else np.empty(0)
    alive = np.concatenate(
        [_mask(index, mask) for index, mask in zip(indexes, masks, strict=True)] or [np.empty(0, bool)]
    )
    scores = np.zeros(len(lengths))
    n = int(alive.sum())
    if n == 0:
        return scores, 0.0
    mean = float(lengths[alive].mean()) or 1.0
    offsets = np.concatenate([[0], np.cumsum([len(index) for index in indexes])])
    attainable = 0.0
    for term in query.ids.tolist():
        found = [index.postings(term) for index in indexes]
        rows = np.concatenate([rows + offset for (rows, _), offset in zip(found, offsets[:-1], strict=True)])
        counts = np.concatenate([counts for _, counts in found])
        df = int(alive[rows].sum())
        idf = float(np.log1p((n + unseen - df + 0.5) / (df + 0.5)))
        attainable += idf
        scores[rows] += idf * counts / (counts + K1 * (1 - B + B * lengths[rows] / mean))
    scores[~alive] = 0.0
    return scores, attainable


def _mask(index: LexicalIndex, mask: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.bool_]:
    return np.ones(len(index), bool) if mask is None else mask
