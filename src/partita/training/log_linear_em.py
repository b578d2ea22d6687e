"""Expectation-maximisation where the probabilities are log-linear in features."""

from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.features.log_linear import LogLinear
from partita.training.optimisers.base import Optimiser
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.penalties import Penalty
from partita.training.trainer import minimise


class LogLinearMaximiser:
    """The M-step of a model whose log-probabilities come from features, for EM.

    `ExpectationMaximisation(maximiser, maximiser.log_prior)` trains the log-probabilities; the
    weights of the features that they come from are in `weights`. Each M-step begins at the weights
    of the last one, and need not end at the optimum to be a step upwards.

    >>> from partita.features.matrix import MatrixFeatures
    >>> coin = LogLinear(MatrixFeatures(np.array([[1.0], [0.0]])), contexts=[0, 0])
    >>> maximiser = LogLinearMaximiser(coin, np.zeros(1))
    >>> np.exp(maximiser(np.array([3.0, 1.0]))).round(3)
    array([0.75, 0.25])
    """

    def __init__(
        self,
        model: LogLinear,
        weights: FloatArray,
        *,
        penalty: Penalty | None = None,
        optimiser: Optimiser[Any] | None = None,
    ) -> None:
        self.model, self.weights = model, np.array(weights, dtype=np.float64)
        self.penalty = penalty or Penalty()
        self.optimiser = optimiser or LBFGS(n_iterations=50)

    def __call__(self, counts: FloatArray) -> FloatArray:
        """Expected counts -> the log-probabilities that make them most likely."""
        found = minimise(
            self.model.loss(counts), self.weights, self.optimiser, penalty=self.penalty
        )
        self.weights = found.weights
        return self.model.log_probabilities(self.weights)

    def log_prior(self, log_probabilities: FloatArray) -> float:
        """Minus the penalty of the weights that the last log-probabilities come from."""
        return -(self.penalty.smooth(self.weights) + self.penalty.absolute(self.weights))
