"""The measuring rig, held against figures worked out by hand."""

import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest
from fakes import WordEncoder

from benchmarks.bootstrap import Sample, macro_interval
from benchmarks.dataset import Query, read_dataset
from benchmarks.fusion import figures, macro
from benchmarks.metrics import auroc, completeness, hit, ndcg, recall, reciprocal_rank
from benchmarks.nothing_fits import outcome
from benchmarks.rankings import BM25, DENSE, SEARCH, rank
from benchmarks.record import write_packed
from benchmarks.servers import recalls
from benchmarks.split import halves

TOOLS: list[dict[str, object]] = [
    {"id": "mail/send", "name": "send_mail", "description": "Send an email to a person", "server": "mail"},
    {"id": "mail/read", "name": "read_mail", "description": "Read the newest emails", "server": "mail"},
    {"id": "files/delete", "name": "delete_file", "description": "Remove a file from disk", "server": "files"},
    {"id": "files/list", "name": "list_files", "description": "Show the files of a folder", "server": "files"},
]
QUERIES: list[dict[str, object]] = [
    {"id": "1", "query": "send an email to Ann", "relevant": ["mail/send"], "lang": "en"},
    {"id": "2", "query": "remove a file from disk", "relevant": ["files/delete"], "lang": "en"},
    {"id": "3", "query": "show the files of a folder", "relevant": ["files/list"], "lang": "en"},
    {"id": "4", "query": "read the newest emails", "relevant": ["mail/read"], "lang": "en"},
]


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def labelled(folder: Path, *, queries: list[dict[str, object]] | None = None, packed: bool = False) -> Path:
    """A labelled set on disk."""
    folder.mkdir(parents=True, exist_ok=True)
    for stem, records in (("tools", TOOLS), ("queries", QUERIES if queries is None else queries)):
        content = "\n".join(json.dumps(record) for record in records).encode()
        path = folder / (f"{stem}.jsonl.gz" if packed else f"{stem}.jsonl")
        path.write_bytes(gzip.compress(content) if packed else content)
    return folder


def asked(*relevant: tuple[str, ...]) -> list[Query]:
    return [Query(str(place), "anything", tools) for place, tools in enumerate(relevant)]


def test_recall_is_the_share_of_relevant_tools_in_the_first_k() -> None:
    assert recall([1, 6, None, 5], 5) == 0.5


def test_hit_asks_for_one_relevant_tool_and_completeness_for_all() -> None:
    assert (hit([7, 2], 5), completeness([7, 2], 5), completeness([1, 2], 5)) == (1.0, 0.0, 1.0)


def test_ndcg_discounts_by_the_logarithm_of_the_rank() -> None:
    # One tool at rank 1, one at rank 3, the third missing: (1/log2 2 + 1/log2 4) / (1/log2 2 + 1/log2 3 + 1/log2 4)
    assert ndcg([1, 3, None], 10) == pytest.approx(1.5 / (1 + 1 / math.log2(3) + 0.5))


def test_ndcg_of_more_relevant_tools_than_places_can_still_be_one() -> None:
    assert ndcg([1, 2, 3, 4], 2) == 1.0


def test_reciprocal_rank_is_that_of_the_first_relevant_tool() -> None:
    assert reciprocal_rank([None, 4, 2]) == 0.5


def test_a_query_without_results_scores_nothing_by_any_metric() -> None:
    assert set(figures([[None, None]], [0]).values()) == {0.0}


def test_auroc_counts_the_pairs_in_order_and_half_of_the_ties() -> None:
    # (3,1) (3,2) (2,1) in order, (2,2) a tie: 3.5 of 4
    assert auroc([3, 2], [1, 2]) == 3.5 / 4


def test_auroc_without_a_side_is_not_a_number() -> None:
    assert math.isnan(auroc([], [1.0]))


def test_macro_weighs_a_small_set_like_a_large_one() -> None:
    large, small = figures([[1]] * 9, range(9)), figures([[None]], [0])
    assert macro([large, small])["recall@1"] == 0.5


def test_the_halves_share_no_relevant_tool() -> None:
    draw = np.random.default_rng(5)
    queries = asked(*(tuple({f"t{n}" for n in draw.integers(0, 60, draw.integers(1, 3))}) for _ in range(80)))
    split = halves(queries)
    tune = {tool for place in split.tune for tool in queries[place].relevant}
    measure = {tool for place in split.measure for tool in queries[place].relevant}
    assert tune & measure == set()


def test_the_halves_hold_every_query_once() -> None:
    split = halves(asked(("a",), ("b", "c"), ("c", "d"), ("e",), ("a",)))
    assert sorted(split.tune + split.measure) == [0, 1, 2, 3, 4]


def test_halves_of_unconnected_queries_are_of_one_size() -> None:
    split = halves(asked(*((f"t{n}",) for n in range(100))))
    assert (len(split.tune), len(split.measure)) == (50, 50)


def test_the_split_does_not_depend_on_the_order_of_the_queries() -> None:
    queries = asked(*((f"t{n}",) for n in range(30)))
    forward, backward = halves(queries), halves(queries[::-1])
    assert {queries[place].id for place in forward.tune} == {queries[::-1][place].id for place in backward.tune}


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    draw = np.random.default_rng(1)
    sample = Sample(list(draw.normal(0.1, 1, 400)), [f"t{n}" for n in range(400)])
    interval = macro_interval({"one": sample}, seed=3)
    assert interval == macro_interval({"one": sample}, seed=3)
    assert interval.low < interval.mean < interval.high


def test_an_interval_is_as_wide_as_the_theory_of_independent_queries_says() -> None:
    values = list(np.random.default_rng(2).normal(0, 1, 900))
    interval = macro_interval({"one": Sample(values, [str(n) for n in range(900)])}, draws=4_000)
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * np.std(values) / 30, rel=0.08)


def test_queries_of_one_tool_count_as_one_observation() -> None:
    values = list(np.random.default_rng(2).normal(0, 1, 90))
    apart = macro_interval({"one": Sample(values, [str(n) for n in range(90)])})
    together = macro_interval({"one": Sample(values * 10, [str(n % 90) for n in range(900)])})
    assert together.high - together.low == pytest.approx(apart.high - apart.low, rel=0.1)


def test_a_constant_difference_has_an_interval_of_no_width() -> None:
    interval = macro_interval({"a": Sample([0.5] * 8, ["t"] * 8), "b": Sample([0.0] * 3, ["u", "v", "w"])})
    assert (interval.low, interval.mean, interval.high) == (0.25, 0.25, 0.25)


def test_an_interval_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one query"):
        macro_interval({"one": Sample([], [])})


@pytest.mark.parametrize("packed", [False, True])
def test_a_set_is_read_packed_or_not(tmp_path: Path, packed: bool) -> None:
    dataset = read_dataset(labelled(tmp_path / "mine", packed=packed))
    assert (dataset.name, len(dataset.tools), [query.id for query in dataset.queries]) == ("mine", 4, list("1234"))


def test_where_a_core_is_flagged_only_the_core_counts(tmp_path: Path) -> None:
    flagged = [{**QUERIES[0], "core": True}, {**QUERIES[1], "core": False}]
    dataset = read_dataset(labelled(tmp_path, queries=flagged))
    assert [query.id for query in dataset.queries] == ["1"]


def test_queries_of_other_languages_count_only_when_asked_for(tmp_path: Path) -> None:
    folder = labelled(tmp_path, queries=[QUERIES[0], {**QUERIES[1], "lang": "de"}])
    assert (len(read_dataset(folder).queries), len(read_dataset(folder, lang=None).queries)) == (1, 2)


def test_a_broken_query_is_an_error_that_names_its_line(tmp_path: Path) -> None:
    folder = labelled(tmp_path, queries=[QUERIES[0], {"id": "2", "query": "no label", "relevant": []}])
    with pytest.raises(ValueError, match=r"queries\.jsonl:2"):
        read_dataset(folder)


def test_a_folder_without_queries_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="tools"):
        read_dataset(tmp_path)


def test_every_method_finds_what_shares_the_words_of_the_query(tmp_path: Path) -> None:
    ranked = rank(read_dataset(labelled(tmp_path)), WordEncoder(), [0.6])
    expected = [(1,)] * 4
    assert ranked.fused[0.6] == ranked.alone[DENSE] == ranked.alone[BM25] == ranked.alone[SEARCH] == expected


def test_a_relevant_tool_that_is_not_in_the_catalog_is_a_miss(tmp_path: Path) -> None:
    folder = labelled(tmp_path, queries=[{**QUERIES[0], "relevant": ["gone", "mail/send"]}])
    ranked = rank(read_dataset(folder), WordEncoder(), [0.6])
    assert [ranked.alone[SEARCH], ranked.fused[0.6]] == [[(None, 1)], [(None, 1)]]


def test_a_tool_without_a_word_of_the_query_is_no_answer_of_bm25(tmp_path: Path) -> None:
    folder = labelled(tmp_path, queries=[{**QUERIES[0], "query": "quantum chromodynamics"}])
    assert rank(read_dataset(folder), WordEncoder(), [0.6]).alone[BM25] == [(None,)]


def test_no_weight_on_words_leaves_the_dense_order(tmp_path: Path) -> None:
    ranked = rank(read_dataset(labelled(tmp_path)), WordEncoder(), [0.0])
    assert ranked.fused[0.0] == ranked.alone[DENSE]


def test_a_query_scores_less_once_its_whole_server_is_gone(tmp_path: Path) -> None:
    measured = outcome(read_dataset(labelled(tmp_path)), range(4), [], WordEncoder())
    assert (measured.best > measured.unanswered).all()
    assert measured.figures()["auroc"]["answer gone"] == 1.0


def test_a_cap_of_one_lets_displaced_tools_back_where_places_remain(tmp_path: Path) -> None:
    found = recalls(read_dataset(labelled(tmp_path)), WordEncoder(), k=4)
    assert {cap: by_half["measure"] for cap, by_half in found.items()} == {"none": 1.0, "3": 1.0, "2": 1.0, "1": 1.0}


def test_packed_results_are_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.gz", "b.gz"):
        write_packed(tmp_path / name, {"ranks": [[1, None]]})
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
