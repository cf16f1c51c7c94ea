"""Dense alone, BM25 alone, and both together, on sets with known answers.

    python -m benchmarks.fusion FOLDER [FOLDER ...] [--weight W | --tune] [--json OUT]

The weight of BM25 is the library's, the one given, or (`--tune`) the best of a grid on the tuning halves. All other
figures come from the measuring halves; the two share no relevant tool.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

from benchmarks.bootstrap import Sample, macro_interval
from benchmarks.dataset import Dataset, read_dataset
from benchmarks.metrics import METRICS, Ranks
from benchmarks.rankings import BM25, DENSE, SEARCH, PerQuery, rank
from benchmarks.record import RESULTS, circumstances, write, write_packed
from benchmarks.split import Halves, halves
from toolsearch.embedding.registry import load_encoder
from toolsearch.ranking import LEXICAL_WEIGHT

FUSED = "fused"
SEED = 0
GRID = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.5, 2.0)
CHOSEN_BY = "ndcg@10"
"""Smoother than recall at a single depth, and the first five places weigh most in it."""
COMPARED = ("recall@1", "recall@5", "ndcg@10")

Figures: TypeAlias = dict[str, float]
"""Metric to mean."""
BySet: TypeAlias = dict[str, dict[str, PerQuery]]
"""Set to method to the ranks of its queries."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, write the result."""
    options = _options(arguments)
    sets = [read_dataset(folder, lang=options.lang) for folder in options.folders]
    if len({dataset.name for dataset in sets}) < len(sets):
        raise SystemExit("Two folders bear one name: results are kept by name, so give each its own.")
    split = {dataset.name: halves(dataset.queries) for dataset in sets}
    encoder = load_encoder(options.model)
    weights = GRID if options.tune else (options.weight,)
    ranked = {dataset.name: rank(dataset, encoder, weights) for dataset in sets}
    tuning = {
        weight: macro([figures(ranked[name].fused[weight], split[name].tune) for name in ranked]) for weight in weights
    }
    # Of equal weights the smaller: it trusts the model more.
    chosen = max(weights, key=lambda weight: (tuning[weight][CHOSEN_BY], -weight))
    measured = {name: {**rankings.alone, FUSED: rankings.fused[chosen]} for name, rankings in ranked.items()}
    result = {
        "what": "means over the measuring halves, every query counted; a tool that is not among the first 100 is a miss",
        **circumstances(seed=SEED),
        "model": encoder.fingerprint,
        "weight": {"chosen": chosen, "library": LEXICAL_WEIGHT},
        "tuning": {str(weight): tried for weight, tried in tuning.items()},
        "sets": {dataset.name: _described(dataset, split[dataset.name], measured[dataset.name]) for dataset in sets},
        "macro": {
            method: macro([figures(measured[name][method], split[name].measure) for name in measured])
            for method in (DENSE, BM25, FUSED, SEARCH)
        },
        "difference": _differences(sets, split, measured),
    }
    show(result)
    out = options.json or RESULTS / "fusion.json"
    write(out, result)
    write_packed(out.with_suffix(".ranks.json.gz"), {
        dataset.name: {"queries": [query.id for query in dataset.queries], **measured[dataset.name]} for dataset in sets
    })  # fmt: skip


def figures(ranks: PerQuery, places: Sequence[int]) -> Figures:
    """Every metric's mean over these queries."""
    return {name: sum(metric(ranks[place]) for place in places) / len(places) for name, metric in METRICS.items()}


def macro(sets: Sequence[Figures]) -> Figures:
    """The mean over sets, each weighing the same."""
    return {metric: sum(one[metric] for one in sets) / len(sets) for metric in METRICS}


def _differences(sets: Sequence[Dataset], split: Mapping[str, Halves], measured: BySet) -> dict[str, Any]:
    """Per metric: what fusion adds to each of its parts, with the interval that chance leaves around it."""
    return {
        metric: {
            f"{FUSED} - {other}": asdict(
                macro_interval(
                    {
                        dataset.name: _paired(dataset, split[dataset.name], measured[dataset.name], other, metric)
                        for dataset in sets
                    },
                    seed=SEED,
                )
            )
            for other in (DENSE, BM25)
        }
        for metric in COMPARED
    }


def _paired(dataset: Dataset, split: Halves, ranks: Mapping[str, PerQuery], other: str, metric: str) -> Sample:
    def gain(place: int) -> float:
        mine: Ranks = ranks[FUSED][place]
        return METRICS[metric](mine) - METRICS[metric](ranks[other][place])

    return Sample(
        values=[gain(place) for place in split.measure],
        owners=[min(dataset.queries[place].relevant) for place in split.measure],
    )


def _described(dataset: Dataset, split: Halves, ranks: Mapping[str, PerQuery]) -> dict[str, Any]:
    return {
        "files": dict(dataset.digests),
        "tools": len(dataset.tools),
        "queries": {"tune": len(split.tune), "measure": len(split.measure)},
        "methods": {method: figures(per_query, split.measure) for method, per_query in ranks.items()},
    }


def show(result: Mapping[str, Any]) -> None:
    """The result's table: recall@1 / recall@5 / nDCG@10 a method and set, then the differences."""
    methods = (DENSE, BM25, FUSED, SEARCH)
    table = Table(title=f"recall@1, recall@5, nDCG@10; weight of BM25 {result['weight']['chosen']}")
    table.add_column("set")
    for method in methods:
        table.add_column(method, justify="right", no_wrap=True)
    for name, described in result["sets"].items():
        table.add_row(name, *(_cell(described["methods"][method]) for method in methods))
    table.add_section()
    table.add_row("macro", *(_cell(result["macro"][method]) for method in methods))
    console = Console(width=100)
    console.print(table)
    for metric, comparisons in result["difference"].items():
        for what, interval in comparisons.items():
            console.print(
                f"{metric:9} {what:14} {interval['mean']:+.3f} [{interval['low']:+.3f}, {interval['high']:+.3f}]"
            )


def _cell(means: Figures) -> str:
    return " ".join(f"{means[metric]:.3f}" for metric in COMPARED)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fusion", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--weight", type=float, default=LEXICAL_WEIGHT, help="of BM25; default: the library's")
    how.add_argument("--tune", action="store_true", help="choose the weight on the tuning halves")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--lang", default="en", help="queries of other languages are left out")
    parser.add_argument("--json", type=Path, help="default: benchmarks/results/fusion.json")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
