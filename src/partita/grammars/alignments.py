"""One-to-one alignments of sentence pairs under an ITG, as structures: D(x, y) in normal form."""

from collections.abc import Callable, Sequence
from typing import Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.grammars.bitext import infer_flat
from partita.grammars.forest import EmptyForestError, Forest
from partita.grammars.itg import pair_forest
from partita.grammars.parts import RuleScores, all_but_binary
from partita.kernels.bitext import itg_best
from partita.structures.base import (
    ALL_FORBIDDEN,
    Best,
    Inference,
    Structure,
    Structures,
)
from partita.structures.batch import offsets, pieces
from partita.structures.counting import count_derivations
from partita.structures.forests import Forests

Result = TypeVar("Result")


class PairAlignments(Structures):
    """All alignments of some sentence pairs that an ITG can derive, each by one derivation.

    The parts of a pair are its flat `RuleScores`: links (n, m) in C order, deletions (n,),
    insertions (m,), straight and inverted. An alignment is written as an array (n,) with the place
    of the target word of each source word, -1 for a source word that is deleted; target words in
    no link are inserted. Log-partition, marginals and the best alignment are computed without a
    hypergraph, O(n³ m³); the rest on the forest of the pair, which is slow and large beyond some
    ten words.

    >>> pairs = PairAlignments([2], [2])
    >>> scores = RuleScores(np.array([[0.0, 2.0], [1.0, 0.0]]), np.zeros(2), np.zeros(2), 0.0, 0.0)
    >>> np.exp(pairs.infer(np.zeros(pairs.n_parts)).log_partition).round(9)  # alignments
    array([7.])
    >>> pairs.argmax(scores.flat()).structures
    [array([1, 0])]
    """

    def __init__(self, n_source: ArrayLike, n_target: ArrayLike) -> None:
        self.n_words = np.ascontiguousarray(n_source, dtype=np.int64)
        self.n_target = np.ascontiguousarray(n_target, dtype=np.int64)
        self.part_offsets = offsets(self.n_words * self.n_target + self.n_words + self.n_target + 2)

    def is_same_set(self, other: Self) -> bool:
        """Pairs of the same lengths."""
        return np.array_equal(self.n_words, other.n_words) and np.array_equal(
            self.n_target, other.n_target
        )

    def split(self, parts: FloatArray) -> list[RuleScores]:
        """Views of each pair's part of a flat vector over parts."""
        shapes = zip(self.n_words.tolist(), self.n_target.tolist(), strict=True)
        return [
            RuleScores.from_flat(mine, (n, m), n)
            for mine, (n, m) in zip(pieces(parts, self.part_offsets), shapes, strict=True)
        ]

    def infer(self, scores: FloatArray) -> Inference:
        """Matrix products over target boundaries, see `infer_flat`."""
        return Inference(*infer_flat(scores, self.n_words, self.n_target))

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """On the forest of each pair."""

        def product(forest: Forest, mine: FloatArray, along: FloatArray) -> FloatArray:
            forests = Forests([forest.hypergraph])
            edge_scores = _at_edges(forest, mine)
            edges = forests.covariance_product(
                edge_scores, forests.infer(edge_scores), _at_edges(forest, along)
            )
            return forest.rule_counts(edges).flat()

        return np.concatenate(self._by_forest(product, np.zeros_like, scores, direction))

    def argmax(self, scores: FloatArray) -> Best:
        """The inside recursion with a maximum for the sum; the shortest derivation wins a tie."""
        starts = offsets(self.n_words)
        best, targets = np.empty(self.n_sentences), np.empty(starts[-1], dtype=np.int64)
        itg_best.best_pairs(
            scores, self.part_offsets, self.n_words, self.n_target, starts, best, targets
        )
        return Best(pieces(targets, starts), best)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """On the forest of each pair."""

        def maxima(forest: Forest, mine: FloatArray) -> FloatArray:
            edges = Forests([forest.hypergraph]).max_marginals(_at_edges(forest, mine))
            result = np.full(forest.n_parts + 1, -np.inf)
            np.maximum.at(result, forest.part, edges)
            return result[:-1]

        return np.concatenate(self._by_forest(maxima, _impossible, scores))

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """On the forest of each pair."""

        def best(forest: Forest, mine: FloatArray) -> list[tuple[Structure, float]]:
            found = Forests([forest.hypergraph]).k_best(_at_edges(forest, mine), k)[0]
            return [(_targets(forest, derivation), score) for derivation, score in found]

        return self._by_forest(best, lambda parts: [], scores)

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """On the forest of each pair; (size, n) each."""

        def drawn(forest: Forest, mine: FloatArray) -> Structure:
            forests, edge_scores = Forests([forest.hypergraph]), _at_edges(forest, mine)
            samples = forests.sample(edge_scores, forests.infer(edge_scores), size, rng)[0]
            rows = [_targets(forest, derivation) for derivation in samples]
            return np.array(rows, dtype=np.int64).reshape(size, forest.n_source)

        return self._by_forest(drawn, lambda parts: np.zeros((size, 0)), scores)

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """On the forest of each pair."""

        def drawn(forest: Forest, mine: FloatArray) -> list[Structure]:
            forests, edge_scores = Forests([forest.hypergraph]), _at_edges(forest, mine)
            (samples,) = forests.sample_distinct(edge_scores, size, rng)
            return [_targets(forest, derivation) for derivation in samples]

        return self._by_forest(drawn, lambda parts: [], scores)

    def count(self, allowed: BoolArray) -> list[int]:
        """On the forest of each pair, in whole numbers."""

        def counted(forest: Forest, mine: FloatArray) -> int:
            return count_derivations(forest.hypergraph, _at_edges(forest, mine) > -np.inf)

        return self._by_forest(counted, lambda parts: 0, np.where(allowed, 0.0, -np.inf))

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """On the forest of each pair: a step derives a node anew, and so aligns its words."""

        def moved(forest: Forest, mine: FloatArray, used: FloatArray) -> Structure | None:
            forests, edge_scores = Forests([forest.hypergraph]), _at_edges(forest, mine)
            # An alignment has one derivation, the only one of the rules that it uses.
            given = forests.argmax(_at_edges(forest, np.where(used > 0, 0.0, -np.inf)))
            if given.scores[0] == -np.inf:
                return None
            after = forests.resampled(edge_scores, given.structures, n_steps, rng)
            return _targets(forest, after[0])

        found = self._by_forest(moved, lambda parts: None, scores, self.counts(structures))
        # A forbidden alignment is in no forest; it stays.
        return [
            np.array(given, dtype=np.int64) if after is None else after
            for after, given in zip(found, structures, strict=True)
        ]

    def is_choice(self) -> BoolArray:
        """Links, deletions and insertions; not the binary rules."""
        return all_but_binary(self.part_offsets)

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """A word that can be neither linked nor left alone, or what else is forbidden."""
        links, deletions, insertions, _, _ = self.split(scores)[sentence]
        allowed = links > -np.inf
        for side, alone, axis in (("source", deletions, 1), ("target", insertions, 0)):
            lonely = np.flatnonzero(~allowed.any(axis=axis) & (alone == -np.inf))
            if lonely.size:
                return f"{side} word {lonely[0]} can be neither linked nor left without a link"
        return ALL_FORBIDDEN

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each rule is used: the marginals where nothing else is allowed."""
        scores = np.full(self.n_parts, -np.inf)
        for pair, (rules, given) in enumerate(zip(self.split(scores), structures, strict=True)):
            places = _checked(given, rules.links.shape[0], rules.links.shape[1], pair)
            linked = np.flatnonzero(places >= 0)
            rules.links[linked, places[linked]] = 0.0
            rules.deletions[places < 0] = 0.0
            rules.insertions[np.setdiff1d(np.arange(len(rules.insertions)), places)] = 0.0
        scores[self.part_offsets[1:] - 1] = 0.0
        scores[self.part_offsets[1:] - 2] = 0.0
        inference = self.infer(scores)
        impossible = np.flatnonzero(inference.log_partition == -np.inf)
        if impossible.size:
            raise ValueError(
                f"the alignment of pair {impossible[0]} crosses in a way that no ITG derives (as "
                "2 4 1 3 does). Leave links out."
            )
        return inference.marginals.round()

    def _by_forest(
        self,
        function: Callable[..., Result],
        otherwise: Callable[[FloatArray], Result],
        scores: FloatArray,
        *others: FloatArray,
    ) -> list[Result]:
        """function(forest, its scores, ...) of each pair; otherwise(scores) where it is empty."""
        results = []
        flat = [pieces(values, self.part_offsets) for values in (scores, *others)]
        for rules, (mine, *rest) in zip(self.split(scores), zip(*flat, strict=True), strict=True):
            try:
                allowed = [values > -np.inf for values in rules[:3]]
                forest = pair_forest(*allowed, normal_form=True)
            except EmptyForestError:
                results.append(otherwise(mine))
                continue
            results.append(function(forest, mine, *rest))
        return results


def _at_edges(forest: Forest, parts: FloatArray) -> FloatArray:
    """A number per rule as a number per edge."""
    return np.append(parts, 0.0)[forest.part]


def _impossible(parts: FloatArray) -> FloatArray:
    return np.full_like(parts, -np.inf)


def _targets(forest: Forest, derivation: IntArray) -> IntArray:
    """A derivation as the target place of each source word."""
    targets = np.full(forest.n_source, -1)
    for source, target in forest.alignment_of(derivation):
        targets[source] = target
    return targets


def _checked(given: ArrayLike, n: int, m: int, pair: int) -> IntArray:
    places = np.asarray(given)
    if places.shape != (n,) or (n and places.dtype.kind not in "iu"):
        raise ValueError(
            f"the alignment of pair {pair} is an array of {places.dtype} of shape {places.shape}; "
            f"expected ({n},) whole numbers, the target place of each source word, -1 for none."
        )
    linked = places[places >= 0]
    if (places < -1).any() or (places >= m).any() or len(set(linked.tolist())) < len(linked):
        raise ValueError(
            f"the alignment of pair {pair} has places from {places.min()} to {places.max()}; "
            f"expected 0 to {m - 1}, each at most once, or -1 for none."
        )
    return places.astype(np.int64)
