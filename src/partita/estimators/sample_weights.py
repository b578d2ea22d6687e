"""What each sentence counts, as a caller says it; the same for all estimators."""

from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.objectives.base import checked_weights

NAME = "sample_weight"
"""As `fit` calls it."""


def read_sample_weight(given: Any, n_items: int, n_more: int = 0) -> FloatArray | None:
    """A number for each of the items that came, and 1 for `n_more` behind them; None if none came.

    >>> read_sample_weight([2, 0], 2, n_more=1)
    array([2., 0., 1.])
    >>> read_sample_weight([0, 0], 2)
    Traceback (most recent call last):
    ValueError: sample_weight is 0 everywhere, so that nothing would be learnt; expected ...
    """
    if given is None:
        return None
    weights = np.concatenate([checked_weights(given, n_items, NAME), np.ones(n_more)])
    if len(weights) and not weights.any():
        raise ValueError(
            f"{NAME} is 0 everywhere, so that nothing would be learnt; expected a number above 0 "
            "for some sentence. Leave it out if all are to count alike."
        )
    return weights
