"""What `import toolsearch` offers, and what it costs."""

import subprocess
import sys
from pathlib import Path

import pytest

import toolsearch

HEAVY = ("faiss", "torch", "sentence_transformers", "transformers", "diskcache", "botocore")


def test_public_names_are_sorted_and_there() -> None:
    assert sorted(toolsearch.__all__) == toolsearch.__all__
    assert [name for name in toolsearch.__all__ if not hasattr(toolsearch, name)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import toolsearch",
        (
            "import sys; sys.argv = ['toolsearch', '--help']\n"
            "from toolsearch.cli import main\n"
            "try: main()\nexcept SystemExit: pass"
        ),
    ],
    ids=["import toolsearch", "toolsearch --help"],
)
def test_no_heavy_library_is_imported_before_it_is_needed(code: str) -> None:
    script = f"{code}\nimport sys\nprint('loaded:', [name for name in {HEAVY!r} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "loaded: []" in ran.stdout.splitlines()[-1]


def test_the_version_has_an_entry_in_the_changelog() -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text()
    assert f"## [{toolsearch.__version__}]" in changelog
