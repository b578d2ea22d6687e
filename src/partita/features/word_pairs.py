"""What is known of a pair of words wherever it stands: how likely it is, how alike it is spelt."""

from collections.abc import Sequence

import numpy as np

from partita.arrays import FloatArray
from partita.text.views import is_word

LEAST_LOG = -12.0
"""Log-probabilities below this say no more than that a model does not believe in a pair."""

PROPOSAL_VALUES = ("log t(y|x)", "log t(x|y)", "spelt alike")
PAIR_VALUES = ("link", *PROPOSAL_VALUES, "equal", "only one is a word")
DELETION_VALUES = ("deletion", "log t(x|empty)")


def logarithms(probabilities: FloatArray) -> FloatArray:
    """Natural logarithms, at least `LEAST_LOG`."""
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(probabilities), LEAST_LOG)


def proposal_values(forward: FloatArray, backward: FloatArray, spelling: FloatArray) -> FloatArray:
    """The values of `PROPOSAL_VALUES` from t(y | x), t(x | y) and the likeness of each pair."""
    return np.column_stack([logarithms(forward), logarithms(backward), spelling])


def pair_values(proposals: FloatArray, source: Sequence[str], target: Sequence[str]) -> FloatArray:
    """The values of `PAIR_VALUES` from those of `PROPOSAL_VALUES`.

    >>> pair_values(np.array([[-1.0, -2.0, 1.0]]), ["nation"], ["nation"])
    array([[ 1., -1., -2.,  1.,  1.,  0.]])
    """
    differ = [is_word(x) != is_word(y) for x, y in zip(source, target, strict=True)]
    return np.column_stack(
        [
            np.ones(len(proposals)),
            proposals,
            proposals[:, -1] == 1.0,
            np.array(differ, dtype=np.float64).reshape(-1),
        ]
    )
