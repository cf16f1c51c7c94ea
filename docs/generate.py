"""The parts of the documentation that are copied from the code: `python docs/generate.py [--check]`.

Between `<!-- NAME -->` and `<!-- /NAME -->` stands what the function of that name gives.
"""

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "toolsearch"


def layers() -> str:
    """The import contract, top to bottom."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layered,) = [contract for contract in contracts if contract["type"] == "layers"]
    return "```text\n" + "\n".join(layered["layers"]) + "\n```"


def files() -> str:
    """Each file and the first line of its docstring."""
    rows = ["| file | what it is |", "| --- | --- |"]
    for path in sorted(PACKAGE.rglob("*.py")):
        said = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n\n")[0]
        rows.append(f"| `{path.relative_to(PACKAGE)}` | {' '.join(said.split())} |")
    return "\n".join(rows)


def _help(*command: str) -> str:
    shown = subprocess.run(
        [sys.executable, "-m", "toolsearch.cli", *command, "--help"],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "", "COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"},
    ).stdout
    return "```text\n" + "\n".join(line.rstrip() for line in shown.strip().splitlines()) + "\n```"


def help_main() -> str:
    return _help()


def help_search() -> str:
    return _help("search")


def help_demo() -> str:
    return _help("demo")


def measured() -> str:
    """The figures of `benchmarks/results/fusion.json`, macro means over its sets."""
    found = json.loads((ROOT / "benchmarks" / "results" / "fusion.json").read_text())
    rows = ["| | recall@1 | recall@5 | a right tool among five | nDCG@10 |", "| --- | --- | --- | --- | --- |"]
    for method, said in (("search", "**toolsearch**"), ("bm25", "its BM25 alone"), ("dense", "its embedding alone")):
        figures = [f"{found['macro'][method][measure]:.3f}" for measure in ("recall@1", "recall@5", "hit@5", "ndcg@10")]
        rows.append(f"| {said} | {' | '.join(figures)} |")
    gain = found["difference"]["recall@5"]["fused - bm25"]
    tools = ", ".join(f"{name} ({one['tools']:,} tools)" for name, one in found["sets"].items())
    rows.append("")
    rows.append(
        f"Macro means over {tools}. Fusion at the weight chosen on the other half gains {gain['mean']:+.3f} recall@5 over the better part, "
        f"95 % interval {gain['low']:+.3f} to {gain['high']:+.3f}. [What the figures mean, and what was chosen on which half]"
        "(benchmarks/README.md); [result file](benchmarks/results/fusion.json)."
    )
    return "\n".join(rows)


def rules() -> str:
    """The rule that each mutant breaks, by what it is a rule of."""
    parts: dict[str, list[str]] = {}
    for patch in sorted((ROOT / "tests" / "mutants" / "patches").glob("*.patch")):
        said = tomllib.loads(patch.read_text().partition("diff --git")[0])
        parts.setdefault(said["part"], []).append(f"| {said['rule']} | `{patch.stem}` |")
    tables = [
        f"### {part}\n\n| rule | mutant |\n| --- | --- |\n" + "\n".join(rows) for part, rows in sorted(parts.items())
    ]
    return "\n" + "\n\n".join(tables) + "\n"


GENERATED: dict[str, dict[str, Callable[[], str]]] = {
    "docs/architecture.md": {"layers": layers, "files": files},
    "README.md": {"measured": measured},
    "tests/mutants/README.md": {"rules": rules},
    "docs/cli.md": {"help": help_main, "help-search": help_search, "help-demo": help_demo},
}


def main() -> int:
    """Write the parts, or with --check only say which differ."""
    stale = []
    for name, parts in GENERATED.items():
        path = ROOT / name
        text = fresh = path.read_text()
        for mark, make in parts.items():
            span = re.compile(rf"(?<=<!-- {mark} -->\n).*?(?=<!-- /{mark} -->)", re.DOTALL)
            made = make() + "\n"
            fresh, count = span.subn(lambda _, made=made: made, fresh)  # type: ignore[misc]
            if count != 1:
                raise SystemExit(f"{name}: expected one place for {mark!r}, found {count}")
        if fresh != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(fresh)
    if stale and "--check" in sys.argv:
        print("out of date, run `make docs`:", *stale)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
