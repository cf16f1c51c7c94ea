"""Look-alikes: different names that one reader, or one font, takes for the same."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

_ASCII_TWINS = str.maketrans("1I|0", "lllO")


def to_ascii(text: str) -> str:
    """Each character that a Latin letter or a digit resembles becomes that one; accents fall, the rest stays."""
    return text if text.isascii() else "".join(map(_ascii_char, text))


def skeletons(text: str) -> tuple[str, str]:
    """Two names look alike where their first skeletons are equal (alphabet, accent, case) or their second (`l`/`1`/`I`, `0`/`O`)."""
    plain = to_ascii(unicodedata.normalize("NFKC", text))
    return plain.casefold(), plain.translate(_ASCII_TWINS)


class Spelling(NamedTuple):
    """One name that somebody reads, and whose it is."""

    text: str
    owner: int
    cased: bool = True
    """Whether a difference in case alone counts: titles repeat in any case, callable names must not."""


def look_alikes(spellings: Iterable[Spelling]) -> list[tuple[str, str]]:
    """Pairs of different names that look alike and belong to different owners, in the order met, each once.

    Of several that all look alike each is paired with the first: as many pairs as names, whatever an attacker sends.
    """
    groups: defaultdict[tuple[int, str], dict[str, set[Spelling]]] = defaultdict(dict)
    for spelling in spellings:
        for kind, skeleton in enumerate(skeletons(spelling.text)):
            groups[kind, skeleton].setdefault(spelling.text, set()).add(spelling)
    pairs: dict[tuple[str, str], None] = {}
    for group in groups.values():
        (first, known), *others = group.items()
        for text, met in others:
            if len({spelling.owner for spelling in known | met}) > 1 and (
                first.casefold() != text.casefold() or (_cased(known) and _cased(met))
            ):
                pairs.setdefault((first, text))
    return list(pairs)


def _cased(spellings: Iterable[Spelling]) -> bool:
    return any(spelling.cased for spelling in spellings)


@lru_cache(maxsize=4096)
def _ascii_char(char: str) -> str:
    if char.isascii():
        return char
    base = unicodedata.normalize("NFKD", char)[0]
    if base.isascii():
        return base
    # 900 KB of JSON, read only once a name holds a character outside ASCII.
    from confusable_homoglyphs.confusables import confusables_data  # noqa: PLC0415

    twins = [twin["c"] for twin in confusables_data.get(char, ())]
    return next((twin for twin in twins if len(twin) == 1 and twin.isascii() and twin.isalnum()), char)
