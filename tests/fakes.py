"""Encoders for tests: small, deterministic and meaningful, so that a search over them can be right or wrong."""

import hashlib
import re
import threading
from collections.abc import Sequence

import numpy as np

from toolsearch.embedding.encoder import Role, Vectors
from toolsearch.embedding.probes import Background

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W\d_A-Za-z]+")


def words(text: str) -> list[str]:
    """The lower-cased stems of a text; `createIssues`, `create_issue` and `creating issue` give the same two."""
    return [_stem(word.lower()) for word in _WORD.findall(text)]


def _stem(word: str) -> str:
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            word = word.removesuffix(ending)
            break
    return word.removesuffix("e") if len(word) > 3 else word


class WordEncoder:
    """Hashes words: texts that share words are near, texts that share none are nearly at right angles.

    Each word has a fixed random direction drawn from its blake2 digest (the same in every process), and a text is the
    normalised sum of its words. So it is a real, if crude, encoder: order and synonyms mean nothing to it, shared words
    everything. A text without words gives one fixed unit row. Safe to share between threads.
    """

    def __init__(self, *, dim: int = 256, max_tokens: int = 256, fingerprint: str | None = None) -> None:
        self.background = Background(mean=0.05, deviation=0.08)
        self.dim = dim
        self.max_tokens = max_tokens
        self.fingerprint = fingerprint or f"word-encoder-{dim}"
        self.calls = 0
        """How often `encode` was called with at least one text."""
        self.texts_seen = 0
        """How many texts were encoded in all."""
        self.seen: list[tuple[Role, str]] = []
        """Every text encoded so far, with its role, in order."""
        self._lock = threading.Lock()
        self._directions: dict[str, Vectors] = {}

    def count_tokens(self, text: str) -> int:
        """One token a word."""
        return len(words(text))

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """The cut at `max_tokens` words is the one a real model makes."""
        with self._lock:
            self.calls += bool(texts)
            self.texts_seen += len(texts)
            self.seen += [(role, text) for text in texts]
            rows = [self._row(text) for text in texts]
        return np.stack(rows) if rows else np.empty((0, self.dim), dtype=np.float32)

    def _row(self, text: str) -> Vectors:
        found = words(text)[: self.max_tokens] or [""]
        total = np.stack([self._direction(word) for word in found]).sum(axis=0, dtype=np.float64)
        return np.asarray(total / np.linalg.norm(total), dtype=np.float32)

    def _direction(self, word: str) -> Vectors:
        if word not in self._directions:
            seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            draw = np.random.default_rng(seed).standard_normal(self.dim)
            self._directions[word] = (draw / np.linalg.norm(draw)).astype(np.float32)
        return self._directions[word]
