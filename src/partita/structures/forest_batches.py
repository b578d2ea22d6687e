"""Forests as kernels read them, and batches of sentences each with one of them."""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kernels.forests import batches as forest_batches
from partita.kernels.forests import k_best as forest_k_best
from partita.kernels.forests import layout as forest_layout
from partita.kernels.forests import resample as forest_resample
from partita.kernels.forests import sample as forest_sample
from partita.kernels.forests.layout import Layout
from partita.structures.base import Best, Inference, Structure
from partita.structures.batch import offsets, pieces
from partita.structures.distinct import ForestWays
from partita.structures.hypergraph import Hypergraph

LONGEST = 2**40
"""A derivation with more edges than this cannot be written down."""


class ForestTable(NamedTuple):
    """Forests end to end, in the order in which kernels visit their edges."""

    layout: Layout
    edges: IntArray
    """The edge at each place, numbered as its hypergraph does."""

    @classmethod
    def of(cls, graphs: Sequence[Hypergraph], parts: Sequence[Array] | None = None) -> Self:
        """Some hypergraphs; `parts` says which part each edge is, itself if left out."""
        sizes = [(graph.n_nodes, graph.n_edges, len(graph.tails_flat)) for graph in graphs]
        starts = np.zeros((len(graphs) + 1, 3), dtype=np.int64)
        np.cumsum(np.reshape(sizes, (-1, 3)), axis=0, out=starts[1:])
        n_nodes, n_places, n_tails = starts[-1].tolist()
        edges = np.empty(n_places, dtype=np.int64)
        stars = np.empty(n_nodes + len(graphs), dtype=np.int64)
        tail_offsets = np.empty(n_places + len(graphs), dtype=np.int64)
        roots = np.empty(len(graphs), dtype=np.int64)
        tails = np.empty(n_tails, dtype=np.int64)
        layout = Layout(np.empty_like(edges), stars, tails, tail_offsets, roots, starts)
        for index, graph in enumerate(graphs):
            here = edges[starts[index, 1] : starts[index + 1, 1]]
            number = forest_layout.lay_out(
                graph.order, graph.backward_offsets, graph.backward_edges, graph.tails_flat,
                graph.tail_offsets, here, *arrays_of(layout, index)[1:],
            )  # fmt: skip
            roots[index] = number[graph.root]
            layout.parts[starts[index, 1] : starts[index + 1, 1]] = (
                here if parts is None else parts[index][here]
            )
        return cls(layout, edges)

    def tied(self, parts: Array) -> Self:
        """The same, of one forest, with another part for each edge."""
        return self._replace(layout=self.layout._replace(parts=parts[self.edges].astype(np.int64)))


class ForestBatch:
    """Sentences with the parts of `part_offsets`, each with the forest which[b] of a table."""

    def __init__(self, table: ForestTable, which: IntArray, part_offsets: IntArray) -> None:
        self.layout, self.edges = table
        self.which = which
        self.part_offsets = part_offsets
        sizes = np.diff(self.layout.starts, axis=0)[which]
        self.node_offsets = offsets(sizes[:, 0])
        self.place_offsets = offsets(sizes[:, 1])

    def infer(self, scores: FloatArray) -> Inference:
        """Inside bottom-up, expected counts top-down: O(edges + tails), one exponential an edge."""
        n_nodes, n_places = self.node_offsets[-1], self.place_offsets[-1]
        inside, units, counts = np.empty(n_nodes), np.empty(n_nodes), np.empty(n_nodes)
        state = (inside, units, np.empty(n_places), counts)
        log_partition, marginals = np.empty(len(self.which)), np.empty(self.part_offsets[-1])
        forest_batches.marginals(
            scores, *self._shape, self.place_offsets, *state, log_partition, marginals
        )
        return Inference(log_partition, marginals, state)

    def covariance_product(self, inference: Inference, direction: FloatArray) -> FloatArray:
        """Conditional expectations bottom-up, their effect on the counts top-down."""
        product = np.empty(self.part_offsets[-1])
        forest_batches.covariance_product(
            direction, *self._shape, self.place_offsets, *inference.state[1:], product
        )
        return product

    def outside(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Log outside of all nodes, as the layout numbers them."""
        values = np.empty(self.node_offsets[-1])
        forest_batches.outside(scores, *self._shape, inference.state[0], values)
        return values

    def argmax(self, scores: FloatArray) -> Best:
        """The inside algorithm with a maximum for the sum; the first edge wins where two tie."""
        best, choice, lengths = self._viterbi(scores)
        roots = self.node_offsets[:-1] + self.layout.roots[self.which]
        starts = derivation_starts(np.where(best[roots] > -np.inf, lengths[roots], 0.0))
        derivations = np.empty(starts[-1], dtype=np.int64)
        forest_batches.write_derivations(
            self.layout, self.edges, self.which, self.node_offsets, choice, starts, derivations
        )
        return Best(pieces(derivations, starts), best[roots])

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Viterbi bottom-up, then what each edge loses against the best, top-down."""
        best, _, _ = self._viterbi(scores)
        result = np.empty(self.part_offsets[-1])
        forest_batches.max_marginals(scores, *self._shape, best, result)
        return result

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """Lazily, on top of Viterbi: O(edges) plus at most O(k log k) for each node on the way."""
        best, choice, _ = self._viterbi(scores)
        tops = zip(pieces(best, self.node_offsets), pieces(choice, self.node_offsets), strict=True)
        return [
            self._k_best(np.concatenate([mine, [0.0, -np.inf]]), index, k, *top)
            for index, (mine, top) in enumerate(
                zip(pieces(scores, self.part_offsets), tops, strict=True)
            )
        ]

    def _k_best(
        self, scores: FloatArray, sentence: int, k: int, best: FloatArray, choice: IntArray
    ) -> list[tuple[Structure, float]]:
        forest = int(self.which[sentence])
        parts, stars, *tails = arrays_of(self.layout, forest)
        root = int(self.layout.roots[forest])
        most_tails = int(np.diff(tails[1]).max(initial=0))
        search = forest_k_best.k_best(
            scores, parts, stars, *tails, root, k, best, choice, most_tails
        )
        items = forest_k_best.root_items(search, root)
        starts = derivation_starts(forest_k_best.item_lengths(search, *tails)[items])
        derivations = np.empty(starts[-1], dtype=np.int64)
        forest_k_best.write_items(search, items, self._edges(forest), *tails, starts, derivations)
        return list(zip(pieces(derivations, starts), search.values[items].tolist(), strict=True))

    def sample(
        self, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[list[IntArray]]:
        """Top-down: each node's edge with its probability given the node."""
        _, _, weights, counts = inference.state
        samples = []
        for sentence, mine in enumerate(pieces(weights, self.place_offsets)):
            forest = int(self.which[sentence])
            _, stars, *tails = arrays_of(self.layout, forest)
            # A first look at the expected length, since a derivation can be longer than any memory.
            derivation_starts(np.array([size * pieces(counts, self.node_offsets)[sentence].sum()]))
            starts = np.zeros(size + 1, dtype=np.int64)
            derivations = forest_sample.sample(
                mine, self._edges(forest), stars, *tails, int(self.layout.roots[forest]),
                size, rng, starts,
            )  # fmt: skip
            samples.append(pieces(derivations, starts))
        return samples

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[IntArray]]:
        """Top-down, without replacement: the edges of a node are what is chosen from."""
        inside, *_ = self.infer(scores).state
        samples = []
        each = zip(
            pieces(scores, self.part_offsets), pieces(inside, self.node_offsets), strict=True
        )
        for sentence, (mine, sums) in enumerate(each):
            forest = int(self.which[sentence])
            parts, *arrays = arrays_of(self.layout, forest)
            of_places = np.concatenate([mine, [0.0, -np.inf]])[parts]
            ways = ForestWays.of(of_places, sums, arrays, int(self.layout.roots[forest]))
            drawn = ways.distinct(size, rng)
            samples.append([self._edges(forest)[ways.places(way)] for way in drawn])
        return samples

    def resampled(
        self,
        scores: FloatArray,
        derivations: Sequence[IntArray],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[IntArray]:
        """Metropolis sampling: a step derives a node of the derivation anew, drawn at random."""
        _, _, weights, _ = self.infer(scores).state
        found = []
        for sentence, (mine, derivation) in enumerate(
            zip(pieces(weights, self.place_offsets), derivations, strict=True)
        ):
            forest = int(self.which[sentence])
            _, stars, *tails = arrays_of(self.layout, forest)
            found.append(
                forest_resample.resample(
                    mine, self._edges(forest), stars, *tails, derivation, n_steps, rng
                )
            )
        return found

    def _edges(self, forest: int) -> IntArray:
        starts = self.layout.starts[:, 1]
        return self.edges[starts[forest] : starts[forest + 1]]

    def _viterbi(self, scores: FloatArray) -> tuple[FloatArray, IntArray, FloatArray]:
        n_nodes = self.node_offsets[-1]
        best, lengths = np.empty(n_nodes), np.empty(n_nodes)
        choice = np.empty(n_nodes, dtype=np.int64)
        forest_batches.viterbi(scores, *self._shape, best, choice, lengths)
        return best, choice, lengths

    @property
    def _shape(self) -> tuple[IntArray, Layout, IntArray, IntArray]:
        return self.part_offsets, self.layout, self.which, self.node_offsets


def arrays_of(layout: Layout, forest: int) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Parts, star offsets, tails and tail offsets of one forest, as `of_forest` for kernels."""
    (node, place, tail), (last_node, last_place, last_tail) = layout.starts[forest : forest + 2]
    return (
        layout.parts[place:last_place],
        layout.star_offsets[node + forest : last_node + forest + 1],
        layout.tails[tail:last_tail],
        layout.tail_offsets[place + forest : last_place + forest + 1],
    )


def derivation_starts(lengths: FloatArray) -> IntArray:
    """Where derivations of the given lengths start when they lie end to end."""
    if lengths.sum() > LONGEST:
        raise ValueError(
            f"a derivation has {lengths.max():.3g} edges, too many to write down, since nodes that "
            "occur several times in the tails of an edge are derived anew each time. Ask for "
            "log_partition, marginals or max_marginals instead."
        )
    return offsets(lengths.astype(np.int64))
