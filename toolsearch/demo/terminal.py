"""The play as a person watches it: the stage, each step as it happens, and the bill at the end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from toolsearch.cleaning import shorten
from toolsearch.console.answer import Answer, print_answer
from toolsearch.console.effort import Effort
from toolsearch.demo.agent import Step
from toolsearch.demo.play import Outcome, play
from toolsearch.demo.scenario import Call, Reply, Scenario
from toolsearch.demo.stage import Stage
from toolsearch.tool import Tool
from toolsearch.transcript import LOAD_TOOL, SEARCH_TOOLS

_LABEL = 9
"""Columns of the labels on the left."""
_NAME = 40
_REPLY = 420
"""Characters that are shown."""


def print_play(console: Console, stage: Stage, scenario: Scenario) -> Outcome:
    """Perform the scenario and print it as it goes."""
    _print_catalog(console, stage.tools, stage.effort)
    console.print(
        f"All definitions in the prompt: [bold]{stage.gauge.all_definitions:,} tokens[/], at every model call."
    )
    console.print()
    console.print(Text.assemble(("Task  ", "bold"), scenario.task))
    outcome = play(stage, scenario, on_step=lambda step: print_step(console, step))
    print_outcome(console, outcome, stage.effort)
    return outcome


def print_answers(console: Console, tools: Sequence[Tool], effort: Effort, answers: Sequence[Answer]) -> None:
    """What each query found; nothing is said so."""
    _print_catalog(console, tools, effort)
    for answer in answers:
        console.print()
        console.print(
            Text.assemble((answer.query, "bold"), (f"  {_milliseconds(answer.effort.seconds)}, {answer.effort}", "dim"))
        )
        if answer.matches:
            print_answer(console, answer)
        else:
            console.print("No tool fits.")


def _print_catalog(console: Console, tools: Sequence[Tool], effort: Effort) -> None:
    services = tuple(dict.fromkeys(tool.server or "" for tool in tools))
    console.print(f"[bold]{len(tools):,} tools[/] of {len(services)} cloud services: {', '.join(services)}.")
    console.print(f"Catalog indexed in {effort.seconds:.1f} s: [bold]{effort}[/].")


def print_step(console: Console, step: Step) -> None:
    title, style = _title(step)
    console.print()
    console.print(Rule(Text.assemble((f"{step.number} ", "dim"), (title, style)), align="left", style="dim"))
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(width=_LABEL, style="dim", no_wrap=True)
    lines.add_column(overflow="fold")
    lines.add_row("tools", Text(" ".join(step.visible)))
    saved = step.everything / max(step.tokens, 1)
    lines.add_row(
        "tokens",
        f"[bold]{step.tokens:,}[/]  [dim]against {step.everything:,} with all tools, {saved:,.0f} times as many[/]",
    )
    if step.call is not None and step.reply is not None:
        lines.add_row("calls", _called(step.call))
        _add_reply(lines, step, step.call, step.reply)
    else:
        lines.add_row("says", Text(step.words, style="bold"))
    console.print(Padding(lines, (0, 0, 0, 2)))


def print_outcome(console: Console, outcome: Outcome, catalog: Effort) -> None:
    """The bill, the catalog's embedding included, or what went wrong."""
    console.print()
    console.print(Rule(style="dim"))
    if outcome.problem is not None:
        console.print(Text.assemble(("The demo failed: ", "bold red"), outcome.problem))
        return
    console.print(_bill(outcome, catalog))


def _bill(outcome: Outcome, catalog: Effort) -> Table:
    searches = outcome.searches
    times = ", ".join(f"{1000 * effort.seconds:.1f}" for effort in searches)
    embedded = sum(searches, catalog)
    bill = Table.grid(padding=(0, 2, 0, 0))
    bill.add_column(style="dim")
    bill.add_column(justify="right", style="bold green")
    bill.add_column()
    bill.add_row("tool search", f"{outcome.tokens:,}", f"tokens in {len(outcome.steps)} model calls")
    bill.add_row(
        "all tools",
        f"{outcome.everything:,}",
        f"tokens in {outcome.calls_with_everything} model calls: none has to search or load",
    )
    bill.add_row("saved", _percent(outcome), "of the tokens")
    bill.add_row("searches", str(len(searches)), f"in {times} ms")
    bill.add_row("embedded", f"{embedded.new:,}", f"new texts; {embedded.cached:,} from cache")
    return bill


def _percent(outcome: Outcome) -> str:
    return f"{100 * (1 - outcome.tokens / outcome.everything):.1f} %" if outcome.everything else "-"


def _title(step: Step) -> tuple[str, str]:
    if step.call is None:
        return "The model answers", "bold green"
    if step.call.name == SEARCH_TOOLS:
        return "The model searches", "bold cyan"
    if step.call.name == LOAD_TOOL:
        return "The model loads a tool", "bold cyan"
    if step.reply is not None and step.reply.is_error:
        return "The model calls a tool, wrongly", "bold yellow"
    return "The model calls a tool", "bold cyan"


def _called(call: Call) -> Text:
    return Text.assemble((call.name, "cyan"), " ", json.dumps(dict(call.arguments), ensure_ascii=False))


def _add_reply(lines: Table, step: Step, call: Call, reply: Reply) -> None:
    if call.name == SEARCH_TOOLS:
        lines.add_row("found", _found(reply.content.get("results", [])))
        if step.effort is not None:
            lines.add_row("took", f"[bold]{_milliseconds(step.effort.seconds)}[/], {step.effort}")
    elif call.name == LOAD_TOOL:
        lines.add_row("reply", Text(str(reply.content.get("message"))))
    else:
        label = Text("refused", style="yellow") if reply.is_error else Text("reply")
        lines.add_row(label, _replied(reply.content))


def _found(results: Sequence[Mapping[str, Any]]) -> Text:
    """A line a result; what does not fit beside score and name is cut off."""
    names = [shorten(str(result["name"]), _NAME) for result in results]
    lines = [
        Text.assemble(
            (f"{result['score']:.2f} ", "green"),
            (f"{name:{max(map(len, names))}} ", "cyan"),
            (str(result["description"]), "dim"),
        )
        for name, result in zip(names, results, strict=True)
    ]
    return Text("\n", no_wrap=True, overflow="ellipsis").join(lines) if lines else Text("nothing")


def _replied(content: Any) -> Text:
    if isinstance(content, Mapping) and {"message", "parameters"} <= content.keys():
        return Text.assemble(str(content["message"]), (" (The tool's schema comes with it.)", "dim"))
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Text(shorten(text, _REPLY))


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f} ms"
