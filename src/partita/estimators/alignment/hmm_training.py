"""Learning both directions: Model 1, and hidden Markov alignments alone or in agreement."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.alignment.hmm import HiddenMarkovAlignment
from partita.estimators.alignment.jumps import Jumps
from partita.estimators.alignment.model1 import Learner, WordTable
from partita.estimators.alignment.pairs import Meetings
from partita.estimators.alignment.words import Numbered
from partita.kernels.bitext import hmm_steps as hmm_alignment_steps

Report = Callable[[str, int, float], None]
"""Called after each iteration with its stage ("Model 1" or "HMM"), its number from 1, and the
log-likelihood before it, summed over both directions."""

Numbers = tuple[Numbered, Numbered, int, int]
"""Sentences and their translations, and the sizes of both vocabularies."""

BLOCK = 2**20
"""Cells whose posteriors are held at a time."""


class Direction:
    """One direction while it learns, first as Model 1."""

    def __init__(self, numbers: Numbers, alpha: float, reach: int) -> None:
        self.meetings = Meetings.of(*numbers)
        self.words = Learner(self.meetings, numbers[-1], alpha)
        self.jumps = Jumps.even(reach)

    @property
    def places(self) -> tuple[Any, ...]:
        """What kernels know of the sentences."""
        meetings = self.meetings
        return meetings.cells, meetings.cell_offsets, meetings.n_source, meetings.n_target

    def clear(self) -> None:
        """No jumps counted."""
        longest, reach = int(self.meetings.n_source.max(initial=1)), self.jumps.reach
        self.counts = (
            np.zeros(2 * reach + 1),
            np.zeros((longest, longest)),
            np.zeros(reach + 1),
        )

    def infer(self, start: int, end: int, p0: float) -> tuple[FloatArray, float]:
        """The posteriors of a block of pairs, flat, and its log-likelihood."""
        ends = self.meetings.cell_offsets
        posteriors = np.empty(ends[end] - ends[start])
        model = self.words.table, self.jumps.weights, self.jumps.starts
        value = hmm_alignment_steps.infer_block(
            self.places, model, p0, self.counts, start, end, posteriors
        )
        return posteriors, value

    def count(self, start: int, end: int, posteriors: FloatArray) -> None:
        """Add posteriors to the counts of word pairs."""
        hmm_alignment_steps.count_block(self.places, self.words.table, start, end, posteriors)

    def maximise(self) -> None:
        """Word probabilities and jumps from the counts."""
        self.words.maximise()
        jump_counts, departures, starts = self.counts
        self.jumps = self.jumps.maximised(jump_counts * self.jumps.weights, departures, starts)


class Directions:
    """Both directions while they learn, each on a thread of its own if there are two."""

    def __init__(
        self,
        numbers: Numbers,
        alpha: float,
        reach: int,
        n_threads: int,
        on_iteration: Report | None,
    ) -> None:
        self._pool = ThreadPoolExecutor(2 if n_threads > 1 else 1)
        self._report: Report = on_iteration or (lambda stage, iteration, value: None)
        source, target, n_source, n_target = numbers
        orders = [numbers, (target, source, n_target, n_source)]
        self.sides = self._each(lambda order: Direction(order, alpha, reach), orders)

    def __enter__(self) -> "Directions":
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()

    def model1(self, n_iterations: int) -> None:
        """Iterations of Model 1."""
        for iteration in range(1, n_iterations + 1):
            values = self._each(lambda side: side.words.iterate(), self.sides)
            self._report("Model 1", iteration, sum(values))

    def hidden_markov(self, n_iterations: int, p0: float, agreement: bool) -> None:
        """Iterations of the hidden Markov model."""
        for iteration in range(1, n_iterations + 1):
            value = self._count(p0, agreement)
            self._each(Direction.maximise, self.sides)
            self._report("HMM", iteration, value)

    def _count(self, p0: float, agreement: bool) -> float:
        """The expected counts of both directions, block by block; the log-likelihood of both."""
        one, two = self.sides
        self._each(Direction.clear, self.sides)
        total = 0.0
        for start, end in _blocks(one.meetings.cell_offsets):
            found = self._each(Direction.infer, self.sides, [start] * 2, [end] * 2, [p0] * 2)
            posteriors = [array for array, _ in found]
            total += sum(value for _, value in found)
            if agreement:
                hmm_alignment_steps.agree_block(one.places, two.places, start, end, *posteriors)
            self._each(Direction.count, self.sides, [start] * 2, [end] * 2, posteriors)
        return total

    def _each(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        return list(self._pool.map(function, *arguments))


def train_both(
    source: Numbered,
    target: Numbered,
    n_source: int,
    n_target: int,
    *,
    n_iterations: int = 5,
    alpha: float = 0.0,
    n_threads: int = 1,
    on_iteration: Report | None = None,
) -> tuple[WordTable, WordTable]:
    """Model 1 in both directions: t(target | source) and t(source | target); see `train_model1`."""
    numbers = source, target, n_source, n_target
    with Directions(numbers, alpha, 1, n_threads, on_iteration) as both:
        both.model1(n_iterations)
    forward, backward = (side.words.words for side in both.sides)
    return forward, backward


def train_hmm(
    source: Numbered,
    target: Numbered,
    n_source: int,
    n_target: int,
    *,
    model1_iterations: int = 5,
    n_iterations: int = 5,
    alpha: float = 0.0,
    null_probability: float = 0.2,
    reach: int = 10,
    agreement: bool = True,
    n_threads: int = 1,
    on_iteration: Report | None = None,
) -> tuple[HiddenMarkovAlignment, HiddenMarkovAlignment]:
    """Models of p(target | source) and p(source | target), by expectation-maximisation.

    Both begin with `model1_iterations` of Model 1. `alpha` is as in `train_model1`,
    `null_probability` that of the empty word, `reach` the distance from which on jumps are alike.
    With `agreement` (Liang, Taskar & Klein 2006) a pair of words counts with the product of its
    posteriors in both directions, so that each learns only what the other believes, too. Without,
    and with alpha = 0, the log-likelihood (with the jumps' own pseudo-counts) never falls. O(cells)
    an iteration; with two threads, a direction each, and the same models.
    """
    numbers = source, target, n_source, n_target
    with Directions(numbers, alpha, reach, n_threads, on_iteration) as both:
        both.model1(model1_iterations)
        both.hidden_markov(n_iterations, null_probability, agreement)
    forward, backward = (
        HiddenMarkovAlignment(side.words.words, side.jumps, null_probability) for side in both.sides
    )
    return forward, backward


def _blocks(cell_offsets: IntArray) -> list[tuple[int, int]]:
    """Runs of pairs with about `BLOCK` cells."""
    n_blocks = max(int(cell_offsets[-1]) // BLOCK, 1)
    bounds = np.searchsorted(cell_offsets, np.linspace(0, cell_offsets[-1], n_blocks + 1))
    bounds[0], bounds[-1] = 0, len(cell_offsets) - 1
    ends = np.unique(bounds).tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))
