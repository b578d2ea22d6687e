"""How far a measured number may be off: confidence intervals by resampling sentences."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A number and what it may be.

    >>> Interval(0.9, 0.88, 0.92).low
    0.88
    """

    value: float
    """On the data as they are."""
    low: float
    high: float


def bootstrap(
    measure: Callable[..., float],
    *data: Sequence[object],
    n_samples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Interval:
    """A measure of sentences with a confidence interval: the bootstrap, by percentiles.

    `data` are sequences with an item for each sentence; `measure` gets them resampled together,
    with replacement. Sentences are drawn, not words, since the words of one are not independent.

    >>> from partita.evaluation.tags import accuracy
    >>> gold = [["a", "b"], ["a"], ["b", "b", "a"]] * 20
    >>> found = [["a", "b"], ["b"], ["b", "b", "a"]] * 20
    >>> value, low, high = bootstrap(accuracy, gold, found, n_samples=200)
    >>> low < value < high
    True
    """
    if len({len(items) for items in data}) != 1 or not len(data[0]):
        raise ValueError(
            f"the data have {[len(items) for items in data]} items; expected as many in each, one "
            "for each sentence, and at least one."
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; expected a share between 0 and 1.")
    if n_samples < 1:
        raise ValueError(f"n_samples is {n_samples}; expected 1 or more.")
    rng = np.random.default_rng(seed)
    n_items = len(data[0])
    values = []
    for _ in range(n_samples):
        drawn = rng.integers(n_items, size=n_items).tolist()
        values.append(measure(*([items[index] for index in drawn] for items in data)))
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail]).tolist()
    return Interval(float(measure(*data)), low, high)
