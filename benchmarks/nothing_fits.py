"""When no tool fits: how well the score tells such queries apart, and what each threshold costs.

    python -m benchmarks.nothing_fits FOLDER [FOLDER ...] [--foreign FOLDER] [--json OUT]

A query loses its answer when the right tools are taken out of the catalog together with their whole server, or, where
tools have no server, with everything that says nearly the same. `--foreign` names a set of another domain altogether,
whose queries are asked of every other catalog.
"""

import argparse
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from benchmarks.dataset import Dataset, Query, read_dataset
from benchmarks.metrics import auroc
from benchmarks.record import RESULTS, circumstances, write
from benchmarks.split import halves
from toolsearch.embedding.encoder import Encoder, Vectors
from toolsearch.embedding.registry import load_encoder
from toolsearch.lexical import Terms
from toolsearch.ranking import DEPTH, fuse
from toolsearch.search import ToolSearch
from toolsearch.view import View

THRESHOLDS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.15, 0.2)
SAME = 0.8
"""Documents this near (cosine) would answer each other's queries."""
SHOWN = 5
"""Results a model sees."""

Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One set's queries of one half."""

    best: Scores
    """The best score of each query that has an answer."""
    kept: Scores
    """Per query with a right tool among the first results: the least score of those right tools."""
    unanswered: Scores
    """The best score of each query once its answer is gone."""
    foreign: Scores
    """The best score of each query of another domain."""

    def figures(self) -> dict[str, Any]:
        return {
            "auroc": {
                "answer gone": auroc(self.best, self.unanswered),
                "foreign": auroc(self.best, self.foreign) if len(self.foreign) else None,
            },
            "queries": len(self.best),
            "thresholds": {
                str(floor): {
                    "right tools lost": _under(self.kept, floor),
                    "answer gone, emptied": _under(self.unanswered, floor),
                    "foreign, emptied": _under(self.foreign, floor),
                }
                for floor in THRESHOLDS
            },
        }


def outcome(dataset: Dataset, places: Sequence[int], foreign: Sequence[Query], encoder: Encoder) -> Outcome:
    """Ask every query at these places with and without its answer, and every foreign one."""
    searched = ToolSearch(dataset.tools, model=encoder)
    queries = [dataset.queries[place] for place in places]
    vectors = searched.encode([query.text for query in queries])
    view = searched.view()
    best, kept, unanswered = [], [], []
    for query, vector in zip(queries, vectors, strict=True):
        ranked = _ranked(view, query, vector)
        right = [score for tool, score in ranked[:SHOWN] if tool in query.relevant]
        best.append(ranked[0][1])
        kept += [min(right)] if right else []
        rest = _ranked(searched.view(replaced=_answers(view, query)), query, vector)
        unanswered.append(rest[0][1] if rest else 0.0)
    strangers = [
        _ranked(view, query, vector)[0][1]
        for query, vector in zip(foreign, searched.encode([query.text for query in foreign]), strict=True)
    ]
    searched.close()
    return Outcome(np.array(best), np.array(kept), np.array(unanswered), np.array(strangers))


def _ranked(view: View, query: Query, vector: Vectors) -> list[tuple[str, float]]:
    """Ids and scores of the first results by evidence alone; a typed name would score 1 whatever else fits."""
    found = view.corpus.candidates(vector, Terms.of(query.text), depth=DEPTH)
    ranked = fuse(found, view.background)
    order = np.argsort(-ranked.fused, kind="stable")[:SHOWN]
    return [(view.tools[int(found.rows[place])].id, float(ranked.score[place])) for place in order]


def _answers(view: View, query: Query) -> Collection[str]:
    """Ids of all tools that could answer the query."""
    right = [place for place, tool in enumerate(view.tools) if tool.id in query.relevant]
    servers = {view.tools[place].server for place in right}
    if None not in servers:
        return [tool.id for tool in view.tools if tool.server in servers]
    vectors = view.corpus.segments[0].vectors.vectors()
    near: npt.NDArray[np.bool_] = np.any(vectors @ vectors[right].T > SAME, axis=1)
    near[right] = True
    return [view.tools[int(place)].id for place in np.flatnonzero(near)]


def _under(scores: Scores, floor: float) -> float | None:
    return float((scores < floor).mean()) if len(scores) else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nothing_fits", description="What each min_score costs.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--foreign", type=Path, metavar="FOLDER")
    parser.add_argument("--json", type=Path, default=RESULTS / "nothing_fits.json")
    options = parser.parse_args(arguments)
    foreign = read_dataset(options.foreign) if options.foreign else None
    encoder = load_encoder("minilm")
    result: dict[str, Any] = {
        "what": "shares of queries by half; the threshold is chosen on the tuning half and believed on the measuring one",
        **circumstances(seed=0),
        "model": encoder.fingerprint,
        "foreign": foreign and foreign.digests,
        "sets": {},
    }
    for folder in options.folders:
        dataset = read_dataset(folder)
        split = halves(dataset.queries)
        strangers = foreign.queries if foreign and foreign.digests != dataset.digests else ()
        result["sets"][dataset.name] = {"files": dataset.digests} | {
            half: outcome(dataset, places, strangers, encoder).figures()
            for half, places in (("tune", split.tune), ("measure", split.measure))
        }
    show(result)
    write(options.json, result)


def show(result: dict[str, Any]) -> None:
    """Macro figures a threshold, over the sets that have them, and the separation a set."""
    table = Table("min_score", "lost, tune", "lost, measure", "answer gone, emptied", "foreign, emptied")
    columns = (
        ("tune", "right tools lost"),
        ("measure", "right tools lost"),
        ("measure", "answer gone, emptied"),
        ("measure", "foreign, emptied"),
    )
    for floor in map(str, THRESHOLDS):
        shares = [[one[half]["thresholds"][floor][what] for one in result["sets"].values()] for half, what in columns]
        known = [[share for share in column if share is not None] for column in shares]
        table.add_row(floor, *(f"{np.mean(column):.3f}" if column else "" for column in known))
    console = Console(width=100)
    console.print(table)
    for name, one in result["sets"].items():
        separation = one["measure"]["auroc"]
        console.print(name, *(f"AUROC, {what}: {area:.3f}" for what, area in separation.items() if area is not None))


if __name__ == "__main__":
    main()
