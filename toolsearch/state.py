"""Which tools a conversation has loaded, in the order it loaded them."""

import logging
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol, TypedDict

logger = logging.getLogger(__name__)

_SHORTEST_SWEEP = 60.0
"""Seconds between two sweeps at the least; expiry is exact without them, they only free memory."""


@dataclass(frozen=True, slots=True)
class ThreadKey:
    """Whose conversation: equal thread ids of two resources (users) are two conversations."""

    resource_id: str | None
    thread_id: str | None


class LoadedToolStore(Protocol):
    """Remembers loaded tools by conversation; both methods may be async. A store may also have `remove(key, names)`,
    which `unload_tool` needs."""

    def get(self, key: ThreadKey) -> Sequence[str] | Awaitable[Sequence[str]]:
        """The names loaded, in load order; none for an unknown conversation. Counts as an access."""

    def add(self, key: ThreadKey, names: Sequence[str]) -> Sequence[str] | Awaitable[Sequence[str]]:
        """Append, in one atomic act, the names that are not loaded yet; returns just those."""


class StateStats(TypedDict):
    """What the in-memory store holds."""

    thread_count: int
    oldest_access_time: float | None
    """Epoch milliseconds; None when empty."""


@dataclass(slots=True)
class _Entry:
    accessed: float
    names: dict[str, None] = field(default_factory=dict)
    """An ordered set."""


class InMemoryStore:
    """Loaded tools in this process. An entry unused for longer than `ttl` milliseconds is gone, swept or not.

    `ttl` 0 disables expiry. At most `max_threads` entries: the least recently used goes, and is logged.
    """

    def __init__(
        self, *, ttl: float = 3_600_000, max_threads: int = 10_000, clock: Callable[[], float] = time.time
    ) -> None:
        self._ttl = ttl / 1000
        self._max_threads = max_threads
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[ThreadKey, _Entry] = OrderedDict()
        self._closed = False
        # A SimpleQueue, whose `put` alone may be called from wherever garbage is collected.
        self._stop: SimpleQueue[None] = SimpleQueue()
        self._sweeper: threading.Thread | None = None

    def get(self, key: ThreadKey) -> tuple[str, ...]:
        """The names loaded, in load order."""
        with self._lock:
            entry = self._live(key)
            return () if entry is None else tuple(entry.names)

    def add(self, key: ThreadKey, names: Sequence[str]) -> tuple[str, ...]:
        """Append the names that are not loaded yet; returns just those. Without names nothing is created."""
        if not names:
            return ()
        with self._lock:
            entry = self._live(key)
            if entry is None:
                entry = self._entries[key] = _Entry(self._clock())
                while len(self._entries) > self._max_threads:
                    lost, dropped = self._entries.popitem(last=False)
                    if not self._expired(dropped):
                        logger.warning("more than %d threads: dropped the loaded tools of %r", self._max_threads, lost)
            new = tuple(dict.fromkeys(name for name in names if name not in entry.names))
            entry.names.update(dict.fromkeys(new))
            self._start_sweeping()
            return new

    def remove(self, key: ThreadKey, names: Sequence[str]) -> tuple[str, ...]:
        """Take names out; returns the ones that were in."""
        with self._lock:
            entry = self._live(key)
            gone = tuple(name for name in dict.fromkeys(names) if entry is not None and name in entry.names)
            for name in gone:
                assert entry is not None
                del entry.names[name]
            return gone

    def clear(self, thread_id: str | None, resource_id: str | None = None) -> None:
        """Forget a thread, of one resource or of all."""
        with self._lock:
            for key in [key for key in self._entries if key.thread_id == thread_id]:
                if resource_id is None or key.resource_id == resource_id:
                    del self._entries[key]

    def clear_all(self) -> None:
        """Forget everything."""
        with self._lock:
            self._entries.clear()

    def stats(self) -> StateStats:
        """How many entries are alive, and when the least recently used one was used."""
        with self._lock:
            alive = [entry.accessed for entry in self._entries.values() if not self._expired(entry)]
            return StateStats(thread_count=len(alive), oldest_access_time=min(alive) * 1000 if alive else None)

    def sweep(self) -> int:
        """Drop what has expired; returns how many entries that were."""
        with self._lock:
            expired = [key for key, entry in self._entries.items() if self._expired(entry)]
            for key in expired:
                del self._entries[key]
            return len(expired)

    def close(self) -> None:
        """Stop sweeping; what is stored stays readable. May be called again."""
        with self._lock:
            self._closed = True
        self._stop.put(None)

    def _live(self, key: ThreadKey) -> _Entry | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._expired(entry):
            del self._entries[key]
            return None
        entry.accessed = self._clock()
        self._entries.move_to_end(key)
        return entry

    def _expired(self, entry: _Entry) -> bool:
        return self._ttl > 0 and self._clock() - entry.accessed > self._ttl

    def _start_sweeping(self) -> None:
        if self._ttl > 0 and self._sweeper is None and not self._closed:
            stop = self._stop
            self._sweeper = threading.Thread(
                target=_sweep_now_and_then,
                # A store that nobody holds ends its sweeper as `close` would.
                args=(weakref.ref(self, lambda _: stop.put(None)), stop, max(self._ttl / 2, _SHORTEST_SWEEP)),
                name="toolsearch-sweep",
                daemon=True,  # never keeps the process alive
            )
            self._sweeper.start()


def _sweep_now_and_then(store: "weakref.ref[InMemoryStore]", stop: SimpleQueue[None], seconds: float) -> None:
    while True:
        try:
            stop.get(timeout=seconds)
        except Empty:
            alive = store()
            if alive is not None:
                alive.sweep()
            del alive
        else:
            return
