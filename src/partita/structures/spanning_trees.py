"""Spanning trees: every word has a head and descends from the root; arcs may cross."""

import heapq
from functools import cached_property

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.spanning import arborescence
from partita.kernels.spanning import covariance as spanning_covariance
from partita.kernels.spanning import elimination as spanning_elimination
from partita.kernels.spanning import lone as spanning_lone
from partita.kernels.spanning import pairs as spanning_pairs
from partita.kernels.spanning import sample as spanning_sample
from partita.kernels.spanning import wide as spanning_wide
from partita.kernels.trees import reachability
from partita.structures.base import Inference
from partita.structures.batch import where_false, where_true
from partita.structures.charts import Blocks, Charts, Fill, each_block, kind_of, n_in_eights, unread
from partita.structures.counting import count_spanning_trees
from partita.structures.trees import Trees

N_KEPT = 2
"""Numbers for each arc that the elimination leaves behind."""


WIDEST = 2**18
"""Numbers in the matrices of eight sentences side by side: up to 127 words. They are read row after
row, which the processor sees coming, also where the second cache does not hold them."""


class SpanningTrees(Trees):
    """All trees, crossing arcs allowed: (n+1)^(n-1) of n words, n^(n-1) with a single root."""

    is_projective = False

    @cached_property
    def _blocks(self) -> Blocks:
        sizes = N_KEPT * np.diff(self.arc_offsets)
        n_wide = n_in_eights(self.n_words[self._order], sizes[self._order], WIDEST)
        return Blocks(self._order, sizes, n_wide, is_reused=True)

    def _fill(
        self,
        arcs: FloatArray,
        is_safe: BoolArray,
        is_restricted: BoolArray,
        log_partition: FloatArray,
        marginals: FloatArray,
        *,
        is_kept: bool = True,
    ) -> Fill:
        """The elimination of some sentences."""
        return lambda order, offsets: spanning_elimination.marginals(
            arcs, self.arc_offsets, self.n_words, order, self.single_root,
            kind_of(order, offsets), is_kept,
            is_safe, is_restricted, offsets, log_partition, marginals,
        )  # fmt: skip

    def _infer_arcs(self, arcs: FloatArray, *, keep: bool) -> Inference:
        """Elimination without subtraction, O(n³); with unbounded numbers where it underflows."""
        log_partition, marginals = np.empty(self.n_sentences), np.empty(self.arc_offsets[-1])
        is_safe, is_restricted = np.empty((2, self.n_sentences), dtype=np.bool_)
        shape = self.arc_offsets, self.n_words
        found = is_safe, is_restricted, log_partition, marginals
        kept = self._blocks.whole
        if self.n_sentences == 1:
            spanning_lone.marginals(arcs, self.n_words.item(), self.single_root, *found)
        else:
            is_kept = keep and self._blocks.is_kept
            fill = self._fill(arcs, *found, is_kept=is_kept)
            kept = self._blocks.fill(fill, self.run, keep=keep)
        unsafe, restricted = where_false(is_safe), where_true(is_restricted)
        if unsafe.size:
            spanning_wide.marginals(
                arcs, *shape, self.single_root, unsafe, log_partition, marginals
            )
        if restricted.size:
            # The elimination gives arcs that are allowed but in no tree some 1e-17.
            n_nodes = int(self.n_words[restricted].max()) + 1
            allowed, reached = np.empty(n_nodes**2, np.bool_), np.empty(n_nodes, np.bool_)
            reachability.clear_impossible(
                arcs, *shape, self.single_root, restricted,
                allowed, reached, np.empty(n_nodes, np.int64), marginals,
            )  # fmt: skip
        return Inference(log_partition, marginals, (is_safe, unsafe, restricted, kept))

    def _arc_covariance_product(
        self, arcs: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """The elimination differentiated along the direction, O(n³)."""
        product = np.empty(self.arc_offsets[-1])
        _, unsafe, restricted, kept = inference.state
        given = arcs, direction, inference.marginals, self.arc_offsets, self.n_words
        is_safe, *found = unread(self.n_sentences, len(arcs))

        def multiply(order: IntArray, charts: Charts) -> None:
            spanning_covariance.covariance_product(
                *given, order, self.single_root, *charts, product
            )

        fill = self._fill(arcs, is_safe, np.empty_like(is_safe), *found)
        each_block(multiply, fill, kept, self.run)
        if unsafe.size:
            spanning_wide.covariance_product(*given, self.single_root, unsafe, product)
        if restricted.size:
            product[inference.marginals == 0.0] = 0.0
        return product

    def _arc_covariance(self, arcs: FloatArray, inference: Inference) -> list[FloatArray]:
        """O(n⁴) from one elimination; where that would underflow, from products in O(n⁵)."""
        is_safe, *_ = inference.state
        return [
            self._safe_covariance(arcs, inference, sentence)
            if is_safe[sentence]
            else self._wide_covariance(arcs, inference, sentence)
            for sentence in range(self.n_sentences)
        ]

    def _safe_covariance(self, arcs: FloatArray, inference: Inference, b: int) -> FloatArray:
        first, end = self.arc_offsets[b], self.arc_offsets[b + 1]
        covariance, n_nodes = np.empty((end - first, end - first)), self.n_words[b] + 1
        spanning_pairs.covariance(
            arcs, self.arc_offsets, self.n_words, np.array([b]), self.single_root,
            inference.marginals[first:end], np.empty((n_nodes,) * 3), covariance,
        )  # fmt: skip
        return covariance

    def _wide_covariance(self, arcs: FloatArray, inference: Inference, b: int) -> FloatArray:
        first, end = self.arc_offsets[b], self.arc_offsets[b + 1]
        one = arcs[first:end].copy(), inference.marginals[first:end].copy()
        offsets, lengths = np.array([0, end - first]), self.n_words[b : b + 1]
        covariance = np.zeros((end - first, end - first))
        for part in np.flatnonzero(one[1]):
            direction = np.zeros(end - first)
            direction[part] = 1.0
            spanning_wide.covariance_product(
                one[0], direction, one[1], offsets, lengths, self.single_root,
                np.zeros(1, dtype=np.int64), covariance[part],
            )  # fmt: skip
        return covariance

    def _best_heads(self, arcs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Chu-Liu-Edmonds on the dense matrix, O(n²)."""
        heads = np.empty(self.word_offsets[-1], dtype=np.int64)
        scores = np.empty(self.n_sentences)
        arborescence.best_trees(
            arcs, self.arc_offsets, self.word_offsets, self.n_words, self.single_root, heads, scores
        )
        return heads, scores

    def _arc_max_marginals(self, arcs: FloatArray) -> FloatArray:
        """Decodings in which a modifier chooses among heads: each answers for many of them."""
        bests = np.empty(self.arc_offsets[-1])
        arborescence.max_marginals(arcs, self.arc_offsets, self.n_words, self.single_root, bests)
        return bests

    def _k_best_heads(self, arcs: FloatArray, k: int) -> list[list[tuple[IntArray, float]]]:
        """Each tree taken out splits its set into at most n, which are decoded: O(k n³)."""
        heads, scores = self._best_heads(arcs)
        return [
            self._k_best(arcs, sentence, k, tree, float(score)) if score > -np.inf else []
            for sentence, (tree, score) in enumerate(
                zip(self._split_words(heads), scores, strict=True)
            )
        ]

    def _k_best(
        self, arcs: FloatArray, sentence: int, k: int, tree: IntArray, score: float
    ) -> list[tuple[IntArray, float]]:
        """Lawler's partition: see `arborescence.branches` for the sets that are queued."""
        n_words = int(self.n_words[sentence])
        # A count breaks ties, since arrays cannot be compared.
        queue = [(-score, 0, tree, 0, np.zeros(n_words + 1, dtype=np.bool_))]
        found: list[tuple[IntArray, float]] = []
        n_queued = 1
        while queue and len(found) < k:
            loss, _, tree, branch, forbidden = heapq.heappop(queue)
            found.append((tree, -loss))
            heads = np.zeros((n_words, n_words), dtype=np.int64)
            scores = np.empty(n_words)
            arborescence.branches(
                arcs, self.arc_offsets[sentence], n_words, self.single_root,
                tree, branch, forbidden, heads.reshape(-1), scores,
            )  # fmt: skip
            for word in np.flatnonzero(scores > -np.inf).tolist():
                excluded = forbidden.copy() if word == branch else np.zeros_like(forbidden)
                excluded[tree[word]] = True
                item = (-float(scores[word]), n_queued, heads[word], word, excluded)
                heapq.heappush(queue, item)
                n_queued += 1
        return found

    def _count_trees(self, arcs: Array) -> int:
        return count_spanning_trees(arcs, single_root=self.single_root)

    def _sample_heads(
        self, arcs: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[IntArray]:
        """Wilson's algorithm; a single root is drawn from its marginal first."""
        samples = []
        for first, n_words in zip(self.arc_offsets[:-1], self.n_words, strict=True):
            heads = np.zeros((size, n_words), dtype=np.int64)
            spanning_sample.sample(
                arcs, first, n_words, self.single_root, inference.marginals, rng, heads
            )
            samples.append(heads)
        return samples
