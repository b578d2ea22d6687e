"""Forests whose edges share parts: a rule is scored once for all the edges that use it."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.base import (
    Best,
    Inference,
    Structure,
    Structures,
    covariance_from_products,
)
from partita.structures.batch import offsets, pieces
from partita.structures.forests import Forests


class TiedForest(NamedTuple):
    """A forest, and the part that each of its edges is an instance of."""

    forest: Forests
    """Of one hypergraph."""
    parts: NDArray[np.int32] | IntArray
    """(n_edges,): `n_parts` for an edge without a score (it counts as 0), `n_parts + 1` for an
    edge that is forbidden."""
    n_parts: int

    def edge_scores(self, scores: FloatArray) -> FloatArray:
        """The score of each edge, (n_edges,), from those of the parts, (n_parts,)."""
        result: FloatArray = np.concatenate([scores, [0.0, -np.inf]])[self.parts]
        return result

    def part_counts(self, edge_counts: FloatArray) -> FloatArray:
        """Sums over the edges of each part, (n_parts,)."""
        counts: FloatArray = np.bincount(
            self.parts, weights=edge_counts, minlength=self.n_parts + 2
        )[: self.n_parts].astype(np.float64)
        return counts


class TiedForests(Structures):
    """A batch of forests whose parts are rules, not edges.

    Two forests of the same sentence, such as all its derivations and those of one translation,
    can so have the same parts, and be compared by `ContrastiveEstimation`. A structure is a
    derivation, an array of edges, as in `Forests`. `forests` may be any sequence, also one that
    builds a forest when it is asked for; each is asked for once in an inference.

    >>> from partita.structures.hypergraph import Hypergraph
    >>> graph = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> tied = TiedForests([TiedForest(Forests([graph]), np.array([0, 0, 1]), 1)], [1])
    >>> inference = tied.infer(np.zeros(1))
    >>> np.exp(inference.log_partition).round(9), inference.marginals
    (array([4.]), array([2.]))
    """

    def __init__(self, forests: Sequence[TiedForest], n_parts: Sequence[int]) -> None:
        if len(forests) != len(n_parts):
            raise ValueError(
                f"{len(forests)} forests and {len(n_parts)} numbers of parts came; expected one "
                "number for each forest."
            )
        self.forests = forests
        self.part_offsets = offsets(np.array(n_parts, dtype=np.int64))
        self.n_words = np.zeros(len(forests), dtype=np.int64)

    def is_same_set(self, other: Self) -> bool:
        """The same hypergraphs with the same parts."""
        return len(self.forests) == len(other.forests) and all(
            mine.forest.is_same_set(its.forest) and np.array_equal(mine.parts, its.parts)
            for mine, its in zip(self.forests, other.forests, strict=True)
        )

    def infer(self, scores: FloatArray) -> Inference:
        """Inside and outside over the edges; the counts of a part are summed over its edges."""
        log_partition = np.empty(self.n_sentences)
        marginals = np.empty(self.n_parts)
        state = []
        for index, (mine, out) in enumerate(self._split(scores, marginals)):
            tied = self.forests[index]
            inference = tied.forest.infer(tied.edge_scores(mine))
            log_partition[index] = inference.log_partition[0]
            out[:] = tied.part_counts(inference.marginals)
            state.append(inference.state)
        return Inference(log_partition, marginals, tuple(state))

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """That of the edges, along the direction of their parts, summed over parts."""
        product = np.empty(self.n_parts)
        for index, (mine, along, out) in enumerate(self._split(scores, direction, product)):
            tied = self.forests[index]
            edge_direction = np.concatenate([along, [0.0, 0.0]])[tied.parts]
            edges = Inference(np.zeros(1), np.zeros(0), inference.state[index])
            moved = tied.forest.covariance_product(tied.edge_scores(mine), edges, edge_direction)
            out[:] = tied.part_counts(moved)
        return product

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of each forest, from products."""
        return covariance_from_products(self, scores, inference)

    def argmax(self, scores: FloatArray) -> Best:
        """The best derivation of each forest."""
        found = [tied.forest.argmax(edges) for tied, edges in self._with_scores(scores)]
        best = [derivation for each in found for derivation in each.structures]
        return Best(best, np.array([each.scores[0] for each in found]))

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """For each part the largest over its edges; -inf for a part without edges."""
        result = np.full(self.n_parts, -np.inf)
        for (tied, edges), out in zip(
            self._with_scores(scores), pieces(result, self.part_offsets), strict=True
        ):
            values = np.full(tied.n_parts + 2, -np.inf)
            np.maximum.at(values, tied.parts, tied.forest.max_marginals(edges))
            out[:] = values[: tied.n_parts]
        return result

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best derivations of each forest."""
        return [tied.forest.k_best(edges, k)[0] for tied, edges in self._with_scores(scores)]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Derivations of each forest, a list per forest."""
        return [
            tied.forest.sample(edges, tied.forest.infer(edges), size, rng)[0]
            for tied, edges in self._with_scores(scores)
        ]

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """A step derives a node anew, see `Forests.resampled`."""
        return [
            tied.forest.resampled(edges, [derivation], n_steps, rng)[0]
            for (tied, edges), derivation in zip(self._with_scores(scores), structures, strict=True)
        ]

    def is_choice(self) -> BoolArray:
        """All parts."""
        return np.ones(self.n_parts, dtype=np.bool_)

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """What the forest says about its edges."""
        tied = self.forests[sentence]
        mine = pieces(scores, self.part_offsets)[sentence]
        return tied.forest.why_empty(tied.edge_scores(mine), 0)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each part occurs in a derivation."""
        counts = [
            tied.part_counts(tied.forest.counts([derivation]))
            for tied, derivation in zip(self.forests, structures, strict=True)
        ]
        return np.concatenate([np.zeros(0), *counts])

    def _with_scores(self, scores: FloatArray) -> list[tuple[TiedForest, FloatArray]]:
        """Each forest with the scores of its edges."""
        return [
            (tied, tied.edge_scores(mine))
            for tied, mine in zip(self.forests, pieces(scores, self.part_offsets), strict=True)
        ]

    def _split(self, *vectors: FloatArray) -> list[tuple[FloatArray, ...]]:
        """For each forest its piece of every vector over parts."""
        return list(zip(*(pieces(vector, self.part_offsets) for vector in vectors), strict=True))
