"""Learning from unlabelled data: prefer models that are sure."""

import numpy as np

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective


class Entropy(SentenceObjective):
    """H = A - <scores, marginals>, in nats; gradient -covariance_product(scores).

    There is no target (None). Minimised on unlabelled sentences it moves the boundary between
    structures away from them (seed 002). Begin with a small weight: `ramp(0.1, over=20) *
    Entropy()`. Costs one covariance product beyond the marginals.

    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
    >>> statistic, pullback = Entropy()(p, None)
    >>> bool(np.isclose(statistic[0], 3 * np.log(2)))
    True
    """

    def losses(self, p: Distribution, target: None) -> tuple[FloatArray, Gradient]:
        """A - <scores, marginals>."""
        losses = p.inference.log_partition - p.flat_expectation(p.scores)
        return losses, lambda: -p.flat_covariance_product(p.scores)


class RenyiEntropy(SentenceObjective):
    """(A(alpha scores) - alpha A(scores)) / (1 - alpha), the entropy where alpha is 1.

    Gradient alpha (marginals(alpha scores) - marginals(scores)) / (1 - alpha); no covariance is
    needed, but two inferences. At alpha = infinity it is minus the log-probability of the best
    structure, as in self-training, with marginals - best as its gradient. There is no target
    (None).

    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
    >>> statistic, pullback = RenyiEntropy(2.0)(p, None)
    >>> bool(np.isclose(statistic[0], 3 * np.log(2)))
    True
    """

    def __init__(self, alpha: float) -> None:
        if not alpha >= 0:
            raise ValueError(f"alpha is {alpha}; expected a number from 0 to infinity.")
        self.alpha = alpha

    def losses(self, p: Distribution, target: None) -> tuple[FloatArray, Gradient]:
        """The entropy of order alpha."""
        alpha, inference = self.alpha, p.inference
        if alpha == 1:
            return Entropy().losses(p, None)
        if alpha == np.inf:
            return (
                inference.log_partition - p.best.scores,
                lambda: inference.marginals - p.structures.counts(p.best.structures),
            )
        tempered = p.tempered(alpha).inference
        losses = (tempered.log_partition - alpha * inference.log_partition) / (1 - alpha)
        return losses, lambda: (alpha / (1 - alpha)) * (tempered.marginals - inference.marginals)
