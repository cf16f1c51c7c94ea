"""Break each rule on purpose: `python tests/mutants/run.py [NAME ...]`.

A mutant is a patch under `patches/` that breaks one rule of what this package promises. Lines before the diff say which
(`rule: ...`) and where it is tested (`tests: PATH ...`). Each is applied to a copy of the tree and its tests run; a
mutant that no test notices has survived, and so has one whose patch no longer applies.
"""

import shutil
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
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
JOBS = 2
SECONDS = 300
"""A mutant that hangs the tests has been noticed."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken rule."""

    name: str
    rule: str
    tests: tuple[str, ...]
    patch: Path


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of it: `noticed`, or why not."""

    mutant: Mutant
    noticed: bool
    reason: str


def read(patch: Path) -> Mutant:
    """The mutant of a patch file.

    Raises:
        SystemExit: the file does not say its rule and its tests.
    """
    head = patch.read_text().partition("diff --git")[0]
    said = tomllib.loads(head)
    if not said.get("rule") or not said.get("tests"):
        raise SystemExit(f"{patch.name}: says no rule or no tests")
    return Mutant(patch.stem, said["rule"], tuple(said["tests"]), patch)


def judge(mutant: Mutant) -> Verdict:
    """Apply, run, tell."""
    with tempfile.TemporaryDirectory(prefix="toolsearch-mutant-") as folder:
        tree = Path(folder)
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, tree / name, ignore=shutil.ignore_patterns("__pycache__", "mutants", "results"))
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
        # The working directory comes first on the path, so the copy hides an installed package.
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.tests]
        try:
            ran = subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return Verdict(mutant, noticed=True, reason="the tests hang")
        if ran.returncode == 1:
            return Verdict(mutant, noticed=True, reason="a test fails")
        if ran.returncode == 0:
            return Verdict(mutant, noticed=False, reason="every test passes")
        return Verdict(mutant, noticed=False, reason=f"pytest ended with {ran.returncode}: {ran.stdout[-500:]}")


def main(names: list[str]) -> int:
    """Judge the named mutants, or all; 1 where one survives."""
    patches = sorted(PATCHES.glob("*.patch"))
    mutants = [read(patch) for patch in patches if not names or patch.stem in names]
    if not mutants:
        print("no such mutant" if names else "no mutants")
        return 2
    # Whole tests must pass unbroken, or a failure proves nothing.
    files = sorted({test.partition("::")[0] for mutant in mutants for test in mutant.tests})
    sound = subprocess.run([sys.executable, "-m", "pytest", "-q", "-x", *files], cwd=ROOT, check=False)
    if sound.returncode:
        print("the tests fail without any mutant")
        return 2
    with ThreadPoolExecutor(JOBS) as pool:
        survivors = 0
        for place, verdict in enumerate(pool.map(judge, mutants), 1):
            survivors += not verdict.noticed
            mark = "noticed " if verdict.noticed else "SURVIVED"
            print(f"[{place}/{len(mutants)}] {mark} {verdict.mutant.name}: {verdict.reason}", flush=True)
            if not verdict.noticed:
                print(f"    rule: {verdict.mutant.rule}")
    print(f"{len(mutants) - survivors} of {len(mutants)} mutants noticed")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
