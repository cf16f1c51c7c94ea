"""Names as machines write them, and the words inside: `createIssue` is `create issue`."""

import itertools
import re
import unicodedata

_RUN = re.compile(r"\w+(?:-\w+)*")
_SPACED_RUN = re.compile(r"\w[^ -]*(?:-\w[^ -]*)*")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_JOINT = re.compile(r"[_\-\s]+")
_SEPARATOR = re.compile(r"__|[./:\\]")


def split_identifier(name: str) -> list[str]:
    """The words of one identifier in their own case: `parseHTTPResponse` -> parse, HTTP, Response; `s3` stays whole."""
    return [part for run in _JOINT.split(name) for part in _humps(run) if part]


def runs(text: str) -> list[str]:
    """The identifiers and words of a text, punctuation left out; `create-issue` and `create_issue` are one run each."""
    if text.isascii():
        return _RUN.findall(text)
    # A mark is no word character to `re`, but half of a syllable in Hindi and Thai.
    spaced = "".join(char if char.isalnum() or char in "_-" or _is_mark(char) else " " for char in text)
    return _SPACED_RUN.findall(spaced)


def words(name: str) -> str:
    """A name as a person would say it: its words in lower case, split before lowering."""
    return " ".join(part.lower() for run in runs(name) for part in split_identifier(run))


def squash(name: str) -> str:
    """What is left of a name without case and separators: equal for `createIssue`, `create_issue`, `Create issue`."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    # Marks that no letter takes in are accents on Latin or Greek (dropped), or vowels (not).
    return "".join(char for char in folded if char.isalnum() or (_is_mark(char) and not "\u0300" <= char <= "\u036f"))


def last_segment(name: str) -> str:
    """The part behind the last server separator: `github__create_issue` and `github.create_issue` -> `create_issue`."""
    return _SEPARATOR.split(name)[-1]


def _humps(run: str) -> list[str]:
    if run.isascii():
        return _HUMP.split(run)
    # The same rule for every alphabet that has capitals, on a copy that keeps nothing but the case.
    case = ""
    for char in run:
        if _is_mark(char):
            case += case[-1:] or "-"
        else:
            case += "A" if char.isupper() else "a" if char.islower() or char.isdecimal() else "-"
    cuts = [0, *(match.start() for match in _HUMP.finditer(case)), len(run)]
    return [run[start:stop] for start, stop in itertools.pairwise(cuts)]


def _is_mark(char: str) -> bool:
    """Whether a character is written onto the letter before it; what only chooses a glyph is not."""
    return unicodedata.category(char)[0] == "M" and not (
        "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    )
