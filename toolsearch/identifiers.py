"""Names as machines write them, and the words inside: `createIssue` is `create issue`."""

import re
import unicodedata

_RUN = re.compile(r"\w+(?:-\w+)*")
_HUMP = re.compile(r"(?<=[a-zß-öø-ÿ0-9])(?=[A-ZÀ-ÖØ-Þ])|(?<=[A-ZÀ-ÖØ-Þ])(?=[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ])")
_JOINT = re.compile(r"[_\-\s]+")
_SEPARATOR = re.compile(r"__|[./:\\]")


def split_identifier(name: str) -> list[str]:
    """The words of one identifier in their own case: `parseHTTPResponse` -> parse, HTTP, Response; `s3` stays whole."""
    return [part for run in _JOINT.split(name) for part in _HUMP.split(run) if part]


def runs(text: str) -> list[str]:
    """The identifiers and words of a text, punctuation left out; `create-issue` and `create_issue` are one run each."""
    return _RUN.findall(text)


def words(name: str) -> str:
    """A name as a person would say it: its words in lower case, split before lowering."""
    return " ".join(part.lower() for run in runs(name) for part in split_identifier(run))


def squash(name: str) -> str:
    """What is left of a name without case and separators: equal for `createIssue`, `create_issue`, `Create issue`."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return "".join(char for char in folded if char.isalnum())


def last_segment(name: str) -> str:
    """The part behind the last server separator: `github__create_issue` and `github.create_issue` -> `create_issue`."""
    return _SEPARATOR.split(name)[-1]
