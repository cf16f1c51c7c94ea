"""Break each rule on purpose: `python tests/mutants/run.py [--jobs N] [--changed [REV]] [NAME ...]`.

A mutant is a patch under `patches/` that breaks one rule of what this package promises. Lines of TOML before the diff
say which (`rule`), what it is a rule of (`part`, a heading of the README here) and where it is tested (`tests`). Each is
applied to a copy of the tree and its tests run; a mutant that no test notices has survived, and so has one whose patch
no longer applies.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATCHES = ROOT / "tests" / "mutants" / "patches"
COPIED = (
    "toolsearch",
    "tests",
    "models",
    "benchmarks",
    "docs",
    "examples",
    "pyproject.toml",
    "README.md",
    "conftest.py",
)
SECONDS = 300
"""A mutant that hangs the tests has been noticed."""

_PATCHED = re.compile(r"^\+\+\+ b/(\S+)", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) tests/(.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken rule."""

    name: str
    rule: str
    part: str
    tests: tuple[str, ...]
    patch: Path

    def touches(self, changed: set[str]) -> bool:
        """Whether its patch, a file it breaks, or a test that should notice is among these paths."""
        files = {str(self.patch.relative_to(ROOT)), *_PATCHED.findall(self.patch.read_text())}
        return not changed.isdisjoint(files | {test.partition("::")[0] for test in self.tests})


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of it: `noticed` and by which test, or why not."""

    mutant: Mutant
    noticed: bool
    reason: str


def read(patch: Path) -> Mutant:
    """The mutant of a patch file.

    Raises:
        SystemExit: the file does not say its rule, its part and its tests.
    """
    said = tomllib.loads(patch.read_text().partition("diff --git")[0])
    if not said.get("rule") or not said.get("part") or not said.get("tests"):
        raise SystemExit(f"{patch.name}: says no rule, no part or no tests")
    return Mutant(patch.stem, said["rule"], said["part"], tuple(said["tests"]), patch)


def all_mutants() -> list[Mutant]:
    """Every mutant, by name."""
    return [read(patch) for patch in sorted(PATCHES.glob("*.patch"))]


def judge(mutant: Mutant) -> Verdict:
    """Apply, run, tell."""
    with tempfile.TemporaryDirectory(prefix="toolsearch-mutant-", ignore_cleanup_errors=True) as folder:
        tree = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("mutants", "results"))
            elif source.exists():
                shutil.copy(source, tree / name)
        applied = subprocess.run(
            ["git", "apply", "--recount", str(mutant.patch)],
            cwd=tree,
            capture_output=True,
            text=True,
            check=False,
        )
        if applied.returncode:
            return Verdict(mutant, noticed=False, reason=f"the patch does not apply: {applied.stderr.strip()}")
        try:
            ran = _pytest(mutant.tests, tree)
        except subprocess.TimeoutExpired:
            return Verdict(mutant, noticed=True, reason="the tests hang")
        if ran.returncode == 1:
            failed = _FAILED.search(ran.stdout)
            return Verdict(mutant, noticed=True, reason=failed.group(1)[:200] if failed else "a test fails")
        if ran.returncode == 0:
            return Verdict(mutant, noticed=False, reason="every test passes")
        return Verdict(mutant, noticed=False, reason=f"pytest ended with {ran.returncode}: {ran.stdout[-500:]}")


def _pytest(tests: Sequence[str], tree: Path) -> subprocess.CompletedProcess[str]:
    # The tree comes first on the path, also for the processes that tests start: it hides an installed package.
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS * (1 if tree != ROOT else 4),
    )


def _changed_since(revision: str) -> set[str]:
    """Paths that differ from a revision, new files included."""
    commands = (["git", "diff", "--name-only", revision], ["git", "ls-files", "--others", "--exclude-standard"])
    lists = [subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout for line in commands]
    return {path for listed in lists for path in listed.splitlines()}


def main(arguments: Sequence[str]) -> int:
    """Judge the named mutants, those that a change could concern, or all; 1 where one survives."""
    parser = argparse.ArgumentParser(description="Break each rule on purpose; fail where no test notices.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="so many at the same time")
    parser.add_argument(
        "--changed", nargs="?", const="HEAD", metavar="REV", help="only those that a change since REV could concern"
    )
    wanted = parser.parse_args(arguments)
    mutants = [mutant for mutant in all_mutants() if not wanted.names or mutant.name in wanted.names]
    if unknown := set(wanted.names) - {mutant.name for mutant in mutants}:
        print("no such mutant:", *sorted(unknown))
        return 2
    if wanted.changed:
        changed = _changed_since(wanted.changed)
        mutants = [mutant for mutant in mutants if mutant.touches(changed)]
    if not mutants:
        print("no mutants")
        return 0 if wanted.changed else 2

    # Whole tests must pass unbroken, or a failure proves nothing.
    print(f"{len(mutants)} mutants; first their tests as they are", flush=True)
    sound = _pytest(sorted({test for mutant in mutants for test in mutant.tests}), ROOT)
    if sound.returncode:
        print(sound.stdout[-3000:], "\nthe tests fail without any mutant")
        return 2

    started = time.monotonic()
    survivors: list[Verdict] = []
    with ThreadPoolExecutor(wanted.jobs) as pool:
        verdicts = (future.result() for future in as_completed(pool.submit(judge, mutant) for mutant in mutants))
        for place, verdict in enumerate(verdicts, 1):
            mark = "noticed " if verdict.noticed else "SURVIVED"
            print(f"[{place}/{len(mutants)}] {mark} {verdict.mutant.name}: {verdict.reason}", flush=True)
            if not verdict.noticed:
                survivors.append(verdict)
    for verdict in survivors:
        print(f"survived: {verdict.mutant.name}: {verdict.mutant.rule}")
    print(f"{len(mutants) - len(survivors)} of {len(mutants)} noticed in {time.monotonic() - started:.0f} s")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
