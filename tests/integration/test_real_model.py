"""Search with the default model itself."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolsearch import Tool, ToolSearch

pytestmark = pytest.mark.model

TOOLS = [
    Tool(name="create_issue", server="tracker", description="Open a new ticket for a defect or a task."),
    Tool(name="send_message", server="chat", description="Post a text to a channel or a person."),
    Tool(name="get_forecast", server="weather", description="Temperature and rain for the coming days at a place."),
    Tool(name="convert_currency", server="bank", description="Exchange an amount of one currency into another."),
    Tool(name="create_event", server="calendar", description="Put a meeting into the calendar and invite people."),
    Tool(name="list_files", server="drive", description="Documents in a folder, with size and date."),
    Tool(name="translate_text", server="language", description="Render a text in another language."),
    Tool(name="resize_image", server="media", description="Change width and height of a picture."),
]

ASKED = [
    ("report a bug in the login page", "create_issue"),
    ("tell the team on Slack that we are late", "send_message"),
    ("do I need an umbrella tomorrow in Paris", "get_forecast"),
    ("how many euros are 100 dollars", "convert_currency"),
    ("schedule a call with Anna on Friday", "create_event"),
    ("what does 'guten Morgen' mean in English", "translate_text"),
    ("make this photo smaller", "resize_image"),
]


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def search(cache_dir: Path) -> ToolSearch:
    return ToolSearch(TOOLS, cache_dir=cache_dir)


@pytest.mark.parametrize(("query", "expected"), ASKED)
def test_a_request_in_other_words_finds_its_tool_first(search: ToolSearch, query: str, expected: str) -> None:
    assert search.search(query, k=1)[0].tool.name == expected


def test_a_fitting_tool_scores_above_one_that_has_nothing_to_do_with_the_query(search: ToolSearch) -> None:
    best = {query: search.search(query, k=1)[0].score for query, _ in ASKED}
    strange = search.search("knit a scarf from blue wool", k=1)[0].score
    assert min(best.values()) > strange


def test_one_query_alone_or_in_a_batch_gives_the_same_order(search: ToolSearch) -> None:
    queries = [query for query, _ in ASKED]
    together = search.search_many(queries, k=8)
    assert [[m.tool.id for m in ranking] for ranking in together] == [
        [m.tool.id for m in search.search(query, k=8)] for query in queries
    ]


def test_a_process_that_knows_all_texts_embeds_nothing_and_loads_no_engine(search: ToolSearch, cache_dir: Path) -> None:
    assert search.encoder.stats().misses > 0
    definitions = json.dumps([tool.model_dump(mode="json") for tool in TOOLS])
    script = (
        "import json, sys\nfrom toolsearch import ToolSearch\n"
        f"search = ToolSearch(json.loads({definitions!r}), cache_dir={str(cache_dir)!r})\n"
        f"found = search.search({ASKED[0][0]!r}, k=1)\n"
        "print(found[0].tool.name, search.encoder.stats().misses, 'torch' in sys.modules)"
    )
    search.search(ASKED[0][0], k=1)
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["create_issue", "0", "False"]
