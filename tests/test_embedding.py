"""Text in, unit vectors out: the fake that every other test leans on, and sentence-transformers."""

import numpy as np
from fakes import WordEncoder


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
