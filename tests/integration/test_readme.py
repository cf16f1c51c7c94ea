"""The README's Python once more, with the real model and nothing patched."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.model
def test_the_readme_prints_what_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TOOLSEARCH_CACHE_DIR", str(tmp_path))
    namespace: dict[str, object] = {}
    for block in BLOCKS:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(block, "README.md", "exec"), namespace)
        assert printed.getvalue().splitlines() == re.findall(r"^ *#> ?(.*)$", block, re.MULTILINE)
