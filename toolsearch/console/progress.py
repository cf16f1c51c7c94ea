"""Progress: while a model is loaded and many texts are embedded, a person is told how many, how fast, how long still."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, Task, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

Report: TypeAlias = Callable[[int, int], None]
"""Told (texts done, texts to do) after each chunk; what `CachedEncoder.progress` takes."""

_PLAIN_LINES = 10
"""Where nobody watches a terminal, a log gets this many lines at most, whatever the number of texts."""


@contextmanager
def progress_on(console: Console) -> Iterator[Report]:
    """A bar that vanishes when it is done, on a terminal; a few plain lines elsewhere, none where little is embedded."""
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=36),
        _Counts(),
        TimeElapsedColumn(),
        _Left(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("Getting ready", total=None)
        yield lambda done, total: bar.update(
            task, completed=done, total=total, description="Embedding tools" if done < total else "Building the index"
        )


class _Counts(TextColumn):
    """Texts done and to do, and how many a second."""

    def __init__(self) -> None:
        super().__init__("")

    def render(self, task: Task) -> Text:
        if task.total is None:
            return Text("")
        speed = f", {task.speed:.0f}/s" if task.speed else ""
        return Text(f"{task.completed:,.0f}/{task.total:,.0f} texts{speed}")


class _Left(TimeRemainingColumn):
    """Silent until there is something to reckon with."""

    def render(self, task: Task) -> Text:
        return Text("") if task.speed is None else Text("left ") + super().render(task)


class _Lines:
    """At most ten lines in all, evenly spread over the texts; none where the first chunk was all."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._start = time.monotonic()
        self._said = 0

    def __call__(self, done: int, total: int) -> None:
        due = done * _PLAIN_LINES // total
        if due > self._said and (self._said or done < total):
            self._said = due
            seconds = time.monotonic() - self._start
            line = f"embedded {done:,} of {total:,} texts, {_rate(done, seconds)}/s, {seconds * (total - done) / done:.0f} s left"
            self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def _rate(done: float, seconds: float | None) -> str:
    return f"{done / seconds:.0f}" if seconds else "-"
