"""Derivations of hypergraphs: a batch of forests, held as one."""

from collections.abc import Sequence
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.forests import best as forest_best
from partita.kernels.forests import inside as forest_inside
from partita.kernels.forests import k_best as forest_k_best
from partita.kernels.forests import layout as forest_layout
from partita.kernels.forests import resample as forest_resample
from partita.kernels.forests import sample as forest_sample
from partita.structures.base import (
    ALL_FORBIDDEN,
    Best,
    Inference,
    Structure,
    Structures,
    covariance_from_products,
)
from partita.structures.batch import offsets, pieces
from partita.structures.hypergraph import Hypergraph

LONGEST = 2**40
"""A derivation with more edges than this cannot be written down."""


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
        self.part_offsets = _offsets([graph.n_edges for graph in hypergraphs])
        self.node_offsets = _offsets([graph.n_nodes for graph in hypergraphs])
        tail_starts = _offsets([len(graph.tails_flat) for graph in hypergraphs])
        edges = np.empty(self.n_parts, dtype=np.int64)
        star_offsets = np.zeros(self.node_offsets[-1] + 1, dtype=np.int64)
        tails = np.empty(tail_starts[-1], dtype=np.int64)
        tail_offsets = np.zeros(self.n_parts + 1, dtype=np.int64)
        self._roots = np.empty(len(hypergraphs), dtype=np.int64)
        starts = zip(self.node_offsets, self.part_offsets, tail_starts, strict=True)
        self._shape = (edges, star_offsets, tails, tail_offsets)
        for index, (graph, start) in enumerate(zip(hypergraphs, starts, strict=False)):
            number = forest_layout.lay_out(
                graph.order,
                graph.backward_offsets,
                graph.backward_edges,
                graph.tails_flat,
                graph.tail_offsets,
                start,
                *self._shape,
            )
            self._roots[index] = number[graph.root]

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
        n_nodes = self.node_offsets[-1]
        inside, units, counts = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
        weights, marginals = np.empty(self.n_parts), np.empty(self.n_parts)
        state = (inside, units, weights, counts)
        forest_inside.marginals(scores, *self._shape, self._roots, *state, marginals)
        return Inference(inside[self._roots], marginals, state)

    def inside(self, inference: Inference) -> list[FloatArray]:
        """For each node the log sum of its derivations; -inf where it has none."""
        return self._by_node(inference.state[0])

    def outside(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """For each node the log sum of what can stand around it; -inf where the root has no way."""
        values = np.empty(self.node_offsets[-1])
        forest_inside.outside(scores, *self._shape, self._roots, inference.state[0], values)
        return self._by_node(values)

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Conditional expectations bottom-up, their effect on the counts top-down."""
        _, *state = inference.state
        product = np.empty(self.n_parts)
        forest_inside.covariance_product(direction, *self._shape, *state, product)
        return product

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of each forest, from products."""
        return covariance_from_products(self, scores, inference)

    def argmax(self, scores: FloatArray) -> Best:
        """The inside algorithm with a maximum for the sum; the first edge wins where two tie."""
        best, choice, lengths = self._viterbi(scores)
        scores = best[self._roots]
        starts = _lengths(np.where(scores > -np.inf, lengths[self._roots], 0.0))
        derivations = np.empty(starts[-1], dtype=np.int64)
        edges, _, *tails = self._shape
        forest_best.write_derivations(
            choice, edges, *tails, self._roots, self.part_offsets, starts, derivations
        )
        return Best(pieces(derivations, starts), scores)

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Viterbi bottom-up, then what each edge loses against the best, top-down."""
        best, _, _ = self._viterbi(scores)
        result = np.empty(self.n_parts)
        forest_best.max_marginals(scores, *self._shape, self._roots, best, result)
        return result

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """Lazily, on top of Viterbi: O(edges) plus at most O(k log k) for each node on the way."""
        best, choice, _ = self._viterbi(scores)
        edges, _, *tails = self._shape
        most_tails = int(np.diff(tails[1]).max(initial=0))
        search = forest_k_best.k_best(
            scores, *self._shape, self._roots, k, best, choice, most_tails
        )
        items = forest_k_best.root_items(search, self._roots)
        n_found = search.nodes[self._roots, forest_k_best.N_FOUND]
        starts = _lengths(forest_k_best.item_lengths(search, *tails)[items])
        derivations = np.empty(starts[-1], dtype=np.int64)
        first_parts = np.repeat(self.part_offsets[:-1], n_found)
        forest_k_best.write_items(search, items, edges, *tails, first_parts, starts, derivations)
        pairs = list(zip(pieces(derivations, starts), search.values[items].tolist(), strict=True))
        ends = np.cumsum(n_found).tolist()
        return [pairs[end - n : end] for end, n in zip(ends, n_found.tolist(), strict=True)]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Top-down: each node's edge with its probability given the node; a list per forest."""
        # A first look at the expected lengths, since a derivation can be longer than any memory.
        _lengths(size * np.add.reduceat(inference.marginals, self.part_offsets[:-1]))
        starts = np.zeros(self.n_sentences * size + 1, dtype=np.int64)
        _, _, weights, _ = inference.state
        derivations = forest_sample.sample(
            weights, *self._shape, self._roots, self.part_offsets, size, rng, starts
        )
        samples = pieces(derivations, starts)
        return [samples[i * size : (i + 1) * size] for i in range(self.n_sentences)]

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
        starts = _offsets([len(derivation) for derivation in given])
        flat = np.concatenate([np.zeros(0, dtype=np.int64), *given])
        n_nodes = self.node_offsets[-1]
        inside, units, weights = np.empty(n_nodes), np.empty(n_nodes), np.empty(self.n_parts)
        forest_inside.inside_and_weights(scores, *self._shape, inside, units, weights)
        ends = np.zeros(self.n_sentences + 1, dtype=np.int64)
        derivations = forest_resample.resample(
            weights, *self._shape, self.part_offsets, flat, starts, n_steps, rng, ends
        )
        return pieces(derivations, ends)

    def is_choice(self) -> BoolArray:
        """All edges."""
        return np.ones(self.n_parts, dtype=np.bool_)

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

    def _viterbi(self, scores: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        n_nodes = self.node_offsets[-1]
        best, lengths = np.empty(n_nodes), np.empty(n_nodes)
        choice = np.empty(n_nodes, dtype=np.int64)
        forest_best.viterbi(scores, *self._shape, best, choice, lengths)
        return best, choice, lengths

    def _by_node(self, values: FloatArray) -> list[FloatArray]:
        """Values in the order of the kernels, as each hypergraph numbers its nodes."""
        given = pieces(values, self.node_offsets)
        arrays = [np.empty(len(piece)) for piece in given]
        for graph, array, piece in zip(self.hypergraphs, arrays, given, strict=True):
            array[graph.order] = piece
        return arrays


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


def _offsets(counts: Sequence[int]) -> IntArray:
    return offsets(np.array(counts, dtype=np.int64))


def _lengths(lengths: FloatArray) -> IntArray:
    """Where derivations of the given lengths start when they lie end to end."""
    if lengths.sum() > LONGEST:
        raise ValueError(
            f"a derivation has {lengths.max():.3g} edges, too many to write down, since nodes that "
            "occur several times in the tails of an edge are derived anew each time. Ask for "
            "log_partition, marginals or max_marginals instead."
        )
    return offsets(lengths.astype(np.int64))
