"""What every test of the processor is given: a way to make processors, and both entries to drive them by."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from office import ASYNC, SYNC, Entry, Make, Office


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes processors over the office's tools, and closes them."""
    office = Office(tmp_path)
    yield office.processor
    office.close()


@pytest.fixture(params=[SYNC, ASYNC], ids=["sync", "async"])
def entry(request: pytest.FixtureRequest) -> Entry:
    """Both entries, one after the other: what holds of one holds of the other."""
    chosen: Entry = request.param
    return chosen
