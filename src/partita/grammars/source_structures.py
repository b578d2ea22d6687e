"""D(x, y) and D_n(x) of source sentences with rules by place, as structures over their parts.

Both sum over derivations by the fast kernels; everything else is asked of hypergraphs.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.grammars.choices import joined, joined_offsets
from partita.grammars.forest import EmptyForestError
from partita.grammars.source_parts import SourceParts, Topology
from partita.kernels.bitext import itg_lengths, itg_outside, source_pairs, source_targets
from partita.structures.base import Best, Inference, Structure, Structures
from partita.structures.batch import offsets, pieces
from partita.structures.tied_forests import TiedForest, TiedForests

MOST_COUNTED = 200
"""Words of a pair: there are fewer than 24 to that power of derivations, which is below 10**308."""


class ForestStructures(Structures):
    """Sets of derivations with a fast sum; `forests` has the same sets as hypergraphs."""

    @property
    @abstractmethod
    def forests(self) -> TiedForests:
        """The same sets, with the same parts."""

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """On the hypergraphs."""
        return self.forests.covariance_product(scores, self.forests.infer(scores), direction)

    def argmax(self, scores: FloatArray) -> Best:
        """On the hypergraphs."""
        return self.forests.argmax(scores)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """On the hypergraphs."""
        return self.forests.max_marginals(scores)

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """On the hypergraphs."""
        return self.forests.k_best(scores, k)

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """On the hypergraphs."""
        return self.forests.sample(scores, self.forests.infer(scores), size, rng)

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """On the hypergraphs."""
        return self.forests.sample_distinct(scores, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """On the hypergraphs: a step derives a node anew."""
        return self.forests.resampled(scores, structures, n_steps, rng)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """On the hypergraphs."""
        return self.forests.counts(structures)


class SourceStructures(ForestStructures):
    """Derivations of source sentences, over the parts that `SourceParts` numbers."""

    def __init__(self, sources: Sequence[SourceParts]) -> None:
        self.sources = tuple(sources)
        self.n_words = np.array([each.n_source for each in sources], dtype=np.int64)
        self.part_offsets = offsets(np.array([each.n_parts for each in sources], dtype=np.int64))

    def is_choice(self) -> BoolArray:
        """Links, deletions and insertions; not lengths and binary rules."""
        is_choice = np.zeros(self.n_parts, dtype=np.bool_)
        for start, each in zip(self.part_offsets.tolist(), self.sources, strict=False):
            is_choice[start : start + each.first_length] = True
        return is_choice


class SourcePairs(SourceStructures):
    """D(x, y) of pairs: all derivations of each target, a vector of word numbers.

    Log-partition and marginals cost O(n³ m³), without a hypergraph; where weights would underflow
    the hypergraph takes over. A pair without derivations has the log-partition -inf.

    >>> from partita.grammars.choices import TargetChoices
    >>> links = TargetChoices(
    ...     np.array([7, 8, 9]), np.array([0, 2, 3])
    ... )  # 7 or 8 for word 0, 9 for word 1
    >>> nothing = TargetChoices(np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.int64))
    >>> pairs = SourcePairs(2 * [SourceParts(links, nothing, longest=2)], [[9, 8], [7]])
    >>> np.exp(pairs.infer(np.zeros(pairs.n_parts)).log_partition)  # 7 alone: word 1 is deleted
    array([1., 1.])
    """

    def __init__(self, sources: Sequence[SourceParts], targets: Sequence[IntArray]) -> None:
        super().__init__(sources)
        self.targets = tuple(np.asarray(target, dtype=np.int64) for target in targets)
        self.n_target = np.array([len(target) for target in self.targets], dtype=np.int64)
        self.bounds = _bounds(self.sources)[:, 1:5].copy()
        self.gathered_offsets = offsets((2 * self.n_words + 1) * self.n_target)
        # Four bytes each: there are as many as a pair has cells, twice.
        self.gathered = np.empty(self.gathered_offsets[-1], dtype=np.int32)
        links, insertions = (
            joined([getattr(source, name) for source in self.sources])
            for name in ("links", "insertions")
        )
        words = np.concatenate([np.zeros(0, dtype=np.int64), *self.targets])
        source_pairs.find(
            (links.words, links.offsets, insertions.words, insertions.offsets),
            self.n_words, self.bounds, words, self.n_target, self.gathered,
        )  # fmt: skip
        self.is_short = self.n_target <= [source.longest for source in self.sources]

    def is_same_set(self, other: Self) -> bool:
        """The same forests."""
        return self.forests.is_same_set(other.forests)

    def have_derivations(self) -> BoolArray:
        """Whether each target has a derivation; what `infer` must prove by a forest, this counts.

        Where all scores are 0, weights are 1 or 0 and sums are whole numbers: nothing underflows.
        """
        zeros, scratch = np.zeros((2, self.n_parts))
        log_partition, _, safe = self._sums(zeros, with_counts=False)
        found: BoolArray = self.is_short & (log_partition > -np.inf)
        is_long = self.n_words + self.n_target > MOST_COUNTED
        for index in np.flatnonzero(is_long & ~safe & self.is_short).tolist():
            mine = slice(*self.part_offsets[index : index + 2])
            found[index] = self._by_forest(index, zeros[mine], scratch[mine]) > -np.inf
        return found

    def _sums(
        self, scores: FloatArray, *, with_counts: bool = True
    ) -> tuple[FloatArray, Callable[..., None], BoolArray]:
        """Matrix products over target boundaries, see `kernels.bitext.itg_scaled`.

        Log-partitions but for lengths, how counts become marginals, and which of them stand.
        """
        n_rules = np.diff(self.part_offsets) - self.bounds[:, 3]
        starts = offsets(np.diff(self.gathered_offsets) + self.n_words + n_rules)
        shape = self.part_offsets, self.bounds, self.n_target
        places = self.gathered, self.gathered_offsets, starts
        dense = np.empty(starts[-1])
        source_pairs.gather(scores, *shape, *places, dense)
        log_partition, counts = np.empty(self.n_sentences), None
        if with_counts:
            counts = np.empty(len(dense))
        safe = np.empty(self.n_sentences, dtype=np.bool_)
        itg_outside.infer(
            dense, starts, self.n_words, self.n_target, True, log_partition, counts, safe
        )

        def scatter(is_kept: BoolArray, out: FloatArray) -> None:
            source_pairs.scatter(counts, *shape, *places, is_kept, out)

        return log_partition, scatter, safe

    def infer(self, scores: FloatArray) -> Inference:
        """See `_sums`; a target that is longer than allowed has no derivation."""
        log_partition, scatter, safe = self._sums(scores)
        short = np.flatnonzero(self.is_short)
        lengths = self.part_offsets[short] + self.bounds[short, 2] + self.n_target[short]
        log_partition[short] += scores[lengths]
        log_partition[~self.is_short] = -np.inf
        marginals = np.empty(self.n_parts)
        scatter(safe & (log_partition > -np.inf), marginals)
        for index in np.flatnonzero(~safe).tolist():
            mine = slice(*self.part_offsets[index : index + 2])
            log_partition[index] = self._by_forest(index, scores[mine], marginals[mine])
        return Inference(log_partition, marginals)

    def count(self, allowed: BoolArray) -> list[int]:
        """On the hypergraph of each pair, in whole numbers."""
        forests = map(self._forest, range(self.n_sentences))
        each = zip(forests, pieces(allowed, self.part_offsets), strict=True)
        return [0 if tied is None else tied.count(mine) for tied, mine in each]

    def _forest(self, index: int) -> TiedForest | None:
        """The hypergraph of a pair; None if it has no derivation."""
        try:
            return self.sources[index].pair(self.targets[index])
        except EmptyForestError:
            return None

    def _by_forest(self, index: int, scores: FloatArray, out: FloatArray) -> float:
        tied = self._forest(index)
        if tied is None:
            return -np.inf
        inference = tied.forest.infer(tied.edge_scores(scores))
        out[:] = tied.part_counts(inference.marginals)
        return float(inference.log_partition[0])

    @cached_property
    def forests(self) -> TiedForests:
        """The same sets; an `EmptyForestError` where one of them is empty."""
        pairs = zip(self.sources, self.targets, strict=True)
        return _tied([source.pair(target) for source, target in pairs])

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """What no derivation can do without."""
        return (
            f"no derivation with allowed parts has the target of pair {sentence}, which has "
            f"{self.n_target[sentence]} words"
        )


class SourceTargets(SourceStructures):
    """D_n(x) of sentences: all derivations with at most `longest` target words.

    Log-partition and marginals sum over the words that may stand at a place first, and cost
    O(n³ longest²) after that; where weights would underflow the hypergraph takes over.

    >>> from partita.grammars.choices import TargetChoices
    >>> links = TargetChoices(
    ...     np.array([7, 8, 9]), np.array([0, 2, 3])
    ... )  # 7 or 8 for word 0, 9 for word 1
    >>> nothing = TargetChoices(np.zeros(0, dtype=np.int64), np.zeros(4, dtype=np.int64))
    >>> targets = SourceTargets([SourceParts(links, nothing, longest=2)])
    >>> scores = np.zeros(targets.n_parts)
    >>> np.exp(targets.infer(scores).log_partition).round(9)  # (two, or none) x (one, or none), 2 x
    array([8.])
    """

    def __init__(self, sources: Sequence[SourceParts]) -> None:
        super().__init__(sources)
        self.longest = np.array([each.longest for each in sources], dtype=np.int64)
        links = joined_offsets([source.links.offsets for source in sources])
        insertions = joined_offsets([source.insertions.offsets for source in sources])
        self.bounds = _bounds(self.sources)[:, [0, 1, 2, 3, 5]]
        starts = offsets(3 * self.n_words + 1 + self.bounds[:, 4] - self.bounds[:, 3])
        self._places = self.part_offsets, self.bounds, links, insertions, starts

    def is_same_set(self, other: Self) -> bool:
        """The same choices and the same longest targets."""
        both = zip(self.sources, other.sources, strict=False)
        return np.array_equal(self.longest, other.longest) and all(
            own.links.is_same(its.links) and own.insertions.is_same(its.insertions)
            for own, its in both
        )

    def infer(self, scores: FloatArray) -> Inference:
        """Convolutions over the number of target words, see `kernels.bitext.itg_lengths`."""
        starts = self._places[-1]
        shares, marginals = np.empty((2, self.n_parts))
        summed, counts = np.empty((2, starts[-1]))
        source_targets.gather(scores, *self._places, shares, summed)
        log_partition, safe = np.empty(self.n_sentences), np.empty(self.n_sentences, dtype=np.bool_)
        shape = starts, self.n_words, self.longest
        itg_lengths.infer(summed, *shape, True, log_partition, counts, safe)
        source_targets.scatter(counts, shares, *self._places, marginals)
        for sentence in np.flatnonzero(~safe).tolist():
            mine = slice(*self.part_offsets[sentence : sentence + 2])
            tied = self._forest(self.sources[sentence])
            inference = tied.forest.infer(tied.edge_scores(scores[mine]))
            log_partition[sentence] = inference.log_partition[0]
            marginals[mine] = tied.part_counts(inference.marginals)
        return Inference(log_partition, marginals)

    @cached_property
    def forests(self) -> TiedForests:
        """The same sets."""
        return _tied([self._forest(source) for source in self.sources])

    def count(self, allowed: BoolArray) -> list[int]:
        """On the hypergraphs, in whole numbers."""
        return self.forests.count(allowed)

    @staticmethod
    def _forest(source: SourceParts) -> TiedForest:
        most = [int(np.diff(each.offsets).max()) for each in (source.links, source.insertions)]
        return source.bounded(Topology(source.n_source, source.longest, *most))

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """More words must be linked than the target may have, or what is forbidden."""
        return (
            f"every derivation with at most {self.longest[sentence]} target words uses a part "
            "whose score is -inf"
        )


def _bounds(sources: Sequence[SourceParts]) -> IntArray:
    """Those of each, (n, 6)."""
    return np.array([each.bounds for each in sources], dtype=np.int64).reshape(-1, 6)


def _tied(forests: Sequence[TiedForest]) -> TiedForests:
    return TiedForests(forests, [tied.n_parts for tied in forests])
