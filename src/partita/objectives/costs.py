"""Learning with a cost in view: what a wrong part costs."""

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import (
    CostedCounts,
    Counts,
    checked_cost,
    checked_counts,
    checked_target,
    wrong_parts,
)


class ExpectedCost(SentenceObjective):
    """Expected cost of a structure drawn from p (minimum risk): <cost, marginals>.

    The target is the right structures, `Counts.of(structures, ...)`, and the cost then the number
    of wrong tags, arcs or edges; or a cost for every part, (n_parts,). The gradient is
    covariance_product(cost).

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    >>> wrong_tags = np.array([0.0, 1.0, 1.0, 0.0] + [0.0] * 4)  # the tags are 0 1
    >>> statistic, pullback = ExpectedCost()(p, wrong_tags)
    >>> float(statistic[0].round(9))
    1.0
    >>> float(ExpectedCost()(p, Counts.of(p.structures, [[0, 1]]))[0][0].round(9))
    1.0
    """

    def losses(self, p: Distribution, target: Counts | FloatArray) -> tuple[FloatArray, Gradient]:
        """<cost, marginals>."""
        cost = target
        if isinstance(cost, Counts):
            cost.check(p.structures)
            cost = wrong_parts(cost, p.structures.is_choice())
        cost = checked_cost(cost, p.structures.n_parts, self)
        return p.flat_expectation(cost), lambda: p.flat_covariance_product(cost)


class SoftmaxMargin(SentenceObjective):
    """A(scores + cost) - score(target): the likelihood, harder for costly structures.

    An upper bound of the expected cost (Gimpel and Smith 2010). The target is
    `CostedCounts(counts, cost)`; gradient marginals(scores + cost) - target.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.zeros((1, 2)), np.zeros((2, 2)))
    >>> target = CostedCounts(Counts.of(p.structures, [[0]]), np.zeros(6))
    >>> bool(np.isclose(SoftmaxMargin()(p, target)[0][0], np.log(2)))  # no cost: the likelihood
    True
    """

    def losses(self, p: Distribution, target: CostedCounts) -> tuple[FloatArray, Gradient]:
        """A(scores + cost) - score(target)."""
        how = "CostedCounts(Counts.of(p.structures, ...), a cost for every part)"
        target = checked_target(target, CostedCounts, self, how)
        target.counts.check(p.structures)
        cost = checked_cost(target.cost, p.structures.n_parts, self)
        inference = p.with_scores(p.scores + cost).inference
        losses = inference.log_partition - target.counts.score(p.scores)
        return losses, lambda: target.counts.subtracted_from(inference.marginals)


class StructuredPerceptron(SentenceObjective):
    """max score - score(target), which is 0 where the target is best; gradient best - target.

    The gradient is one of the subgradients where several structures are best. Use a constant step
    and an optimiser that averages. The target is `Counts.of(structures, ...)`.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> p = LinearChain(np.array([[0.0, 3.0]]), np.zeros((2, 2)))
    >>> float(StructuredPerceptron()(p, Counts.of(p.structures, [[0]]))[0][0])
    3.0
    """

    def losses(self, p: Distribution, target: Counts) -> tuple[FloatArray, Gradient]:
        """max score - score(target)."""
        target = checked_counts(target, p.structures, self)
        return p.best.scores - target.score(p.scores), lambda: target.subtracted_from(
            p.structures.counts(p.best.structures)
        )
