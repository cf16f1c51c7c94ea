"""What a conversation's searches have already brought, so that a model that goes in circles is told."""

import threading
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any

from toolsearch.identifiers import squash
from toolsearch.lru import LRU
from toolsearch.processor.conversation import run_id
from toolsearch.state import ThreadKey

_MOST = 10_000
"""Names and queries remembered of one conversation; beyond, the memory starts anew."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one search brought."""

    repeated: bool
    """The same query was asked before, and every result of it was given before."""
    fruitless: int
    """Searches in a row, this one included, that brought nothing new."""


class SearchHistory:
    """The searches of one conversation. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given: set[str] = set()
        self._asked: set[str] = set()
        self._fruitless = 0

    def judge(self, queries: Iterable[str], names: Iterable[str]) -> Verdict:
        """What a search that gives these names would bring; it is not noted."""
        with self._lock:
            return self._judged({squash(query) for query in queries}, set(names))

    def record(self, queries: Iterable[str], names: Iterable[str]) -> Verdict:
        """Note one search and say what it brought."""
        asked, named = {squash(query) for query in queries}, set(names)
        with self._lock:
            if len(self._given) > _MOST or len(self._asked) > _MOST:
                self._given, self._asked = set(), set()
            verdict = self._judged(asked, named)
            self._fruitless = verdict.fruitless
            self._given |= named
            self._asked |= asked
            return verdict

    def _judged(self, asked: set[str], named: set[str]) -> Verdict:
        new = named - self._given
        return Verdict(repeated=not new and asked <= self._asked, fruitless=0 if new else self._fruitless + 1)

    def progress(self) -> None:
        """A tool was loaded or called: the conversation is not going in circles."""
        with self._lock:
            self._fruitless = 0


class Histories:
    """The histories of many conversations, the least recently used forgotten first."""

    def __init__(self, size: int) -> None:
        self._lock = threading.Lock()
        self._by_key: LRU[ThreadKey | str, SearchHistory] = LRU(size)

    def of(self, key: ThreadKey | None, run: MutableMapping[str, Any] | None) -> SearchHistory:
        """A thread's history, else the run's; without either, one that nobody remembers."""
        if key is None and run is None:
            return SearchHistory()
        # A run carries no object of ours, only the id of one.
        owner = key if key is not None or run is None else run_id(run)
        assert owner is not None
        with self._lock:
            history = self._by_key.get(owner)
            if history is None:
                history = SearchHistory()
                self._by_key.put(owner, history)
            return history

    def forget(self, which: Callable[[ThreadKey], bool]) -> None:
        """Forget the histories of these threads."""
        self._by_key.drop(lambda owner: isinstance(owner, ThreadKey) and which(owner))
