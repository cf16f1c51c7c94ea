"""Terms, and BM25 over them: held against an independent library and against one line of arithmetic a term."""

import hashlib
import math
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise

import bm25s
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.lexical import K1, NAME_WEIGHT, B, LexicalIndex, Terms, analyse, bm25, stem

VOCABULARY = ["open", "ticket", "createIssue", "weather", "Paris", "send_mail", "file", "天气预报", "caché", "invoice"]


def texts(draw: np.random.Generator, n: int, longest: int = 30) -> list[str]:
    """Random texts; frequent words and rare ones, as in language."""
    weights = 1 / np.arange(1, len(VOCABULARY) + 1)
    return [
        " ".join(draw.choice(VOCABULARY, int(draw.integers(1, longest)), p=weights / weights.sum())) for _ in range(n)
    ]


def index_of(rows: Sequence[str]) -> LexicalIndex:
    return LexicalIndex([Terms.of(row) for row in rows])


def by_hand(documents: Sequence[Sequence[str]], query: Sequence[str], *, unseen: int) -> list[float]:
    """Lucene's BM25, one document and one term at a time."""
    n, mean = len(documents), sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in set(query):
            df = sum(term in other for other in documents)
            idf = math.log(1 + (n + unseen - df + 0.5) / (df + 0.5))
            tf = document.count(term)
            score += idf * tf / (tf + K1 * (1 - B + B * len(document) / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_bm25_gives_the_scores_of_bm25s(n: int, seed: int) -> None:
    draw = np.random.default_rng((n, seed))
    rows, query = texts(draw, n), texts(draw, 1, 8)[0]
    library = bm25s.BM25(method="lucene", k1=K1, b=B, dtype="float64")
    library.index([analyse(row) for row in rows], show_progress=False)
    expected = library.get_scores(sorted(set(analyse(query))))
    scores, _ = bm25([index_of(rows)], Terms.of(query), unseen=0)
    assert np.allclose(scores, expected, rtol=0, atol=1e-5)


@given(
    documents=st.lists(st.lists(st.sampled_from(VOCABULARY), min_size=1), min_size=1, max_size=8),
    query=st.lists(st.sampled_from(VOCABULARY), min_size=1),
    unseen=st.integers(0, 200),
)
def test_bm25_with_tools_unseen_is_lucenes_formula_over_so_many_more(
    documents: list[list[str]], query: list[str], unseen: int
) -> None:
    rows = [" ".join(document) for document in documents]
    expected = by_hand([analyse(row) for row in rows], analyse(" ".join(query)), unseen=unseen)
    scores, attainable = bm25([index_of(rows)], Terms.of(" ".join(query)), unseen=unseen)
    assert np.allclose(scores, expected, rtol=1e-9, atol=1e-12)
    assert (scores <= attainable).all()


def test_nothing_attains_more_than_a_row_that_is_full_of_every_term() -> None:
    rows = ["open ticket", "ticket " * 5_000 + "open " * 5_000, *["other words here"] * 2_000]
    scores, attainable = bm25([index_of(rows)], Terms.of("open ticket"))
    assert scores[1] <= attainable


@pytest.mark.parametrize("seed", range(4))
def test_several_indexes_with_hidden_rows_score_as_one_index_of_the_live_rows(seed: int) -> None:
    draw = np.random.default_rng(seed)
    parts = [texts(draw, int(draw.integers(0, 60))) for _ in range(4)] + [[]]
    live = [draw.random(len(part)) < 0.6 for part in parts]
    query = Terms.of("open a ticket in Paris 天气")
    kept = [row for part, mask in zip(parts, live, strict=True) for row, on in zip(part, mask, strict=True) if on]
    expected, most = bm25([index_of(kept)], query)
    scores, attainable = bm25([index_of(part) for part in parts], query, live)
    assert scores[np.concatenate(live)].tolist() == pytest.approx(expected.tolist(), abs=1e-12)
    assert attainable == pytest.approx(most, abs=1e-12)
    assert not scores[~np.concatenate(live)].any()


def test_a_term_that_only_hidden_rows_have_is_as_rare_as_one_that_no_row_has() -> None:
    rows = index_of(["weather", "ticket"])
    hidden = [np.array([False, True])]
    assert bm25([rows], Terms.of("weather"), hidden)[1] == bm25([rows], Terms.of("nowhere"), hidden)[1]


@pytest.mark.parametrize("rows", [[], ["", ""], ["open a ticket"]])
def test_rows_or_queries_without_terms_score_nothing(rows: list[str]) -> None:
    scores, _ = bm25([index_of(rows)], Terms.of(""))
    assert scores.tolist() == [0.0] * len(rows)
    assert bm25([index_of([""] * 3)], Terms.of("ticket"))[0].tolist() == [0.0] * 3


def test_no_index_at_all_scores_nothing() -> None:
    scores, attainable = bm25([], Terms.of("ticket"))
    assert (scores.shape, attainable) == ((0,), 0.0)


def test_a_repeated_query_term_counts_once() -> None:
    rows = index_of(["open ticket", "ticket", "open"])
    once, thrice = (bm25([rows], Terms.of(query))[0] for query in ("open ticket", "ticket open ticket ticket"))
    assert once.tolist() == thrice.tolist()


def test_postings_are_the_rows_of_a_term_ascending_with_their_counts() -> None:
    rows = index_of(["ticket ticket", "open", "open ticket", ""])
    (term,) = Terms.of("ticket").ids.tolist()
    found, counts = rows.postings(term)
    assert (found.tolist(), counts.tolist(), len(rows)) == ([0, 2], [2.0, 1.0], 4)
    assert [len(part) for part in rows.postings(Terms.of("nowhere").ids.tolist()[0])] == [0, 0]


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Open a ticket", ["open", "ticket"]),
        ("createIssue", ["create", "issue", "createissue"]),
        ("create_issue", ["create", "issue", "createissue"]),
        ("create-issue", ["create", "issue", "createissue"]),
        ("parseHTTPResponse", ["parse", "http", "response", "parsehttpresponse"]),
        ("github__create_issue", ["github", "create", "issue", "githubcreateissue"]),
        ("create issue", ["create", "issue"]),
        ("s3", ["s3"]),
        ("", []),
        ("!? ...", []),
    ],
)
def test_an_identifier_gives_its_words_and_itself_as_a_whole(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("天气预报", ["天气", "气预", "预报"]),
        ("查天气now", ["查天", "天气", "now"]),
        ("日本語の天気", ["日本", "本語", "語の", "の天", "天気"]),
        ("날씨 알려줘", ["날씨", "알려", "려줘"]),
        ("水", ["水"]),
        ("ที่อยู่", [*map("".join, pairwise("ที่อยู่"))]),
    ],
)
def test_failure_5_scripts_without_spaces_give_pairs_of_neighbours(text: str, terms: list[str]) -> None:
    assert analyse(text) == terms


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("天気", "明日の天気予報"),
        ("猫", "猫"),
        ("อากาศ", "พยากรณ์อากาศ"),
        ("天气", "查询今天的天气预报"),
        ("ｔｉｃｋｅｔ", "Open a ticket"),
        ("ﾃﾝｷ", "テンキ"),
        ("café", "Cafe"),
        ("cafe\u0301", "café"),
        ("Übersetzen", "ubersetzen"),
        ("погода", "Погода в городе"),
        ("STRASSE", "Straße"),
        ("हिन्दी", "हिन्दी में अनुवाद"),
        ("tickets", "open a ticket"),
        ("queries", "run a query"),
        ("boxes", "box"),
    ],
)
def test_failure_5_a_word_is_found_however_it_is_written(query: str, document: str) -> None:
    assert set(analyse(query)) & set(analyse(document))


def test_marks_that_are_part_of_a_letter_tell_words_apart() -> None:
    assert set(analyse("की")).isdisjoint(analyse("का"))
    assert set(analyse("й")).isdisjoint(analyse("и"))


SIDES = ["createIssue", "create_issue", "create-issue", "CreateIssue", "CREATE_ISSUE"]


def test_failure_3_every_spelling_of_an_identifier_has_the_same_terms_on_both_sides() -> None:
    assert {tuple(analyse(name)) for name in SIDES} == {("create", "issue", "createissue")}


def test_function_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert analyse("how can I open the ticket for this") == ["open", "ticket"]
    assert analyse("what is this") == ["what", "is", "this"]


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("tickets", "ticket"),
        ("queries", "query"),
        ("boxes", "box"),
        ("status", "status"),
        ("address", "address"),
        ("analysis", "analysis"),
        ("gas", "gas"),
        ("is", "is"),
        ("s", "s"),
    ],
)
def test_a_stem_is_the_word_without_its_plural(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed


@given(st.text())
def test_any_text_has_terms_that_are_not_empty_and_the_same_again(text: str) -> None:
    terms = analyse(text)
    assert terms == analyse(text)
    assert "" not in terms


def counts_of(terms: Terms) -> dict[int, float]:
    return dict(zip(terms.ids.tolist(), terms.counts.tolist(), strict=True))


def test_a_row_counts_each_term_once_ascending_and_knows_its_length() -> None:
    row = Terms.of("open ticket, open window, open")
    assert (row.ids.tolist(), row.length) == (sorted(set(row.ids.tolist())), 5.0)
    assert sorted(row.counts.tolist()) == [1.0, 1.0, 3.0]


def test_the_terms_of_a_name_count_more_than_those_of_the_text() -> None:
    (term,) = Terms.of("ticket").ids.tolist()
    row = Terms.of("open ticket", name="ticket")
    assert counts_of(row)[term] == 1.0 + NAME_WEIGHT
    assert row.length == 2.0 + NAME_WEIGHT


def test_an_empty_text_is_an_empty_row() -> None:
    row = Terms.of("")
    assert (row.ids.shape, row.counts.shape, row.length) == ((0,), (0,), 0.0)


def test_term_ids_are_the_same_in_every_process() -> None:
    program = "from toolsearch.lexical import Terms; print(Terms.of('open createIssue 天气').ids.tolist())"
    other = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    here: npt.NDArray[np.uint64] = Terms.of("open createIssue 天气").ids
    assert other.stdout.strip() == str(here.tolist())


def test_a_term_id_is_the_first_eight_bytes_of_its_digest() -> None:
    # Written down, so that a stored index stays readable: blake2b of "ticket", 8 bytes, little endian.
    expected = int.from_bytes(hashlib.blake2b(b"ticket", digest_size=8).digest(), "little")
    assert Terms.of("ticket").ids.tolist() == [expected]
