"""An answer of `search_tools` made to fit what it may cost."""

import json
from collections.abc import Callable
from typing import Any

from toolsearch.tokens import TokenCounter

DESCRIPTION = 150
"""Characters of a description in a result."""

_LENGTHS = (DESCRIPTION, 100, 60, 30, 0)
"""Tried one after the other."""


def fit(build: Callable[[int, int], dict[str, Any]], count: int, budget: int, counter: TokenCounter) -> dict[str, Any]:
    """The first answer within `budget` tokens: descriptions shorten, then results go from the end; one always stays.

    `build` makes the answer of so many results, with so many characters of each description.
    """
    sizes = [(count, length) for length in _LENGTHS] + [(kept, 0) for kept in range(count - 1, 0, -1)]
    answer: dict[str, Any] = {}
    for kept, length in sizes:
        answer = build(kept, length)
        if counter(json.dumps(answer, ensure_ascii=False)) <= budget:
            break
    return answer
