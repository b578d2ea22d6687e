"""Batches of sentences whose likelihood, evidence or entropy, and gradient are a compiled call.

What Python does for each batch takes as long as a third of the work, and threads do it in turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.features.base import JoinedFeatures
from partita.features.chains import tag_maps
from partita.features.pairs import PairFeatures, PairOccurrences
from partita.kernels.simd.eight import EIGHT
from partita.kernels.weights import tagged as kernels
from partita.objectives.base import Objective
from partita.objectives.entropies import Entropy
from partita.objectives.evidence import Evidence
from partita.objectives.likelihood import Likelihood
from partita.objectives.targets import Counts
from partita.structures.chains import Chains
from partita.training.addressed import Addressed
from partita.training.batches import Batch

ENOUGH = 8
"""Batches; with fewer, to compile takes longer than is won."""
_NO_INDICES = np.zeros(0, dtype=np.int32)
_NO_PLACES = np.zeros(0, dtype=np.int64)
_NO_PAIRS = PairOccurrences(_NO_INDICES, np.zeros(0), _NO_INDICES)
_NOTHING = np.zeros(0)


@dataclass(frozen=True)
class TaggedBatch:
    """A batch that gives the same sums as itself, to the last bit, in less time."""

    batch: Batch
    likelihood: str
    """The name of its term of log-partitions, Likelihood or Evidence; empty where it has none."""
    sign: float
    """1; -1 of Evidence, which is a likelihood of no tags, negative."""
    entropy: str
    tagged: kernels.Tagged
    no_pairs: IntArray
    """Weights that no feature has, whose gradient the caller sets to 0: see `Pairs.zeros`."""

    @classmethod
    def of(cls, batch: Batch, objectives: Mapping[str, Objective]) -> "TaggedBatch | Batch":
        """The batch itself where it learns from more than tags and entropy."""
        names = {type(objectives[name]): name for name in batch.targets if name in objectives}
        of_tags, entropy = names.get(Likelihood, ""), names.get(Entropy, "")
        likelihood = of_tags or names.get(Evidence, "")
        known = {name for name in (likelihood, entropy) if name}
        if not known or batch.targets.keys() != known:
            return batch
        if any(batch.targets[name] is not None for name in known - {of_tags}):
            return batch
        pieces = np.array([0, batch.structures.n_sentences], dtype=np.int64)
        found = tagged(batch, of_tags, pieces)
        if found is None:
            return batch
        words = batch.features.maps[0] if isinstance(batch.features, JoinedFeatures) else None
        no_pairs = words.pairs.zeros if isinstance(words, PairFeatures) else _NO_PLACES
        sign = 1.0 if of_tags else -1.0
        return cls(batch, likelihood, sign, entropy, found, no_pairs)

    def sums(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        slopes: Mapping[str, FloatArray] | None,
        room: kernels.TaggedRoom | None = None,
    ) -> tuple[dict[str, FloatArray], FloatArray | None]:
        """As `Batch.sums`; the gradient may be that of a room, until it is used again."""
        if slopes is not None:
            room = room_for([self]) if room is None else room
            found = self._learnt(weights, objectives, slopes, room, _NOTHING, adds=False)
            if found is not None:
                return found, room.gradient
        return self.batch.sums(weights, objectives, slopes)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """As `Batch.add_gradient`, but for weights that no feature has."""
        room = _NO_ROOM._replace(gradient=score_gradient)
        kernels.learn(self.tagged, False, True, _NOTHING, 1.0, room, out)

    def learn(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        slopes: Mapping[str, FloatArray],
        room: kernels.TaggedRoom,
        out: FloatArray,
    ) -> dict[str, FloatArray]:
        """The statistics of `sums`; adds its gradient, too, in the same call."""
        found = self._learnt(weights, objectives, slopes, room, out, adds=True)
        if found is not None:
            return found
        statistics, gradient = self.batch.sums(weights, objectives, slopes)
        if gradient is not None:
            self.batch.add_gradient(gradient, out)
        return statistics

    def _learnt(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        slopes: Mapping[str, FloatArray],
        room: kernels.TaggedRoom,
        out: FloatArray,
        *,
        adds: bool,
    ) -> dict[str, FloatArray] | None:
        """Statistics, with the gradient by the scores in `room`; None where the kernel gave up."""
        has_target, slope, has_entropy, of_entropy = self.slopes_in(objectives, slopes)
        entropies = None
        if has_entropy:
            both = kernels.Slopes(bool(has_target), slope, of_entropy)
            if not kernels.learn_with_entropy(self.tagged, adds, weights, both, room, out):
                return None
            entropies = room.entropies[: self.n_sentences]
        elif not has_target or not kernels.learn(
            self.tagged, True, adds, weights, slope, room, out
        ):
            return None
        return self.statistics(objectives, losses_of(self.tagged, room), entropies)

    @property
    def n_sentences(self) -> int:
        """How many it has."""
        return self.batch.structures.n_sentences

    def slopes_in(
        self, objectives: Mapping[str, Objective], slopes: Mapping[str, FloatArray]
    ) -> tuple[float, float, float, float]:
        """Whether there are tags to learn from, that slope; likewise of the entropy."""
        has_target, has_entropy = self.likelihood in objectives, self.entropy in objectives
        return (
            float(has_target),
            self.sign * float(slopes[self.likelihood][0]) if has_target else 0.0,
            float(has_entropy),
            float(slopes[self.entropy][0]) if has_entropy else 0.0,
        )

    def statistics(
        self,
        objectives: Mapping[str, Objective],
        losses: FloatArray,
        entropies: FloatArray | None,
    ) -> dict[str, FloatArray]:
        """Of the terms that are wanted, from what a kernel found for each sentence."""
        statistics: dict[str, FloatArray] = {}
        if self.entropy in objectives:
            assert entropies is not None
            # As `distribution.entropies`: rounding may leave less than nothing.
            statistics[self.entropy] = np.maximum(entropies, 0.0).sum(keepdims=True)
        if self.likelihood in objectives:
            statistics[self.likelihood] = (self.sign * losses).sum(keepdims=True)
        return statistics


class TaggedBatches(list[TaggedBatch]):
    """All batches of a corpus, if all of them are such, with equal numbers of tags and weights."""

    @classmethod
    def of(cls, batches: Sequence["TaggedBatch | Batch"]) -> "TaggedBatches | None":
        """None if they are not."""
        tagged = [batch for batch in batches if isinstance(batch, TaggedBatch)]
        numbers = {
            (each.tagged.n_tags, each.tagged.first_pair, each.tagged.first_table) for each in tagged
        }
        return cls(tagged) if len(tagged) == len(batches) and len(numbers) == 1 else None

    @cached_property
    def largest(self) -> list[TaggedBatch]:
        """Those that need the most room."""
        return [
            max(self, key=lambda batch: batch.batch.structures.n_parts),
            max(self, key=lambda batch: batch.n_sentences),
            max(self, key=lambda batch: bool(batch.entropy)),
        ]

    @cached_property
    def n_sentences(self) -> IntArray:
        """Of each batch."""
        return np.array([batch.n_sentences for batch in self])

    def slopes_in(
        self, objectives: Mapping[str, Objective], slopes: Mapping[str, FloatArray]
    ) -> FloatArray:
        """(n_batches, 4): see `TaggedBatch.slopes_in`."""
        examples, kinds = self._kinds
        return np.array([batch.slopes_in(objectives, slopes) for batch in examples])[kinds]

    @cached_property
    def _kinds(self) -> tuple[list[TaggedBatch], IntArray]:
        """A batch for each kind of terms, and which kind each batch is."""
        terms = [(batch.likelihood, batch.sign, batch.entropy) for batch in self]
        places = {each: place for place, each in enumerate(dict.fromkeys(terms))}
        examples = [self[terms.index(each)] for each in places]
        return examples, np.array([places[each] for each in terms])

    @cached_property
    def addressed(self) -> Addressed:
        """As one compiled call for many of them wants them."""
        return Addressed([batch.tagged for batch in self])


AnyBatch = Batch | TaggedBatch


def tagged(batch: Batch, name: str, pieces: IntArray) -> kernels.Tagged | None:
    """A batch in pieces as the kernel wants it; None where the kernel is not for it.

    `name` is that of its likelihood; empty where no tags are to be learnt from.
    """
    chains, target = batch.structures, batch.targets.get(name)
    if type(batch) is not Batch:  # which may do more
        return None
    if not (batch.distribution is LinearChain and type(chains) is Chains and chains.shared):
        return None
    maps = tag_maps(chains, batch.features)
    if maps is None or batch.sample_weights is not None:
        return None
    if name:
        if type(target) is not Counts:
            return None
        target.check(chains)
    words, fixed = maps
    pairs = words if isinstance(words, PairFeatures) else None
    rows = words.rows if isinstance(words, PairFeatures) else words
    by_length = [
        np.argsort(chains.n_words[first:last], kind="stable")
        for first, last in zip(pieces[:-1], pieces[1:], strict=True)
    ]
    fixed_parts, fixed_scores = (_NO_PLACES, np.zeros(0)) if fixed is None else fixed.given
    return kernels.Tagged(
        chains.n_tags,
        rows.n_weights,
        words.n_weights,
        chains.part_offsets,
        chains.word_offsets,
        pieces,
        np.concatenate(by_length),
        rows.attributes.ids,
        rows.attributes.values,
        rows.attributes.offsets,
        rows.starts,
        *(_NO_PAIRS if pairs is None else pairs.singles),
        fixed_parts,
        fixed_scores,
        np.searchsorted(fixed_parts, chains.part_offsets[pieces]),
        *_target_of(target, pieces),
    )


def _target_of(target: Counts | None, pieces: IntArray) -> tuple[Array, ...]:
    """Its parts, and where those of each piece begin; none at all where there is no target."""
    if target is None:
        return _NO_PLACES, _NOTHING, _NO_PLACES, np.zeros(len(pieces), dtype=np.int64)
    ends = np.searchsorted(target.sentences, pieces)
    return target.parts, target.values, target.sentences, ends


def room_for(batches: Sequence[TaggedBatch]) -> kernels.TaggedRoom:
    """Room for the largest of some batches."""
    has_entropy = any(batch.entropy for batch in batches)
    return room_of([batch.tagged for batch in batches], has_entropy=has_entropy)


def room_of(batches: Sequence[kernels.Tagged], *, has_entropy: bool) -> kernels.TaggedRoom:
    """The same, of what kernels are given."""
    n_parts = max(int(batch.part_offsets[-1]) for batch in batches)
    n_sentences = max(len(batch.part_offsets) - 1 for batch in batches)
    n_pieces = max(len(batch.pieces) - 1 for batch in batches)
    return kernels.TaggedRoom(
        scores=np.empty(n_parts),
        gradient=np.empty(n_parts),
        log_partition=np.empty(n_sentences),
        target_scores=np.empty(n_sentences),
        is_safe=np.empty(n_sentences, dtype=np.bool_),
        members=np.empty(n_sentences * EIGHT, dtype=np.int64),
        cells=np.empty(n_sentences + n_pieces, dtype=np.int64),
        entropies=np.empty(n_sentences if has_entropy else 0),
        entropy_gradient=np.empty(n_parts if has_entropy else 0),
    )


_NO_ROOM = kernels.TaggedRoom(
    scores=_NOTHING,
    gradient=_NOTHING,
    log_partition=_NOTHING,
    target_scores=_NOTHING,
    is_safe=np.zeros(0, np.bool_),
    members=_NO_PLACES,
    cells=_NO_PLACES,
    entropies=_NOTHING,
    entropy_gradient=_NOTHING,
)


def losses_of(batch: kernels.Tagged, room: kernels.TaggedRoom) -> FloatArray:
    """What an inference found for each sentence."""
    n_sentences = len(batch.part_offsets) - 1
    losses: FloatArray = room.log_partition[:n_sentences] - room.target_scores[:n_sentences]
    return losses
