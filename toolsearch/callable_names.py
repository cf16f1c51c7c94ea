"""Callable names: what every model provider accepts as the name of a function."""

import hashlib
import re
import unicodedata

from toolsearch.lookalikes import to_ascii

LONGEST = 64
"""Characters; the shortest limit among the providers (OpenAI 64, Anthropic 128)."""

_LEGAL = re.compile(rf"[A-Za-z0-9_-]{{1,{LONGEST}}}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_-]")
# These separate the parts of a name and become an underscore each; whatever else has to go leaves a digest behind.
_SEPARATORS = str.maketrans(" ./:", "____")


def is_legal(name: str) -> bool:
    return _LEGAL.fullmatch(name) is not None


def legal_name(name: str) -> str:
    """The callable name nearest to `name`: itself where it is legal, a digest of it at the end where something was lost.

    The answer depends on `name` alone. Two names that differ in separators only (`a.b`, `a/b`) share one;
    `legal_names` tells those apart.
    """
    if is_legal(name):
        return name
    separated = name.translate(_SEPARATORS)
    if is_legal(separated) and separated.strip("_-"):
        return separated
    return with_digest(separated, of=name)


def with_digest(name: str, *, of: str, digits: int = 8) -> str:
    """A legal name that begins as `name` does and ends in the first hexadecimal digits of sha256 of `of`."""
    bare = _ILLEGAL.sub("_", to_ascii(unicodedata.normalize("NFKC", name)))
    digest = hashlib.sha256(of.encode(errors="surrogatepass")).hexdigest()[:digits]
    return f"{bare[: LONGEST - 1 - digits].strip('_-') or 'tool'}_{digest}"
