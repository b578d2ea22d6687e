"""Derivations of hypergraphs: a batch of forests, held as one."""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.forests import layout as forest_layout
from partita.structures.base import ALL_FORBIDDEN, Best, Inference, Structure, Structures
from partita.structures.batch import offsets, pieces
from partita.structures.counting import count_derivations
from partita.structures.forest_batches import ForestBatch, ForestTable
from partita.structures.hypergraph import Hypergraph


class Forests(Structures):
    """All derivations of the roots of some hypergraphs; a part is an edge.

    A derivation is a tree: an edge into the root, and for each tail position of an edge a
    derivation of the tail. It is written as the array of its edges in preorder, that is top-down
    and left to right: an edge, then all of its first tail's derivation, then the second's. Each
    array is the derivation of one tree only, and an edge may occur in it several times; different
    trees may have the same edges in another order.

    >>> forest = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> [edges.tolist() for edges, _ in Forests([forest]).k_best(np.zeros(3), 9)[0]]
    [[2, 0, 0], [2, 1, 0], [2, 0, 1], [2, 1, 1]]
    """

    def __init__(self, hypergraphs: Sequence[Hypergraph]) -> None:
        self.hypergraphs = tuple(hypergraphs)
        self.n_words = np.zeros(len(hypergraphs), dtype=np.int64)
        counts = [graph.n_edges for graph in hypergraphs]
        self.part_offsets = offsets(np.array(counts, dtype=np.int64))

    @cached_property
    def table(self) -> ForestTable:
        """The hypergraphs as kernels read them."""
        return ForestTable.of(self.hypergraphs)

    @property
    def node_offsets(self) -> IntArray:
        """How many nodes come before each hypergraph, and how many there are."""
        return offsets(np.array([graph.n_nodes for graph in self.hypergraphs], dtype=np.int64))

    @cached_property
    def _batch(self) -> ForestBatch:
        return ForestBatch(self.table, np.arange(self.n_sentences), self.part_offsets)

    def is_same_set(self, other: Self) -> bool:
        """Hypergraphs with the same edges, in the same order, and the same roots."""
        return len(self.hypergraphs) == len(other.hypergraphs) and all(
            map(Hypergraph.has_same_edges, self.hypergraphs, other.hypergraphs)
        )

    def split(self, parts: Array) -> list[Array]:
        """Views of each forest's part of a flat vector over edges."""
        return pieces(parts, self.part_offsets)

    def infer(self, scores: FloatArray) -> Inference:
        """Inside bottom-up, expected counts top-down: O(edges + tails), one exponential an edge."""
        return self._batch.infer(scores)

    def inside(self, inference: Inference) -> list[FloatArray]:
        """For each node the log sum of its derivations; -inf where it has none."""
        return self._by_node(inference.state[0])

    def outside(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """For each node the log sum of what can stand around it; -inf where the root has no way."""
        return self._by_node(self._batch.outside(scores, inference))

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """log p(edge | its head), about: score + inside of the tails - inside of the head.

        What a node takes from the edges into it, it gives to those that lead on, so that only the
        inside of the root goes. The sums are exact but for one rounding.
        """
        views = zip(self.hypergraphs, self.inside(inference), self.split(scores), strict=True)
        return np.concatenate([np.zeros(0), *(shares(*each) for each in views)])

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Conditional expectations bottom-up, their effect on the counts top-down."""
        return self._batch.covariance_product(inference, direction)

    def argmax(self, scores: FloatArray) -> Best:
        """The inside algorithm with a maximum for the sum; the first edge wins where two tie."""
        return self._batch.argmax(scores)

    def count(self, allowed: BoolArray) -> list[int]:
        """The inside algorithm in whole numbers."""
        pairs = zip(self.hypergraphs, self.split(allowed), strict=True)
        return [count_derivations(graph, edges) for graph, edges in pairs]

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Viterbi bottom-up, then what each edge loses against the best, top-down."""
        return self._batch.max_marginals(scores)

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """Lazily, on top of Viterbi: O(edges) plus at most O(k log k) for each node on the way."""
        return self._batch.k_best(scores, k)

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Top-down: each node's edge with its probability given the node; a list per forest."""
        return list(self._batch.sample(inference, size, rng))

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Top-down, without replacement."""
        return self._batch.sample_distinct(scores, size, rng)

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Metropolis sampling: a step derives a node of the derivation anew, drawn at random.

        O(edges) once for the inside sums, then a step costs as much as the derivation is long.
        Every derivation can be reached, also where edges are forbidden.
        """
        given = [
            checked_derivation(graph, derivation, index)
            for index, (graph, derivation) in enumerate(
                zip(self.hypergraphs, structures, strict=True)
            )
        ]
        return list(self._batch.resampled(scores, given, n_steps, rng))

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """A node that no edge leads to, or edges that are forbidden; which ones is not known."""
        if not self.hypergraphs[sentence].alive_edges().any():
            return "every edge into the root needs, further down, a node that no edge leads to"
        return ALL_FORBIDDEN

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each edge occurs in a derivation."""
        counts = np.zeros(self.n_parts)
        pairs = zip(self.hypergraphs, structures, self.split(counts), strict=True)
        for index, (graph, derivation, mine) in enumerate(pairs):
            mine += np.bincount(
                checked_derivation(graph, derivation, index), minlength=graph.n_edges
            )
        return counts

    def _by_node(self, values: FloatArray) -> list[FloatArray]:
        """Values in the order of the kernels, as each hypergraph numbers its nodes."""
        given = pieces(values, self._batch.node_offsets)
        arrays = [np.empty(len(piece)) for piece in given]
        for graph, array, piece in zip(self.hypergraphs, arrays, given, strict=True):
            array[graph.order] = piece
        return arrays


def shares(hypergraph: Hypergraph, inside: FloatArray, scores: FloatArray) -> FloatArray:
    """log p(edge | its head) where `inside` are log sums; -inf for an edge that cannot be.

    >>> forest = Hypergraph([0, 1, 1], [(), (0,), (0,)], root=1)
    >>> shares(forest, np.log([2.0, 8.0]), np.log([2.0, 1.0, 3.0])).round(3) + 0.0
    array([ 0.   , -1.386, -0.288])
    """
    found = np.full(len(scores), -np.inf)
    for edge in np.flatnonzero(scores > -np.inf).tolist():
        terms = inside[hypergraph.tails(edge)]
        if (terms > -np.inf).all():
            found[edge] = math.fsum([scores[edge], *terms, -inside[hypergraph.heads[edge]]])
    return found


def checked_derivation(hypergraph: Hypergraph, derivation: ArrayLike, index: int) -> IntArray:
    """A caller's derivation, or an error that says where it stops being one."""
    edges = np.asarray(derivation)
    where = f"the derivation of sentence {index}"
    if edges.ndim != 1 or (edges.size and edges.dtype.kind not in "iu"):
        raise ValueError(
            f"{where} is an array of {edges.dtype} of shape {edges.shape}; expected a vector of "
            "edges, whole numbers, top-down and left to right."
        )
    wrong = np.flatnonzero((edges < 0) | (edges >= hypergraph.n_edges))
    if wrong.size:
        raise ValueError(
            f"{where} has edge {edges[wrong[0]]} at place {wrong[0]}; expected 0 to "
            f"{hypergraph.n_edges - 1}."
        )
    edges = np.ascontiguousarray(edges, dtype=np.int64)
    place, wanted = forest_layout.first_fault(
        edges, hypergraph.heads, hypergraph.tails_flat, hypergraph.tail_offsets, hypergraph.root
    )
    if place < 0:
        return edges
    found = "ends there"
    if place < len(edges):
        found = f"has edge {edges[place]}, into node {hypergraph.heads[edges[place]]}, there"
    expected = f"an edge into node {wanted}" if wanted >= 0 else "the end"
    raise ValueError(
        f"{where} is no derivation: at place {place} {expected} must come, but it {found}. Give "
        "the edges top-down and left to right, from an edge into the root."
    )
