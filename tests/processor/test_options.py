"""The options: defaults, both spellings, and every wrong one an error at construction."""

from typing import Any

import pytest
from fakes import WordEncoder
from office import SYNC, Make, beside_meta, found, tool

from toolsearch.errors import OptionError
from toolsearch.processor import SearchOptions, ToolSearchProcessor
from toolsearch.processor.options import Settings, checked


def refused(make: Make, **options: Any) -> OptionError:
    with pytest.raises(OptionError) as caught:
        make(**options)
    return caught.value


def test_the_processor_has_the_id_and_the_name_that_its_users_know() -> None:
    assert (ToolSearchProcessor.id, ToolSearchProcessor.name) == ("tool-search", "Tool Search Processor")


def test_the_defaults_are_the_documented_ones() -> None:
    settings = Settings()
    assert (settings.include_resolved_tools, settings.inject_catalog, settings.unload) == (False, False, False)
    assert (settings.storage, settings.ttl, settings.anonymous) == ("in-memory", 3_600_000, "run")
    assert (settings.pinned, settings.max_threads) == ((), 10_000)
    search = settings.search
    assert (search.top_k, search.auto_load, search.max_queries, search.max_fruitless) == (5, False, 5, 3)


def test_the_default_threshold_cuts_what_shares_nothing_with_the_query(make: Make) -> None:
    step = SYNC.step(make(search={"top_k": 50}))
    names = found(step.call("search_tools", {"query": "tide tables for a harbour"}).content)
    assert names[0] == "get_tides"
    assert len(names) < 8


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ({"topK": 1}, {"top_k": 1}),
        ({"minScore": 0.5}, {"min_score": 0.5}),
        ({"autoLoad": True}, {"auto_load": True}),
        ({"maxQueries": 2}, {"max_queries": 2}),
        ({"maxPerServer": 2}, {"max_per_server": 2}),
        ({"maxFruitless": 2}, {"max_fruitless": 2}),
        ({"maxTokens": 300}, {"max_tokens": 300}),
    ],
)
def test_search_options_load_in_both_spellings(camel: dict[str, Any], snake: dict[str, Any]) -> None:
    assert checked(SearchOptions, camel) == checked(SearchOptions, snake) != SearchOptions()


@pytest.mark.parametrize(
    ("camel", "snake"),
    [
        ({"includeResolvedTools": True}, {"include_resolved_tools": True}),
        ({"injectCatalog": True}, {"inject_catalog": True}),
        ({"maxThreads": 7}, {"max_threads": 7}),
        ({"cacheDir": "x"}, {"cache_dir": "x"}),
    ],
)
def test_settings_load_in_both_spellings(camel: dict[str, Any], snake: dict[str, Any]) -> None:
    assert checked(Settings, camel) == checked(Settings, snake) != Settings()


def test_camel_case_reaches_the_processor(make: Make) -> None:
    processor = make(search={"topK": 1, "autoLoad": True}, includeResolvedTools=True)
    step = SYNC.step(processor, tools=[{"name": "extra", "description": "extra", "parameters": {}}])
    assert list(step.tools) == ["search_tools"]
    assert len(found(step.call("search_tools", {"query": "email message"}).content)) == 1


def test_the_cache_folder_may_come_in_camel_case(tmp_path: Any) -> None:
    options: dict[str, Any] = {"cacheDir": tmp_path / "here"}
    with ToolSearchProcessor([], model=WordEncoder(), **options) as processor:
        assert processor.catalog.encoder.folder == tmp_path / "here"


@pytest.mark.parametrize(
    ("options", "option", "nearest"),
    [
        ({"injectCatalogue": True}, "injectCatalogue", "injectCatalog"),
        ({"inject_catalogue": True}, "inject_catalogue", "inject_catalog"),
        ({"fliter": None}, "fliter", "filter"),
        ({"modle": None}, "modle", "model"),
        ({"search": {"topk": 3}}, "search.topk", "top_k"),
        ({"search": {"top_kk": 3}}, "search.top_kk", "top_k"),
        ({"search": {"minscore": 0.1}}, "search.minscore", "min_score"),
        ({"search": {"autoload": True}}, "search.autoload", "auto_load"),
    ],
)
def test_an_unknown_option_is_an_error_that_names_the_nearest_known_one(
    make: Make, options: dict[str, Any], option: str, nearest: str
) -> None:
    error = refused(make, **options)
    assert (error.option, error.nearest) == (option, nearest)
    assert nearest in str(error)


def test_options_written_as_a_class_are_checked_like_those_of_a_mapping() -> None:
    wrong: dict[str, Any] = {"topk": 3}
    with pytest.raises(OptionError) as caught:
        SearchOptions(**wrong)
    assert (caught.value.option, caught.value.nearest) == ("search.topk", "top_k")


@pytest.mark.parametrize(
    "search",
    [
        {"top_k": -1},
        {"top_k": 2.5},
        {"top_k": "5"},
        {"top_k": True},
        {"min_score": -0.01},
        {"min_score": 1.01},
        {"min_score": float("nan")},
        {"min_score": "0.5"},
        {"min_score": True},
        {"min_score": None},
        {"auto_load": "yes"},
        {"auto_load": 1},
        {"max_queries": 0},
        {"max_per_server": 0},
        {"max_fruitless": 0},
        {"max_tokens": 0},
    ],
)
def test_a_search_option_out_of_range_or_of_the_wrong_type_is_an_error_at_construction(
    make: Make, search: dict[str, Any]
) -> None:
    assert refused(make, search=search).option == f"search.{next(iter(search))}"


@pytest.mark.parametrize(
    "options",
    [
        {"search": 5},
        {"storage": "disk"},
        {"storage": object()},
        {"ttl": -1},
        {"ttl": float("inf")},
        {"ttl": "1 hour"},
        {"anonymous": "everybody"},
        {"max_threads": 0},
        {"pinned": "send_mail"},
        {"unload": "no"},
        {"include_resolved_tools": 1},
        {"inject_catalog": "true"},
        {"filter": "everything"},
    ],
)
def test_an_option_out_of_range_or_of_the_wrong_type_is_an_error_at_construction(
    make: Make, options: dict[str, Any]
) -> None:
    assert refused(make, **options).option == next(iter(options))


@pytest.mark.parametrize("score", [0, 0.0, 1, 1.0, 0.25])
def test_any_number_from_0_to_1_is_a_threshold(make: Make, score: float) -> None:
    make(search={"min_score": score})


@pytest.mark.parametrize(
    ("options", "share"),
    [({}, 4), ({"top_k": 3}, 4), ({"top_k": 10}, 9), ({"top_k": 10, "max_per_server": 2}, 2)],
)
def test_the_default_share_of_a_server_grows_with_top_k(make: Make, options: dict[str, Any], share: int) -> None:
    post = [tool(f"post_{n:02}", "Send an email message", server="post") for n in range(12)]
    rivals = [tool(f"rival_{n:02}", "A message", server=f"rival {n}") for n in range(12)]
    step = SYNC.step(make([*post, *rivals], search={"min_score": 0, **options}))
    names = found(step.call("search_tools", {"query": "email message"}).content)
    assert sum(name.startswith("post") for name in names) == min(share, options.get("top_k", 5))


def test_top_k_0_gives_no_result_not_even_an_exact_name(make: Make) -> None:
    step = SYNC.step(make(search={"top_k": 0}))
    for query in ("email message", "send_mail", "select:send_mail"):
        assert found(step.call("search_tools", {"query": query}).content) == []


def test_a_summary_of_the_servers_is_refused_beside_a_filter_that_may_hide_them(make: Make) -> None:
    assert refused(make, inject_summary=True, filter=lambda **_: True).option == "inject_summary"


def test_unload_needs_a_store_that_can_remove(make: Make) -> None:
    class Memory:
        def get(self, key: object) -> list[str]:
            return []

        def add(self, key: object, names: list[str]) -> list[str]:
            return names

    assert refused(make, storage=Memory(), unload=True).option == "unload"
    assert "unload_tool" not in SYNC.step(make(storage=Memory())).tools


def test_options_may_be_left_out_altogether(make: Make) -> None:
    assert beside_meta(SYNC.step(make())) == []
