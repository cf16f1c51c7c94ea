"""Tool search as its users see it, held against a plain re-implementation of the whole ranking."""

import logging
import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from fakes import WordEncoder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolsearch import Match, Tool, ToolSearch
from toolsearch.cache import CachedEncoder
from toolsearch.catalog import as_tools_leniently
from toolsearch.document import render
from toolsearch.embedding.registry import background
from toolsearch.errors import DuplicateToolError, InvalidToolError, OptionError, UnknownToolError
from toolsearch.lexical import K1, NAME_WEIGHT, UNSEEN, B, analyse
from toolsearch.ranking import DEPTH, LEXICAL_WEIGHT

Make = Callable[..., ToolSearch]

TOOLS = [
    Tool(id="github__create_issue", name="create_issue", server="github", description="Open a ticket for a defect."),
    Tool(id="gitlab__create_issue", name="create_issue", server="gitlab", description="Open a ticket for a defect."),
    Tool(id="github__list_issues", name="list_issues", server="github", description="All tickets of a repository."),
    Tool(name="send_mail", description="Deliver a letter to a person.", aliases=("post_letter",)),
    Tool(name="getForecast", server="weather", description="Rain and temperature for the coming days."),
    Tool(name="convert_currency", server="bank", description="Exchange an amount into other money."),
]
WORDS = [f"{start}{end}" for start in ("ka", "lo", "mi", "nu", "pe", "ro") for end in ("ban", "det", "fir", "gol", "hum", "jix")]  # fmt: skip


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CachedEncoder]:
    with CachedEncoder(WordEncoder(), folder=tmp_path_factory.mktemp("vectors")) as cached:
        yield cached


@pytest.fixture
def make(tmp_path: Path, encoder: CachedEncoder) -> Iterator[Make]:
    """Makes searches, with an encoder of their own and an empty cache where a model is given."""
    made: list[ToolSearch] = []

    def search(tools: Any = TOOLS, model: Any = None) -> ToolSearch:
        made.append(ToolSearch(tools, model=model or encoder, cache_dir=tmp_path))
        return made[-1]

    yield search
    for one in made:
        one.close()


def ids(matches: Sequence[Match]) -> list[str]:
    return [match.tool.id for match in matches]


def random_tools(seed: int, n: int) -> list[Tool]:
    """Tools of random words, on a few servers; words of the front of the list are frequent."""
    draw = np.random.default_rng(seed)
    weights = 1 / np.arange(2, len(WORDS) + 2)

    def said(count: int) -> str:
        return " ".join(draw.choice(WORDS, count, p=weights / weights.sum()))

    return [
        Tool(
            id=f"t{place:04}",
            name=f"tool {said(2)}",
            server=f"server{draw.integers(6)}",
            description=said(int(draw.integers(0, 15))),
        )
        for place in range(n)
    ]


@dataclass(frozen=True)
class Plain:
    """Cosine, BM25 and their fusion for every tool, in numpy and loops, with nothing of the library's indexes."""

    cosine: dict[str, float]
    bm25: dict[str, float]
    fused: dict[str, float]
    score: dict[str, float]

    @classmethod
    def of(cls, tools: Sequence[Tool], query: str) -> "Plain":
        encoder = WordEncoder()
        documents = [render(tool, count=encoder.count_tokens, limit=encoder.max_tokens) for tool in tools]
        vectors = encoder.encode([document.text for document in documents], "document").astype(float)
        cosine = vectors @ encoder.encode([query], "query")[0].astype(float)
        usual = background(encoder)
        rows = [
            analyse(document.words) + analyse(tool.name) * NAME_WEIGHT
            for document, tool in zip(documents, tools, strict=True)
        ]
        mean_length = np.mean([len(row) for row in rows])
        bm25, attainable = np.zeros(len(rows)), 0.0
        for term in set(analyse(query)):
            df = sum(term in row for row in rows)
            idf = math.log(1 + (len(rows) + UNSEEN - df + 0.5) / (df + 0.5))
            attainable += idf
            for place, row in enumerate(rows):
                tf = row.count(term)
                bm25[place] += idf * tf / (tf + K1 * (1 - B + B * len(row) / mean_length))
        fused = (cosine - usual.mean) / usual.deviation + LEXICAL_WEIGHT * bm25
        best = (1 - usual.mean) / usual.deviation + LEXICAL_WEIGHT * attainable
        even = (0.6 * best**0.25 * math.log(len(tools) + 20)) ** 3
        risen = np.maximum(fused, 0) ** 3
        score = np.minimum(risen / (risen + even) * (best**3 + even) / best**3, 1)
        names = [tool.id for tool in tools]
        return cls(*(dict(zip(names, part.tolist(), strict=True)) for part in (cosine, bm25, fused, score)))


def assert_ranked_as(plain: Plain, found: Sequence[Match], allowed: set[str]) -> None:
    """The best by plain arithmetic, with its evidence and scores; ranks from 1, ties in name order."""
    for match in found:
        name, parts = match.tool.id, match.evidence
        ours = (parts.cosine, parts.bm25, parts.fused, match.score)
        assert ours == pytest.approx(
            (plain.cosine[name], plain.bm25[name], plain.fused[name], plain.score[name]), abs=1e-5
        )
    keys = [(-match.evidence.fused, match.tool.name, match.tool.id) for match in found]
    assert keys == sorted(keys)
    assert [match.rank for match in found] == list(range(1, len(found) + 1))
    best = sorted((plain.fused[name] for name in allowed), reverse=True)[: len(found)]
    assert [match.evidence.fused for match in found] == pytest.approx(best, abs=1e-5)


phrase = st.lists(st.sampled_from(WORDS[:12]), max_size=6).map(" ".join)
some_tool = st.builds(lambda name, said, server: {"name": f"tool {name}", "description": said, "server": server}, phrase, phrase, st.sampled_from([None, "kaban", "beta"]))  # fmt: skip


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(some_tool, min_size=1, max_size=15), phrase.filter(bool), st.integers(0, 20))
def test_a_ranking_is_that_of_plain_arithmetic(
    encoder: CachedEncoder, fields: list[dict[str, Any]], query: str, k: int
) -> None:
    tools = [Tool(id=f"t{place}", **one) for place, one in enumerate(fields)]
    found = ToolSearch(tools, model=encoder).search(query, k=k)
    assert len(found) == min(k, len(tools))
    assert_ranked_as(Plain.of(tools, query), found, {tool.id for tool in tools})


@pytest.mark.parametrize("n", [DEPTH - 1, DEPTH + 1, 900])
def test_a_large_catalog_is_ranked_like_plain_arithmetic_too(n: int, encoder: CachedEncoder) -> None:
    tools = random_tools(n, n)
    query = "kaban lodet mifir nugol"
    found = ToolSearch(tools, model=encoder).search(query, k=20)
    assert_ranked_as(Plain.of(tools, query), found, {tool.id for tool in tools})


@pytest.mark.parametrize("share", [0.002, 0.1, 0.5])
def test_where_restricts_the_rows_before_the_best_are_taken(share: float, encoder: CachedEncoder) -> None:
    tools, query = random_tools(1, 700), "kaban lodet mifir"
    draw = np.random.default_rng(2)
    allowed = {tool.id for tool in tools if draw.random() < share}
    found = ToolSearch(tools, model=encoder).search(query, k=20, where=lambda tool: tool.id in allowed)
    assert len(found) == min(20, len(allowed))
    assert_ranked_as(Plain.of(tools, query), found, allowed)


@pytest.mark.parametrize("query", ["open a ticket", "create_issue", "select:send_mail,create_issue", "kaban lodet"])
@pytest.mark.parametrize("n", [0, 500])
def test_a_where_that_is_always_true_changes_no_tool_and_no_bit_of_a_score(query: str, n: int, make: Make) -> None:
    search = make([*TOOLS, *random_tools(3, n)])
    assert search.search(query, k=50, where=lambda _: True) == search.search(query, k=50)


def test_a_where_that_lets_nothing_through_gives_nothing(make: Make) -> None:
    for query in ("open a ticket", "send_mail", "select:send_mail"):
        assert make().search(query, where=lambda _: False) == []


def test_a_where_says_true_or_false_in_its_own_way(make: Make) -> None:
    allowed: dict[str, Any] = {"send_mail": "yes", "getForecast": 1, "convert_currency": None}
    found = make().search("open a ticket", k=9, where=lambda tool: allowed.get(tool.id, ""))
    assert sorted(ids(found)) == ["getForecast", "send_mail"]


@pytest.mark.parametrize(
    "query",
    [
        "getForecast",
        "get_forecast",
        "GET FORECAST",
        "get-forecast",
        "weather.get forecast",
        "weather__getForecast",
    ],
)
def test_failure_2_a_typed_name_comes_first_with_score_1_also_alone(query: str, make: Make) -> None:
    (match,) = make().search(query, k=1)
    assert (match.tool.id, match.score, match.rank, match.evidence.reason) == ("getForecast", 1.0, 1, "exact-name")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("github.create issue", "github__create_issue"),
        ("gitlab__create_issue", "gitlab__create_issue"),
        ("post letter", "send_mail"),
        ("LIST_ISSUES", "github__list_issues"),
    ],
)
def test_failure_2_server_and_name_suffix_and_alias_are_names(query: str, first: str, make: Make) -> None:
    assert ids(make().search(query, k=1)) == [first]


@pytest.mark.parametrize("typed", ["createReport", "create_report", "Create-Report"])
def test_failure_2_the_very_same_spelling_comes_before_others_in_name_order(typed: str, make: Make) -> None:
    names = ["Create-Report", "createReport", "create_report"]
    search = make([Tool(name=name, description="the very same words") for name in names])
    assert ids(search.search(f" {typed} ")) == [typed, *(name for name in names if name != typed)]


def test_failure_2_a_typed_name_survives_any_number_of_better_ones(encoder: CachedEncoder) -> None:
    rivals = [Tool(id=f"r{n}", name="report", description="close the books " * 3) for n in range(2 * DEPTH)]
    search = ToolSearch([*rivals, Tool(name="close_the_books", description="x y z " * 60)], model=encoder)
    assert ids(search.search("close the books", k=1)) == ["close_the_books"]


def test_failure_20_an_ambiguous_short_name_lists_both_first(make: Make) -> None:
    found = make().search("create_issue", k=3)
    assert ids(found)[:2] == ["github__create_issue", "gitlab__create_issue"]
    assert [match.evidence.reason for match in found] == ["exact-name", "exact-name", "ranked"]


def test_evidence_of_a_typed_name_is_that_of_its_document(make: Make) -> None:
    query = "create issue"
    plain = Plain.of(TOOLS, query)
    match = make().search(query, k=1)[0]
    parts = (match.evidence.cosine, match.evidence.bm25, match.evidence.fused)
    name = match.tool.id
    assert parts == pytest.approx((plain.cosine[name], plain.bm25[name], plain.fused[name]), abs=1e-5)


@pytest.mark.parametrize(
    ("query", "k", "expected"),
    [
        ("select:send_mail,getForecast", 5, ["send_mail", "getForecast"]),
        ("select:getForecast, send mail, getForecast", 5, ["getForecast", "send_mail"]),
        ("SELECT:send_mail,getForecast,convert_currency", 1, ["send_mail", "getForecast", "convert_currency"]),
        ("select:nowhere,send_mail", 5, ["send_mail"]),
        ("select:create_issue", 5, ["github__create_issue", "gitlab__create_issue"]),
        ("select:nowhere", 5, []),
        ("select:", 5, []),
        ("select:send_mail", 0, []),
    ],
)
def test_failure_2_a_select_gives_exactly_its_tools_in_its_order(
    query: str, k: int, expected: list[str], make: Make
) -> None:
    found = make().search(query, k=k, min_score=1.0, max_per_server=1)
    assert ids(found) == expected
    assert [match.rank for match in found] == list(range(1, len(expected) + 1))
    assert {match.evidence.reason for match in found} <= {"select"}


def test_a_select_of_an_id_gives_that_tool_alone_though_others_answer_to_the_name(make: Make) -> None:
    search = make([Tool(id="a__get", name="get"), Tool(id="get", name="get"), Tool(id="b__get", name="get")])
    assert ids(search.search("select:get")) == ["get"]
    assert ids(search.search("select:get", where=lambda tool: tool.id != "get")) == ["a__get", "b__get"]


def test_failure_20_two_tools_with_one_text_are_two_results_with_one_score_in_name_order(make: Make) -> None:
    copies = [Tool(id=name, name="fetch", description="Reads a page.") for name in ("c", "a", "d", "b")]
    found = make([*copies, *TOOLS]).search("read a page", k=4)
    assert ids(found) == ["a", "b", "c", "d"]
    assert len({match.score for match in found}) == 1


def test_ties_fall_in_name_order_however_many_there_are(encoder: CachedEncoder) -> None:
    copies = [Tool(id=f"c{n:03}", name="fetch", description="Reads a page.") for n in range(3 * DEPTH)]
    random.Random(0).shuffle(copies)
    search = ToolSearch([*random_tools(4, 50), *copies], model=encoder)
    for query in ("read a page", "page", "nothing alike"):
        ours = [name for name in ids(search.search(query, k=900)) if name.startswith("c")]
        assert ours == sorted(ours)
    assert ids(search.search("read a page", k=3)) == ["c000", "c001", "c002"]


@pytest.mark.parametrize("n", [40, DEPTH + 50])
def test_the_order_of_the_catalog_does_not_change_a_ranking(n: int, encoder: CachedEncoder) -> None:
    tools = [*TOOLS, *random_tools(5, n)]
    shuffled = random.Random(1).sample(tools, len(tools))
    searches = [ToolSearch(order, model=encoder) for order in (tools, shuffled)]
    for query in ("open a ticket", "kaban lodet mifir", "create_issue"):
        one, other = (search.search(query, k=30) for search in searches)
        assert ids(one) == ids(other)
        assert [match.score for match in one] == pytest.approx([match.score for match in other], abs=1e-9)


def test_scores_never_increase_down_a_ranking_and_stay_in_0_to_1(encoder: CachedEncoder) -> None:
    search = ToolSearch(random_tools(6, 900), model=encoder)
    for query in ("kaban", "kaban lodet mifir nugol", "of nothing here"):
        found = search.search(query, k=2_000)
        scores = [match.score for match in found]
        assert len(set(ids(found))) == 900
        assert scores == sorted(scores, reverse=True)
        assert 0 <= scores[-1] <= scores[0] <= 1


def test_k_beyond_the_catalog_gives_every_tool_once_and_0_none(make: Make) -> None:
    search = make()
    assert sorted(ids(search.search("open a ticket", k=100))) == sorted(tool.id for tool in TOOLS)
    assert search.search("open a ticket", k=0) == []
    assert search.search("send_mail", k=0) == []


def test_five_are_returned_unless_said_otherwise(make: Make) -> None:
    assert len(make().search("open a ticket")) == 5


@pytest.mark.parametrize("query", ["open a ticket", "select:a", "create_issue", ""])
def test_a_catalog_without_tools_has_nothing_to_find(query: str, make: Make) -> None:
    assert make([]).search(query, where=lambda _: True) == []
    assert make([]).search_many([query, query]) == [[], []]


@pytest.mark.parametrize("query", ["", "   ", "\n\t", "?!", "...", "🌦", "\u200b", "x " * 500_000])
def test_what_cannot_be_searched_for_gives_nothing_and_embeds_nothing(query: str, make: Make) -> None:
    encoder = WordEncoder()
    search = make(model=encoder)
    before = encoder.texts_seen
    assert search.search(query) == []
    assert encoder.texts_seen == before


@pytest.mark.parametrize("query", [None, 7, b"open", ["open"], object()])
def test_a_query_that_is_no_string_is_a_type_error(query: Any, make: Make) -> None:
    search = make()
    with pytest.raises(TypeError, match=f"string, not {type(query).__name__}"):
        search.search(query)
    with pytest.raises(TypeError, match="string"):
        search.search_many(["open", query])
    with pytest.raises(TypeError, match="string"):
        search.explain(query, "send_mail")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"k": -1}, "k"),
        ({"min_score": -0.1}, "min_score"),
        ({"min_score": 1.1}, "min_score"),
        ({"min_score": math.nan}, "min_score"),
        ({"max_per_server": 0}, "max_per_server"),
        ({"max_per_server": -1}, "max_per_server"),
    ],
)
def test_an_option_out_of_range_is_an_error_that_names_it(options: dict[str, Any], named: str, make: Make) -> None:
    with pytest.raises(OptionError) as caught:
        make().search("open a ticket", **options)
    assert caught.value.option == named


def test_min_score_is_compared_with_the_score_as_it_is_not_as_it_is_shown(make: Make) -> None:
    search = make()
    everything = search.search("open a ticket for a defect", k=9)
    floor = everything[2].score
    assert search.search("open a ticket for a defect", k=9, min_score=floor) == everything[:3]
    above = float(np.nextafter(floor, 1))
    assert round(above, 4) == round(floor, 4)
    assert search.search("open a ticket for a defect", k=9, min_score=above) == everything[:2]


def test_failure_6_nothing_fills_up_to_k_what_scores_too_little(make: Make) -> None:
    assert make().search("xylophone quartet", min_score=0.3) == []


def test_min_score_does_not_cut_a_typed_name(make: Make) -> None:
    assert ids(make().search("send_mail", k=3, min_score=1.0)) == ["send_mail"]


def test_failure_24_a_server_takes_its_share_while_others_match_and_the_rest_when_they_do_not(make: Make) -> None:
    poisoned = [
        Tool(id=f"evil_{n}", name=f"evil_{n}", server="evil", description="open a ticket for a defect") for n in "abcd"
    ]
    search = make([*poisoned, *TOOLS])
    query = "open a ticket for a defect"
    free, bound = search.search(query, k=5), search.search(query, k=5, max_per_server=1)
    assert [match.tool.server for match in free].count("evil") >= 3
    assert [match.tool.server for match in bound].count("evil") == 1
    assert len(bound) == 5
    alone = search.search(query, k=3, max_per_server=1, where=lambda tool: tool.server == "evil")
    assert ids(alone) == [match.tool.id for match in free if match.tool.server == "evil"][:3]


def test_search_many_gives_what_one_search_after_another_gives_and_encodes_once(make: Make) -> None:
    encoder = WordEncoder()
    search = make(model=encoder)
    queries = ["open a ticket", "send_mail", "", "select:getForecast", "money", "open a ticket"]
    one_by_one = [search.search(query, k=4, max_per_server=1, min_score=0.01) for query in queries]
    fresh = make(model=encoder)
    before = encoder.calls
    assert search.search_many(queries, k=4, max_per_server=1, min_score=0.01) == one_by_one
    assert fresh.search_many([*queries, "brand new", "newer"], k=4)[:1] == [search.search(queries[0], k=4)]
    assert encoder.calls == before + 1
    assert search.search_many([]) == []


@pytest.mark.parametrize(
    "query", ["open a ticket", "create_issue", "money of a person", "select:send_mail,getForecast"]
)
def test_explain_agrees_with_search(query: str, make: Make) -> None:
    search = make()
    for match in search.search(query, k=100):
        explained = search.explain(query, match.tool.id)
        assert (explained.match, explained.query, explained.of) == (match, query, len(TOOLS))


def test_explain_agrees_with_search_beyond_the_first_candidates(encoder: CachedEncoder) -> None:
    search = ToolSearch(random_tools(7, 600), model=encoder)
    ranking = search.search("kaban lodet", k=600)
    for place in (0, DEPTH - 1, DEPTH, 599):
        assert search.explain("kaban lodet", ranking[place].tool.id).match == ranking[place]


def test_explain_shows_the_document_and_the_terms_that_query_and_tool_share(make: Make) -> None:
    explained = make().explain("createIssue: a ticket, please, a ticket", "github__create_issue")
    assert explained.document == "github create issue: Open a ticket for a defect."
    assert explained.shared_terms == ("create", "issue", "createissue", "ticket")


def test_explain_says_what_cannot_be_explained(make: Make) -> None:
    search = make()
    with pytest.raises(UnknownToolError, match="send_mail"):
        search.explain("open a ticket", "send_mial")
    with pytest.raises(OptionError, match="empty"):
        search.explain(" ?", "send_mail")
    with pytest.raises(OptionError, match="select"):
        search.explain("select:getForecast", "send_mail")


@pytest.mark.parametrize("name", ["a name with spaces", "github.create/issue", "x" * 100, "search_tools", "日本"])
def test_any_unique_id_is_searched_and_found(name: str, make: Make) -> None:
    assert ids(make([*TOOLS, Tool(id=name, name="run")]).search(name, k=1)) == [name]


def test_two_tools_of_one_id_are_an_error_and_one_object_twice_is_one_tool(make: Make) -> None:
    assert len(make([TOOLS[0], TOOLS[0]]).catalog) == 1
    with pytest.raises(DuplicateToolError):
        make([Tool(name="run"), Tool(name="run", description="x")])


def test_a_tool_without_a_description_is_found_by_its_name_and_a_warning_names_it(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        search = make([*TOOLS, Tool(name="resize_image", parameters={"properties": {"width": {}}})])
    assert ids(search.search("resize the image", k=1)) == ["resize_image"]
    assert ids(search.search("width", k=1)) == ["resize_image"]
    assert "resize_image" in caplog.text


def test_failure_17_a_known_tool_is_never_embedded_again(make: Make) -> None:
    first, second = WordEncoder(), WordEncoder()
    make(model=first).close()
    make([*TOOLS, Tool(name="one_more")], model=second)
    assert (first.texts_seen, second.texts_seen) == (len(TOOLS), 1)


def test_failure_15_a_changed_tool_is_found_by_its_new_text(make: Make) -> None:
    changed = [tool.model_copy(update={"description": "Paint a fence."}) if tool.id == "send_mail" else tool for tool in TOOLS]  # fmt: skip
    before, after = make(), make(changed)
    assert ids(after.search("paint a fence", k=1)) == ["send_mail"]
    old, new = (search.explain("deliver a letter", "send_mail").match.score for search in (before, after))
    assert new < old


@pytest.mark.parametrize("odd", [object(), {"default": b"\xff"}, {"\ud800": {}}])
def test_a_tool_whose_schema_is_not_json_is_an_error_that_names_it_and_the_field(odd: Any, make: Make) -> None:
    bad = Tool(name="run", parameters={"properties": {"a": odd}})
    with pytest.raises(InvalidToolError, match=r"'run', field 'parameters': is not JSON"):
        make([*TOOLS, bad])
    good, errors = as_tools_leniently([*TOOLS, bad])
    assert (good, len(errors)) == (TOOLS, 1)


@pytest.mark.parametrize(
    "parameters", [{"properties": None}, {"properties": ["a"]}, {"properties": {7: {"description": "half \ud83d"}}}, {}]
)
def test_a_tool_with_a_malformed_schema_is_found_all_the_same(parameters: dict[str, Any], make: Make) -> None:
    search = make([*TOOLS, Tool(name="resize_image", description="Width of a picture.", parameters=parameters)])
    assert ids(search.search("picture width", k=1)) == ["resize_image"]


REQUEST = [
    Tool(name="resize_image", description="Width and height of a picture."),
    Tool(name="send_mail", description="Deliver a parcel by drone.", overrides=True),
]


def view_ranking(search: ToolSearch, query: str, tools: Sequence[Tool], *replaced: str) -> list[Match]:
    (vector,) = search.encode([query])
    return list(search.view(tools, replaced=replaced).ranking(query, vector))


@pytest.mark.parametrize("n", [0, DEPTH])
def test_a_view_ranks_like_a_search_built_from_scratch_on_the_union(n: int, make: Make) -> None:
    many = random_tools(8, 2 * n)
    static, request = [*TOOLS, *many[:n]], [*REQUEST, *many[n:]]
    search = make(static)
    built = make([*(tool for tool in static if tool.id != "send_mail"), *request])
    for query in ("deliver a parcel", "picture of a ticket", "kaban lodet", "send_mail", "select:send_mail"):
        expected = built.search(query, k=10_000)
        found = view_ranking(search, query, request, "send_mail")
        assert ids(found) == ids(expected)
        assert [match.score for match in found] == pytest.approx([match.score for match in expected], abs=1e-6)
        assert [match.rank for match in found] == [match.rank for match in expected]


def test_a_replaced_tool_is_neither_found_nor_counted(make: Make) -> None:
    search = make()
    found = view_ranking(search, "send_mail", (), "send_mail")
    assert sorted(ids(found)) == sorted(tool.id for tool in TOOLS if tool.id != "send_mail")
    assert search.view((), replaced=["send_mail"]).corpus.n == len(TOOLS) - 1


def test_the_tools_of_a_view_are_the_requests_own_objects(make: Make) -> None:
    search = make()
    for caller in ("alice", "bob"):
        mine = [Tool(name="read_mail", description="Mail of the caller.", original=caller)]
        assert view_ranking(search, "mail of the caller", mine)[0].tool is mine[0]


def test_failure_17_request_tools_seen_before_embed_nothing_and_assemble_nothing(make: Make) -> None:
    encoder = WordEncoder()
    search = make(model=encoder)
    first = search.view(REQUEST, replaced=["send_mail"])
    before = encoder.texts_seen
    again = search.view([tool.model_copy() for tool in REQUEST], replaced=["send_mail"])
    assert encoder.texts_seen == before
    assert [one is other for one, other in zip(first.corpus.segments, again.corpus.segments, strict=True)] == [True] * 2


def test_of_a_changed_set_only_what_is_new_is_rendered_and_embedded(make: Make) -> None:
    class Counting(WordEncoder):
        counted: ClassVar[list[str]] = []

        def count_tokens(self, text: str) -> int:
            self.counted.append(text)
            return super().count_tokens(text)

    encoder = Counting()
    search = make(model=encoder)
    search.view(REQUEST)
    before = encoder.texts_seen
    encoder.counted.clear()
    search.view([*reversed(REQUEST), Tool(name="one_more")])
    assert encoder.texts_seen == before + 1
    assert encoder.counted == ["one more"]


def test_a_view_without_tools_of_its_own_is_the_catalogs(make: Make) -> None:
    search = make()
    assert search.view() is search.view()


def test_a_view_does_not_change_what_others_search(make: Make) -> None:
    search = make()
    before = search.search("deliver a parcel", k=9)
    view_ranking(search, "deliver a parcel", REQUEST, "send_mail")
    assert search.search("deliver a parcel", k=9) == before


def test_searching_goes_on_after_close(make: Make) -> None:
    search = make()
    before = search.search("open a ticket")
    search.close()
    search.close()
    assert search.search("open a ticket") == before


def test_a_single_string_is_no_list_of_queries(make: Make) -> None:
    with pytest.raises(TypeError, match="takes a list of queries"):
        make().search_many("send a mail")


def test_closing_a_search_leaves_a_cache_alone_that_the_caller_gave(tmp_path: Path) -> None:
    shared = CachedEncoder(WordEncoder(), folder=tmp_path)
    ToolSearch(TOOLS, model=shared).close()
    shared.encode(["written after the close"], "query")
    shared.close()
    fresh = CachedEncoder(WordEncoder(), folder=tmp_path)
    fresh.encode(["written after the close"], "query")
    assert fresh.stats().misses == 0
    fresh.close()
