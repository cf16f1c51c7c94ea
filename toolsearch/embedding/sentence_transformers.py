"""An encoder that runs a sentence-transformers model, loaded when the first text arrives."""

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from toolsearch.embedding.encoder import Role, Vectors
from toolsearch.embedding.folder import ModelFolder
from toolsearch.embedding.vectors import unit_rows
from toolsearch.errors import ModelFilesError, ModelNotFoundError

_BATCH = 32
_FEW = 4
"""So many texts are encoded on one thread, unless `threads` says otherwise: a request's queries."""


class SentenceTransformerEncoder:
    """A model folder as an `Encoder`, in float32, offline.

    Making one reads a few small files; the library and the weights are loaded by the first `encode`, or by `warm_up`.
    Threads take turns. A process forked after that encodes on one thread: the others of torch did not come along, and
    OpenMP would wait for them forever. The same text alone and among others may differ by about 1e-7 in a number, because the sums
    run in another order; the same call gives the same bits.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        name: str | None = None,
        query_prefix: str | None = None,
        document_prefix: str | None = None,
        threads: int | None = None,
        sha256: str | None = None,
        remedy: str | None = None,
    ) -> None:
        """`name` is for messages. Prefixes not given are those that the model's own files ask for.

        `threads` bounds torch's threads while encoding and is put back afterwards; without it, batches take torch's own
        number and a few queries one. `sha256` is what the weights must
        have, checked before they are loaded; `remedy` is the command that brings the right ones.

        Raises:
            ModelNotFoundError: no such folder, or no sentence-transformers model in it.
        """
        self.name = name or str(folder)
        self.folder = ModelFolder(Path(folder), name=self.name, remedy=remedy)
        own = self.folder.prefix
        self.query_prefix = own("query") if query_prefix is None else query_prefix
        self.document_prefix = own("document", "passage", "corpus") if document_prefix is None else document_prefix
        self._threads = threads
        self._sha256 = sha256
        self._remedy = remedy or f"restore the files of {self.folder.path}"
        self._lock = threading.Lock()
        self._model: Any = None
        self._loaded_in: int | None = None

    @cached_property
    def fingerprint(self) -> str:
        """Digests of weights, tokenizer, configuration and prefixes, and the precision; reads the files once."""
        parts = (self.folder.weights_digest, self.folder.settings_digest[:16], "float32")
        return "/".join((*parts, repr(self.query_prefix), repr(self.document_prefix)))

    @cached_property
    def dim(self) -> int:
        """Width of a row, as the model's files say.

        Raises:
            ModelNotFoundError: they do not say.
        """
        return self.folder.dim

    @cached_property
    def max_tokens(self) -> int:
        """The model's window less its special tokens and the longer prefix: what `count_tokens` may reach uncut."""
        prefix = max(self.count_tokens(self.query_prefix), self.count_tokens(self.document_prefix))
        return self.folder.window - int(self._tokenizer.num_special_tokens_to_add(False)) - prefix

    def count_tokens(self, text: str) -> int:
        """How many of the model's own tokens a text has, special tokens aside; loads no model."""
        return len(self._tokenizer.encode(_sayable(text), add_special_tokens=False).ids)

    def warm_up(self) -> None:
        """Load now what the first `encode` would load.

        Raises:
            ModelFilesError: the weights are not the expected ones.
            ModelNotFoundError: the model cannot be loaded from its files.
        """
        self.encode([""], "query")

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode n texts to shape (n, dim); an empty sequence gives shape (0, dim) and loads nothing.

        Raises:
            ModelFilesError: the weights are not the expected ones.
            ModelNotFoundError: the model cannot be loaded from its files.
            VectorError: the model gave something else than finite vectors of its width.
        """
        if not texts:
            return np.empty((0, self.dim), dtype=np.float32)
        prefix = self.query_prefix if role == "query" else self.document_prefix
        said = [prefix + _sayable(text) for text in texts]
        with self._lock, self._bounded(len(said)):
            # It batches by length itself. The empty prompt keeps it from adding one of its own.
            rows = self._loaded().encode(
                said,
                prompt="",
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        return unit_rows(np.asarray(rows, dtype=np.float32), dim=self.dim)

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # noqa: PLC0415 - not on `import toolsearch`

        tokenizer = Tokenizer.from_file(str(self.folder.path / "tokenizer.json"))
        # The file cuts and pads as suits training; a count must see the whole text and nothing but it.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    def _loaded(self) -> Any:
        if self._model is None:
            self._check_weights()
            # Its threads would make every later fork of the process warn; batches here are small.
            os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - five CPU-seconds

            with _quiet_loading():
                try:
                    self._model = SentenceTransformer(str(self.folder.path), local_files_only=True)
                except Exception as error:
                    # Each file that is not what it should be fails in its own library's way.
                    reason = f"{self.folder.path} cannot be loaded: {error}."
                    raise ModelNotFoundError(self.name, reason, self._remedy) from error
            self._loaded_in = os.getpid()
        return self._model

    def _check_weights(self) -> None:
        if self._sha256 is None:
            return
        found = self.folder.weights_digest
        if found != self._sha256:
            path = str(self.folder.weights[0])
            raise ModelFilesError(self.name, path, self._sha256, found, self._remedy)

    @contextmanager
    def _bounded(self, texts: int) -> Iterator[None]:
        # Threads that wait for each other over one short text cost twenty times its CPU time on a busy machine.
        forked = self._loaded_in not in (None, os.getpid())
        threads = 1 if forked else self._threads or (1 if texts <= _FEW else None)
        if threads is None:
            yield
            return
        import torch  # noqa: PLC0415 - as heavy as the model

        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


@contextmanager
def _quiet_loading() -> Iterator[None]:
    """A library prints nothing: the bar that shows weights being read is off meanwhile."""
    from transformers.utils import logging as bars  # noqa: PLC0415 - as heavy as the model

    shown = bars.is_progress_bar_enabled()
    bars.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()


def _sayable(text: str) -> str:
    # Half a surrogate pair is no text to the tokenizer, which raises; a question mark is.
    return text.encode("utf-8", "replace").decode("utf-8")
