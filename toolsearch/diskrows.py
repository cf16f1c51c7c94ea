"""Vectors on disk by key. Trouble with the disk costs one warning and the disk, never an exception."""

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from toolsearch.embedding.encoder import Vectors
from toolsearch.embedding.vectors import are_unit
from toolsearch.shelf import Shelf, ShelfError

logger = logging.getLogger(__name__)

PATIENCE = 5.0
"""Seconds to wait for another process's write before doing without the disk; its writes take milliseconds."""

Row: TypeAlias = npt.NDArray[np.float32]
"""One unit vector, shape (dim,), read-only."""


class DiskRows:
    """Float32 little-endian bytes on a shelf that is opened when first needed. Safe to share between threads."""

    def __init__(self, folder: Path, *, dim: int, size_limit: int) -> None:
        self.folder = folder
        self._dim = dim
        self._size_limit = size_limit
        self._lock = threading.Lock()
        self._shelf: Shelf | None = None
        self._wanted = True
        self._evicted = 0

    def read(self, keys: Sequence[str]) -> dict[str, Row]:
        """What is there of these. What is not a unit vector of our width is no vector, and may be overwritten."""
        shelf = self._open() if keys else None
        if shelf is None:
            return {}
        try:
            found = shelf.get_many(keys)
        except ShelfError as error:
            self._give_up(error)
            return {}
        whole = [key for key, value in found.items() if len(value) == 4 * self._dim]
        joined = b"".join(found[key] for key in whole)
        rows = np.frombuffer(joined, dtype="<f4").astype(np.float32).reshape(len(whole), self._dim)
        return {key: row for key, row, unit in zip(whole, frozen(rows), are_unit(rows), strict=True) if unit}

    def write(self, rows: Mapping[str, Row]) -> None:
        """Store all of these in one transaction."""
        shelf = self._open()
        if shelf is None:
            return
        try:
            evicted = shelf.put_many({key: row.astype("<f4").tobytes() for key, row in rows.items()})
        except ShelfError as error:
            self._give_up(error)
            return
        if evicted:
            first, self._evicted = not self._evicted, self._evicted + evicted
            logger.log(
                logging.WARNING if first else logging.INFO,
                "The vector cache %s reached its limit of %d bytes: its %d oldest vectors were dropped. "
                "Raise size_limit to keep more.",
                self.folder,
                self._size_limit,
                evicted,
            )

    def close(self) -> None:
        """Let go of the folder for good. May be called twice."""
        with self._lock:
            self._wanted = False
            shelf, self._shelf = self._shelf, None
        if shelf is not None:
            shelf.close()

    def _open(self) -> Shelf | None:
        """The shelf; None once there was trouble with it, or after `close`."""
        with self._lock:
            if self._shelf is None and self._wanted:
                try:
                    self._shelf = Shelf(self.folder, size_limit=self._size_limit, patience=PATIENCE)
                except ShelfError as error:
                    self._warn(error)
            return self._shelf

    def _give_up(self, error: ShelfError) -> None:
        with self._lock:
            if self._wanted:
                self._warn(error)
        self.close()

    def _warn(self, error: ShelfError) -> None:
        self._wanted = False
        logger.warning("The vector cache %s is not used any more; search goes on without it. %s", self.folder, error)


def frozen(vectors: Vectors) -> Iterator[Row]:
    """The rows, each read-only and by itself, so that one that is remembered does not keep all of them in memory."""
    for row in vectors:
        own = row.copy()
        own.flags.writeable = False
        yield own
