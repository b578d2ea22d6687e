"""Learning from unlabelled data: prefer models that are sure."""

from partita.arrays import FloatArray
from partita.distribution import entropies
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import refuse_target


class Entropy(SentenceObjective):
    """H = A - <scores, marginals>, in nats; gradient -covariance_product(scores).

    There is no target (None). Minimised on unlabelled sentences it moves the boundary between
    structures away from them (seed 002). Begin with a small weight: `ramp(0.1, over=20) *
    Entropy()`. Costs one covariance product beyond the marginals.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
    >>> statistic, pullback = Entropy()(p, None)
    >>> bool(np.isclose(statistic[0], 3 * np.log(2)))
    True
    """

    def prepare(self, p: Distribution) -> None:
        """Entropy and gradient in the pass of the marginals, where structures know how."""
        p.infer_with_entropy()

    def losses(self, p: Distribution, target: None) -> tuple[FloatArray, Gradient]:
        """A - <scores, marginals>."""
        refuse_target(target, self)
        return entropies.entropy(p), lambda: entropies.entropy_gradient(p)


class RenyiEntropy(SentenceObjective):
    """(A(alpha scores) - alpha A(scores)) / (1 - alpha), the entropy where alpha is 1.

    Gradient alpha (marginals(alpha scores) - marginals(scores)) / (1 - alpha); no covariance is
    needed, but two inferences, and near 1 a few covariance products after all. At alpha = infinity
    it is minus the log-probability of the best structure, as in self-training, with marginals -
    best as its gradient. There is no target (None).

    >>> import numpy as np
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
        refuse_target(target, self)
        alpha = self.alpha
        return entropies.renyi_entropy(p, alpha), lambda: entropies.renyi_gradient(p, alpha)
