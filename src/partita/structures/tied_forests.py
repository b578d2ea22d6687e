"""Forests whose edges share parts: a rule is scored once for all the edges that use it."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.structures.base import Best, Inference, Structure, Structures
from partita.structures.batch import offsets, pieces
from partita.structures.counting import count_derivations
from partita.structures.forest_batches import ForestBatch, ForestTable
from partita.structures.forests import Forests, checked_derivation
from partita.structures.hypergraph import Hypergraph

Edge = tuple[Hashable, Sequence[Hashable], int | None]
"""Head, tails, and the part that an edge is an instance of; None where it has no score."""


@dataclass(frozen=True, eq=False)
class TiedForest:
    """A forest, and the part that each of its edges is an instance of."""

    forest: Forests
    """Of one hypergraph."""
    parts: NDArray[np.int32] | IntArray
    """(n_edges,): `n_parts` for an edge without a score (it counts as 0), `n_parts + 1` for an
    edge that is forbidden."""
    n_parts: int

    @classmethod
    def of(cls, edges: Iterable[Edge], root: Hashable, n_parts: int) -> Self:
        """A forest from its edges, with nodes of any names.

        >>> edges = [("word", (), 0), ("word", (), 1), ("both", ("word", "word"), None)]
        >>> forest = TiedForest.of(edges, root="both", n_parts=2)
        >>> forest.hypergraph, forest.parts
        (Hypergraph(n_nodes=2, n_edges=3, root=1), array([0, 1, 2]))
        """
        numbers: dict[Hashable, int] = {}
        heads, tails, parts = [], [], []
        for head, below, part in edges:
            tails.append([numbers.setdefault(node, len(numbers)) for node in below])
            heads.append(numbers.setdefault(head, len(numbers)))
            parts.append(n_parts if part is None else part)
        graph = Hypergraph(heads, tails, numbers.setdefault(root, len(numbers)))
        return cls(Forests([graph]), np.array(parts, dtype=np.int64), n_parts)

    @property
    def hypergraph(self) -> Hypergraph:
        """The hypergraph."""
        return self.forest.hypergraphs[0]

    @cached_property
    def table(self) -> ForestTable:
        """The forest as kernels read it, with the part of each edge."""
        return self.forest.table.tied(self.parts)

    def edge_scores(self, scores: FloatArray) -> FloatArray:
        """The score of each edge, (n_edges,), from those of the parts, (n_parts,)."""
        result: FloatArray = np.concatenate([scores, [0.0, -np.inf]])[self.parts]
        return result

    def count(self, allowed: BoolArray) -> int:
        """Derivations whose edges are all of allowed parts, (n_parts,)."""
        is_allowed: BoolArray = np.concatenate([allowed, [True, False]])[self.parts]
        return count_derivations(self.hypergraph, is_allowed)

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
    derivation, an array of edges, as in `Forests`. A list of forests is one call of the kernels.
    Any other sequence is asked for one forest after the other, once in an inference, so that it
    may build each when it is asked for it.

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
        found = self._each(lambda batch, block: batch.infer(scores[block]))
        return Inference(
            np.concatenate([np.zeros(0), *(inference.log_partition for inference in found)]),
            np.concatenate([np.zeros(0), *(inference.marginals for inference in found)]),
            tuple(found),
        )

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """That of the edges, along the direction of their parts, summed over parts."""
        known = iter(inference.state)
        found = self._each(
            lambda batch, block: batch.covariance_product(next(known), direction[block])
        )
        return np.concatenate([np.zeros(0), *found])

    def argmax(self, scores: FloatArray) -> Best:
        """The best derivation of each forest."""
        found = self._each(lambda batch, block: batch.argmax(scores[block]))
        best = np.concatenate([np.zeros(0), *(each.scores for each in found)])
        return Best([derivation for each in found for derivation in each.structures], best)

    def count(self, allowed: BoolArray) -> list[int]:
        """The inside algorithm of each forest in whole numbers."""
        mine = pieces(allowed, self.part_offsets)
        return [forest.count(parts) for forest, parts in zip(self.forests, mine, strict=True)]

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """For each part the largest over its edges; -inf for a part without edges."""
        found = self._each(lambda batch, block: batch.max_marginals(scores[block]))
        return np.concatenate([np.zeros(0), *found])

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best derivations of each forest."""
        found = self._each(lambda batch, block: batch.k_best(scores[block], k))
        return [derivations for each in found for derivations in each]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Derivations of each forest, a list per forest."""
        known = iter(inference.state)
        found = self._each(lambda batch, block: batch.sample(next(known), size, rng))
        return [derivations for each in found for derivations in each]

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Top-down, without replacement; where two derivations are one structure, both count."""
        found = self._each(lambda batch, block: batch.sample_distinct(scores[block], size, rng))
        return [derivations for each in found for derivations in each]

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """A step derives a node anew, see `Forests.resampled`."""
        given = iter(enumerate(structures))

        def steps(batch: ForestBatch, block: slice) -> list[IntArray]:
            mine = [
                checked_derivation(self.forests[index].hypergraph, derivation, index)
                for index, derivation in islice(given, len(batch.which))
            ]
            return batch.resampled(scores[block], mine, n_steps, rng)

        return [derivation for each in self._each(steps) for derivation in each]

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """What the forest says about its edges."""
        tied = self.forests[sentence]
        mine = pieces(scores, self.part_offsets)[sentence]
        return tied.forest.why_empty(tied.edge_scores(mine), 0)

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each part occurs in a derivation."""
        counts = [np.zeros(0)]
        for index, derivation in enumerate(structures):
            tied = self.forests[index]
            edges = checked_derivation(tied.hypergraph, derivation, index)
            used = np.bincount(tied.parts[edges], minlength=tied.n_parts + 2)
            counts.append(used[: tied.n_parts].astype(np.float64))
        return np.concatenate(counts)

    def _each(self, ask: Callable[[ForestBatch, slice], Any]) -> list[Any]:
        """What all forests answer, together if they are in a list, else one by one."""
        if isinstance(self.forests, list | tuple):
            return [ask(self._together, slice(None))] if self.forests else []
        found = []
        for index in range(self.n_sentences):
            first, end = self.part_offsets[index : index + 2].tolist()
            alone = np.array([0, end - first])
            batch = ForestBatch(self.forests[index].table, np.zeros(1, dtype=np.int64), alone)
            found.append(ask(batch, slice(first, end)))
        return found

    @cached_property
    def _together(self) -> ForestBatch:
        """All forests in one table, each once however many sentences have it."""
        different = list({id(tied): tied for tied in self.forests}.values())
        numbers = {id(tied): number for number, tied in enumerate(different)}
        table = ForestTable.of(
            [tied.hypergraph for tied in different], [tied.parts for tied in different]
        )
        which = np.array([numbers[id(tied)] for tied in self.forests], dtype=np.int64)
        return ForestBatch(table, which, self.part_offsets)
