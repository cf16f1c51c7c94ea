"""Rows and cosine, held against brute force in numpy."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import pytest

from toolsearch.embedding.encoder import Vectors
from toolsearch.errors import VectorError
from toolsearch.index import Selection, VectorIndex
from toolsearch.moments import Moments

DIM = 24


def unit(rows: npt.ArrayLike) -> Vectors:
    wide = np.atleast_2d(np.asarray(rows, dtype=np.float64))
    return np.ascontiguousarray(wide / np.linalg.norm(wide, axis=1, keepdims=True), dtype=np.float32)


def matrix(draw: np.random.Generator, n: int, *, dim: int = DIM, copies: bool = False) -> Vectors:
    """Random unit rows; with copies, each about four times, scattered, so that ties stand everywhere."""
    rows = unit(draw.standard_normal((max(n, 1), dim)))[:n]
    return rows[draw.integers(0, max(n // 4, 1), n)] if copies and n else rows


def brute_force(
    vectors: Vectors, query: Vectors, k: int, selection: Selection | None = None
) -> list[tuple[float, int]]:
    """Python floats, one row at a time, sorted by (cosine, row)."""
    scored = [
        (float(query.astype(np.float64) @ row.astype(np.float64)), n)
        for n, row in enumerate(vectors)
        if selection is None or selection[n]
    ]
    # Equal rows must tie: the score of the first copy stands for all.
    first: dict[bytes, float] = {}
    tied = [(first.setdefault(vectors[n].tobytes(), score), n) for score, n in scored]
    return sorted(tied, key=lambda pair: (-pair[0], pair[1]))[:k]


def assert_same(index: VectorIndex, vectors: Vectors, query: Vectors, k: int, selection: Selection | None) -> None:
    expected = brute_force(vectors, query, k, selection)
    cosines, rows = index.search(query, k, selection)
    assert rows.tolist() == [row for _, row in expected]
    assert np.allclose(cosines, [score for score, _ in expected], rtol=0, atol=1e-12)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("n", [0, 1, 2, 7, 300, 1500])
def test_search_gives_the_rows_and_cosines_of_brute_force(n: int, copies: bool) -> None:
    draw = np.random.default_rng(n)
    vectors = matrix(draw, n, copies=copies)
    index = VectorIndex(vectors)
    for k in (0, 1, 5, n, n + 10):
        assert_same(index, vectors, matrix(draw, 1)[0], k, None)


@pytest.mark.parametrize("share", [0.0, 0.002, 0.1, 0.6, 1.0])
@pytest.mark.parametrize("copies", [False, True])
def test_search_returns_selected_rows_only_and_as_many_as_asked_for(share: float, copies: bool) -> None:
    draw = np.random.default_rng(int(share * 1000))
    vectors = matrix(draw, 1500, copies=copies)
    index = VectorIndex(vectors)
    for k in (1, 5, 400, 2000):
        selection = draw.random(1500) < share
        assert_same(index, vectors, matrix(draw, 1)[0], k, selection)


def test_search_finds_the_one_selected_row_though_it_is_the_farthest() -> None:
    vectors = matrix(np.random.default_rng(1), 1000)
    farthest = brute_force(vectors, vectors[0], 1000)[-1][1]
    selection = np.arange(1000) == farthest
    assert VectorIndex(vectors).search(vectors[0], 5, selection)[1].tolist() == [farthest]


@pytest.mark.parametrize("k", [1, 17, 500, 1999])
def test_ties_at_the_edge_of_k_fall_in_row_order(k: int) -> None:
    vectors = np.repeat(matrix(np.random.default_rng(2), 1, dim=383), 2000, axis=0)
    cosines, rows = VectorIndex(vectors).search(matrix(np.random.default_rng(3), 1, dim=383)[0], k)
    assert rows.tolist() == list(range(k))
    assert len(set(cosines.tolist())) == 1


@pytest.mark.parametrize("dim", [1, 3, 8, 31, 384, 385])
def test_equal_rows_get_equal_cosines_wherever_they_stand(dim: int) -> None:
    draw = np.random.default_rng(dim)
    vectors = matrix(draw, 999, dim=dim)
    places = draw.choice(999, 40, replace=False)
    vectors[places] = vectors[places[0]]
    index, query = VectorIndex(vectors), matrix(draw, 1, dim=dim)[0]
    alone = [float(index.cosines(query, [place])[0]) for place in places]
    together = index.cosines(query, places)
    cosines, rows = index.search(query, 999)
    searched = cosines[np.isin(rows, places)]
    assert len({*alone, *together.tolist(), *searched.tolist()}) == 1


def test_cosines_are_bit_for_bit_those_of_search() -> None:
    draw = np.random.default_rng(4)
    index, query = VectorIndex(matrix(draw, 5000, dim=384)), matrix(draw, 1, dim=384)[0]
    cosines, rows = index.search(query, 5000)
    assert cosines.tolist() == index.cosines(query, rows).tolist()
    assert index.cosines(query, []).shape == (0,)


@pytest.mark.parametrize("share", [None, 0.01, 0.7])
@pytest.mark.parametrize("k", [0, 3, 50])
def test_search_many_equals_one_search_after_another(k: int, share: float | None) -> None:
    draw = np.random.default_rng(5)
    index, queries = VectorIndex(matrix(draw, 1200, copies=True)), matrix(draw, 30)
    selection = None if share is None else draw.random(1200) < share
    one_by_one = [index.search(query, k, selection) for query in queries]
    together = index.search_many(queries, k, selection)
    assert [(c.tolist(), r.tolist()) for c, r in together] == [(c.tolist(), r.tolist()) for c, r in one_by_one]


def test_search_many_without_queries_or_without_rows_is_empty() -> None:
    draw = np.random.default_rng(6)
    assert VectorIndex(matrix(draw, 3)).search_many(matrix(draw, 0), 2) == []
    assert [rows.tolist() for _, rows in VectorIndex.empty(DIM).search_many(matrix(draw, 2), 2)] == [[], []]


def test_any_history_of_add_and_remove_equals_the_index_built_at_once() -> None:
    draw = np.random.default_rng(7)
    index, kept = VectorIndex.empty(DIM), np.empty((0, DIM), dtype=np.float32)
    for _ in range(25):
        added = matrix(draw, int(draw.integers(0, 60)), copies=True)
        index.add(added)
        kept = np.concatenate([kept, added])
        gone = draw.integers(0, len(kept), int(draw.integers(0, 20))) if len(kept) else np.empty(0, dtype=np.int64)
        index.remove(gone)
        kept = np.delete(kept, gone, axis=0)
        query, selection = matrix(draw, 1)[0], draw.random(len(kept)) < 0.5
        assert np.array_equal(index.vectors(), kept)
        assert_same(index, kept, query, 10, None)
        assert_same(index, kept, query, 10, selection)
        fresh = VectorIndex(kept)
        assert index.search(query, 10)[0].tolist() == fresh.search(query, 10)[0].tolist()
        assert index.moments().of(query) == fresh.moments().of(query)


def test_vectors_come_back_as_they_went_in_and_are_copies() -> None:
    vectors = matrix(np.random.default_rng(8), 9)
    index = VectorIndex(vectors)
    index.vectors()[:] = 0
    index.vectors([2])[:] = 0
    assert np.array_equal(index.vectors(), vectors)
    assert np.array_equal(index.vectors([4, 4, 0]), vectors[[4, 4, 0]])
    assert (len(index), index.dim, index.vectors([]).shape) == (9, DIM, (0, DIM))


@pytest.mark.parametrize("n", [1, 2, 50, 5000])
def test_moments_give_mean_and_deviation_of_all_cosines(n: int) -> None:
    draw = np.random.default_rng(n)
    # Rows around a common direction, as text embeddings are: the mean is not zero.
    index = VectorIndex(unit(draw.standard_normal((n, 64)) + 0.5))
    query = matrix(draw, 1, dim=64)[0]
    cosines = index.vectors().astype(np.float64) @ query.astype(np.float64)
    assert index.moments().of(query) == pytest.approx((cosines.mean(), cosines.std()), rel=1e-6, abs=1e-7)


def test_moments_of_several_indexes_add_up_and_take_away() -> None:
    draw = np.random.default_rng(9)
    left, right, query = matrix(draw, 300), matrix(draw, 40), matrix(draw, 1)[0]
    union = VectorIndex(np.concatenate([left, right])).moments()
    added = VectorIndex(left).moments() + VectorIndex(right).moments()
    assert added.n == 340
    assert added.of(query) == pytest.approx(union.of(query), abs=1e-12)
    assert (union - Moments.over(right)).of(query) == pytest.approx(Moments.over(left).of(query), abs=1e-12)


def test_moments_of_equal_rows_have_no_deviation_and_of_no_rows_are_zero() -> None:
    row = matrix(np.random.default_rng(10), 1)
    mean, deviation = VectorIndex(np.repeat(row, 70, axis=0)).moments().of(row[0])
    assert (mean, deviation) == pytest.approx((1, 0), abs=1e-6)
    assert VectorIndex.empty(DIM).moments().of(row[0]) == (0.0, 0.0)


def test_moments_are_computed_once_and_again_after_a_change() -> None:
    draw = np.random.default_rng(11)
    index = VectorIndex(matrix(draw, 10))
    before = index.moments()
    assert index.moments() is before
    index.add(matrix(draw, 5))
    assert index.moments().n == 15
    index.remove([0])
    assert index.moments().n == 14


GOOD = unit(np.ones((2, DIM)))


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (np.zeros((2, DIM), dtype=np.float32), "row 0 of length 0"),
        (np.concatenate([GOOD, np.full((1, DIM), np.nan, dtype=np.float32)]), "row 2 of length nan"),
        (np.full((1, DIM), np.inf, dtype=np.float32), "length inf"),
        (np.full((1, DIM), 1e300), "length inf"),
        (GOOD * np.float32(1.01), "length 1.01"),
        (GOOD[:, 1:], rf"shape \(2, {DIM - 1}\)"),
        (GOOD[0], rf"shape \({DIM},\)"),
        (np.ones((1, DIM), dtype=np.int64), "int64"),
    ],
)
@pytest.mark.parametrize("door", ["add", "search", "search_many", "cosines"])
def test_wrong_vectors_are_refused_and_the_message_says_what_was_expected(
    wrong: Vectors, found: str, door: str
) -> None:
    index = VectorIndex(GOOD)
    doors: dict[str, Callable[[], object]] = {
        "add": lambda: index.add(wrong),
        "search_many": lambda: index.search_many(wrong, 1),
        "search": lambda: index.search(wrong[-1] if wrong.ndim == 2 else wrong[1:], 1),
        "cosines": lambda: index.cosines(wrong[-1] if wrong.ndim == 2 else wrong[1:], [0]),
    }
    with pytest.raises(VectorError) as caught:
        doors[door]()
    assert f"{DIM}" in caught.value.expected
    assert caught.value.expected in str(caught.value)
    if door in ("add", "search_many"):
        assert caught.match(found)
    assert np.array_equal(index.vectors(), GOOD)


def test_rows_as_half_precision_leaves_them_are_accepted() -> None:
    half = matrix(np.random.default_rng(12), 50, dim=384).astype(np.float16)
    assert len(VectorIndex(half.astype(np.float32))) == 50


def test_search_takes_one_query_and_says_where_several_go() -> None:
    with pytest.raises(VectorError, match="search_many"):
        VectorIndex(GOOD).search(GOOD, 1)


def test_an_index_has_at_least_one_column() -> None:
    with pytest.raises(VectorError):
        VectorIndex.empty(0)


@pytest.mark.parametrize("rows", [[2], [-1], [0.5], [[0]]])
def test_unknown_rows_are_an_error_and_nothing_is_removed(rows: list[int]) -> None:
    index = VectorIndex(GOOD)
    for act in (index.remove, index.vectors, lambda rows: index.cosines(GOOD[0], rows)):
        with pytest.raises(IndexError):
            act(rows)
    assert len(index) == 2


@pytest.mark.parametrize("selection", [np.ones(3, dtype=np.bool_), np.ones(2, dtype=np.int64)])
def test_a_selection_is_one_boolean_a_row(selection: Selection) -> None:
    with pytest.raises(ValueError, match="2 booleans"):
        VectorIndex(GOOD).search(GOOD[0], 1, selection)


def test_negative_k_is_an_error() -> None:
    with pytest.raises(ValueError, match="negative"):
        VectorIndex(GOOD).search(GOOD[0], -1)


def test_searching_leaves_the_callers_thread_count_as_it_was() -> None:
    import faiss

    index, before, seen = VectorIndex(GOOD), faiss.omp_get_max_threads(), []

    def search_with_three_threads() -> None:
        faiss.omp_set_num_threads(3)
        index.search(GOOD[0], 1)
        seen.append(faiss.omp_get_max_threads())

    other = threading.Thread(target=search_with_three_threads)
    other.start()
    index.search(GOOD[0], 1)
    other.join()
    assert (seen, faiss.omp_get_max_threads()) == ([3], before)


def test_searches_in_many_threads_agree_with_searches_in_one() -> None:
    draw = np.random.default_rng(13)
    index, queries = VectorIndex(matrix(draw, 2000, copies=True)), matrix(draw, 64)
    selection = draw.random(2000) < 0.5
    expected = [index.search(query, 7, selection)[1].tolist() for query in queries]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda query: index.search(query, 7, selection)[1].tolist(), queries))
    assert found == expected
