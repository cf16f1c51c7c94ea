"""How good a ranking is for the query that asked for it."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ranks: TypeAlias = Sequence[int | None]
"""One entry a relevant tool: its 1-based rank, None where it was not returned or is not in the catalog. Never empty."""


def recall(ranks: Ranks, k: int) -> float:
    """Share of the relevant tools among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def hit(ranks: Ranks, k: int) -> float:
    """1 where any relevant tool is among the first k."""
    return float(any(rank is not None and rank <= k for rank in ranks))


def completeness(ranks: Ranks, k: int) -> float:
    """1 where all relevant tools are among the first k."""
    return float(all(rank is not None and rank <= k for rank in ranks))


def ndcg(ranks: Ranks, k: int) -> float:
    """Discounted gain of the first k over that of the best order there is; every relevant tool gains 1."""
    gain = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None and rank <= k)
    return gain / sum(1 / math.log2(place + 1) for place in range(1, min(k, len(ranks)) + 1))


def reciprocal_rank(ranks: Ranks) -> float:
    """One over the rank of the first relevant tool; 0 where none was returned."""
    return max((1 / rank for rank in ranks if rank is not None), default=0.0)


METRICS: Mapping[str, Callable[[Ranks], float]] = {
    "recall@1": lambda ranks: recall(ranks, 1),
    "recall@3": lambda ranks: recall(ranks, 3),
    "recall@5": lambda ranks: recall(ranks, 5),
    "recall@10": lambda ranks: recall(ranks, 10),
    "hit@5": lambda ranks: hit(ranks, 5),
    "complete@5": lambda ranks: completeness(ranks, 5),
    "ndcg@10": lambda ranks: ndcg(ranks, 10),
    "mrr": reciprocal_rank,
}
"""What is reported of every ranking."""


def auroc(positive: npt.ArrayLike, negative: npt.ArrayLike) -> float:
    """Chance that a random positive scores above a random negative, a tie counting half; NaN where a side is empty."""
    higher, lower = np.asarray(positive, dtype=np.float64), np.sort(np.asarray(negative, dtype=np.float64))
    if not len(higher) or not len(lower):
        return math.nan
    below = np.searchsorted(lower, higher, side="left")
    upto = np.searchsorted(lower, higher, side="right")
    return float((below + upto).mean() / 2 / len(lower))
