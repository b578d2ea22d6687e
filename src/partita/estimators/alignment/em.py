"""Expectation-maximisation of both directions: Model 1, then hidden Markov models, in agreement.

The expected counts are sums over a corpus as gradients are, by threads or by a cluster, and the run
is one like all others: checkpoints, held-out data, interruption.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from partita.arrays import FloatArray, IntArray
from partita.estimators.alignment.directed import DirectedModel, DirectedModel1
from partita.estimators.alignment.hmm import DirectedHiddenMarkov
from partita.estimators.alignment.jumps import Jumps
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.pairs import Meetings
from partita.estimators.groups import Runs
from partita.estimators.runs import RunPlan, run
from partita.features.picks import PickedWeights
from partita.kernels.bitext import model1
from partita.objectives.alignments import CellScores, HiddenMarkovEvidence, Model1Evidence
from partita.objectives.base import Sum, as_sum
from partita.structures.bitext_cells import BitextCells
from partita.text.word_vocabulary import Numbered
from partita.training import Batch, Penalty, TrainingResult, build_corpus, cut
from partita.training.optimisers.base import Optimiser, Problem, State, share_of
from partita.training.threads import in_threads
from partita.training.workers import Workers, held

Numbers = tuple[Numbered, Numbered, int, int]
"""Sentences and their translations, and the sizes of both vocabularies."""
Models = tuple[DirectedModel, DirectedModel]
"""Of p(target | source) and p(source | target)."""
Judge = Callable[[Models], float]
"""Models -> loss on pairs that are not learnt from; less is better."""

BLOCK = 2**16
"""Cells of a direction in a batch: what is read of the tables for them stays in a cache until they
are counted."""


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

    @property
    def jumps(self) -> int | None:
        """The reach of jumps, where there are any."""
        return self.reach if self.n_iterations else None

    def objective(self) -> Sum:
        """Minus the log-likelihood, that of Model 1 in the first iterations."""
        if not self.n_iterations:
            return as_sum(Model1Evidence())
        first, evidence = (
            self.model1_iterations,
            HiddenMarkovEvidence(self.null_probability, agreement=self.agreement),
        )
        early = (lambda iteration: float(iteration < first)) * Model1Evidence()
        return early + (lambda iteration: float(iteration >= first)) * evidence

    @property
    def targets(self) -> dict[str, None]:
        """What batches compare with, by name."""
        return dict.fromkeys(self.objective().names)


class Entries(NamedTuple):
    """The pairs of words that meet, in one direction; see `Meetings`."""

    offsets: IntArray
    targets: NDArray[np.int32]
    n_target: int
    """Words of the target's vocabulary."""


class DirectionWeights(NamedTuple):
    """Views of the weights of one direction, or of counts."""

    words: FloatArray
    """Of each entry."""
    unseen: FloatArray
    """Of any target word that a source word never met, (n_source,)."""
    jumps: FloatArray
    starts: FloatArray
    departures: FloatArray
    """(longest, longest), of counts; weights have none."""


@dataclass(frozen=True)
class EmLayout:
    """All that is learnt in both directions, as one vector; and counts in the same places."""

    course: EmCourse
    entries: tuple[Entries, Entries]
    longest: tuple[int, int]
    """Words of the longest sentence as a source, and one for the empty word."""

    @classmethod
    def of(
        cls, both: Sequence[Meetings], n_target: tuple[int, int], course: EmCourse
    ) -> "EmLayout":
        """For the pairs of words that meet; `n_target` are the sizes of vocabularies."""
        entries = [
            Entries(each.offsets, each.targets, size)
            for each, size in zip(both, n_target, strict=True)
        ]
        longest = [int(each.n_source.max(initial=1)) for each in both]
        return cls(course, (entries[0], entries[1]), (longest[0], longest[1]))

    @cached_property
    def _ends(self) -> list[int]:
        reach = self.course.jumps
        jumps = (0, 0) if reach is None else (2 * reach + 1, reach + 1)
        sizes: list[int] = []
        for (offsets, targets, _), longest in zip(self.entries, self.longest, strict=True):
            n_departures = 0 if reach is None else longest**2
            sizes += [len(targets), len(offsets) - 1, *jumps, n_departures]
        ends: list[int] = np.cumsum([0, *sizes]).tolist()
        return ends

    @property
    def n_weights(self) -> int:
        """Of both directions."""
        return self._ends[-1]

    def split(self, weights: FloatArray) -> list[DirectionWeights]:
        """Views of each direction's share."""
        views = [weights[a:b] for a, b in zip(self._ends[:-1], self._ends[1:], strict=True)]
        sides = (0, 0) if self.course.jumps is None else self.longest
        found = []
        for k, side in enumerate(sides):
            words, unseen, jumps, starts, departures = views[5 * k : 5 * k + 5]
            square = departures.reshape(side, side)
            found.append(DirectionWeights(words, unseen, jumps, starts, square))
        return found

    def first_weights(self) -> FloatArray:
        """All translations, and all jumps, alike likely."""
        weights = np.zeros(self.n_weights)
        for own, (_, _, n_target) in zip(self.split(weights), self.entries, strict=True):
            # A word that no sentence has, as the unknown one, may mean anything.
            own.words[:] = own.unseen[:] = 1.0 / (n_target - 1)
            own.jumps[:] = own.starts[:] = 1.0
        return weights

    def maximised(self, weights: FloatArray, counts: FloatArray, *, with_jumps: bool) -> FloatArray:
        """Word probabilities, and jumps, from expected counts."""
        new = weights.copy()
        both = zip(self.split(new), self.split(counts), self.entries, strict=True)
        for own, found, (offsets, *_) in both:
            model1.normalise(offsets, found.words, self.course.alpha, own.words, own.unseen)
            if with_jumps:
                old = Jumps(own.jumps, own.starts)
                jumps = old.maximised(found.jumps * own.jumps, found.departures, found.starts)
                own.jumps[:], own.starts[:] = jumps.weights, jumps.starts
        return new

    def models(self, weights: FloatArray) -> Models:
        """What was learnt."""
        found: list[DirectedModel] = []
        for own, (offsets, targets, _) in zip(self.split(weights), self.entries, strict=True):
            words = WordTable(offsets, targets, own.words.copy(), own.unseen.copy())
            if self.course.jumps is None:
                found.append(DirectedModel1(words))
            else:
                jumps = Jumps(own.jumps.copy(), own.starts.copy())
                found.append(DirectedHiddenMarkov(words, jumps, self.course.null_probability))
        return found[0], found[1]

    def batch(
        self,
        n_source: IntArray,
        n_target: IntArray,
        cells: Sequence[NDArray[np.int32]],
        sample_weights: FloatArray | None,
    ) -> Batch:
        """Pairs of so many words, and the entry of each of their cells in both directions."""
        shape = BitextCells(n_source, n_target, self.course.jumps)
        ids = np.empty(shape.n_parts, dtype=np.int32)
        for k, (own, entries) in enumerate(zip(shape.split(ids), cells, strict=True)):
            words, _, jumps, starts, departures = self._ends[5 * k : 5 * k + 5]
            np.add(entries, words, out=own.cells, dtype=np.int32, casting="same_kind")
            own.jumps[:] = jumps + np.arange(len(own.jumps))
            own.starts[:] = starts + np.arange(len(own.starts))
            side = np.arange(len(own.departures))
            own.departures[:] = departures + side[:, None] * self.longest[k] + side
        kind: Any = CellScores
        features = PickedWeights(ids, self.n_weights)
        structures: Any = shape
        return Batch(kind, structures, features, self.course.targets, sample_weights)


@dataclass(frozen=True)
class EmState(State):
    """The weights after some iterations, and the loss before the last of them."""

    fall: float = float("nan")
    """How much less that is than the one before."""

    @property
    def vectors(self) -> tuple[FloatArray, ...]:
        """None beside the weights."""
        return ()


@dataclass(frozen=True)
class BothDirections(Optimiser[EmState]):
    """Expected counts, then the weights that make them likeliest; a pass an iteration."""

    layout: EmLayout

    @property
    def n_iterations(self) -> int:  # type: ignore[override]
        """As many as the course has."""
        return self.layout.course.model1_iterations + self.layout.course.n_iterations

    @property
    def state_type(self) -> type[EmState]:
        """The class of its states."""
        return EmState

    def start(self, problem: Problem, weights: FloatArray) -> EmState:
        """Nothing is counted yet."""
        return EmState(0, weights, float("nan"), float("nan"))

    def step(self, problem: Problem, state: EmState) -> EmState:
        """Count, then maximise."""
        loss, gradient = problem.value_and_gradient(state.weights, state.iteration)
        with_jumps = state.iteration >= self.layout.course.model1_iterations
        counts = np.negative(gradient, out=gradient)
        weights = self.layout.maximised(state.weights, counts, with_jumps=with_jumps)
        return EmState(state.iteration + 1, weights, loss, float("nan"), state.loss - loss)

    def model(self, state: EmState) -> FloatArray:
        """The weights of the state."""
        return state.weights

    def reason_to_stop(self, problem: Problem, state: EmState) -> str | None:
        """As many iterations as were planned; and what more of them would bring."""
        if state.iteration < self.n_iterations:
            return None
        ended = f"Stopped after {state.iteration} iterations, as many as were planned"
        if np.isnan(state.fall):
            return f"{ended}."
        return (
            f"{ended}, at a loss of {state.loss:.6g}: the last one lowered it by "
            f"{share_of(state.fall, state.loss)}, and the next (n_iterations) would bring less."
        )


def learn_directions(
    numbers: Numbers,
    course: EmCourse | None = None,
    *,
    weights: FloatArray | None = None,
    judge: Judge | None = None,
    runs: Runs | None = None,
) -> tuple[Models, TrainingResult]:
    """Models of p(target | source) and p(source | target); O(cells) an iteration.

    `weights` says what each pair counts. With a `judge` the models of the iteration that it likes
    best are the result, and `patience` iterations without a better one end the run. `runs` says
    how it goes: workers, files, progress; the models are the same for any number of workers.
    """
    course, runs = course or EmCourse(), runs or Runs(workers=1, progress=False)
    source, target, n_source, n_target = numbers
    both = in_threads(
        Meetings.of,
        [source, target],
        [target, source],
        [n_source, n_target],
        [n_target, n_source],
        n_threads=Workers.of(runs.workers).n_threads,
    )
    layout = EmLayout.of(both, (n_target, n_source), course)
    batches = pair_batches(layout, both, weights)
    del both  # batches have the cells, and the layout the entries
    return learn_batches(layout, batches, judge, runs)


def learn_batches(
    layout: EmLayout, batches: Iterable[Batch], judge: Judge | None, runs: Runs
) -> tuple[Models, TrainingResult]:
    """The same from batches, wherever they come from."""
    way = RunPlan(runs, BothDirections(layout), Penalty())
    judging = None if judge is None else (lambda weights: judge(layout.models(weights)))
    with (
        held(runs.workers),
        build_corpus(
            layout.course.objective(), batches, workers=runs.workers, cache=runs.cache
        ) as corpus,
    ):
        training = run(corpus, way, layout.first_weights(), judging)
    # The models have them.
    return layout.models(training.weights), replace(training, weights=np.zeros(0))


def pair_batches(
    layout: EmLayout, both: Sequence[Meetings], weights: FloatArray | None
) -> Iterator[Batch]:
    """All pairs, some at a time."""
    n_source, n_target = (each.n_source - 1 for each in both)
    for start, end in _blocks(both[0].cell_offsets):
        cells = [each.cells[each.cell_offsets[start] : each.cell_offsets[end]] for each in both]
        own = None if weights is None else weights[start:end]
        yield layout.batch(n_source[start:end], n_target[start:end], cells, own)


def _blocks(cell_offsets: IntArray) -> list[tuple[int, int]]:
    """Runs of pairs that have some cells together; one pair at least."""
    return [(part.start, part.stop) for part in cut(np.diff(cell_offsets), BLOCK)]
