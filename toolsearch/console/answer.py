"""An answer: what one query found, for people as a table, for pipes as lines, for programs as JSON."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from toolsearch.cache import CachedEncoder
from toolsearch.cleaning import shorten
from toolsearch.console.effort import Effort, measured
from toolsearch.match import Explanation, Match
from toolsearch.processor.options import MIN_SCORE
from toolsearch.search import ToolSearch

_ID = 200
_IN_TABLE, _IN_LINE = 160, 300
"""Characters of a description that are shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    query: str
    matches: tuple[Match, ...]
    explanations: Mapping[str, Explanation]
    """By tool id; empty where nobody asked."""
    effort: Effort


def ask(
    searched: ToolSearch,
    query: str,
    *,
    encoder: CachedEncoder,
    top_k: int,
    min_score: float | None = None,
    servers: Collection[str] = (),
    explain: bool = False,
) -> Answer:
    """Search, by default with the threshold the processor has; no `servers` means all of them.

    Raises:
        OptionError: top_k is negative or min_score is not in 0..1.
    """
    where = (lambda tool: tool.server in servers) if servers else None
    floor = MIN_SCORE if min_score is None else min_score
    matches, effort = measured(encoder, lambda: searched.search(query, top_k, where=where, min_score=floor))
    explanations = {match.tool.id: searched.explain(query, match.tool.id) for match in matches} if explain else {}
    return Answer(query, tuple(matches), explanations, effort)


def answer_record(answer: Answer) -> dict[str, Any]:
    """JSON values; scores are not rounded."""
    return {
        "query": answer.query,
        "results": [_match_record(match, answer.explanations.get(match.tool.id)) for match in answer.matches],
        "effort": asdict(answer.effort),
    }


def print_answer(console: Console, answer: Answer) -> None:
    """A table on a terminal; elsewhere one line a match: score, id and description between tabs."""
    if not console.is_terminal:
        for match in answer.matches:
            parts = [f"{match.score:.4f}", shorten(match.tool.id, _ID), shorten(match.tool.description, _IN_LINE)]
            if found := answer.explanations.get(match.tool.id):
                parts.append(_why(found))
            console.file.write("\t".join(parts) + "\n")  # rich would expand the tabs
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", style="bold green", no_wrap=True)
    table.add_column(style="cyan", overflow="fold", max_width=40)
    table.add_column(overflow="fold")
    for match in answer.matches:
        text = Text(shorten(match.tool.description, _IN_TABLE))
        if found := answer.explanations.get(match.tool.id):
            text.append(f"\n{_why(found)}", style="dim")
        table.add_row(f"{match.score:.2f}", Text(shorten(match.tool.id, _ID)), text)
    console.print(table)


def _match_record(match: Match, explanation: Explanation | None) -> dict[str, Any]:
    record = {
        "rank": match.rank,
        "score": match.score,
        "id": match.tool.id,
        "name": match.tool.name,
        "server": match.tool.server,
        "description": match.tool.description,
    }
    if explanation is None:
        return record
    return record | {
        "evidence": asdict(explanation.match.evidence),
        "shared_terms": list(explanation.shared_terms),
        "document": explanation.document,
    }


def _why(explanation: Explanation) -> str:
    evidence = explanation.match.evidence
    shared = ", ".join(explanation.shared_terms) or "none"
    return (
        f"{evidence.reason}, rank {explanation.match.rank} of {explanation.of:,}; cosine {evidence.cosine:.3f} "
        f"({evidence.dense:+.1f} deviations), BM25 {evidence.bm25:.1f} ({evidence.lexical:+.1f}), "
        f"fused {evidence.fused:+.2f}; shared words: {shared}"
    )
