"""What a cap on the results of one server costs: recall of the first k with and without it.

    python -m benchmarks.servers FOLDER [FOLDER ...] [--k K] [--json OUT]

Only sets whose tools have servers say anything. Caps cost something everywhere here: in these sets the server with most
hits is the right one, whereas a cap is for catalogs in which one server calls out too loud.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.dataset import Dataset, read_dataset
from benchmarks.metrics import recall
from benchmarks.record import RESULTS, circumstances, write
from benchmarks.split import halves
from toolsearch.embedding.encoder import Encoder
from toolsearch.embedding.registry import load_encoder
from toolsearch.search import ToolSearch


def recalls(dataset: Dataset, encoder: Encoder, k: int) -> dict[str, dict[str, float]]:
    """Cap (or `none`) to half to mean recall@k."""
    searched = ToolSearch(dataset.tools, model=encoder)
    split = halves(dataset.queries)
    found: dict[str, dict[str, float]] = {}
    for cap in (None, *range(k - 1, 0, -1)):
        rankings = searched.search_many([query.text for query in dataset.queries], k, max_per_server=cap)
        places = [{match.tool.id: match.rank for match in ranking} for ranking in rankings]
        each = [
            recall([place.get(tool) for tool in query.relevant], k)
            for place, query in zip(places, dataset.queries, strict=True)
        ]
        found["none" if cap is None else str(cap)] = {
            "tune": sum(each[place] for place in split.tune) / len(split.tune),
            "measure": sum(each[place] for place in split.measure) / len(split.measure),
        }
    searched.close()
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print a table, write the result."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.servers", description="What each cap costs.")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--json", type=Path, default=RESULTS / "servers.json")
    options = parser.parse_args(arguments)
    encoder = load_encoder("minilm")
    sets = [read_dataset(folder) for folder in options.folders]
    result = {
        "what": f"recall@{options.k} by cap on the results of one server",
        **circumstances(seed=0),
        "model": encoder.fingerprint,
        "sets": {
            dataset.name: {"files": dict(dataset.digests), "caps": recalls(dataset, encoder, options.k)}
            for dataset in sets
        },
    }
    table = Table("set", "cap", "tune", "measure")
    for name, one in result["sets"].items():
        for cap, by_half in one["caps"].items():
            table.add_row(name, cap, f"{by_half['tune']:.3f}", f"{by_half['measure']:.3f}")
    Console().print(table)
    write(options.json, result)


if __name__ == "__main__":
    main()
