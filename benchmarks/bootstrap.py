"""An interval around a mean over sets: how far chance alone may have moved it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the interval that holds it with the stated confidence."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Sample:
    """One set's queries: a value each (for a comparison, the difference of two methods), and whom it depends on."""

    values: Sequence[float]
    owners: Sequence[str]
    """The relevant tool of each query: queries about one tool succeed and fail together, so they are drawn together."""


def macro_interval(
    samples: Mapping[str, Sample], *, draws: int = 5_000, seed: int = 0, confidence: float = 0.95
) -> Interval:
    """The mean over sets of the mean over queries, and its percentile bootstrap: within each set, owners are drawn with
    replacement, each with all its queries. Every set weighs the same, whatever its size.

    Raises:
        ValueError: no sample, or a sample without queries.
    """
    if not samples or not all(sample.values for sample in samples.values()):
        raise ValueError("an interval needs at least one query in every set")
    random = np.random.default_rng(seed)
    means = np.mean([np.mean(sample.values) for sample in samples.values()])
    drawn = np.mean([_draws(sample, draws, random) for _, sample in sorted(samples.items())], axis=0)
    tail = (1 - confidence) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return Interval(float(means), float(low), float(high))


def _draws(sample: Sample, draws: int, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Means of `draws` resamples, shape (draws,)."""
    _, owner = np.unique(np.asarray(sample.owners), return_inverse=True)
    totals = np.bincount(owner, weights=np.asarray(sample.values, dtype=np.float64))
    sizes = np.bincount(owner)
    means = np.empty(draws)
    for draw in range(draws):
        chosen = random.integers(0, len(sizes), len(sizes))
        means[draw] = totals[chosen].sum() / sizes[chosen].sum()
    return means
