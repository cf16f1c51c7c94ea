"""The wheel, installed with the sources gone."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SCRIPT = """
import toolsearch
from toolsearch.embedding.registry import registry
print(toolsearch.__file__)
print(sorted(registry()))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("built")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(built)], cwd=ROOT, check=True)
    (wheel,) = built.glob("*.whl")
    target = tmp_path_factory.mktemp("target")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run([*pip, str(wheel)], check=True)
    return target


def test_a_wheel_carries_the_package_and_the_model_registry(installed: Path, tmp_path: Path) -> None:
    # -P and the empty folder keep the sources off the path; the target comes before the editable install.
    ran = subprocess.run(
        [sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {str(installed)!r})\n{SCRIPT}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    where, models = ran.stdout.splitlines()
    assert Path(where).is_relative_to(installed)
    assert "minilm" in models


def test_a_wheel_holds_nothing_but_the_package(installed: Path) -> None:
    tops = {path.name for path in installed.iterdir() if not path.name.endswith(".dist-info")}
    assert tops - {"bin", "__pycache__"} == {"toolsearch"}
