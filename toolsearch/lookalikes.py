"""Look-alikes: different names that one reader, or one font, takes for the same."""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import lru_cache

_ASCII_TWINS = str.maketrans("1I|0", "lllO")


def to_ascii(text: str) -> str:
    """Each character that a Latin letter or a digit resembles becomes that one; accents fall, the rest stays."""
    return text if text.isascii() else "".join(map(_ascii_char, text))


def skeletons(text: str) -> tuple[str, str]:
    """Two names look alike where their first skeletons are equal (alphabet, accent, case) or their second (`l`/`1`/`I`, `0`/`O`)."""
    plain = to_ascii(unicodedata.normalize("NFKC", text))
    return plain.casefold(), plain.translate(_ASCII_TWINS)


def look_alikes(names: Iterable[tuple[str, int]]) -> Iterator[tuple[str, str]]:
    """Pairs of different names that look alike and belong to different owners, in the order met, each once.

    Of several that all look alike each is paired with the first: as many pairs as names, whatever an attacker sends.
    """
    groups: defaultdict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for name, owner in names:
        for kind, skeleton in enumerate(skeletons(name)):
            groups[kind, skeleton].setdefault(name, owner)
    pairs: dict[tuple[str, str], None] = {}
    for group in groups.values():
        (first, owner), *others = group.items()
        for second, other in others:
            if owner != other:
                pairs.setdefault((first, second))
    return iter(pairs)


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
