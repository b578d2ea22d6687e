"""Learning hidden Markov alignments in both directions, each alone or in agreement."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.alignment.hmm import HiddenMarkovAlignment
from partita.estimators.alignment.jumps import Jumps
from partita.estimators.alignment.model1 import WordTable, estimate
from partita.estimators.alignment.pairs import Meetings
from partita.estimators.alignment.words import Numbered
from partita.kernels import hmm_alignment_steps, model1

Report = Callable[[str, int, float], None]
"""Called after each iteration with its stage, its number from 1, and the log-likelihood before it,
summed over both directions."""

BLOCK = 2**20
"""Cells whose posteriors are held at a time."""


class Direction:
    """One direction while it learns."""

    def __init__(self, source: Numbered, target: Numbered, n_source: int, n_target: int) -> None:
        self.meetings = Meetings.of(source, target, n_source, n_target)
        self.n_target = n_target

    def start(self, n_iterations: int, alpha: float, reach: int) -> float:
        """Model 1, and jumps of any distance alike; the last log-likelihood of Model 1."""
        seen: list[float] = []
        words = estimate(
            self.meetings, self.n_target, n_iterations, alpha, lambda _, value: seen.append(value)
        )
        self.table = np.zeros((len(words.targets), 2))
        self.table[:, 0] = words.probabilities
        self.unseen = words.unseen
        self.jumps = Jumps.even(reach)
        return seen[-1]

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
        model = self.table, self.jumps.weights, self.jumps.starts
        value = hmm_alignment_steps.infer_block(
            self.places, model, p0, self.counts, start, end, posteriors
        )
        return posteriors, value

    def count(self, start: int, end: int, posteriors: FloatArray) -> None:
        """Add posteriors to the counts of word pairs."""
        hmm_alignment_steps.count_block(self.places, self.table, start, end, posteriors)

    def maximise(self, alpha: float) -> None:
        """Word probabilities and jumps from the counts."""
        model1.normalise(self.meetings.offsets, self.table, alpha, self.unseen)
        jump_counts, departures, start_counts = self.counts
        self.jumps = self.jumps.maximised(
            jump_counts * self.jumps.weights, departures, start_counts
        )

    def model(self, p0: float) -> HiddenMarkovAlignment:
        """What was learnt."""
        table = WordTable(
            self.meetings.offsets, self.meetings.targets, self.table[:, 0].copy(), self.unseen
        )
        return HiddenMarkovAlignment(table, self.jumps, p0)


def train_hmm(
    source: Numbered,
    target: Numbered,
    n_source: int,
    n_target: int,
    *,
    model1_iterations: int = 5,
    n_iterations: int = 5,
    alpha: float = 0.01,
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
    sides = [
        Direction(source, target, n_source, n_target),
        Direction(target, source, n_target, n_source),
    ]
    with ThreadPoolExecutor(2 if n_threads > 1 else 1) as pool:
        values = list(pool.map(lambda side: side.start(model1_iterations, alpha, reach), sides))
        if on_iteration is not None:
            on_iteration("Model 1", model1_iterations, sum(values))
        for iteration in range(1, n_iterations + 1):
            value = _count(sides, null_probability, agreement, pool)
            list(pool.map(lambda side: side.maximise(alpha), sides))
            if on_iteration is not None:
                on_iteration("HMM", iteration, value)
    forward, backward = (side.model(null_probability) for side in sides)
    return forward, backward


def _count(
    sides: Sequence[Direction], p0: float, agreement: bool, pool: ThreadPoolExecutor
) -> float:
    """The expected counts of both directions, block by block; the log-likelihood of both."""
    one, two = sides
    for side in sides:
        side.clear()
    total = 0.0
    for start, end in _blocks(one.meetings.cell_offsets):
        found = list(pool.map(lambda side: side.infer(start, end, p0), sides))  # noqa: B023
        total += sum(value for _, value in found)
        posteriors = [array for array, _ in found]
        if agreement:
            hmm_alignment_steps.agree_block(one.places, two.places, start, end, *posteriors)
        list(pool.map(lambda side, own: side.count(start, end, own), sides, posteriors))  # noqa: B023
    return total


def _blocks(cell_offsets: Any) -> list[tuple[int, int]]:
    """Runs of pairs with about `BLOCK` cells."""
    n_blocks = max(int(cell_offsets[-1]) // BLOCK, 1)
    bounds = np.searchsorted(cell_offsets, np.linspace(0, cell_offsets[-1], n_blocks + 1))
    bounds[0], bounds[-1] = 0, len(cell_offsets) - 1
    ends = np.unique(bounds).tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))
