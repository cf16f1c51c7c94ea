"""What the command line shows: tables for people, few lines for logs, and effort that adds up."""

import io
import logging
from pathlib import Path

from fakes import WordEncoder
from rich.console import Console

from toolsearch import Tool, ToolSearch
from toolsearch.cache import CachedEncoder
from toolsearch.console.answer import ask, print_answer
from toolsearch.console.effort import Effort, measured
from toolsearch.console.log import log_on
from toolsearch.console.progress import progress_on

TOOLS = [
    Tool(name="create_issue", description="Open a ticket [bold]for a bug[/].", server="tracker"),
    Tool(name="send_mail", description="Send a letter.", server="mail"),
]


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100, color_system=None, highlight=False)


def pipe() -> Console:
    return Console(file=io.StringIO(), width=100, highlight=False)


def shown(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_on_a_terminal_an_answer_is_a_table_and_descriptions_are_no_markup(tmp_path: Path) -> None:
    console, encoder = terminal(), CachedEncoder(WordEncoder(), folder=tmp_path)
    searched = ToolSearch(TOOLS, model=encoder)
    print_answer(console, ask(searched, "open a ticket", encoder=encoder, top_k=1, explain=True))
    first, why = shown(console).splitlines()[:2]
    assert first.split()[1:] == ["create_issue", "Open", "a", "ticket", "[bold]for", "a", "bug[/]."]
    assert why.strip().startswith("ranked, rank 1 of 2; cosine ")


def test_effort_counts_what_was_embedded_and_what_was_remembered(tmp_path: Path) -> None:
    encoder = CachedEncoder(WordEncoder(), folder=tmp_path)
    _, first = measured(encoder, lambda: encoder.encode(["a", "b"], "document"))
    _, second = measured(encoder, lambda: encoder.encode(["b", "c"], "document"))
    _, third = measured(encoder, lambda: encoder.encode(["a"], "document"))
    assert [(effort.new, effort.cached, effort.loaded) for effort in (first, second, third)] == [
        (2, 0, True),
        (1, 1, False),
        (0, 1, False),
    ]


def test_effort_is_said_in_words() -> None:
    said = [str(effort) for effort in (Effort(0, 1927, 2.0), Effort(1, 0, 0.1), Effort(2, 0, 5.0, loaded=True))]
    assert said == [
        "embedded 0 new texts; 1,927 from cache",
        "embedded 1 new text; 0 from cache",
        "embedded 2 new texts, the model loaded for it; 0 from cache",
    ]


def test_efforts_add_up() -> None:
    assert Effort(1, 2, 0.5) + Effort(3, 4, 0.25, loaded=True) == Effort(4, 6, 0.75, loaded=True)


def test_where_nobody_watches_ten_lines_stand_for_any_number_of_texts() -> None:
    console = pipe()
    with progress_on(console) as report:
        for done in range(64, 10_001, 64):
            report(done, 10_000)
        report(10_000, 10_000)
    lines = shown(console).splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("embedded 10,000 of 10,000 texts, ")


def test_where_nobody_watches_a_little_work_is_not_worth_a_line() -> None:
    console = pipe()
    with progress_on(console) as report:
        report(5, 5)
    assert shown(console) == ""


def test_on_a_terminal_a_bar_shows_the_count_and_vanishes() -> None:
    console = terminal()
    with progress_on(console) as report:
        report(128, 1_927)
        report(256, 1_927)
    drawn = shown(console)
    assert "Getting ready" in drawn
    assert "Embedding tools" in drawn
    assert "256/1,927 texts" in drawn
    assert drawn.endswith("\x1b[2K")  # the line is erased


def test_the_log_shows_warnings_and_with_verbose_everything_and_then_lets_go() -> None:
    logger, quiet, verbose = logging.getLogger("toolsearch.test"), pipe(), pipe()
    for console in (quiet, verbose):
        with log_on(console, verbose=console is verbose):
            logger.warning("the cache is %s", "full")
            logger.debug("a detail")
        logger.warning("after")
    assert shown(quiet) == "warning: the cache is full\n"
    assert shown(verbose) == "warning: the cache is full\ndebug: a detail\n"
