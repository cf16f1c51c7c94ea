"""Effort: how many texts a piece of work embedded, how many it took from the cache, and how long it lasted."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from toolsearch.cache import CachedEncoder

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Effort:
    new: int
    """Texts that the model embedded."""
    cached: int
    """Texts whose vector came from the cache."""
    seconds: float
    """Wall time of the whole work, embedding included."""
    loaded: bool = False
    """The encoder had embedded nothing before: the time includes loading its model."""

    def __str__(self) -> str:
        texts = "text" if self.new == 1 else "texts"
        loaded = ", the model loaded for it" if self.loaded else ""
        return f"embedded {self.new:,} new {texts}{loaded}; {self.cached:,} from cache"

    def __add__(self, other: "Effort") -> "Effort":
        return Effort(
            self.new + other.new,
            self.cached + other.cached,
            self.seconds + other.seconds,
            self.loaded or other.loaded,
        )


def measured(encoder: CachedEncoder, work: Callable[[], T]) -> tuple[T, Effort]:
    """What the work gives, and what this encoder did meanwhile, for whichever thread."""
    before, start = encoder.stats(), time.perf_counter()
    result = work()
    seconds, after = time.perf_counter() - start, encoder.stats()
    new = after.misses - before.misses
    return result, Effort(new, after.hits - before.hits, seconds, loaded=new > 0 and before.misses == 0)
