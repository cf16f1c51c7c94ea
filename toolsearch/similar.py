"""Names close to a mistaken one: by spelling (`send_mial`) and by the words inside (`issue_create`)."""

from collections.abc import Iterable, Iterator, Sequence

from rapidfuzz.distance import OSA

from toolsearch.identifiers import squash, words

# Both on 0..1. Below these a suggestion is noise: half of the letters, or less than half of the words, agree.
_SPELLING = 0.6
_WORDS = 0.5
_LONGEST = 128
"""Characters compared; more would only make a hostile name expensive."""


class Similar:
    """Owners, each with the names it answers to."""

    def __init__(self, names: Iterable[tuple[str, Sequence[str]]]) -> None:
        self._entries = [
            (owner, squash(name[:_LONGEST]), frozenset(words(name[:_LONGEST]).split()))
            for owner, spelled in names
            for name in dict.fromkeys(spelled)
        ]

    def ranked(self, name: str) -> Iterator[str]:
        """Owners of names close to this one, best first, ties by owner; each once."""
        head = name[:_LONGEST]
        letters, parts = squash(head), frozenset(words(head).split())
        scores: dict[str, float] = {}
        for owner, other_letters, other_parts in self._entries:
            spelling = OSA.normalized_similarity(letters, other_letters, score_cutoff=_SPELLING)
            shared = len(parts & other_parts)
            overlap = 2 * shared / (len(parts) + len(other_parts)) if shared else 0.0
            score = max(spelling, overlap if overlap >= _WORDS else 0.0)
            if score > scores.get(owner, 0.0):
                scores[owner] = score
        return iter(sorted(scores, key=lambda owner: (-scores[owner], owner)))
