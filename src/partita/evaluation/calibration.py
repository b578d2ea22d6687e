"""Whether probabilities mean what they say: of what is held 80 % likely, 80 % should be right."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, FloatArray, IntArray


class Bin(NamedTuple):
    """The predictions whose probability lies in (low, high], or is 0 in the first bin.

    >>> found = reliability([0.75, 0.625], [True, False], n_bins=2)[1]
    >>> found.accuracy - found.mean_probability  # below 0: too sure of itself
    -0.1875
    """

    low: float
    high: float
    n: int
    mean_probability: float
    """What the model said, on average; NaN in an empty bin."""
    accuracy: float
    """How many were right; NaN in an empty bin."""


def reliability(probabilities: ArrayLike, correct: ArrayLike, n_bins: int = 10) -> list[Bin]:
    """Predictions sorted into bins of equal width by their probability.

    `probabilities` are those of the predicted tags (or whatever was predicted), and `correct`
    says of each whether it was right.

    >>> bins = reliability([0.75, 0.625, 0.25], [True, False, False], n_bins=2)
    >>> bins[1]
    Bin(low=0.5, high=1.0, n=2, mean_probability=0.6875, accuracy=0.5)
    """
    return BinSums.of(probabilities, correct, n_bins).bins()


class BinSums(NamedTuple):
    """What bins are made of, to be added up over a corpus; each (n_bins,)."""

    n: IntArray
    probability: FloatArray
    right: FloatArray

    @classmethod
    def of(cls, probabilities: ArrayLike, correct: ArrayLike, n_bins: int = 10) -> "BinSums":
        """See `reliability`."""
        if n_bins < 1:
            raise ValueError(f"n_bins is {n_bins}; expected 1 or more.")
        p, right = _checked(probabilities, correct)
        edges = np.linspace(0.0, 1.0, n_bins + 1)
        # The edge itself belongs to the bin below it, so that 1 is in the last one.
        place = np.clip(np.searchsorted(edges, p, side="left") - 1, 0, n_bins - 1)
        sums: FloatArray = np.bincount(place, weights=p, minlength=n_bins).astype(np.float64)
        hits: FloatArray = np.bincount(place, weights=right, minlength=n_bins).astype(np.float64)
        return cls(np.bincount(place, minlength=n_bins), sums, hits)

    def plus(self, other: "BinSums") -> "BinSums":
        """Those of both."""
        return BinSums(
            self.n + other.n, self.probability + other.probability, self.right + other.right
        )

    def bins(self) -> list[Bin]:
        """The bins themselves."""
        edges = np.linspace(0.0, 1.0, len(self.n) + 1)
        nothing = np.full(len(self.n), np.nan)
        means = np.divide(self.probability, self.n, out=nothing.copy(), where=self.n > 0)
        shares = np.divide(self.right, self.n, out=nothing.copy(), where=self.n > 0)
        columns = (edges[:-1], edges[1:], self.n, means, shares)
        return [Bin(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Expected calibration error: the mean of |accuracy - mean probability|, each bin by its n.

    >>> calibration_error(reliability([0.75, 0.75, 0.75, 0.75], [True, True, True, False]))
    0.0
    """
    total = sum(found.n for found in bins)
    if not total:
        return float("nan")
    gaps = (found.n * abs(found.accuracy - found.mean_probability) for found in bins if found.n)
    return sum(gaps) / total


def _checked(probabilities: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, BoolArray]:
    p = np.asarray(probabilities, dtype=np.float64)
    right = np.asarray(correct)
    if p.ndim != 1 or right.shape != p.shape:
        raise ValueError(
            f"probabilities has shape {p.shape} and correct {right.shape}; expected one of each "
            "for every prediction."
        )
    if right.dtype != np.bool_:
        raise ValueError(f"correct has type {right.dtype}; expected booleans.")
    # A marginal may exceed 1 by rounding; it is no mistake of the caller's.
    if p.size and not (p.min() >= 0 and p.max() <= 1 + 1e-9):
        raise ValueError(
            f"probabilities range from {p.min()} to {p.max()}; expected 0 to 1. Scores and "
            "log-probabilities must be converted first."
        )
    return p, right
