"""Batches of sentences with tags whose likelihood and gradient are a compiled call.

What Python does for each batch takes as long as a third of the work, and threads do it in turn.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.features.base import JoinedFeatures
from partita.features.chains import tag_maps
from partita.features.pairs import PairFeatures, PairOccurrences
from partita.kernels.simd.eight import EIGHT
from partita.kernels.weights import tagged as kernels
from partita.objectives.base import Objective
from partita.objectives.likelihood import Likelihood
from partita.objectives.targets import Counts
from partita.structures.chains import Chains
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
    name: str
    """Of its only term."""
    tagged: kernels.Tagged
    no_pairs: IntArray
    """Weights that no feature has, whose gradient the caller sets to 0: see `Pairs.zeros`."""

    @classmethod
    def of(cls, batch: Batch, objectives: Mapping[str, Objective]) -> "TaggedBatch | Batch":
        """The batch itself where tags are not all that it learns from."""
        names = [name for name in batch.targets if name in objectives]
        if len(names) != 1 or type(objectives[names[0]]) is not Likelihood:
            return batch
        chains = batch.structures
        pieces = np.array([0, chains.n_sentences], dtype=np.int64)
        found = tagged(batch, names[0], pieces)
        if found is None:
            return batch
        words = batch.features.maps[0] if isinstance(batch.features, JoinedFeatures) else None
        no_pairs = words.pairs.zeros if isinstance(words, PairFeatures) else _NO_PLACES
        return cls(batch, names[0], found, no_pairs)

    def sums(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        slopes: Mapping[str, FloatArray] | None,
    ) -> tuple[dict[str, FloatArray], FloatArray | None]:
        """As `Batch.sums`."""
        if slopes is None or self.name not in objectives:
            return self.batch.sums(weights, objectives, slopes)
        room = room_for([self.tagged])
        slope = float(slopes[self.name][0])
        if not kernels.learn(self.tagged, True, False, weights, slope, room, _NOTHING):
            return self.batch.sums(weights, objectives, slopes)
        return {self.name: losses_of(self.tagged, room).sum(keepdims=True)}, room.gradient

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
        if self.name in objectives:
            slope = float(slopes[self.name][0])
            if kernels.learn(self.tagged, True, True, weights, slope, room, out):
                return {self.name: losses_of(self.tagged, room).sum(keepdims=True)}
        statistics, gradient = self.batch.sums(weights, objectives, slopes)
        if gradient is not None:
            self.batch.add_gradient(gradient, out)
        return statistics


AnyBatch = Batch | TaggedBatch


def tagged(batch: Batch, name: str, pieces: IntArray) -> kernels.Tagged | None:
    """A batch in pieces as the kernel wants it; None where the kernel is not for it."""
    chains, target = batch.structures, batch.targets.get(name)
    if type(batch) is not Batch:  # which may do more
        return None
    if not (batch.distribution is LinearChain and type(chains) is Chains and chains.shared):
        return None
    maps = tag_maps(chains, batch.features)
    is_plain = batch.sample_weights is None and len(batch.targets) == 1
    if maps is None or not is_plain or type(target) is not Counts:
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
        target.parts,
        target.values,
        target.sentences,
        np.searchsorted(target.sentences, pieces),
    )


def room_for(batches: Sequence[kernels.Tagged]) -> kernels.TaggedRoom:
    """Room for the largest of some batches."""
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
    )


_NO_ROOM = kernels.TaggedRoom(
    *(_NOTHING, _NOTHING, _NOTHING, _NOTHING), np.zeros(0, np.bool_), _NO_PLACES, _NO_PLACES
)


def losses_of(batch: kernels.Tagged, room: kernels.TaggedRoom) -> FloatArray:
    """What an inference found for each sentence."""
    n_sentences = len(batch.part_offsets) - 1
    losses: FloatArray = room.log_partition[:n_sentences] - room.target_scores[:n_sentences]
    return losses
