"""What an encoder promises, whatever runs inside it."""

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Vectors: TypeAlias = npt.NDArray[np.float32]
"""Shape (n, dim), C-contiguous, every row of length 1."""

Role = Literal["query", "document"]
"""Which side of the search a text stands on; some models prefix the two differently."""


class Encoder(Protocol):
    """Text in, unit vectors out. Safe to share between threads."""

    @property
    def fingerprint(self) -> str:
        """Names the model, its weights, its precision and its prefixes: equal fingerprints mean comparable vectors."""

    @property
    def dim(self) -> int:
        """Width of a row."""

    @property
    def max_tokens(self) -> int:
        """Texts longer than this are cut by the model."""

    def count_tokens(self, text: str) -> int:
        """How many of the model's own tokens a text has, special tokens aside."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode n texts to shape (n, dim); an empty sequence gives shape (0, dim)."""
