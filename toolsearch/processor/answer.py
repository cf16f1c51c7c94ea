"""An answer of `search_tools` made to fit what it may cost."""

import json
from typing import Any

from toolsearch.cleaning import shorten
from toolsearch.processor import texts
from toolsearch.tokens import TokenCounter

_LENGTHS = (100, 60, 30, 0)
"""Characters of a description, tried one after the other."""


def fit(answer: dict[str, Any], budget: int, counter: TokenCounter) -> dict[str, Any]:
    """The answer within `budget` tokens: descriptions shorten first, then results go from the end, and are counted.

    Under auto-load the receipt names what was activated, so nothing but descriptions is given up there.
    """
    if _cost(answer, counter) <= budget:
        return answer
    for length in _LENGTHS:
        answer = {
            **answer,
            "results": [
                {**result, "description": shorten(result["description"], length)} for result in answer["results"]
            ],
        }
        if _cost(answer, counter) <= budget or ("activation" in answer and length == 0):
            return answer
    message, results = answer["message"], answer["results"]
    for kept in range(len(results) - 1, 0, -1):
        dropped = texts.dropped(len(results) - kept)
        answer = {**answer, "results": results[:kept], "message": f"{message} {dropped}"}
        if _cost(answer, counter) <= budget:
            break
    return answer


def _cost(answer: dict[str, Any], counter: TokenCounter) -> int:
    return counter(json.dumps(answer, ensure_ascii=False))
