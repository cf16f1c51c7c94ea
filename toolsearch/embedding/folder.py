"""A model folder: the files that make a sentence-transformers model, read without loading it."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from toolsearch.errors import ModelNotFoundError

_SUFFIXES = {".json", ".safetensors", ".bin", ".txt", ".model"}
_WEIGHTS = {".safetensors", ".bin"}


class ModelFolder:
    """Reads settings and digests; never the weights into memory."""

    def __init__(self, path: Path, *, name: str, remedy: str | None = None) -> None:
        """Raises:
        ModelNotFoundError: no such folder, or no sentence-transformers model in it.
        """
        self.path = path
        self.name = name
        self._remedy = remedy
        for needed in ("config.json", "modules.json", "tokenizer.json"):
            if not (path / needed).is_file():
                raise ModelNotFoundError(name, f"{path} is no sentence-transformers folder: no {needed}.", remedy)
        if not self.weights:
            raise ModelNotFoundError(name, f"{path} holds no weights (model.safetensors).", remedy)

    @property
    def weights(self) -> list[Path]:
        """The files with the numbers: safetensors where there are any."""
        for suffix in (".safetensors", ".bin"):
            if found := sorted(self.path.glob(f"*{suffix}")):
                return found
        return []

    @property
    def weights_digest(self) -> str:
        """sha256 of the one weights file, in hex; of the digests of all where there are several."""
        digests = [_sha256(path) for path in self.weights]
        return digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()

    @property
    def settings_digest(self) -> str:
        """sha256 over names and contents of everything else that shapes a vector: tokenizer and configuration."""
        total = hashlib.sha256()
        for path in self._files():
            if path.suffix not in _WEIGHTS:
                total.update(f"{path.relative_to(self.path).as_posix()}\0{_sha256(path)}\n".encode())
        return total.hexdigest()

    @property
    def dim(self) -> int:
        """Width of a vector: what the last module that says so puts out, else the transformer's own.

        Raises:
            ModelNotFoundError: the configuration does not say.
        """
        widths = [self._json("config.json").get("hidden_size")]
        for module in self._modules():
            config = self._json(f"{module}/config.json")
            widths += [config.get(key) for key in ("word_embedding_dimension", "embedding_dimension", "out_features")]
        for width in reversed(widths):
            if isinstance(width, int) and width > 0:
                return width
        raise ModelNotFoundError(self.name, f"{self.path}/config.json does not say how wide a vector is.", self._remedy)

    @property
    def window(self) -> int:
        """How many tokens the model reads, its special tokens counted; 512 where no file says."""
        limits = (
            self._json("sentence_bert_config.json").get("max_seq_length"),
            self._json("tokenizer_config.json").get("model_max_length"),
            self._json("config.json").get("max_position_embeddings"),
        )
        # A tokenizer without a limit of its own says 10^30.
        return next((limit for limit in limits if isinstance(limit, int) and 0 < limit < 10**6), 512)

    def prefix(self, *roles: str) -> str:
        """What the model wants before texts of the first of these roles that it names; nothing where it names none."""
        prompts = self._json("config_sentence_transformers.json").get("prompts")
        found = [prompts[role] for role in roles if isinstance(prompts, dict) and role in prompts]
        return str(found[0]) if found else ""

    def _modules(self) -> list[str]:
        modules: Any = self._json("modules.json")
        return [module["path"] for module in modules if module.get("path")]

    def _files(self) -> list[Path]:
        folders = [self.path, *(self.path / module for module in self._modules())]
        found = (path for folder in folders if folder.is_dir() for path in folder.iterdir())
        return sorted(path for path in found if path.is_file() and path.suffix in _SUFFIXES)

    def _json(self, name: str) -> dict[str, Any]:
        path = self.path / name
        if not path.is_file():
            return {}
        try:
            content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ModelNotFoundError(self.name, f"{path} is not JSON: {error}.", self._remedy) from error
        return content


def _sha256(path: Path) -> str:
    status = path.stat()
    return _sha256_of(path, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256_of(path: Path, _size: int, _mtime: int) -> str:
    # A quarter of a second for 90 MB: once a process, and again if the file changes.
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
