"""Segments read together as if they were one, held against brute force in numpy."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pytest

from toolsearch.corpus import Candidates, Corpus, Row, Segment, Selection
from toolsearch.embedding.encoder import Vectors
from toolsearch.lexical import LexicalIndex, Terms, bm25

DIM = 16
WORDS = ["open", "ticket", "weather", "paris", "mail", "file", "invoice", "user", "list", "delete"]
QUERY = Terms.of("open a ticket in paris")


def unit(draw: np.random.Generator, n: int) -> Vectors:
    rows = draw.standard_normal((n, DIM)) + 0.3
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def rows_of(draw: np.random.Generator, n: int, *, copies: bool = False) -> list[Row]:
    made = [Row(vector, Terms.of(" ".join(draw.choice(WORDS, int(draw.integers(0, 12)))))) for vector in unit(draw, n)]
    return [made[int(place)] for place in draw.integers(0, max(n // 5, 1), n)] if copies else made


@dataclass(frozen=True)
class Brute:
    """What a corpus should say, from one matrix and one list."""

    cosine: npt.NDArray[np.float64]
    bm25: npt.NDArray[np.float64]
    attainable: float
    live: Selection

    @classmethod
    def over(cls, rows: list[Row], live: Selection, query: Vectors, terms: Terms) -> "Brute":
        matrix = np.array([row.vector for row in rows], np.float64).reshape(len(rows), DIM)
        kept = [row.terms for row, on in zip(rows, live, strict=True) if on]
        scores = np.zeros(len(rows))
        scores[live], attainable = bm25([LexicalIndex(kept)], terms)
        return cls(matrix @ query.astype(np.float64), scores, attainable, live)

    def best(self, depth: int, allowed: Selection) -> set[int]:
        """Everything that is not worse than the depth-th best of either side."""
        chosen: set[int] = set()
        for side, usable in ((self.cosine.round(12), allowed), (self.bm25, allowed & (self.bm25 > 0))):
            places = np.flatnonzero(usable)
            if len(places):
                last = np.sort(side[places])[::-1][: max(depth, 1)][-1]
                chosen |= set(places[side[places] >= last].tolist())
        return chosen


def assert_agree(found: Candidates, brute: Brute, allowed: Selection, usual: tuple[float, float]) -> None:
    assert found.cosine == pytest.approx(brute.cosine[found.rows], abs=1e-12)
    assert found.bm25 == pytest.approx(brute.bm25[found.rows], abs=1e-12)
    assert found.attainable == pytest.approx(brute.attainable, abs=1e-12)
    assert found.n == int(brute.live.sum())
    if found.n:
        cosines = brute.cosine[brute.live]
        assert usual == pytest.approx((cosines.mean(), cosines.std()), abs=1e-6)
    assert found.complete == (len(found.rows) == int(allowed.sum()))
    assert found.rows.tolist() == sorted(set(found.rows.tolist()))


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("sizes", [[0], [1], [5], [120], [60, 0, 40], [90, 10], [3, 200, 7]])
def test_candidates_and_their_statistics_are_those_of_brute_force(sizes: list[int], copies: bool) -> None:
    draw = np.random.default_rng(sum(sizes))
    parts = [rows_of(draw, size, copies=copies) for size in sizes]
    together = [row for part in parts for row in part]
    live = draw.random(len(together)) < 0.8
    corpus = Corpus([Segment(part, DIM) for part in parts], live)
    selection = draw.random(len(together)) < 0.7
    query = unit(draw, 1)[0]
    brute = Brute.over(together, live, query, QUERY)
    for chosen in (None, selection):
        allowed = live if chosen is None else live & chosen
        for depth in (1, 10, 30, 500):
            found = corpus.candidates(query, QUERY, depth=depth, selection=chosen)
            assert_agree(found, brute, allowed, corpus.usual(query))
            everything = set(np.flatnonzero(allowed).tolist())
            expected = everything if len(everything) <= depth else brute.best(depth, allowed)
            assert set(found.rows.tolist()) == expected


def test_a_depth_below_the_number_of_rows_gives_the_union_of_both_sides() -> None:
    vectors = np.eye(DIM, dtype=np.float32)
    spoken = ["mail"] * 10 + ["ticket", "ticket ticket", "mail", "mail", "mail", "mail"]
    corpus = Corpus([Segment([Row(row, Terms.of(text)) for row, text in zip(vectors, spoken, strict=True)], DIM)])
    query = np.zeros(DIM, np.float32)
    query[[2, 5]] = 0.8, 0.6
    found = corpus.candidates(query, Terms.of("ticket"), depth=2)
    assert found.rows.tolist() == [2, 5, 10, 11]
    assert found.cosine.tolist() == pytest.approx([0.8, 0.6, 0.0, 0.0], abs=1e-7)
    assert (found.bm25 > 0).tolist() == [False, False, True, True]
    assert not found.complete


def test_rows_that_tie_with_the_last_candidate_are_candidates_too() -> None:
    draw = np.random.default_rng(0)
    same = rows_of(draw, 1)[0]
    corpus = Corpus([Segment([same] * 40, DIM), Segment([same] * 40, DIM)])
    assert corpus.candidates(same.vector, QUERY, depth=3).rows.tolist() == list(range(80))


def test_hidden_rows_take_part_in_nothing() -> None:
    draw = np.random.default_rng(1)
    left, right, query = rows_of(draw, 80), rows_of(draw, 50), unit(draw, 1)[0]
    live = draw.random(130) < 0.5
    kept = [row for row, on in zip([*left, *right], live, strict=True) if on]
    hidden = Corpus([Segment(left, DIM), Segment(right, DIM)], live)
    built = Corpus([Segment(kept, DIM)])
    for depth in (5, 1000):
        one, other = (corpus.candidates(query, QUERY, depth=depth) for corpus in (hidden, built))
        assert one.rows.tolist() == np.flatnonzero(live)[other.rows].tolist()
        assert one.cosine.tolist() == other.cosine.tolist()
        assert one.bm25 == pytest.approx(other.bm25, abs=1e-12)
        assert (one.n, one.complete) == (other.n, other.complete)
        assert hidden.usual(query) == pytest.approx(built.usual(query), abs=1e-7)
        assert one.attainable == pytest.approx(other.attainable, abs=1e-12)


def test_a_selection_changes_which_rows_return_and_no_statistic() -> None:
    draw = np.random.default_rng(2)
    corpus, query = Corpus([Segment(rows_of(draw, 100), DIM)]), unit(draw, 1)[0]
    selection = draw.random(100) < 0.2
    free, bound = (corpus.candidates(query, QUERY, depth=500, selection=chosen) for chosen in (None, selection))
    assert bound.rows.tolist() == np.flatnonzero(selection).tolist()
    assert bound.cosine.tolist() == free.cosine[selection].tolist()
    assert bound.bm25.tolist() == free.bm25[selection].tolist()
    assert (bound.attainable, bound.n) == (free.attainable, free.n)


def test_rows_asked_for_are_candidates_unless_they_may_not_be_returned() -> None:
    draw = np.random.default_rng(3)
    rows, query = rows_of(draw, 100), unit(draw, 1)[0]
    live = np.ones(100, bool)
    live[7] = False
    corpus = Corpus([Segment(rows, DIM)], live)
    plain = corpus.candidates(query, QUERY, depth=4)
    wanted = [row for row in range(100) if row not in plain.rows and row != 7][:3]
    asked = corpus.candidates(query, QUERY, depth=4, also=np.array([*wanted, 7], dtype=np.int64))
    assert asked.rows.tolist() == sorted([*plain.rows.tolist(), *wanted])


def test_a_corpus_without_live_rows_has_no_candidates() -> None:
    draw = np.random.default_rng(4)
    for corpus in (Corpus([Segment([], DIM)]), Corpus([Segment(rows_of(draw, 9), DIM)], np.zeros(9, bool))):
        query = unit(draw, 1)[0]
        found = corpus.candidates(query, QUERY, depth=5)
        assert (found.rows.shape, found.n, found.complete, found.attainable) == ((0,), 0, True, 0.0)
        assert corpus.usual(query) == (0.0, 0.0)


def test_a_segment_has_as_many_vectors_as_rows_of_terms() -> None:
    segment = Segment(rows_of(np.random.default_rng(5), 12), DIM)
    assert (len(segment), len(segment.vectors), len(segment.lexical)) == (12, 12, 12)
