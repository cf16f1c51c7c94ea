"""What a result file says about the run behind it, so that anybody can tell whether it can be repeated."""

import gzip
import json
import os
import platform
import subprocess
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
_LIBRARIES = ("toolsearch", "numpy", "faiss-cpu", "sentence-transformers", "transformers", "torch")


def circumstances(*, seed: int) -> dict[str, Any]:
    """Revision, whether the tree was clean, versions of what computes, seed, processors and threads."""
    return {
        "git": {"sha": _git("rev-parse", "HEAD"), "clean": not _git("status", "--porcelain", "--untracked-files=no")},
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
        "cpus": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", "all"),
        "seed": seed,
    }


def write(path: Path, result: Mapping[str, Any]) -> None:
    """A result as JSON that a diff can show."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


def write_packed(path: Path, result: Mapping[str, Any]) -> None:
    """The same, compact and gzipped: equal results give equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(result, separators=(",", ":")).encode(), mtime=0))


def _git(*arguments: str) -> str:
    # The revision is that of the code that runs, wherever it is run from.
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
