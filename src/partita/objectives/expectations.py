"""Learning from expectations: what should hold on average, over the whole corpus."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Objective, Pullback, checked_weights, spread
from partita.objectives.targets import checked_target

Distance = Callable[[FloatArray, FloatArray], tuple[float, FloatArray]]
"""(targets, expected) -> distance, and its slope with respect to `expected`."""


@dataclass(frozen=True)
class Constraints:
    """Features of parts whose expectations have targets; they need not be features of the model.

    Constraint k has the value <features[k], counts> in a structure. Its expectation is a ratio:
    the expected values of all sentences over the `occurrences` in all sentences; with
    occurrences = how often a word is in the sentence, that is p(tag | word). Without them every
    sentence counts once, which gives the average per sentence.

    >>> tag_0 = sparse.csr_array([[1.0, 0, 1, 0]])  # two words, two tags: how often tag 0 is used
    >>> constraints = Constraints(tag_0, sparse.csr_array([[2.0]]))
    >>> marginals = np.array([0.25, 0.75, 0.5, 0.5])
    >>> constraints.totals(marginals, np.ones(1), np.ones(4))  # expected 0.75 of 2
    array([0.75, 2.  ])
    """

    features: sparse.csr_array
    """(n_constraints, n_parts)."""
    occurrences: sparse.csr_array | None = None
    """(n_constraints, n_sentences)."""

    def totals(self, marginals: FloatArray, weights: FloatArray, spread: FloatArray) -> FloatArray:
        """Weighted expected values, then weighted occurrences, end to end: (2 n_constraints,)."""
        expected = self.features @ (spread * marginals)
        if self.occurrences is None:
            return np.concatenate([expected, np.full(len(expected), weights.sum())])
        return np.concatenate([expected, self.occurrences @ weights])


def squared_distance(targets: FloatArray, expected: FloatArray) -> tuple[float, FloatArray]:
    """sum_k (targets[k] - expected[k])², and its slope.

    >>> squared_distance(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    (0.5, array([-1.,  1.]))
    """
    difference = expected - targets
    return float(difference @ difference), 2.0 * difference


def kl_distance(targets: FloatArray, expected: FloatArray) -> tuple[float, FloatArray]:
    """sum_k targets[k] log(targets[k] / expected[k]), and its slope -targets / expected.

    The KL divergence where targets that belong together sum to 1, as the tags of one word do. A
    target of 0 contributes nothing. Infinite where something with a target never happens; its
    slope is given as 0 there, so that a line search takes a smaller step.

    >>> loss, slope = kl_distance(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    >>> bool(np.isclose(loss, np.log(2))), slope.tolist()
    (True, [-2.0, 0.0])
    """
    wanted = targets > 0
    if (expected[wanted] <= 0).any():
        return np.inf, np.zeros_like(targets)
    slope = np.zeros_like(targets)
    ratio = targets[wanted] / expected[wanted]
    slope[wanted] = -ratio
    return float(targets[wanted] @ np.log(ratio)), slope


def binary_kl_distance(targets: FloatArray, expected: FloatArray) -> tuple[float, FloatArray]:
    """sum_k KL(targets[k] || expected[k]) of a yes and a no each, and its slope.

    t log(t / e) + (1 - t) log((1 - t) / (1 - e)): for shares from 0 to 1 that stand alone, such as
    "so many arcs obey this rule", where `kl_distance` would want all that can be instead. Infinite
    where what must happen sometimes never does, or always; its slope is given as 0 there.

    >>> loss, slope = binary_kl_distance(np.array([1.0, 0.5]), np.array([0.5, 0.5]))
    >>> bool(np.isclose(loss, np.log(2))), slope.tolist()
    (True, [-2.0, 0.0])
    """
    # Rounding may leave a share of certain arcs a little above 1.
    shares = np.clip(expected, 0.0, 1.0)
    yes, yes_slope = kl_distance(targets, shares)
    no, no_slope = kl_distance(1.0 - targets, 1.0 - shares)
    if np.isinf(yes) or np.isinf(no):
        return np.inf, np.zeros_like(targets)
    return yes + no, yes_slope - no_slope


class GeneralizedExpectation(Objective):
    """distance(targets, expectations of the constraints over the whole corpus).

    The distance is outside the sum over sentences (seed 000, section 1.1), so a first pass over
    the corpus finds the expectations and a second pulls the slope back: gradient
    covariance_product(featuresᵀ slope), one product per sentence however many constraints there
    are. A batch's target is its `Constraints`. A constraint that occurs nowhere is left out.

    Parameters
    ----------
    targets
        (n_constraints,): the wanted expectations.
    distance
        `squared_distance`, `kl_distance`, `binary_kl_distance`, or another function like them.
    bounds
        (n_constraints,): 0 for an expectation that should equal its target (all, if left out), 1
        for one that should be at least, and -1 for one that should be at most the target. What
        keeps its bound counts as on target: with the squared distance that is a squared hinge.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    >>> tag_0 = sparse.csr_array([[1.0, 0, 1, 0, 0, 0, 0, 0]])  # how often tag 0 is used
    >>> objective = GeneralizedExpectation([0.9])
    >>> statistic, pullback = objective(p, Constraints(tag_0, sparse.csr_array([[2.0]])))
    >>> loss, slope = objective.loss(statistic)
    >>> round(loss, 9)  # (0.9 - 0.5)²
    0.16
    >>> pullback(slope)[:4]
    array([-0.1,  0.1, -0.1,  0.1])
    """

    needs_total = True

    def __init__(
        self,
        targets: ArrayLike,
        *,
        distance: Distance = squared_distance,
        bounds: ArrayLike | None = None,
    ) -> None:
        self.targets = np.asarray(targets, dtype=np.float64)
        if self.targets.ndim != 1 or not np.isfinite(self.targets).all():
            raise ValueError(
                f"targets has shape {self.targets.shape}; expected a vector of finite numbers, one "
                "for each constraint."
            )
        self.distance = distance
        given = np.zeros(len(self.targets)) if bounds is None else np.asarray(bounds)
        if given.shape != self.targets.shape or not np.isin(given, (-1, 0, 1)).all():
            raise ValueError(
                f"bounds has shape {given.shape}; expected {self.targets.shape}, 1 (at least), -1 "
                "(at most) or 0 (equal) for each target."
            )
        self.bounds = given.astype(np.int64)
        self.n_statistics = 2 * len(self.targets)

    def __call__(
        self, p: Distribution, target: Constraints, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """Expected values and occurrences of the constraints, and the pullback."""
        target = checked_target(target, Constraints, self, "Constraints(features, occurrences)")
        self._check(p, target)
        weights = checked_weights(sample_weights, p.structures.n_sentences)
        each = spread(p, weights)

        def pullback(slope: FloatArray) -> FloatArray:
            direction = target.features.T @ slope[: len(self.targets)]
            return each * p.flat_covariance_product(direction)

        return target.totals(p.inference.marginals, weights, each), pullback

    def loss(self, total: FloatArray) -> tuple[float, FloatArray]:
        """The distance, and its slope; 0 for the occurrences, which no score changes."""
        expected, occurrences = np.split(total, 2)
        occurs = occurrences > 0
        targets, shares = self.targets[occurs], expected[occurs] / occurrences[occurs]
        keeps_bound = self.bounds[occurs] * (shares - targets) > 0
        loss, slope = self.distance(targets, np.where(keeps_bound, targets, shares))
        slope = np.where(keeps_bound, 0.0, slope)
        slopes = np.zeros_like(total)
        slopes[: len(expected)][occurs] = slope / occurrences[occurs]
        return loss, slopes

    def expectations(self, total: FloatArray) -> FloatArray:
        """The expectations, to set beside the targets; NaN for what occurs nowhere.

        >>> GeneralizedExpectation([0.9, 0.5]).expectations(np.array([0.75, 0.0, 2.0, 0.0]))
        array([0.375,   nan])
        """
        expected, occurrences = np.split(total, 2)
        nothing = np.full_like(expected, np.nan)
        return np.divide(expected, occurrences, out=nothing, where=occurrences > 0)

    def _check(self, p: Distribution, target: Constraints) -> None:
        for name, matrix in (("features", target.features), ("occurrences", target.occurrences)):
            if not (matrix is None or sparse.issparse(matrix) or isinstance(matrix, np.ndarray)):
                raise ValueError(
                    f"the {name} of the constraints are a {type(matrix).__name__}; expected a "
                    "sparse matrix, see `partita.features.tag_constraints`."
                )
        expected = (len(self.targets), p.structures.n_parts)
        if target.features.shape != expected:
            raise ValueError(
                f"the constraint features have shape {target.features.shape}; expected {expected}, "
                "a row for each target and a column for each part of the batch."
            )
        expected = (len(self.targets), p.structures.n_sentences)
        if target.occurrences is not None and target.occurrences.shape != expected:
            raise ValueError(
                f"the occurrences have shape {target.occurrences.shape}; expected {expected}, a "
                "row for each target and a column for each sentence of the batch."
            )


def gradient_from_covariance(p: Distribution, target: Constraints, slope: FloatArray) -> FloatArray:
    """The pullback of `GeneralizedExpectation` from dense covariance matrices, for checking.

    (features covariance)ᵀ slope, with the covariance of every part with every constraint; costs
    the square of the number of parts.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    >>> tag_0 = Constraints(sparse.csr_array([[1.0, 0, 1, 0, 0, 0, 0, 0]]))
    >>> gradient_from_covariance(p, tag_0, np.ones(1))[:4]
    array([ 0.25, -0.25,  0.25, -0.25])
    """
    starts = p.structures.part_offsets
    matrices = p.structures.covariance(p.scores, p.inference)
    gradient = np.empty(p.structures.n_parts)
    for first, last, covariance in zip(starts[:-1], starts[1:], matrices, strict=True):
        with_constraints = target.features[:, first:last] @ covariance
        gradient[first:last] = slope[: target.features.shape[0]] @ with_constraints
    return gradient
