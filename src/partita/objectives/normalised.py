"""Learning models that are normalised at every step, with the objectives that there are."""

from typing import Any

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Objective, Pullback
from partita.structures.local_chains import locally_normalised, pulled_through_normalisation


class LocallyNormalised(Objective):
    """Another objective, of the chain that is normalised at every step: p(y_t | y_(t-1), words).

    `LocallyNormalised(Likelihood())` trains a maximum-entropy Markov model with the features of a
    conditional random field. The log-partition is 0 whatever the scores, so the model need not
    compare whole sequences, and cannot: a step from a tag that has one successor is certain,
    whatever the word (label bias). The target is that of the objective within; the gradient is
    with respect to the scores before they are normalised. To decode, ask the distribution with
    `p.with_scores(locally_normalised(p.structures, p.scores))`.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> from partita.objectives import Counts, Likelihood
    >>> p = LinearChain(np.log([[1.0, 3.0], [1.0, 1.0]]), np.zeros((2, 2)))
    >>> objective = LocallyNormalised(Likelihood())
    >>> statistic, pullback = objective(p, Counts.of(p.structures, [[1, 0]]))
    >>> float(np.exp(-statistic[0]).round(9))  # 3/4 x 1/2
    0.375
    """

    def __init__(self, objective: Objective) -> None:
        self.objective = objective
        self.needs_total = objective.needs_total
        self.n_statistics = objective.n_statistics
        self.is_random = objective.is_random

    def __call__(
        self, p: Distribution, target: Any, sample_weights: FloatArray | None = None
    ) -> tuple[FloatArray, Pullback]:
        """The statistic of the objective within, and its pullback through the normalisation."""
        normalised = p.with_scores(locally_normalised(p.structures, p.scores))
        statistic, pullback = self.objective(normalised, target, sample_weights)
        return statistic, lambda slope: pulled_through_normalisation(
            p.structures, p.scores, pullback(slope)
        )

    def loss(self, total: FloatArray) -> tuple[float, FloatArray]:
        """That of the objective within."""
        return self.objective.loss(total)
