"""A shelf: bytes by key in one folder, shared by threads and processes, unable to run anything it holds.

diskcache pickles whatever is not plain, and unpickles what it finds: who can write to the folder can run code here
(CVE-2025-69872). This shelf takes and gives nothing but bytes, inside the database, never as a file beside it.
"""

import os
import sqlite3
import stat
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

DATABASE = "cache.db"


class ShelfError(Exception):
    """The shelf cannot be used; the message says why and what to do."""


class Shelf:
    """Open only while an act runs: no connection outlives the thread that made it.

    Every act raises `ShelfError` on any trouble, and nothing else.
    """

    def __init__(self, folder: Path, *, size_limit: int, patience: float = 5.0) -> None:
        """Make the folder (for its owner alone) and the database where they are missing.

        An act waits `patience` seconds for other processes, whose transactions take milliseconds.

        Raises:
            ShelfError: it cannot be made or read, is damaged or locked, or others may write to it.
        """
        self.folder = folder
        with self._trouble():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _refuse_strangers(folder)
            self._cache: Any = _open(folder, size_limit, patience)
            # SQLite tidies up, slowly, when the last connection goes: this one stays, and the others are cheap.
            anchor = sqlite3.connect(folder / DATABASE, timeout=patience, check_same_thread=False)
            weakref.finalize(self, anchor.close)
            anchor.execute("SELECT count(*) FROM Settings").fetchall()
        self._anchor = anchor
        self._writing = threading.Lock()

    def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What is there of these; what is no plain bytes counts as missing.

        Raises:
            ShelfError: the database cannot be read.
        """
        with self._trouble():
            found = {key: self._cache.get(key) for key in keys}
        return {key: value for key, value in found.items() if value is not None}

    def put_many(self, values: Mapping[str, bytes]) -> int:
        """Store all in one transaction; how many of the oldest entries had to go to stay within the limit.

        Raises:
            ShelfError: the database cannot be written.
        """
        with self._writing, self._trouble():
            with self._cache.transact():
                for key, value in values.items():
                    self._cache.set(key, value)
            return int(self._cache.cull()) if self._cache.volume() > self._cache.size_limit else 0

    def close(self) -> None:
        """May be called twice."""
        self._anchor.close()

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # A damaged database fails in every way: sqlite3's errors, diskcache's Timeout, a KeyError of a setting.
            raise ShelfError(_explain(error, self.folder)) from error
        finally:
            with suppress(Exception):
                self._cache.close()


def _open(folder: Path, size_limit: int, patience: float) -> Any:
    database = folder / DATABASE
    if database.exists():
        # diskcache waits a minute for a locked database; this asks first.
        with closing(sqlite3.connect(database, timeout=patience)) as probe:
            probe.execute("BEGIN IMMEDIATE")
            probe.rollback()
    shelf_cache, bytes_disk = _classes()
    return shelf_cache(
        str(folder),
        timeout=patience,
        disk=bytes_disk,
        size_limit=size_limit,
        cull_limit=0,  # by itself diskcache drops entries silently; put_many does it and says so
        eviction_policy="least-recently-stored",  # a read writes nothing
        statistics=0,
    )


@cache
def _classes() -> tuple[type, type]:
    import diskcache  # noqa: PLC0415 - not on `import toolsearch`
    from diskcache.core import MODE_RAW  # noqa: PLC0415 - as above

    class ShelfCache(diskcache.Cache):  # type: ignore[misc]
        """Leaves no connection behind when it cannot be opened."""

        def __init__(self, *args: Any, **settings: Any) -> None:
            try:
                super().__init__(*args, **settings)
            except BaseException:
                with suppress(Exception):
                    self.close()
                raise

    class BytesDisk(diskcache.Disk):  # type: ignore[misc]
        """Text keys and bytes values, inside the database. Every way of diskcache to a pickle or a file ends here."""

        def put(self, key: object) -> tuple[str, bool]:
            if type(key) is not str:
                raise TypeError(f"a key is text; found {type(key).__name__}")
            return key, True

        def get(self, key: object, raw: bool) -> str:
            if type(key) is not str or not raw:
                raise TypeError("a key that is not text was found; it is not read")
            return key

        def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, memoryview]:  # noqa: ARG002 - diskcache's signature
            if type(value) is not bytes or read:
                raise TypeError(f"a value is bytes; found {type(value).__name__}")
            return 0, MODE_RAW, None, memoryview(value)

        def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> bytes:
            if mode != MODE_RAW or filename is not None or type(value) is not bytes or read:
                # diskcache takes an OSError here for an entry that is gone.
                raise OSError("an entry that is not plain bytes was found; it is not read")
            return value

        def filename(self, key: object = None, value: object = None) -> tuple[str, str]:  # noqa: ARG002 - diskcache's signature
            raise TypeError("nothing is stored as a file")

        def remove(self, file_path: str) -> None:
            """Nothing: a file that an entry names was not put there by us."""

    return ShelfCache, BytesDisk


def _refuse_strangers(folder: Path) -> None:
    """On POSIX: only we and root may have written what is read here."""
    if os.name != "posix":
        return
    for path in (folder, *(folder / (DATABASE + ending) for ending in ("", "-wal", "-shm"))):
        with suppress(FileNotFoundError):
            status = path.stat()
            if status.st_uid != os.geteuid():
                raise PermissionError(f"{path} belongs to user {status.st_uid}, not to this one ({os.geteuid()})")
            if status.st_mode & stat.S_IWOTH:
                raise PermissionError(f"every user may write to {path}")


def _explain(error: Exception, folder: Path) -> str:
    if isinstance(error, PermissionError):
        remedy = "Set TOOLSEARCH_CACHE_DIR to a folder of your own, or mend owner and mode (chmod 700)."
    elif isinstance(error, sqlite3.OperationalError | OSError) or type(error).__name__ == "Timeout":
        remedy = "Free its disk, end what holds it locked, delete it, or set TOOLSEARCH_CACHE_DIR to another folder."
    else:
        remedy = f"It is damaged or not ours: delete {folder} (what it holds is computed again)."
    # diskcache hides what SQLite said behind a bare Timeout.
    cause = error if str(error) else error.__context__ or error
    return f"{type(cause).__name__}: {cause}. {remedy}"
