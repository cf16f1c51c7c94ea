"""A server loads the application, then forks its workers: they search and embed as their parent did."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

SECONDS = 20
"""A worker that waits for its parent's threads waits forever."""


def forked(prepare: str, work: str) -> str:
    """What a child prints that does `work` after its parent did `prepare`; it is ended where it hangs."""
    script = (
        "import os, signal, warnings\n"
        'warnings.simplefilter("ignore")\n'
        f"{textwrap.dedent(prepare)}\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        f"    signal.alarm({SECONDS})\n"
        f"{textwrap.indent(textwrap.dedent(work), '    ')}\n"
        "    os._exit(0)\n"
        "assert os.waitpid(child, 0)[1] == 0\n"
    )
    # Two threads at least, or OpenMP has none to miss.
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    ran = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_an_index_that_was_searched_on_many_threads_is_searched_in_a_forked_process() -> None:
    prepare = """
        import numpy as np
        from toolsearch.index import VectorIndex

        rows = np.eye(2000, 32, dtype=np.float32)
        rows[32:] = rows[np.arange(1968) % 32]
        index = VectorIndex(rows)
        queries = rows[:8]
        index.search_many(queries, 1500)
    """
    work = """
        several = index.search_many(queries, 1500)
        print(len(several), len(index.vectors(np.arange(2000))), flush=True)
    """
    assert forked(prepare, work) == "8 2000\n"


@pytest.mark.model
def test_a_model_that_embedded_a_catalog_embeds_in_a_forked_process(tmp_path: Path) -> None:
    prepare = f"""
        from toolsearch import Tool, ToolSearch

        search = ToolSearch(
            [Tool(name=f"tool_{{n}}", description=f"Does thing number {{n}}.") for n in range(40)], cache_dir={str(tmp_path)!r}
        )
    """
    work = """
        texts = [f"text number {n}" for n in range(40)]
        print(search.encoder.encode(texts, "document").shape, flush=True)
    """
    assert forked(prepare, work) == "(40, 384)\n"
