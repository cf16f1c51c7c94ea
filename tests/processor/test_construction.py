"""Construction: what the processor takes, copies, embeds and refuses."""

import logging
from typing import Any

import pytest
from fakes import WordEncoder
from office import SYNC, Make, Talk, catalog, found, tool

from toolsearch.errors import DuplicateToolError, IllegalNameError, InvalidToolError, ReservedNameError
from toolsearch.tool import Tool


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]


def test_no_tools_at_all_constructs_and_searching_says_that_nothing_matches(make: Make) -> None:
    none: list[Any] = [[], {}, ()]
    for empty in none:
        answer = SYNC.step(make(empty)).call("search_tools", {"query": "send an email"}).content
        assert answer["results"] == []
        assert answer["message"].startswith("No tool fits")


def test_tools_of_every_shape_come_in_a_mapping_or_an_iterable(make: Make) -> None:
    def send_mail(to: str) -> str:
        """Send an email message."""
        return f"sent to {to}"

    definition = {"name": "weather", "description": "Weather forecast", "input_schema": {"type": "object"}}
    for tools in ({"mail": send_mail, "weather": definition}, iter([send_mail, definition])):
        assert len(make(tools).catalog.catalog) == 2


def test_the_container_is_copied_so_that_a_later_change_to_it_changes_nothing(make: Make) -> None:
    tools = {one.id: one for one in catalog()}
    processor = make(tools)
    tools.clear()
    assert found(SYNC.step(processor).call("search_tools", {"query": "get_weather"}).content)[0] == "get_weather"


def test_the_tools_are_never_copied(make: Make) -> None:
    weather = {"name": "weather", "description": "Weather forecast", "input_schema": {"type": "object"}}
    talk = Talk(make({"weather": weather}), {"thread_id": "t"})
    talk.load("weather")
    assert talk.step().tools["weather"] is weather


def test_the_callable_name_of_a_tool_is_its_id_or_its_key_where_it_has_none(make: Make) -> None:
    def function() -> None:
        """Do something."""

    tools = {"by_key": function, "other_key": Tool(id="by_id", name="short", description="Do")}
    assert make(tools).catalog.catalog.ids == ("by_key", "by_id")


def test_static_tools_are_embedded_at_construction_and_not_again(make: Make) -> None:
    encoder = WordEncoder()
    processor = make(model=encoder)
    assert [role for role, _ in encoder.seen] == ["document"] * len(catalog())
    SYNC.step(processor).call("search_tools", {"query": "email"})
    assert [role for role, _ in encoder.seen][len(catalog()) :] == ["query"]


def test_static_tools_come_from_the_cache_where_possible(make: Make) -> None:
    make()
    second = WordEncoder()
    make(model=second)
    assert second.texts_seen == 0


def test_two_tools_of_one_callable_name_are_an_error_that_names_both_owners(make: Make) -> None:
    with pytest.raises(DuplicateToolError) as caught:
        make([tool("pay", "one", server="bank"), tool("pay", "two", server="shop")])
    assert caught.value.owners == ("'pay' of server 'bank'", "'pay' of server 'shop'")
    assert all(owner in str(caught.value) for owner in caught.value.owners)
    assert "another id" in str(caught.value)


def test_the_same_object_given_twice_is_no_clash(make: Make) -> None:
    pay = tool("pay", "Pay an invoice")
    assert make([pay, pay]).catalog.catalog.ids == ("pay",)


@pytest.mark.parametrize("name", ["search_tools", "load_tool", "unload_tool"])
@pytest.mark.parametrize("options", [{}, {"search": {"auto_load": True}}, {"unload": True}])
def test_the_names_of_the_meta_tools_are_reserved_whatever_the_mode(
    make: Make, name: str, options: dict[str, Any]
) -> None:
    for tools in ([tool(name, "mine")], [tool("fine", "mine", aliases=(name,))]):
        with pytest.raises(ReservedNameError) as caught:
            make(tools, **options)
        assert (caught.value.name, caught.value.legal in str(caught.value)) == (name, True)


def test_an_alias_that_is_another_tools_name_is_an_error_that_names_both_owners(make: Make) -> None:
    with pytest.raises(DuplicateToolError) as caught:
        make([tool("pay", "one", server="bank"), tool("buy", "two", server="shop", aliases=("pay",))])
    assert caught.value.owners == ("'pay' of server 'bank'", "'buy' of server 'shop'")


@pytest.mark.parametrize("name", ["two words", "new\nline", "dot.ted", "x" * 65, "émile", "pаypal"])
def test_an_illegal_callable_name_is_an_error_that_offers_a_legal_one(make: Make, name: str) -> None:
    with pytest.raises(IllegalNameError) as caught:
        make([Tool(id=name, name="short", description="something")])
    assert (caught.value.name, caught.value.legal in str(caught.value)) == (name, True)
    make([Tool(id=caught.value.legal, name="short", description="something")])


def test_names_that_look_alike_are_warned_of_and_both_are_named(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    make([tool("paypal", "pay"), tool("paypa1", "pay")])
    assert [("paypal" in text, "paypa1" in text) for text in warnings_of(caplog) if "alike" in text] == [(True, True)]


def test_a_tool_without_a_description_is_indexed_by_name_and_parameters_and_a_warning_names_it(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    processor = make([tool("fetch_invoice", needs=["customer"]), *catalog()])
    assert "fetch_invoice" in " ".join(warnings_of(caplog))
    for query in ("fetching invoices", "the customer"):
        assert "fetch_invoice" in found(SYNC.step(processor).call("search_tools", {"query": query}).content)


def test_a_bad_tool_is_an_error_that_names_the_tool_and_the_field(make: Make) -> None:
    with pytest.raises(InvalidToolError) as caught:
        make({"broken": {"name": "broken", "description": 5, "parameters": {}}})
    assert (caught.value.tool, caught.value.field) == ("broken", "description")


def test_a_monstrous_description_is_cut_and_cleaned_for_display_and_the_tool_keeps_it(make: Make) -> None:
    monster = "Measure\u202e the\u200b moon\x00 \n" + "x" * 100_000
    measure = tool("measure_moon", monster)
    talk = Talk(make([measure]), {"thread_id": "t"})
    (result,) = talk.search("measure the moon")["results"]
    assert result["description"].startswith("Measure the moon xxx")
    assert len(result["description"]) == 150
    talk.load("measure_moon")
    assert talk.step().tools["measure_moon"] is measure
    assert measure.description == monster


def test_the_processor_is_a_context_manager_and_closing_it_twice_is_fine(make: Make) -> None:
    with make() as processor:
        SYNC.step(processor)
    processor.close()
    processor.close()
    assert found(SYNC.step(processor).call("search_tools", {"query": "send_mail"}).content)[0] == "send_mail"
