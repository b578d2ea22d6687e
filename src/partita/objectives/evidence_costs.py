"""Learning from structures that are only better or worse, none of which need be right."""

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import checked_cost


class ExponentialCost(SentenceObjective):
    """-log expectation of exp(-cost) of a structure drawn from p: A - A(scores - cost).

    The target is a cost for every part, (n_parts,), +inf where a part is wrong for certain. For
    large costs this is the marginal likelihood of the structures that cost least, for small ones
    the expected cost (its first-order term), and it is finite even where no structure is free of
    cost: links that no alignment of the grammar can have together, say. The gradient is marginals
    - marginals(scores - cost), so that two inferences are all it takes. A negative cost is a
    reward.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
    >>> cost = np.array([0.0, np.log(3.0)] + [0.0] * 4)
    >>> statistic, pullback = ExponentialCost()(p, cost)
    >>> float(np.exp(-statistic[0]).round(9))  # (1 + 1/3) / 2
    0.666666667
    >>> pullback(np.ones(1))[:2]
    array([-0.25,  0.25])
    """

    def losses(self, p: Distribution, target: FloatArray) -> tuple[FloatArray, Gradient]:
        """A - A(scores - cost)."""
        cost = checked_cost(target, p.structures.n_parts, self)
        other = p.with_scores(p.scores - cost)
        return (
            p.inference.log_partition - other.inference.log_partition,
            lambda: p.inference.marginals - other.inference.marginals,
        )
