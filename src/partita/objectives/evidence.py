"""Learning the observed part of a model whose scores are log-probabilities of both parts."""

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.objectives.base import Gradient, SentenceObjective
from partita.objectives.targets import refuse_target


class Evidence(SentenceObjective):
    """Minus the log-partition, -A; gradient -marginals.

    Where the score of a structure is its joint log-probability with the words, as in a hidden
    Markov model, A is the log-probability of the words, and minus the gradient is the expected
    counts that expectation-maximisation needs. The target is None. It is a loss only if the
    weights are kept normalised: `ExpectationMaximisation` does so, a gradient method does not.

    >>> import numpy as np
    >>> from partita import LinearChain
    >>> unary, pairwise = np.log([[0.5 * 0.3, 0.5 * 0.1]]), np.log([[0.9, 0.1], [0.5, 0.5]])
    >>> p = LinearChain(unary, pairwise)  # one word: start times emission
    >>> statistic, pullback = Evidence()(p, None)
    >>> np.exp(-statistic).round(9), pullback(np.ones(1))[:2].round(9)
    (array([0.2]), array([-0.75, -0.25]))
    """

    def losses(self, p: Distribution, target: None) -> tuple[FloatArray, Gradient]:
        """-A."""
        refuse_target(target, self)
        inference = p.inference
        return -inference.log_partition, lambda: -inference.marginals
