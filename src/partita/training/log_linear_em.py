"""Expectation-maximisation where the probabilities are log-linear in features."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.features.log_linear import LogLinear
from partita.training.log_linear_corpus import LogLinearCorpus
from partita.training.optimisers.base import Optimiser, Problem, State, check_not_random
from partita.training.optimisers.em import checked_fall, reason_to_end
from partita.training.optimisers.lbfgs import LBFGS
from partita.training.penalties import Penalty
from partita.training.trainer import minimise
from partita.training.vectors import norm

# Expectations move most in the first iterations, and weights that are exact for old ones are worth
# little: on 1,500 sentences of EWT the loss after a minute is lower by 5 steps than by 10 or 20.
FEW_STEPS = LBFGS(n_iterations=5)
"""How far each M-step of a run goes, by default."""


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


@dataclass(frozen=True)
class LogLinearState(State):
    """The weights of the features, and the counts that are expected under them."""

    counts: FloatArray
    """How often each outcome of the table is expected, (n_outcomes,)."""
    fall: float = float("inf")
    """How much the loss fell in the last iteration."""

    @property
    def vectors(self) -> tuple[FloatArray, ...]:
        """None: the counts are as many as outcomes, which is not the number of weights."""
        return ()


@dataclass(frozen=True)
class LogLinearExpectationMaximisation(Optimiser[LogLinearState]):
    """Expected counts over a `LogLinearCorpus`, then the weights that make those counts likely.

    Lowers the same loss as an optimiser that follows the gradient of that corpus, penalty included
    (Berg-Kirkpatrick et al. 2010, algorithm 1; theirs is algorithm 2), and where it stands still
    the gradient is 0. An iteration costs one pass over the corpus, and as many normalisations of
    the table as the M-step has steps; it never raises the loss.

    Parameters
    ----------
    table
        That of the corpus.
    n_iterations
        The most iterations.
    loss_tolerance
        Stop when an iteration lowers the loss by less than this fraction of it.
    m_step
        Finds the weights for given counts, from those of the iteration before. It need not go to
        the optimum.

    >>> from partita import LinearChain
    >>> from partita.features import Attributes, MatrixFeatures, tag_features
    >>> from partita.objectives.evidence import Evidence
    >>> from partita.structures.chains import Chains
    >>> from partita.training import Batch, build_corpus, train
    >>> chains = Chains([3], n_tags=1, shared=True)  # words 0, 1 and 0; one tag
    >>> words = tag_features(chains, Attributes.from_lists([[0], [1], [0]]), n_attributes=2)
    >>> plain = build_corpus(Evidence(), [Batch(LinearChain, chains, words, {"Evidence": None})])
    >>> table = LogLinear(MatrixFeatures(np.array([[1.0], [0.0], [0.0]])), contexts=[0, 0, 1])
    >>> result = train(LogLinearCorpus(plain, table), LogLinearExpectationMaximisation(table))
    >>> np.exp(result.weights).round(3)  # word 0 is twice as frequent
    array([2.])
    """

    table: LogLinear
    n_iterations: int = 100
    loss_tolerance: float = 1e-6
    m_step: Optimiser[Any] = FEW_STEPS

    @property
    def state_type(self) -> type[LogLinearState]:
        """The class of its states."""
        return LogLinearState

    def accepts(self, state: LogLinearState) -> bool:
        """There is a count for each outcome of the table."""
        return state.counts.shape == (self.table.features.n_parts,)

    def start(self, problem: Problem, weights: FloatArray) -> LogLinearState:
        """Expected counts under the given weights."""
        check_not_random(problem, "expectation-maximisation")
        return self._expected(problem, weights, 0)

    def step(self, problem: Problem, state: LogLinearState) -> LogLinearState:
        """Maximise, then count again."""
        maximiser = LogLinearMaximiser(
            self.table, state.weights, penalty=problem.penalty, optimiser=self.m_step
        )
        maximiser(state.counts)
        new = self._expected(problem, maximiser.weights, state.iteration + 1)
        return replace(new, fall=checked_fall(state, new))

    def model(self, state: LogLinearState) -> FloatArray:
        """The weights of the state."""
        return state.weights

    def reason_to_stop(self, problem: Problem, state: LogLinearState) -> str | None:
        """The loss hardly falls any more, or it was the last iteration."""
        return reason_to_end(state, state.fall, self.n_iterations, self.loss_tolerance)

    def _expected(self, problem: Problem, weights: FloatArray, iteration: int) -> LogLinearState:
        corpus = problem.corpus
        if not isinstance(corpus, LogLinearCorpus) or corpus.model is not self.table:
            raise ValueError(
                f"the corpus is a {type(corpus).__name__} of other probabilities than `table` has; "
                "expected LogLinearCorpus(corpus, table) with the same table."
            )
        loss, counts = corpus.expected_counts(weights, iteration)
        gradient = -self.table.gradient(self.table.log_probabilities(weights), counts)
        loss += problem.penalty.add_gradient(weights, gradient, problem.n_threads)
        loss += problem.penalty.absolute(weights)
        length = norm(gradient, problem.n_threads)
        return LogLinearState(iteration, weights, loss, length, counts)
