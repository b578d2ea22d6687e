"""Expectation-maximisation, for models whose weights are log-probabilities."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from partita.arrays import FloatArray
from partita.training.optimisers.base import Optimiser, Problem, State, check_not_random, share_of

ROUNDING = 1e-9
"""Relative rise of the loss that a long sum may show by rounding alone."""


@dataclass(frozen=True)
class CountsState(State):
    """The weights, and the counts that are expected under them."""

    counts: FloatArray
    fall: float = float("inf")
    """How much the loss fell in the last iteration."""

    @property
    def vectors(self) -> tuple[FloatArray, ...]:
        """The counts."""
        return (self.counts,)


@dataclass(frozen=True)
class ExpectationMaximisation(Optimiser[CountsState]):
    """Expected counts over the corpus, then the weights that make those counts most likely.

    The loss must be minus the log-likelihood of what was observed, with the weights as the
    log-probabilities of the parts, so that minus its gradient is the expected counts. Every
    iteration, one pass over the corpus, lowers the loss; one that does not is an error, since it
    means that `maximise` and the loss do not belong together.

    Parameters
    ----------
    maximise
        Expected counts (n_weights,) -> weights, the logarithms of normalised counts (smoothed if
        a prior is wanted).
    log_prior
        Weights -> logarithm of the prior that `maximise` smooths with; subtracted from the loss.
    n_iterations
        The most iterations.
    loss_tolerance
        Stop when an iteration lowers the loss by less than this fraction of it.
    """

    maximise: Callable[[FloatArray], FloatArray]
    log_prior: Callable[[FloatArray], float] | None = field(default=None)
    n_iterations: int = 100
    loss_tolerance: float = 1e-6

    @property
    def state_type(self) -> type[CountsState]:
        """The class of its states."""
        return CountsState

    def start(self, problem: Problem, weights: FloatArray) -> CountsState:
        """Expected counts under the given weights."""
        check_not_random(problem, "expectation-maximisation")
        return self._expected(problem, weights, 0)

    def step(self, problem: Problem, state: CountsState) -> CountsState:
        """Maximise, then count again."""
        new = self._expected(problem, self.maximise(state.counts), state.iteration + 1)
        return replace(new, fall=checked_fall(state, new))

    def model(self, state: CountsState) -> FloatArray:
        """The weights of the state."""
        return state.weights

    def reason_to_stop(self, problem: Problem, state: CountsState) -> str | None:
        """The loss hardly falls any more, or it was the last iteration."""
        return reason_to_end(state, state.fall, self.n_iterations, self.loss_tolerance)

    def _expected(self, problem: Problem, weights: FloatArray, iteration: int) -> CountsState:
        loss, gradient = problem.value_and_gradient(weights, iteration)
        if self.log_prior is not None:
            loss -= self.log_prior(weights)
        # At the edge of the simplex the gradient does not vanish, so its norm says nothing.
        return CountsState(iteration, weights, loss, 0.0, -gradient)


def checked_fall(before: State, after: State) -> float:
    """How much an iteration lowered the loss; an error if it raised it."""
    fall = before.loss - after.loss
    if not fall >= -ROUNDING * abs(before.loss):
        raise ArithmeticError(
            f"iteration {after.iteration} of expectation-maximisation raised the loss from "
            f"{before.loss!r} to {after.loss!r}; it can only fall. Either `maximise` does not "
            "return the most likely weights for the counts, or it smooths them and the prior "
            "that does so is missing (`log_prior`)."
        )
    return fall


def reason_to_end(
    state: State, fall: float, n_iterations: int, loss_tolerance: float
) -> str | None:
    """The loss hardly falls any more, or it was the last iteration; None while neither is so."""
    if fall <= loss_tolerance * abs(state.loss):
        return (
            f"Converged after {state.iteration} iterations at a loss of {state.loss:.6g}: the "
            f"last one lowered it by {share_of(fall, state.loss)}, less than "
            f"{100 * loss_tolerance:.2g} % (loss_tolerance), and the "
            "next would bring less."
        )
    if state.iteration >= n_iterations:
        return (
            f"Stopped after {state.iteration} iterations, the most that were allowed "
            f"(max_iterations), at a loss of {state.loss:.6g}: the last one lowered it by "
            f"{share_of(fall, state.loss)}, and the next would bring about as much."
        )
    return None
