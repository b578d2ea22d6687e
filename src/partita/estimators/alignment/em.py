"""Expectation-maximisation of both directions: Model 1, then hidden Markov models, in agreement."""

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.alignment.directed import DirectedModel, DirectedModel1
from partita.estimators.alignment.hmm import DirectedHiddenMarkov
from partita.estimators.alignment.jumps import Jumps
from partita.estimators.alignment.model1 import Learner
from partita.estimators.alignment.pairs import Meetings
from partita.kernels.bitext import hmm_steps
from partita.text.word_vocabulary import Numbered
from partita.training.checkpoint import Record
from partita.training.interruption import Interrupted, break_if_interrupted, interruptible_run
from partita.training.optimisers.base import share_of
from partita.training.progress import Display, choose_display
from partita.training.threads import in_threads
from partita.training.trainer import TrainingResult
from partita.training.workers import Workers

Numbers = tuple[Numbered, Numbered, int, int]
"""Sentences and their translations, and the sizes of both vocabularies."""
Models = tuple[DirectedModel, DirectedModel]
"""Of p(target | source) and p(source | target)."""
Judge = Callable[[Models], float]
"""Models -> loss on pairs that are not learnt from; less is better."""

BLOCK = 2**16
"""Cells whose posteriors are held at a time; what is read of the tables for them stays in a cache
until they are counted."""


class EmCourse(NamedTuple):
    """What is learnt, and for how long.

    Both directions begin as Model 1. With `agreement` (Liang, Taskar & Klein 2006) a pair of words
    counts with the product of its posteriors in both directions, so that each hidden Markov model
    learns only what the other believes, too. Without, and with alpha = 0, the log-likelihood (with
    the jumps' own pseudo-counts) never falls.
    """

    model1_iterations: int = 5
    n_iterations: int = 0
    """Of the hidden Markov models; without any, Model 1 is all."""
    alpha: float = 0.0
    """See `train_model1`."""
    null_probability: float = 0.2
    reach: int = 10
    agreement: bool = True


class Direction:
    """One direction while it learns, first as Model 1."""

    def __init__(self, numbers: Numbers, course: EmCourse, weights: FloatArray | None) -> None:
        self.meetings = Meetings.of(*numbers)
        self.words = Learner(self.meetings, numbers[-1], course.alpha, weights)
        self.jumps = Jumps.even(course.reach)
        self.course = course

    @property
    def places(self) -> tuple[Any, ...]:
        """What kernels know of the sentences."""
        meetings = self.meetings
        shape = meetings.cells, meetings.cell_offsets, meetings.n_source, meetings.n_target
        return (*shape, self.words.weights)

    def clear(self) -> None:
        """No jumps counted."""
        longest, reach = int(self.meetings.n_source.max(initial=1)), self.jumps.reach
        self.counts = (
            np.zeros(2 * reach + 1),
            np.zeros((longest, longest)),
            np.zeros(reach + 1),
        )

    def infer(self, start: int, end: int) -> tuple[FloatArray, float]:
        """The posteriors of a block of pairs, flat, and its log-likelihood."""
        ends = self.meetings.cell_offsets
        posteriors = np.empty(ends[end] - ends[start])
        model = self.words.table, self.jumps.weights, self.jumps.starts
        value = hmm_steps.infer_block(
            self.places, model, self.course.null_probability, self.counts, start, end, posteriors
        )
        return posteriors, value

    def count(self, start: int, end: int, posteriors: FloatArray) -> None:
        """Add posteriors to the counts of word pairs."""
        hmm_steps.count_block(self.places, self.words.table, start, end, posteriors)

    def maximise(self) -> None:
        """Word probabilities and jumps from the counts."""
        self.words.maximise()
        jump_counts, departures, starts = self.counts
        self.jumps = self.jumps.maximised(jump_counts * self.jumps.weights, departures, starts)

    def model(self) -> DirectedModel:
        """What was learnt so far."""
        if not self.course.n_iterations:
            return DirectedModel1(self.words.words)
        return DirectedHiddenMarkov(self.words.words, self.jumps, self.course.null_probability)


class Directions:
    """Both directions while they learn, each on a thread of its own if there are two."""

    def __init__(
        self, numbers: Numbers, course: EmCourse, weights: FloatArray | None, n_threads: int
    ) -> None:
        self._n_threads = n_threads
        self._course = course
        source, target, n_source, n_target = numbers
        orders = [numbers, (target, source, n_target, n_source)]
        self.sides = self._each(lambda order: Direction(order, course, weights), orders)

    def iterate(self, iteration: int) -> float:
        """One iteration, counted from 1; the log-likelihood of both directions before it."""
        if iteration <= self._course.model1_iterations:
            return float(sum(self._each(lambda side: side.words.iterate(), self.sides)))
        value = self._count()
        self._each(Direction.maximise, self.sides)
        return value

    def models(self) -> Models:
        """What was learnt so far."""
        forward, backward = (side.model() for side in self.sides)
        return forward, backward

    def _count(self) -> float:
        """The expected counts of both directions, block by block; the log-likelihood of both."""
        one, two = self.sides
        self._each(Direction.clear, self.sides)
        total = 0.0
        for start, end in _blocks(one.meetings.cell_offsets):
            break_if_interrupted()
            found = self._each(Direction.infer, self.sides, [start] * 2, [end] * 2)
            posteriors = [array for array, _ in found]
            total += sum(value for _, value in found)
            if self._course.agreement:
                self._agree(start, end, posteriors)
            self._each(Direction.count, self.sides, [start] * 2, [end] * 2, posteriors)
        return total

    def _agree(self, start: int, end: int, posteriors: Sequence[FloatArray]) -> None:
        """What both directions believe of the pairs of a block; each thread takes some of them."""
        places = [side.places for side in self.sides]
        middle = (start + end) // 2

        def agree(first: int, last: int) -> None:
            own = [
                array[ends[first] - ends[start] : ends[last] - ends[start]]
                for array, (_, ends, *_) in zip(posteriors, places, strict=True)
            ]
            hmm_steps.agree_block(*places, first, last, *own)

        self._each(agree, [start, middle], [middle, end])

    def _each(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        return in_threads(function, *arguments, n_threads=self._n_threads)


def learn_directions(
    numbers: Numbers,
    course: EmCourse | None = None,
    *,
    weights: FloatArray | None = None,
    workers: int | str | None = 1,
    judge: Judge | None = None,
    patience: int = 10,
    progress: bool | Display | None = False,
) -> tuple[Models, TrainingResult]:
    """Models of p(target | source) and p(source | target); O(cells) an iteration.

    `weights` says what each pair counts. With a `judge` the models of the iteration that it likes
    best are the result, and `patience` iterations without a better one end the run. With two
    threads, a direction each, and the same models.
    """
    course = course or EmCourse()
    n_threads = Workers.of(workers).n_threads
    n_iterations = course.model1_iterations + course.n_iterations
    display = choose_display(progress)
    display.begin(n_iterations)
    try:
        with interruptible_run():
            both = Directions(numbers, course, weights, n_threads)
            return _EmRun(both, judge, patience, display).to_the_end(n_iterations)
    finally:
        display.end()


class _EmRun:
    """The iterations, judged and shown."""

    def __init__(
        self, both: Directions, judge: Judge | None, patience: int, display: Display
    ) -> None:
        self._both, self._judge, self._patience, self._display = both, judge, patience, display
        self._began = time.perf_counter()
        self._history: list[Record] = []
        self._best: tuple[float, int, Models] | None = None

    def to_the_end(self, n_iterations: int) -> tuple[Models, TrainingResult]:
        reason = ""
        cause: Interrupted | None = None
        try:
            for iteration in range(1, n_iterations + 1):
                break_if_interrupted()
                self._iterate(iteration)
                if self._best is not None and iteration - self._best[1] >= self._patience:
                    value, best, _ = self._best
                    reason = (
                        f"Stopped early after {iteration} iterations: the loss on held-out data "
                        f"was best after {best} ({value:.6g}) (patience)."
                    )
                    break
        except Interrupted as signal:
            cause = signal
            reason = f"Interrupted ({cause}) after {len(self._history)} iterations."
        reason = reason or self._reason()
        models = self._both.models() if self._best is None else self._best[2]
        loss = self._history[-1].loss if self._history else float("nan")
        return models, TrainingResult(
            np.zeros(0), loss, len(self._history), reason, tuple(self._history), cause is not None
        )

    def _reason(self) -> str:
        """As many iterations as were planned; and what more of them would bring."""
        ended = f"Stopped after {len(self._history)} iterations, as many as were planned"
        if len(self._history) < 2:
            return f"{ended}."
        before, last = (record.loss for record in self._history[-2:])
        return (
            f"{ended}, at a loss of {last:.6g}: the last one lowered it by "
            f"{share_of(before - last, last)}, and the next (n_iterations) would bring less."
        )

    def _iterate(self, iteration: int) -> None:
        loss, held_out = -self._both.iterate(iteration), float("nan")
        if self._judge is not None:
            models = self._both.models()
            held_out = self._judge(models)
            if self._best is None or held_out < self._best[0]:
                self._best = held_out, iteration, models
        seconds = time.perf_counter() - self._began
        self._history.append(Record(iteration, loss, float("nan"), held_out, seconds))
        self._display.show(self._history[-1])


def _blocks(cell_offsets: IntArray) -> list[tuple[int, int]]:
    """Runs of pairs with about `BLOCK` cells."""
    n_blocks = max(int(cell_offsets[-1]) // BLOCK, 1)
    bounds = np.searchsorted(cell_offsets, np.linspace(0, cell_offsets[-1], n_blocks + 1))
    bounds[0], bounds[-1] = 0, len(cell_offsets) - 1
    ends = np.unique(bounds).tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))
