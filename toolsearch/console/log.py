"""The log, as a person at the command line sees it: one line a record, above the progress bar."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text


@contextmanager
def log_on(console: Console, *, verbose: bool) -> Iterator[None]:
    """This package's warnings, and with `verbose` everything it logs, while this is open."""
    logger = logging.getLogger("toolsearch")
    handler, level = _Lines(console), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG if verbose else logging.WARNING)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _Lines(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        style = "yellow" if record.levelno >= logging.WARNING else "dim"
        self._console.print(
            Text.assemble((f"{record.levelname.lower()}: ", style), record.getMessage()), soft_wrap=True
        )
