"""The command line: arguments to calls, errors to exit codes."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console

from toolsearch import __version__
from toolsearch.errors import MissingPackageError, ModelError, ToolSearchError

if TYPE_CHECKING:
    from toolsearch.cache import CachedEncoder

FOUND, NOTHING, BAD_INPUT, ENVIRONMENT, INTERRUPTED = 0, 1, 2, 3, 130

EXIT_CODES = """Exit codes: 0 found; 1 nothing fits, or the demo failed; 2 wrong usage or unreadable input;
3 the model or an optional package is missing; 130 interrupted."""

app = typer.Typer(
    name="toolsearch",
    help="Find the right tool among thousands, by what it does.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Model = Annotated[
    str, typer.Option("--model", "-m", help="A model of the registry, or a sentence-transformers folder.")
]
CacheDir = Annotated[
    Path | None,
    typer.Option(
        help="Where vectors are kept. Default: TOOLSEARCH_CACHE_DIR, else the user's cache folder.", show_default=False
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error, and the log.")]
Count = Annotated[int, typer.Option("-k", "--top-k", min=1, help="How many tools at most.")]


@app.callback(invoke_without_command=True)
def _root(
    *, version: Annotated[bool, typer.Option("--version", help="Print the version.", is_eager=True)] = False
) -> None:
    if version:
        print(__version__)  # noqa: T201 - a result
        raise typer.Exit(FOUND)


@app.command(epilog=EXIT_CODES)
def search(
    context: typer.Context,
    *,
    catalog: Annotated[
        Path, typer.Argument(metavar="CATALOG", help="Tools in a .json or .jsonl file, each also as .gz.")
    ],
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What the tool should do, or its name, or select:a,b.")],
    top_k: Count = 5,
    min_score: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Leave out what scores less; 0 shows the best of whatever there is. Default: 0.1.",
            show_default=False,
        ),
    ] = None,
    server: Annotated[list[str] | None, typer.Option(help="Only tools of this server; may be repeated.")] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Say why each tool ranks where it does.")] = False,
    model: Model = "minilm",
    cache_dir: CacheDir = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Search a file of tool definitions.

    The definitions may be OpenAI's, Anthropic's, MCP's or our own. On a terminal the answer is
    a table; in a pipe, one line a tool: score, id and description between tabs.

    \b
    [bold]Examples[/]
    toolsearch search tools.json "open a ticket for this bug"
    toolsearch search tools.jsonl.gz "rename a branch" -k 3 --server github --explain
    toolsearch search tools.json create_issue --json | jq .results[0].id
    """
    with _exit_codes(debug=debug):
        from toolsearch.console.answer import answer_record, ask, print_answer  # noqa: PLC0415
        from toolsearch.console.effort import measured  # noqa: PLC0415
        from toolsearch.search import ToolSearch  # noqa: PLC0415
        from toolsearch.sources import read_tools  # noqa: PLC0415

        tools = read_tools(catalog)
        with _encoder(context, model, cache_dir) as encoder:
            searched, effort = measured(encoder, lambda: ToolSearch(tools, model=encoder))
            answer = ask(
                searched,
                query,
                encoder=encoder,
                top_k=top_k,
                min_score=min_score,
                servers=server or (),
                explain=explain,
            )
        if as_json:
            about = {"path": str(catalog), "tools": len(tools)}
            _print_json({"catalog": about, "indexing": asdict(effort), **answer_record(answer)})
        else:
            print_answer(_console(), answer)
        if not answer.matches:
            _say("No tool fits. Say it in other words, or look at the nearest ones with --min-score 0.")
        _finish(found=bool(answer.matches))


@app.command(epilog=EXIT_CODES)
def demo(
    context: typer.Context,
    *,
    ask: Annotated[
        list[str] | None,
        typer.Option("--ask", "-a", help="Search the demo's tools in your own words instead; may be repeated."),
    ] = None,
    services: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated services to read instead of the usual ones, as botocore names them.",
            show_default=False,
        ),
    ] = None,
    top_k: Count = 5,
    model: Model = "minilm",
    cache_dir: CacheDir = None,
    as_json: Json = False,
    debug: Debug = False,
) -> None:
    """Watch an agent find, load and call the right ones of nearly 2,000 real tools.

    The tools are operations of well-known cloud services and answer without a network. The
    agent follows a script, everything else is real. The first run embeds the tools, which
    takes a minute or two; later ones take them from the cache.

    \b
    [bold]Examples[/]
    toolsearch demo
    toolsearch demo --ask "read the text in a scanned letter" --ask "who changed my bucket"
    toolsearch demo --services s3,sns,ssm,ec2 --json
    """
    with _exit_codes(debug=debug):
        from toolsearch.demo.aws import SERVICES, cloud_tools  # noqa: PLC0415
        from toolsearch.demo.play import play  # noqa: PLC0415
        from toolsearch.demo.record import answers_record, play_record  # noqa: PLC0415
        from toolsearch.demo.scenario import REPORTS  # noqa: PLC0415
        from toolsearch.demo.stage import set_stage  # noqa: PLC0415
        from toolsearch.demo.terminal import print_answers, print_play  # noqa: PLC0415

        chosen = SERVICES if services is None else tuple(name.strip() for name in services.split(",") if name.strip())
        tools = cloud_tools(chosen)
        if ask:
            from toolsearch.console.answer import ask as ask_for  # noqa: PLC0415
            from toolsearch.console.effort import measured  # noqa: PLC0415
            from toolsearch.search import ToolSearch  # noqa: PLC0415

            with _encoder(context, model, cache_dir) as encoder:
                searched, effort = measured(encoder, lambda: ToolSearch(tools, model=encoder))
                answers = [ask_for(searched, query, encoder=encoder, top_k=top_k) for query in ask]
            if as_json:
                _print_json(answers_record(tools, effort, answers))
            else:
                print_answers(_console(), tools, effort, answers)
            _finish(found=any(answer.matches for answer in answers))
        with _encoder(context, model, cache_dir) as encoder:
            stage = set_stage(tools, encoder=encoder, top_k=top_k)
        if as_json:
            outcome = play(stage, REPORTS)
            _print_json(play_record(stage, REPORTS, outcome))
        else:
            outcome = print_play(_console(), stage, REPORTS)
        _finish(found=outcome.problem is None)


@contextmanager
def _encoder(context: typer.Context, model: str, folder: Path | None) -> "Iterator[CachedEncoder]":
    """The model behind its cache, with progress on stderr while this is open. `context.obj` may be an encoder instead."""
    from toolsearch.cache import CachedEncoder  # noqa: PLC0415
    from toolsearch.console.progress import progress_on  # noqa: PLC0415
    from toolsearch.embedding.registry import load_encoder  # noqa: PLC0415

    with progress_on(_stderr()) as report:
        encoder = CachedEncoder(context.obj or load_encoder(model), folder=folder)
        encoder.progress = report
        yield encoder
        encoder.progress = None


@contextmanager
def _exit_codes(*, debug: bool) -> Iterator[None]:
    """What goes wrong becomes one sentence on stderr and an exit code; results nobody reads any more are no error."""
    from toolsearch.console.log import log_on  # noqa: PLC0415

    try:
        with log_on(_stderr(), verbose=debug):
            yield
    except BrokenPipeError:
        # Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FOUND) from None
    except KeyboardInterrupt:
        _say("Interrupted. What was embedded stays in the cache: the same command goes on from there.")
        raise typer.Exit(INTERRUPTED) from None
    except ToolSearchError as error:
        if debug:
            raise
        _say(str(error))
        raise typer.Exit(ENVIRONMENT if isinstance(error, ModelError | MissingPackageError) else BAD_INPUT) from None


def _finish(*, found: bool) -> NoReturn:
    # Flushed here, where a reader that has gone away is still caught.
    sys.stdout.flush()
    raise typer.Exit(FOUND if found else NOTHING)


def _console() -> Console:
    """Results go to stdout; in a pipe lines are as long as they are."""
    return Console(highlight=False) if sys.stdout.isatty() else Console(highlight=False, width=100)


@cache
def _stderr() -> Console:
    """One for the log and the progress bar: they have to know of each other."""
    return Console(stderr=True, highlight=False)


def _print_json(record: Any) -> None:
    print(json.dumps(record, ensure_ascii=False, indent=2))  # noqa: T201 - a result


def _say(sentence: str) -> None:
    print(f"toolsearch: {sentence}", file=sys.stderr)  # noqa: T201 - to a person, not a result


def main() -> None:
    """The console script."""
    app(prog_name="toolsearch")


if __name__ == "__main__":
    main()
