"""What an optimiser is: a state, a step from one state to the next, and a reason to stop."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Generic, TypeVar

from partita.arrays import Array, FloatArray
from partita.training.corpus import Corpus
from partita.training.digests import DIGEST, PLAIN, digest
from partita.training.penalties import Penalty
from partita.training.vectors import norm

Function = Callable[[FloatArray], tuple[float, FloatArray]]
"""Weights -> loss and gradient."""


@dataclass(frozen=True)
class State(ABC):
    """Where an optimiser is: numbers, arrays and tuples of them, so that it can be stored.

    A step makes a new state, and may write over the arrays of the one that it is given: what is to
    stay whole whenever a step is interrupted is kept `apart`.
    """

    iteration: int
    """Completed iterations: steps, or passes over the corpus."""
    weights: FloatArray
    loss: float
    """The loss at the weights, penalties included (for mini-batches: met on the way to them)."""
    gradient_norm: float

    @property
    @abstractmethod
    def vectors(self) -> tuple[Array, ...]:
        """Its arrays beside the weights, which are all as long as these."""

    def fits(self, n_weights: int) -> bool:
        """Whether all arrays have the right length."""
        return all(vector.shape == (n_weights,) for vector in (self.weights, *self.vectors))


class Problem(ABC):
    """What is minimised."""

    corpus: Corpus | None
    """For optimisers that take it batch by batch."""
    penalty: Penalty
    n_weights: int
    seed: int = 0
    n_threads: int = 1
    """How many threads may work on vectors as long as the weights; results do not depend on it."""

    @abstractmethod
    def unpenalised(self, weights: FloatArray, iteration: int) -> tuple[float, FloatArray]:
        """Loss and gradient without any penalty; the gradient may be written over."""

    def value_and_gradient(self, weights: FloatArray, iteration: int) -> tuple[float, FloatArray]:
        """Loss and gradient of everything that has a gradient: all but the L1 penalty."""
        loss, gradient = self.unpenalised(weights, iteration)
        return loss + self.penalty.add_gradient(weights, gradient, self.n_threads), gradient

    @abstractmethod
    def changes_at(self, iteration: int) -> bool:
        """Whether the loss of `iteration` is another function than that of the one before."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """What tells this problem from others, as plain values."""


class FunctionProblem(Problem):
    """A plain function of the weights, which returns its value and its gradient."""

    def __init__(self, function: Function, n_weights: int, penalty: Penalty | None = None) -> None:
        self._function = function
        self.corpus = None
        self.n_weights = n_weights
        self.penalty = penalty or Penalty()

    def unpenalised(self, weights: FloatArray, iteration: int) -> tuple[float, FloatArray]:
        """The function."""
        loss, gradient = self._function(weights)
        return loss, _own(gradient)

    def changes_at(self, iteration: int) -> bool:
        """Never."""
        return False

    def about(self) -> dict[str, Any]:
        """Nothing: functions look alike."""
        return {}


class CorpusProblem(Problem):
    """The objective of a corpus and a penalty; the seed orders mini-batches."""

    def __init__(self, corpus: Corpus, penalty: Penalty | None = None, seed: int = 0) -> None:
        self.corpus: Corpus = corpus
        self.n_weights = corpus.n_weights
        self.penalty = penalty or Penalty()
        self.penalty.check(corpus.n_weights)
        self.seed = seed
        self.n_threads = corpus.n_threads

    def about(self) -> dict[str, Any]:
        """The terms of the objective, their first weights, and the size of the corpus."""
        corpus = self.corpus
        return {
            "objective": corpus.objective.names,
            "term_weights": list(corpus.objective.weights_at(0)),
            "n_sentences": corpus.n_sentences,
            "n_words": corpus.n_words,
            f"the objective{DIGEST}": digest(corpus.objective),
            f"the data{DIGEST}": corpus.digest,
        }

    def unpenalised(self, weights: FloatArray, iteration: int) -> tuple[float, FloatArray]:
        """The loss of the corpus in this iteration."""
        loss, gradient = self.corpus.value_and_gradient(weights, iteration)
        return loss, _own(gradient)

    def changes_at(self, iteration: int) -> bool:
        """Whether a term's weight follows a schedule that moves now."""
        weights_at = self.corpus.objective.weights_at
        return iteration > 0 and weights_at(iteration) != weights_at(iteration - 1)


def _own(gradient: FloatArray) -> FloatArray:
    """A gradient that can be written over; what another process lent can not."""
    return gradient if gradient.flags.writeable else gradient.copy()


S = TypeVar("S", bound=State)


class Optimiser(ABC, Generic[S]):
    """A way to the minimum: `start`, then `step` until `reason_to_stop` has one."""

    n_iterations: int
    """The most iterations it takes."""

    @property
    def looks_ahead(self) -> bool:
        """Whether the number of iterations shapes the way, beyond where it ends."""
        return False

    @property
    @abstractmethod
    def state_type(self) -> type[S]:
        """The class of its states."""

    def accepts(self, state: S) -> bool:
        """Whether a state that was stored could be one of its own; lengths were checked."""
        return isinstance(state, self.state_type)

    @abstractmethod
    def start(self, problem: Problem, weights: FloatArray) -> S:
        """The state before the first iteration."""

    @abstractmethod
    def step(self, problem: Problem, state: S) -> S:
        """One iteration further; may write over the state."""

    def apart(self, problem: Problem, state: S) -> S:
        """The same state, with arrays of its own for `step` to write over, where it does."""
        return state

    @abstractmethod
    def reason_to_stop(self, problem: Problem, state: S) -> str | None:
        """A sentence that says why there is nothing more to do; None while there is."""

    @abstractmethod
    def model(self, state: S) -> FloatArray:
        """The weights to use: those of the state, unless the optimiser averages.

        No step writes over them.
        """


ENDS = frozenset(["n_iterations", "gradient_tolerance", "loss_tolerance"])
"""Options that say only when to stop: a run may be resumed with others."""


def options_of(optimiser: Optimiser[Any]) -> dict[str, Any]:
    """The options that shape the way of an optimiser, as plain values or digests."""
    if not is_dataclass(optimiser):
        return {}
    ends = ENDS - {"n_iterations"} if optimiser.looks_ahead else ENDS
    values = {field.name: getattr(optimiser, field.name) for field in fields(optimiser)}
    return dict(_plain(name, value) for name, value in values.items() if name not in ends)


def _plain(name: str, value: Any) -> tuple[str, Any]:
    return (name, value) if type(value) in PLAIN else (name + DIGEST, digest(value))


def share_of(fall: float, loss: float) -> str:
    """How much a loss fell to where it is, as people read it: a share of what it was before.

    >>> share_of(0.5, 100.0), share_of(1e-7, 100.0), share_of(9.0, 1.0)
    ('0.5 %', '1e-07 %', '90 %')
    """
    return f"{100 * fall / abs(loss + fall):.2g} %" if loss + fall else f"{fall:.2e}"


def check_not_random(problem: Problem, optimiser: str) -> None:
    """No term draws its gradient at random: a method that compares losses would be led astray."""
    if problem.corpus is None:
        return
    terms = problem.corpus.objective.terms
    for name, term in zip(problem.corpus.objective.names, terms, strict=True):
        if term.objective.is_random:
            raise ValueError(
                f"the term {name} draws its loss and gradient at random, and {optimiser} compares "
                "losses: it would stop anywhere and call it the minimum. Use SGD, AdaGrad or Adam."
            )


def checked_finite(loss: float, gradient: FloatArray) -> float:
    """The norm of the gradient at the start, where loss and gradient must be numbers."""
    length = norm(gradient)
    if not (abs(loss) < float("inf") and length < float("inf")):
        raise ValueError(
            f"the loss at the first weights is {loss} and its gradient has norm {length}; expected "
            "finite numbers. A target may use a part that is forbidden (score -inf), or the first "
            "weights may be too large."
        )
    return length
