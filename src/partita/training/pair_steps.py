"""Mini-batches of sentence pairs in compiled calls of many steps, which threads make together.

For what translators by an inversion transduction grammar learn by: the derivations of a pair beside
all derivations of its source, and the hashed features of rules. The weights are those of the
general way, to the last bit.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray, SingleArray
from partita.features.base import RepeatedFeatures
from partita.features.source_rules import SourceRuleFeatures
from partita.grammars.source_structures import SourcePairs, SourceTargets
from partita.kernels.features.changes import n_stretches, new_changes, ranges_of
from partita.kernels.features.translation import JoinedRules
from partita.kernels.features.translation_sums import n_notes
from partita.kernels.jit import is_ready
from partita.kernels.weights import pair_steps as kernels
from partita.kernels.weights import updates
from partita.objectives.base import checked_weights
from partita.objectives.contrastive import Neighbourhoods
from partita.structures.batch import offsets
from partita.structures.joined import JoinedStructures
from partita.training.addressed import Addressed
from partita.training.batches import Batch
from partita.training.chain_steps import Plan
from partita.training.shared_steps import SharedSteps
from partita.training.support import Support

ENOUGH = 64
"""Batches; with fewer, to compile takes longer than is won."""
STRETCH = 4
"""Steps of one call, which take milliseconds each: signals, and whoever watches, wait for it."""


@dataclass(frozen=True)
class PairBatches:
    """All batches of a corpus as the kernel wants them."""

    batches: Addressed
    found: list[kernels.PairBatch]
    shift: np.uint32
    n_weights: int
    n_parts: list[IntArray]
    """Of the pairs of each batch."""
    n_stretches: list[IntArray]
    """As many as the notes of each pair take at most."""

    @classmethod
    def of(cls, batches: Iterable[Batch], name: str, support: Support) -> "PairBatches | None":
        """None where the kernel is not for all of them."""
        found, shift, n_weights = [], np.uint32(0), 0
        for batch, bits in zip(batches, support.bits, strict=True):
            features = _features(batch)
            made = None if features is None else _pair_batch(batch, features, name, bits)
            if features is None or made is None:
                return None
            found.append(made)
            shift, n_weights = features.shift, features.n_weights
        n_ranges = ranges_of(n_weights).count
        return cls(
            Addressed(found),
            found,
            shift,
            n_weights,
            [np.diff(each.part_offsets) for each in found],
            [_stretches(each.rules, n_ranges) for each in found],
        )

    @property
    def n_ranges(self) -> int:
        """Of weights, one behind the other."""
        return int(ranges_of(self.n_weights).count)

    def table(self) -> kernels.PairTable:
        """For the kernel."""
        rest = self.shift, ranges_of(self.n_weights), self.n_weights
        return kernels.PairTable(self.batches.table, self.batches.like, *rest)

    def plan(self, plan: Plan) -> kernels.PairPlan:
        """The tasks of all steps."""
        places, sizes, stretches, of_batch, of_pair = [], [], [], [], []
        for indices, _ in plan:
            n_parts = np.concatenate([self.n_parts[index] for index in indices])
            n_pairs = [len(self.n_parts[index]) for index in indices]
            # Long sentences take most of the time: who began them last would keep others waiting.
            order = np.argsort(-n_parts, kind="stable")
            places.append(order)
            sizes.append(offsets(n_parts)[:-1])
            notes = np.concatenate([self.n_stretches[index] for index in indices])
            stretches.append(offsets(notes)[:-1])
            of_batch.append(np.repeat(indices, n_pairs)[order])
            of_pair.append(np.concatenate([np.arange(n) for n in n_pairs])[order])
        chosen = [np.array(indices) for indices, _ in plan]
        firsts = offsets(np.array([len(indices) for indices in chosen]))
        tasks = offsets(np.array([len(order) for order in places]))
        numbers = np.array([update for _, update in plan], dtype=np.float64)
        each = of_batch, of_pair, places, sizes, stretches
        return kernels.PairPlan(
            numbers, firsts, np.concatenate(chosen), tasks, *map(np.concatenate, each)
        )

    def room(self, plan: Plan) -> kernels.PairRoom:
        """For any step, and for what one call finds."""
        n_pairs, n_parts, n_notes = (
            max(sum(int(sizes[index]) for index in indices) for indices, _ in plan)
            for sizes in (
                [len(each) for each in self.n_parts],
                [each.sum() for each in self.n_parts],
                [each.sum() for each in self.n_stretches],
            )
        )
        return kernels.PairRoom(
            new_changes(n_notes),
            np.empty((n_pairs, self.n_ranges + 1), dtype=np.int64),
            np.empty(n_parts),
            np.empty((STRETCH, n_pairs, 2)),
            np.empty(self.n_ranges),
            np.empty(STRETCH),
        )


def is_for_pairs(batch: Batch) -> bool:
    """Whether batches such as this one may be for the kernel."""
    return _features(batch) is not None


def _features(batch: Batch) -> SourceRuleFeatures | None:
    """Those of the parts of D(x, y), and again of D_n(x)."""
    features = batch.features
    if not isinstance(features, RepeatedFeatures) or features.n_copies != 2:
        return None
    return features.features if isinstance(features.features, SourceRuleFeatures) else None


def _pair_batch(
    batch: Batch, features: SourceRuleFeatures, name: str, bits: IntArray
) -> kernels.PairBatch | None:
    """A batch as the kernel wants it; None where the kernel is not for it."""
    joined = batch.structures
    if not isinstance(joined, JoinedStructures) or len(joined.members) != 2:
        return None
    observed, every = joined.members
    if not (isinstance(observed, SourcePairs) and isinstance(every, SourceTargets)):
        return None
    n_pairs = observed.n_sentences
    target, halves = batch.targets.get(name), Neighbourhoods.halves(n_pairs)
    are_halves = isinstance(target, Neighbourhoods) and all(
        np.array_equal(getattr(target, each), getattr(halves, each)) for each in vars(halves)
    )
    if not (are_halves and batch.targets.keys() == {name} and observed.is_short.all()):
        return None
    return kernels.PairBatch(
        features.given,
        observed.part_offsets,
        observed.n_target,
        observed.bounds.ravel(),
        observed.gathered,
        observed.gathered_offsets,
        every.bounds.ravel(),
        every.longest,
        checked_weights(batch.sample_weights, n_pairs),
        bits,
    )


class PairPass(SharedSteps):
    """The steps of one pass; `end` it."""

    def __init__(
        self,
        batches: PairBatches,
        gradient: FloatArray,
        share: SingleArray,
        plan: Plan,
        method: updates.Method,
        vectors: updates.Vectors,
        n_threads: int,
    ) -> None:
        super().__init__(len(plan), STRETCH, n_threads, n_threads - 1)
        self._weights = [
            [batches.found[index].sample_weights for index in indices] for indices, _ in plan
        ]
        table, tasks, self._room = batches.table(), batches.plan(plan), batches.room(plan)
        moves = kernels.PairMoves(gradient, share, updates.byte_places())
        self._rest = table, tasks, moves, method, vectors, self._room, self.counters
        # Who waits for a step is busy looking, which costs a core while the step is compiled.
        if is_ready(kernels.share_steps):
            self._call_helpers()

    def _share(self, first: int, end: int, thread: int) -> int:
        found: int = kernels.share_steps(first, end, thread, *self._rest)
        return found

    def _found(self, first: int, end: int) -> list[tuple[float, float]]:
        return [self._of_step(number) for number in range(first, end)]

    def _of_step(self, number: int) -> tuple[float, float]:
        """Loss and squared norm, batch by batch as in the general way."""
        row, loss, start = number % len(self._room.norms), 0.0, 0
        for weights in self._weights[number]:
            seen, near = self._room.log_partitions[row, start : start + len(weights)].T
            loss += float(weights @ (near - seen))
            start += len(weights)
        return loss, float(self._room.norms[row])


def _stretches(rules: JoinedRules, n_ranges: int) -> IntArray:
    """Of notes, for each pair."""
    ends, n_words = rules.word_offsets, np.diff(rules.word_offsets)
    n_links = np.diff(rules.link_offsets[ends])
    # A sentence has one boundary more than words.
    n_insertions = np.diff(rules.insertion_offsets[ends + np.arange(len(ends))])
    most = n_notes(n_links, n_words, n_insertions, rules.longest)
    found: IntArray = n_stretches(most, n_ranges)
    return found
