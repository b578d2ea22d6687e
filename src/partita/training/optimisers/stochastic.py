"""SGD, AdaGrad and Adam: a step after every few batches, in an order that the seed decides.

The gradient of a step is that of the mean loss of its sentences; a step's share of the penalty is
that of one sentence, so rates do not depend on the size of the corpus. Only the weights that the
batches of a step touch are moved (see `weights.updates`); Adam's means are therefore taken over the
visits of a weight, not over all steps. A term that compares expectations of the whole corpus with
targets costs one more inference a pass, at its beginning (see `training.running`).

An L1 penalty is paid by shrinking, which lowers the loss as it should, but leaves few weights at
exactly 0, since every mini-batch moves them off it again. For a sparse model use `OWLQN`.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.weights import updates
from partita.training.corpus import Corpus
from partita.training.interruption import break_if_interrupted
from partita.training.mini_batches import mini_batches
from partita.training.optimisers.base import Optimiser, Problem, State, share_of
from partita.training.optimisers.schedules import InverseTime, Rate, as_rate
from partita.training.support import padded, padded_size, padded_whole
from partita.training.threads import in_threads


@dataclass(frozen=True)
class StochasticState(State):
    """The weights, and what a method remembers of earlier steps."""

    n_steps: int
    n_averaged: int
    """Steps that the average covers."""
    drift: FloatArray
    """Sum over these of the move times the number of steps before it."""
    memory: tuple[FloatArray, ...]
    """Squares of the gradients (AdaGrad, Adam), means of the gradients (Adam)."""
    fall: float = float("inf")
    """How much less the loss of the last pass was than that of the pass before."""

    @property
    def vectors(self) -> tuple[FloatArray, ...]:
        """The average's drift and the memory."""
        return (self.drift, *self.memory)


@dataclass(frozen=True)
class Stochastic(Optimiser[StochasticState]):
    """A mini-batch method. One iteration is one pass over the corpus.

    Parameters
    ----------
    rate
        The learning rate: a number, or a schedule.
    n_iterations
        The most passes.
    batches_per_step
        How many batches of the corpus make a mini-batch.
    average_from
        The pass, counted from 0, from which on the weights after each step are averaged; None for
        the last weights as they are.
    loss_tolerance
        Stop when the loss of a pass differs from that of the one before by less than this
        fraction of it.
    """

    rate: float | Rate = 0.1
    n_iterations: int = 20
    batches_per_step: int = 1
    average_from: int | None = None
    loss_tolerance: float = 0.0

    @property
    def state_type(self) -> type[StochasticState]:
        """The class of its states."""
        return StochasticState

    @property
    def looks_ahead(self) -> bool:
        """Whether the rate knows where it will end."""
        return as_rate(self.rate).looks_ahead

    @property
    @abstractmethod
    def n_memory(self) -> int:
        """How many vectors the method remembers."""

    @abstractmethod
    def method(self) -> updates.Method:
        """What a step does; see `updates.follow`."""

    def correction(self, number: int) -> float:
        """Times the rate of a step, counted from 1."""
        return 1.0

    def accepts(self, state: StochasticState) -> bool:
        """It remembers as much as the method needs."""
        return len(state.memory) == self.n_memory

    def start(self, problem: Problem, weights: FloatArray) -> StochasticState:
        """Nothing remembered; the loss is not known before the first pass."""
        _check(problem)
        n_weights = len(weights)
        # Unlike np.zeros_like, np.zeros takes no memory before it is written to.
        zeros = [np.zeros(padded_size(n_weights))[:n_weights] for _ in range(1 + self.n_memory)]
        own, unknown = padded(weights)[:n_weights], float("inf")
        return StochasticState(0, own, unknown, unknown, 0, 0, zeros[0], tuple(zeros[1:]))

    def apart(self, problem: Problem, state: StochasticState) -> StochasticState:
        """Copies of its vectors, three or four as long as the weights."""

        def own(vector: FloatArray, is_zero: bool) -> FloatArray:
            copy = np.zeros(padded_size(len(vector))) if is_zero else padded(vector)
            return copy[: len(vector)]

        vectors = state.weights, state.drift, *state.memory
        # What nothing has been added to yet need not be read, and np.zeros takes memory when used.
        are_zero = False, not state.n_averaged, *[not state.n_steps] * len(state.memory)
        weights, drift, *memory = in_threads(own, vectors, are_zero, n_threads=problem.n_threads)
        return replace(state, weights=weights, drift=drift, memory=tuple(memory))

    def step(self, problem: Problem, state: StochasticState) -> StochasticState:
        """One pass over the corpus, its batches in an order of its own; writes over the state."""
        corpus = _check(problem)
        n_weights = corpus.n_weights
        mini = mini_batches(
            corpus, state.weights, state.iteration, problem.penalty,
            batches_per_step=self.batches_per_step,
        )  # fmt: skip
        weights, drift, *memory = map(padded_whole, (state.weights, state.drift, *state.memory))
        vectors, method = _vectors(weights, drift, memory), self.method()
        plan, loss, squares, number = list(self._plan(problem, corpus, state)), 0.0, 0.0, 0
        with mini.stepping(plan, method, vectors) as steps:
            while number < len(plan):
                break_if_interrupted()
                for more, norm in steps(number):
                    loss, squares, number = loss + more, squares + norm, number + 1
                    corpus.watcher(number / len(plan))
        weights, drift, *memory = (vector[:n_weights] for vector in (weights, drift, *memory))
        loss += mini.final_loss()
        smooth = problem.penalty.smooth(weights, problem.n_threads)
        loss += smooth + problem.penalty.absolute(weights)
        return replace(
            state,
            iteration=state.iteration + 1,
            weights=weights,
            loss=loss,
            gradient_norm=float(np.sqrt(squares / len(plan))),
            n_steps=state.n_steps + len(plan),
            n_averaged=state.n_averaged + self._averages(state) * len(plan),
            drift=drift,
            memory=tuple(memory),
            fall=state.loss - loss,
        )

    def _averages(self, state: StochasticState) -> bool:
        """Whether the average covers the pass that follows a state."""
        return self.average_from is not None and state.iteration >= self.average_from

    def reason_to_stop(self, problem: Problem, state: StochasticState) -> str | None:
        """The passes were made, or the loss of a pass hardly changes."""
        settled = not problem.changes_at(state.iteration)
        if settled and abs(state.fall) < self.loss_tolerance * abs(state.loss):
            return (
                f"Converged after {state.iteration} passes at a loss of {state.loss:.6g}: it "
                f"changed by {share_of(state.fall, state.loss)} in the last one, less than "
                f"{100 * self.loss_tolerance:.2g} % (loss_tolerance), and the "
                "next would bring less."
            )
        if state.iteration >= self.n_iterations:
            passes = "1 pass" if state.iteration == 1 else f"{state.iteration} passes"
            ended = f"Stopped after {passes}, as many as were planned"
            if not np.isfinite(state.fall):
                return f"{ended}."
            more = (
                "the steps ended small, so that more passes (max_iterations) need a new run"
                if self.looks_ahead
                else "one more (max_iterations) would bring about as much, or less"
            )
            return (
                f"{ended}, at a loss of {state.loss:.6g}: the last one lowered it by "
                f"{share_of(state.fall, state.loss)}; {more}."
            )
        return None

    def model(self, state: StochasticState) -> FloatArray:
        """The average, where there is one; a vector of its own."""
        if not state.n_averaged:
            return state.weights.copy()
        average = state.drift / -state.n_averaged
        average += state.weights
        return average

    def _plan(
        self, problem: Problem, corpus: Corpus, state: StochasticState
    ) -> Iterator[tuple[list[int], updates.Update]]:
        """The batches of each step of the pass that follows a state, and its numbers."""
        rng = np.random.default_rng([problem.seed, state.iteration])
        sizes = corpus.batch_sizes.tolist()
        order = rng.permutation(len(sizes)).tolist()
        l2, l1 = (
            float(each) / corpus.n_sentences for each in (problem.penalty.l2, problem.penalty.l1)
        )
        rate, averages = as_rate(self.rate), self._averages(state)
        starts = range(0, len(order), self.batches_per_step)
        for number, start in enumerate(starts):
            chosen = order[start : start + self.batches_per_step]
            at = state.n_steps + number
            yield (
                chosen,
                updates.Update(
                    normaliser=1.0 / sum(sizes[index] for index in chosen),
                    l2=l2,
                    l1=l1,
                    rate=rate.at(at, len(starts) * self.n_iterations) * self.correction(at + 1),
                    age=float(state.n_averaged + averages * number),
                ),
            )


@dataclass(frozen=True)
class SGD(Stochastic):
    """weights -= rate * gradient."""

    rate: float | Rate = InverseTime(0.1, half_life=1000)

    @property
    def n_memory(self) -> int:
        """Nothing."""
        return 0

    def method(self) -> updates.Method:
        """Along the gradient."""
        return updates.Method(updates.SGD)


@dataclass(frozen=True)
class AdaGrad(Stochastic):
    """weights -= rate * gradient / sqrt(sum of its squares so far) (Duchi, Hazan & Singer 2011)."""

    rate: float | Rate = 0.1

    @property
    def n_memory(self) -> int:
        """Sums of squares."""
        return 1

    def method(self) -> updates.Method:
        """Along the gradient, at a rate for each weight."""
        return updates.Method(updates.ADAGRAD)


@dataclass(frozen=True)
class Adam(Stochastic):
    """weights -= rate * (mean gradient) / sqrt(mean square) (Kingma & Ba 2015).

    `momentum` and `decay` are the shares of the old means that each visit keeps (beta 1 and 2 of
    the paper), `floor` is added to the root (epsilon).
    """

    rate: float | Rate = 0.01
    momentum: float = 0.9
    decay: float = 0.999
    floor: float = 1e-8

    @property
    def n_memory(self) -> int:
        """Means of squares and of gradients."""
        return 2

    def method(self) -> updates.Method:
        """Along the mean gradient, at a rate for each weight."""
        return updates.Method(updates.ADAM, self.momentum, self.decay, self.floor)

    def correction(self, number: int) -> float:
        """For the start of both means at 0."""
        return float(np.sqrt(1.0 - self.decay**number) / (1.0 - self.momentum**number))


def _check(problem: Problem) -> Corpus:
    """The corpus, if mini-batches can be taken from it and its objective."""
    corpus = problem.corpus
    if corpus is None:
        raise TypeError(
            "mini-batch optimisers came with a plain function, which has no batches. Use LBFGS or "
            "OWLQN."
        )
    return corpus


def _vectors(
    weights: FloatArray, drift: FloatArray, memory: Sequence[FloatArray]
) -> updates.Vectors:
    """What a step changes; nothing in place of what a method has no use for."""
    squares, means = (*memory, np.zeros(0), np.zeros(0))[:2]
    return updates.Vectors(weights, drift, squares, means)
