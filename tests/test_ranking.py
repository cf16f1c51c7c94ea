"""Evidence becomes order, a score, and a place for everybody's servers."""

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakes import WordEncoder
from hypothesis import given
from hypothesis import strategies as st

from toolsearch.corpus import Candidates
from toolsearch.embedding.probes import Background
from toolsearch.match import Evidence, Match, Reason
from toolsearch.ranking import DEPTH, LEXICAL_WEIGHT, Picker, calibrate, fuse
from toolsearch.search import ToolSearch
from toolsearch.tool import Tool

USUAL = Background(mean=0.05, deviation=0.08)
unit_floats = st.floats(-1, 1, allow_subnormal=False)
evidence = st.lists(st.tuples(unit_floats, st.floats(0, 30, allow_subnormal=False)), min_size=1, max_size=30)


def candidates(cosine: Iterable[float], bm25: Iterable[float], **statistics: Any) -> Candidates:
    cosines, lexical = np.array([*cosine], float), np.array([*bm25], float)
    usual: dict[str, Any] = {
        "attainable": float(lexical.max()),
        "n": len(cosines),
        "complete": True,
    }
    return Candidates(rows=np.arange(len(cosines)), cosine=cosines, bm25=lexical, **{**usual, **statistics})


@given(evidence)
def test_evidence_is_cosine_in_deviations_of_unrelated_pairs_and_weighted_bm25(
    pairs: list[tuple[float, float]],
) -> None:
    found = candidates(*zip(*pairs, strict=True))
    ranked = fuse(found, USUAL)
    assert ranked.dense == pytest.approx([(cosine - 0.05) / 0.08 for cosine, _ in pairs])
    assert ranked.lexical == pytest.approx([bm25 * LEXICAL_WEIGHT for _, bm25 in pairs])
    assert ranked.fused == pytest.approx(ranked.dense + ranked.lexical)


@given(evidence)
def test_a_score_is_in_0_to_1_and_never_above_that_of_better_evidence(pairs: list[tuple[float, float]]) -> None:
    ranked = fuse(candidates(*zip(*pairs, strict=True)), USUAL)
    scores = ranked.score[np.argsort(-ranked.fused, kind="stable")]
    assert ((scores >= 0) & (scores <= 1)).all()
    assert (np.diff(scores) <= 0).all()


def test_what_an_unrelated_pair_gets_scores_0() -> None:
    found = candidates([0.05, 0.9], [0.0, 3.0], n=1000)
    assert fuse(found, USUAL).score[0] == 0.0


def test_what_equals_the_query_in_everything_scores_1() -> None:
    found = candidates([1.0, 0.3], [7.5, 1.0], attainable=7.5)
    assert fuse(found, USUAL).score[0] == 1.0


def test_the_lexical_weight_is_a_parameter_and_0_leaves_the_cosine_alone() -> None:
    found = candidates([0.1, 0.4, 0.2], [9.0, 0.0, 3.0])
    ranked = fuse(found, USUAL, lexical_weight=0.0)
    assert np.argsort(-ranked.fused).tolist() == [1, 2, 0]
    assert ranked.fused.tolist() == ranked.dense.tolist()


def test_a_catalog_of_one_has_a_score_that_is_no_extreme() -> None:
    ranked = fuse(candidates([0.6], [0.0], attainable=0.0), USUAL)
    assert np.isfinite(ranked.fused).all()
    assert 0 < ranked.score[0] < 1


def test_no_candidates_give_no_scores() -> None:
    nothing = np.empty(0)
    found = Candidates(np.empty(0, np.int64), nothing, nothing, attainable=0.0, n=0, complete=True)
    ranked = fuse(found, USUAL)
    assert ranked.score.shape == (0,)


def test_the_same_evidence_is_worth_less_among_more_tools_and_where_more_could_be_had() -> None:
    few, many = (calibrate(np.array([6.0]), 20.0, n)[0] for n in (10, 10_000))
    little, much = (calibrate(np.array([6.0]), best, 100)[0] for best in (15.0, 40.0))
    assert few > many > 0
    assert little > much > 0


def test_the_score_is_the_fitted_map() -> None:
    # By hand: even = .6 * 16^.25 * ln(80 + 20) = 5.526; share(x) = x^3 / (x^3 + even^3).
    even = 0.6 * 2 * math.log(100)
    share = {x: x**3 / (x**3 + even**3) for x in (4.0, 16.0)}
    expected = [0.0, 0.0, share[4.0] / share[16.0], 1.0, 1.0]
    assert calibrate(np.array([-2.0, 0.0, 4.0, 16.0, 20.0]), 16.0, 80).tolist() == pytest.approx(expected)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_small_catalog_tells_the_fitting_tool_from_the_rest(n: int, tmp_path: Path) -> None:
    tools = [
        Tool(name="send_mail", description="Deliver a letter to a person."),
        Tool(name="get_forecast", description="Rain and temperature tomorrow."),
        Tool(name="resize_image", description="Width and height of a picture."),
    ][:n]
    search = ToolSearch(tools, model=WordEncoder(), cache_dir=tmp_path)
    fitting = search.search("deliver a letter", k=n)
    assert fitting[0].tool.name == "send_mail"
    assert fitting[0].score > 0.3
    assert all(match.score < 0.2 for match in [*fitting[1:], *search.search("convert currency euros", k=n)])
    search.close()


def match(rank: int, *, score: float = 0.5, server: str | None = None, reason: Reason = "ranked") -> Match:
    parts = Evidence(cosine=0, dense=0, bm25=0, lexical=0, fused=0, reason=reason)
    return Match(Tool(name=f"tool{rank}", server=server), score, rank, parts)


def take(picker: Picker, ranking: Iterable[Match], allowed: Callable[[Match], bool] = lambda _: True) -> list[str]:
    """The names picked by a caller who keeps what is allowed."""
    for proposed in picker.proposals(ranking):
        if allowed(proposed):
            picker.keep(proposed)
    return [kept.tool.name for kept in picker.picked()]


def servers(letters: str) -> list[Match]:
    return [match(rank, server=None if letter == "-" else letter) for rank, letter in enumerate(letters, 1)]


@pytest.mark.parametrize("k", [0, 1, 3, 9])
def test_the_first_k_are_picked_and_nobody_is_asked_about_more(k: int) -> None:
    asked: list[int] = []

    def allowed(one: Match) -> bool:
        asked.append(one.rank)
        return True

    assert take(Picker(k), servers("abcde"), allowed) == ["tool1", "tool2", "tool3", "tool4", "tool5"][:k]
    assert asked == [1, 2, 3, 4, 5][:k]


def test_a_ranking_is_walked_no_further_than_needed() -> None:
    def endless() -> Iterable[Match]:
        yield from servers("abc")
        pytest.fail("walked on although all places were taken")

    assert take(Picker(2), endless()) == ["tool1", "tool2"]


def test_the_next_takes_the_place_of_one_that_is_denied() -> None:
    assert take(Picker(2), servers("abcde"), lambda one: one.rank not in {1, 3}) == ["tool2", "tool4"]


def test_the_ranks_of_what_was_picked_are_counted_anew() -> None:
    picker = Picker(3)
    take(picker, servers("abcde"), lambda one: one.rank not in {1, 3})
    assert [(kept.tool.name, kept.rank) for kept in picker.picked()] == [("tool2", 1), ("tool4", 2), ("tool5", 3)]


def test_matches_below_the_floor_are_left_out_and_one_on_it_stays() -> None:
    ranking = [match(1, score=0.9), match(2, score=0.3), match(3, score=np.nextafter(0.3, 0))]
    assert take(Picker(5, floor=0.3), ranking) == ["tool1", "tool2"]


@pytest.mark.parametrize(
    ("letters", "k", "cap", "picked"),
    [
        ("aaabc", 3, 1, [1, 4, 5]),
        ("aaabc", 3, 2, [1, 2, 4]),
        ("aaabc", 4, 1, [1, 2, 4, 5]),
        ("aaabc", 5, 1, [1, 2, 3, 4, 5]),
        ("aaaaa", 3, 1, [1, 2, 3]),
        ("aabab", 4, 1, [1, 2, 3, 4]),
        ("-----", 3, 1, [1, 2, 3]),
        ("a-a-b", 4, 1, [1, 2, 4, 5]),
    ],
)
def test_a_server_has_its_share_and_what_was_displaced_comes_back_in_rank_order(
    letters: str, k: int, cap: int, picked: list[int]
) -> None:
    assert take(Picker(k, max_per_server=cap), servers(letters)) == [f"tool{rank}" for rank in picked]


def test_a_denied_match_takes_nothing_of_its_servers_share() -> None:
    assert take(Picker(2, max_per_server=1), servers("aab"), lambda one: one.rank != 1) == ["tool2", "tool3"]


def test_displaced_matches_below_the_floor_do_not_come_back() -> None:
    ranking = [match(1, server="a"), match(2, server="a"), match(3, server="a", score=0.1)]
    assert take(Picker(5, floor=0.2, max_per_server=1), ranking) == ["tool1", "tool2"]


@pytest.mark.parametrize("reason", ["exact-name", "select"])
def test_typed_names_are_under_no_floor_and_no_cap(reason: Reason) -> None:
    ranking = [match(rank, score=0.0, server="a", reason=reason) for rank in (1, 2, 3)]
    assert take(Picker(5, floor=0.9, max_per_server=1), [*ranking, match(4, score=0.1)]) == ["tool1", "tool2", "tool3"]
    others = [match(4, server="b"), match(5, server="c")]
    assert take(Picker(4, max_per_server=1), [*ranking, *others]) == ["tool1", "tool2", "tool3", "tool4"]


def test_failure_24_one_server_that_wins_every_rank_leaves_places_for_others() -> None:
    ranking = servers("e" * 200 + "ab")
    assert take(Picker(5, max_per_server=2), ranking) == ["tool1", "tool2", "tool3", "tool201", "tool202"]


def test_whoever_comes_very_late_is_no_competitor_of_those_displaced() -> None:
    ranking = [*servers("a" * DEPTH), match(DEPTH + 1, server="b")]
    assert take(Picker(3, max_per_server=1), ranking) == ["tool1", "tool2", "tool3"]
    denied = take(Picker(3, max_per_server=1), ranking, lambda one: one.rank in {1, DEPTH + 1})
    assert denied == ["tool1", f"tool{DEPTH + 1}"]


@given(st.text(alphabet="ab-", max_size=12), st.integers(0, 12), st.integers(1, 3))
def test_a_cap_never_makes_a_result_shorter(letters: str, k: int, cap: int) -> None:
    picked = take(Picker(k, max_per_server=cap), servers(letters))
    assert len(picked) == min(k, len(letters))
