"""Whose loaded set a step reads and writes: a thread's, a run's, or what the messages bear witness to."""

import inspect
import threading
from collections.abc import Mapping, MutableMapping, Sequence
from typing import Any, Protocol
from uuid import uuid4

from toolsearch.state import LoadedToolStore, ThreadKey
from toolsearch.waiting import Waiting

RUN_KEY = "tool-search"
"""Under this key the processor keeps what belongs to one run, as plain JSON values."""

_THREAD_KEYS = ("thread_id", "threadId", "mastra__threadId")
_RESOURCE_KEYS = ("resource_id", "resourceId", "mastra__resourceId")

_run_lock = threading.Lock()
"""Guards the few instructions that change what a run remembers; never held while anything is awaited."""


def context_value(request_context: Any, keys: Sequence[str]) -> str | None:
    """The first of these keys that a request context has, be it a mapping or an object with `get`."""
    get = getattr(request_context, "get", None)
    if not callable(get) or inspect.iscoroutinefunction(get):
        return None  # the text of a coroutine is its address, which another request may have next
    for key in keys:
        value = get(key)
        if value not in (None, ""):
            return str(value)
    return None


def thread_key(
    request_context: Any, resource_id: str | None, thread_id: str | None, *, shared: bool
) -> ThreadKey | None:
    """Whose conversation this is: the explicit ids, else the request context's; None where there is no thread.

    With `shared`, requests without a thread have one common conversation.
    """
    thread = thread_id or context_value(request_context, _THREAD_KEYS)
    if thread:
        return ThreadKey(resource_id or context_value(request_context, _RESOURCE_KEYS), thread)
    return ThreadKey(None, None) if shared else None


def run_id(run: MutableMapping[str, Any]) -> str:
    """What tells this run from others, made on first use; text, for a run may be written down and read back."""
    with _run_lock:
        return str(_notes(run).setdefault("history", uuid4().hex))


class LoadedSet(Protocol):
    """One step's access to what its conversation has loaded."""

    keeps: bool
    """Whether a load outlives this step."""

    async def read(self, waiting: Waiting) -> list[str]:
        """Every name loaded so far, in load order."""

    async def add(self, names: Sequence[str], waiting: Waiting) -> list[str]:
        """Append; returns the names that were not loaded yet."""

    async def remove(self, names: Sequence[str], waiting: Waiting) -> list[str]:
        """Take out; returns the names that were loaded."""


class StoredSet:
    """A thread's set in a store."""

    keeps = True

    def __init__(self, store: LoadedToolStore, key: ThreadKey) -> None:
        self._store = store
        self._key = key

    async def read(self, waiting: Waiting) -> list[str]:
        return list(await waiting.settle(self._store.get(self._key), "The store"))

    async def add(self, names: Sequence[str], waiting: Waiting) -> list[str]:
        return list(await waiting.settle(self._store.add(self._key, names), "The store")) if names else []

    async def remove(self, names: Sequence[str], waiting: Waiting) -> list[str]:
        remove = getattr(self._store, "remove", None)
        return [] if remove is None else list(await waiting.settle(remove(self._key, names), "The store"))


class RunSet:
    """A run's own set, kept in the mapping the caller keeps; without one, nothing lasts."""

    def __init__(self, run: MutableMapping[str, Any] | None, *, keeps: bool | None = None) -> None:
        self._run: MutableMapping[str, Any] = {} if run is None else run
        self.keeps = run is not None if keeps is None else keeps

    async def read(self, waiting: Waiting) -> list[str]:  # noqa: ARG002 - nothing to wait for
        with _run_lock:
            return remembered(self._run)

    async def add(self, names: Sequence[str], waiting: Waiting) -> list[str]:  # noqa: ARG002
        if not names:
            return []
        with _run_lock:
            known = self._names()
            new = [name for name in dict.fromkeys(names) if name not in known]
            known.extend(new)
            return new

    async def remove(self, names: Sequence[str], waiting: Waiting) -> list[str]:  # noqa: ARG002
        with _run_lock:
            known = self._names()
            gone = [name for name in dict.fromkeys(names) if name in known]
            known[:] = [name for name in known if name not in gone]
            return gone

    def _names(self) -> list[str]:
        notes = _notes(self._run)
        names = notes.get("loaded")
        if not isinstance(names, list):
            names = notes["loaded"] = []
        return names


def _notes(run: MutableMapping[str, Any]) -> dict[str, Any]:
    """What this run remembers for tool search, made on first use; under the lock, lest two threads make it twice."""
    notes = run.get(RUN_KEY)
    if not isinstance(notes, dict):
        notes = run[RUN_KEY] = {}
    return notes


def remembered(run: Mapping[str, Any] | None) -> list[str]:
    """What a run has loaded so far, without making an entry."""
    notes = (run or {}).get(RUN_KEY)
    names = notes.get("loaded") if isinstance(notes, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
