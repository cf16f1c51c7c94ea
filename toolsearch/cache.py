"""An encoder that remembers: each text is embedded once, then read from memory or from disk."""

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeAlias

import numpy as np

from toolsearch.diskrows import DiskRows, Row, frozen
from toolsearch.embedding.encoder import Encoder, Role, Vectors
from toolsearch.embedding.vectors import unit_rows
from toolsearch.errors import VectorError

Progress: TypeAlias = Callable[[int, int], None]
"""Told (texts done, texts to do) after each chunk of texts that had to be embedded."""

SIZE_LIMIT = 2**30
"""Bytes on disk, about 550,000 texts of 384 numbers; beyond it the oldest go, and a warning says so."""

MEMORY_LIMIT = 2**26
"""Bytes in memory, about 35,000 texts of 384 numbers; beyond it the least recently used go back to being on disk only."""

_CHUNK = 128
"""Texts embedded between two writes: about a second of work, so an interruption loses no more than that."""

_ROW_OVERHEAD = 300
"""Bytes that a key, an array header and a dictionary entry take beside the numbers."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """What one `CachedEncoder` was asked for since it was made; hits and misses add up to the texts asked for."""

    hits: int
    """Texts that were not embedded for this request: remembered, or given twice."""
    misses: int
    """Texts that the wrapped encoder embedded."""


class CachedEncoder:
    """Wraps an encoder invisibly: same fingerprint, same vectors bit for bit.

    Shared freely between threads; processes share the folder. Trouble with the disk is never an error: one warning,
    and the work goes on in memory. A text that two threads ask for at once is embedded by the first.
    """

    def __init__(
        self,
        encoder: Encoder,
        *,
        folder: Path | None = None,
        size_limit: int = SIZE_LIMIT,
        memory_limit: int = MEMORY_LIMIT,
        progress: Progress | None = None,
    ) -> None:
        """Touches no disk yet: the folder (`default_folder()` where none is given) is made at the first text."""
        self.encoder = encoder
        self.folder = default_folder() if folder is None else folder
        self.progress = progress
        """May be set at any time; called in the thread that encodes."""
        self._disk = DiskRows(self.folder, dim=encoder.dim, size_limit=size_limit)
        self._lock = threading.Lock()
        self._memory: OrderedDict[str, Row] = OrderedDict()
        self._memory_rows = max(memory_limit // (4 * encoder.dim + _ROW_OVERHEAD), 1)
        self._pending: set[str] = set()
        self._fetched = threading.Condition(self._lock)
        self._hits = self._misses = 0

    @property
    def fingerprint(self) -> str:
        """The wrapped encoder's."""
        return self.encoder.fingerprint

    @property
    def dim(self) -> int:
        """The wrapped encoder's."""
        return self.encoder.dim

    @property
    def max_tokens(self) -> int:
        """The wrapped encoder's."""
        return self.encoder.max_tokens

    @property
    def background(self) -> object:
        """The wrapped encoder's, where it has one."""
        return getattr(self.encoder, "background", None)

    def count_tokens(self, text: str) -> int:
        """The wrapped encoder's; not remembered."""
        return self.encoder.count_tokens(text)

    def stats(self) -> CacheStats:
        """Counts so far, of all threads."""
        with self._lock:
            return CacheStats(self._hits, self._misses)

    def close(self) -> None:
        """Let go of the folder; what is asked for later is remembered in memory only. May be called twice."""
        self._disk.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode n texts to shape (n, dim), embedding only what was never seen, each text once.

        Raises:
            VectorError: the wrapped encoder returned something else than finite unit rows of its own width.
        """
        keys = self._keys(texts, role)
        rows: dict[str, Row] = {}
        embedded = 0
        unseen = dict(zip(keys, texts, strict=True))
        while unseen:
            remembered, mine = self._claim(unseen)
            rows |= remembered
            try:
                found = self._disk.read(list(mine))
                self._settle(found)
                rows |= found
                strange = {key: text for key, text in mine.items() if key not in found}
                rows |= self._embed(strange, role)
                embedded += len(strange)
            finally:
                self._release(mine)
            unseen = {key: text for key, text in unseen.items() if key not in rows}
            # Another thread is at these. Where it fails, the next round finds them unclaimed.
            self._await(unseen)
        with self._lock:
            self._hits += len(keys) - embedded
        if not keys:
            return np.empty((0, self.dim), dtype=np.float32)
        return np.concatenate([rows[key] for key in keys]).reshape(len(keys), self.dim)

    def _keys(self, texts: Sequence[str], role: Role) -> list[str]:
        # Each part but the last with its length: no two triples run together into the same bytes.
        fingerprint = self.fingerprint
        start = hashlib.sha256(f"{len(fingerprint)}:{fingerprint}{len(role)}:{role}".encode())
        keys = []
        for text in texts:
            digest = start.copy()
            digest.update(text.encode("utf-8", "surrogatepass"))
            keys.append(digest.hexdigest())
        return keys

    def _claim(self, texts: Mapping[str, str]) -> tuple[dict[str, Row], dict[str, str]]:
        """What is remembered of these, and which others this thread fetches: those no other thread is at already."""
        remembered, mine = {}, {}
        with self._lock:
            for key, text in texts.items():
                row = self._memory.get(key)
                if row is not None:
                    self._memory.move_to_end(key)
                    remembered[key] = row
                elif key not in self._pending:
                    mine[key] = text
            self._pending |= mine.keys()
        return remembered, mine

    def _await(self, keys: Mapping[str, str]) -> None:
        with self._fetched:
            self._fetched.wait_for(lambda: self._pending.isdisjoint(keys))

    def _settle(self, rows: Mapping[str, Row]) -> None:
        """Remember these, and let whoever waits for them have them."""
        with self._fetched:
            self._memory |= rows
            while len(self._memory) > self._memory_rows:
                self._memory.popitem(last=False)
            self._pending -= rows.keys()
            self._fetched.notify_all()

    def _release(self, claimed: Mapping[str, str]) -> None:
        """Give up what was claimed and never settled, because of an error or an interruption."""
        if not claimed:
            return
        with self._fetched:
            self._pending -= claimed.keys()
            self._fetched.notify_all()

    def _embed(self, texts: Mapping[str, str], role: Role) -> dict[str, Row]:
        rows: dict[str, Row] = {}
        keys = list(texts)
        for start in range(0, len(keys), _CHUNK):
            chunk = keys[start : start + _CHUNK]
            vectors = unit_rows(self.encoder.encode([texts[key] for key in chunk], role), dim=self.dim)
            if len(vectors) != len(chunk):
                raise VectorError(f"{len(chunk)} in all, one a text", f"{len(vectors)}")
            fresh = dict(zip(chunk, frozen(vectors), strict=True))
            with self._lock:
                self._misses += len(chunk)
            self._settle(fresh)
            self._disk.write(fresh)
            rows |= fresh
            if self.progress is not None:
                self.progress(len(rows), len(keys))
        return rows


def default_folder() -> Path:
    """`$TOOLSEARCH_CACHE_DIR/vectors`, else `vectors` in the platform's own cache folder for this user."""
    chosen = os.environ.get("TOOLSEARCH_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser() / "vectors"
    import platformdirs  # noqa: PLC0415 - needed here only

    return Path(platformdirs.user_cache_dir("toolsearch")) / "vectors"
