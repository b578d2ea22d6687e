"""Binary constituency trees: every span of words in the tree has a score, and maybe a label."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.constituents import best as cky_best
from partita.kernels.constituents import labels as span_labels
from partita.kernels.constituents import scaled as cky
from partita.kernels.trees import labels as label_kernels
from partita.structures.base import Best, Inference, Structure
from partita.structures.batch import largest_finite, moved_words, offsets, pieces, where_false
from partita.structures.charts import Blocks, Charts, Fill, each_block, kind_of, n_in_eights, unread
from partita.structures.part_arrays import PartArray
from partita.structures.step_structures import Step, StepStructures
from partita.structures.tied_forests import TiedForest

N_CHARTS = 2
"""Numbers in the charts of `kernels.constituents.scaled` for each pair of words."""


class ConstituencyTrees(StepStructures):
    """All binary trees over sentences of `n_words` words, where `n_labels` with labelled spans.

    The parts of a sentence of n words are its spans, [first, last] of shape (n, n) with both words
    in the span; with labels, (n, n, n_labels). Cells below the diagonal belong to no tree: what is
    there is ignored. A tree has 2 n - 1 spans, single words among them.

    A structure is an array of rows (first, last), or (first, last, label), for each span of the
    tree from the top down and from left to right; a caller's rows may come in any order.
    """

    reads_unused = False

    def __init__(self, n_words: ArrayLike, n_labels: int | None = None) -> None:
        self.n_labels = n_labels
        labels = () if n_labels is None else (n_labels,)
        super().__init__(n_words, [PartArray("spans", 2, inner=labels)])

    def forest(self, n_words: int) -> TiedForest:
        """A node for each span, and with labels a second one, of the span without its label."""
        return self.build(n_words, self._steps(n_words), root=(0, n_words - 1))

    def _steps(self, n_words: int) -> Iterator[Step]:
        """Head, tails and cell of each step.

        (i, j): a tree over the words i to j. ("inside", i, j): the same without its own label.
        """
        for first in range(n_words):
            for last in range(first, n_words):
                span = (first, last)
                cuts = range(first, last)
                tails: list[Sequence[Hashable]] = [((first, k), (k + 1, last)) for k in cuts] or [
                    ()
                ]
                if self.n_labels is None:
                    for pair in tails:
                        yield span, pair, ("spans", first, last)
                    continue
                inside = ("inside", first, last)
                for label in range(self.n_labels):
                    yield span, (inside,), ("spans", first, last, label)
                for pair in tails:
                    yield inside, pair, None

    def structure(self, n_words: int, *places: IntArray) -> Structure:
        """Rows from the top down: of spans that begin together, the longest is first."""
        rows = places[0]
        return rows[np.lexsort((-rows[:, 1], rows[:, 0]))]

    def places(self, n_words: int, structure: Structure, sentence: int) -> Sequence[ArrayLike]:
        """The cells are the rows themselves."""
        rows = np.asarray(structure)
        names = "(first, last)" if self.n_labels is None else "(first, last, label)"
        n_columns = 2 if self.n_labels is None else 3
        shape = (2 * n_words - 1, n_columns)
        if rows.shape != shape or rows.dtype.kind not in "iu":
            raise ValueError(
                f"the tree of sentence {sentence} is an array of {rows.dtype} of shape "
                f"{rows.shape}; expected {shape}, a row {names} of whole numbers for each span of "
                "a binary tree, single words among them."
            )
        return (rows,)

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Spans name words, which a padded batch may have at other places."""
        rows = np.array(structure)
        if rows.ndim == 2:  # else `places` refuses it
            rows[:, :2] = moved_words(rows[:, :2], places)
        return rows

    def centred(self, scores: FloatArray, inference: Inference) -> FloatArray:
        """Less the largest score: of each word, of the whole sentence, and of all other spans.

        The first two are in every tree, and of the others every tree has as many, n - 2.
        """
        centred = scores.copy()
        self.clear_unused(centred)
        for spans in self.split_arrays(centred)[0]:
            table = spans.reshape(len(spans), len(spans), -1)
            inner = np.ones(table.shape[:2], dtype=np.bool_)
            np.fill_diagonal(inner, val=False)
            inner[0, -1] = False
            cells = [table[word, word] for word in range(len(table))]
            cells += [table[0, -1]] * (len(table) > 1)
            for each in cells:
                each -= largest_finite(each, (0,))
            table[inner] -= largest_finite(table[inner], (0, 1))
        return centred

    # ------------------------------------------------------------------ fast sums

    def infer(self, scores: FloatArray) -> Inference:
        """In probabilities, sentences side by side; on forests, in logarithms, where these fail.

        Labels are summed out, log sum_l exp(score), and shared out again: p(l | span) p(span).
        """
        return self._infer(scores, keep=True)

    def infer_once(self, scores: FloatArray) -> Inference:
        """Without keeping the charts, which then need not leave the cache."""
        return self._infer(scores, keep=False)

    def _infer(self, scores: FloatArray, *, keep: bool) -> Inference:
        if self.n_labels is None:
            return self._infer_spans(scores, keep=keep)
        spans, scales = np.empty((2, self._plain.n_parts))
        shape, shares = (
            (self.n_words, self._plain.part_offsets, self.n_labels),
            np.empty_like(scores),
        )
        span_labels.sum_labels(scores, *shape, spans, scales, shares)
        inner = self._plain._infer_spans(spans, keep=keep)
        span_labels.spread(inner.marginals, scales, *shape, shares)
        return Inference(inner.log_partition, shares, (spans, inner))

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """The derivative of the sums; q (product(D) + p(span) (d - D)) where spans have labels."""
        if self.n_labels is None:
            return self._span_covariance_product(scores, inference, direction)
        spans, inner = inference.state
        means, product = np.empty(self._plain.n_parts), np.empty(self.n_parts)
        both = inference.marginals, inner.marginals, direction
        label_kernels.mean_direction(*both, self.n_labels, means)
        moved = self._plain.covariance_product(spans, inner, means)
        label_kernels.spread_product(*both, means, moved, self.n_labels, product)
        return product

    def argmax(self, scores: FloatArray) -> Best:
        """The best tree, with the best label on each span."""
        row_offsets = offsets(2 * self.n_words - 1)
        rows, best = np.empty((row_offsets[-1], 2), dtype=np.int64), np.empty(self.n_sentences)
        shape, spans = (self.n_words, self._plain.part_offsets), scores
        if self.n_labels is not None:
            spans = np.empty(self._plain.n_parts)
            span_labels.best_labels(scores, *shape, self.n_labels, spans)
        cky_best.best_trees(spans, *shape[::-1], self._order, row_offsets, rows, best)
        trees = pieces(rows, row_offsets)
        if self.n_labels is not None:
            each = zip(trees, self.split_arrays(scores)[0], strict=True)
            trees = [
                np.column_stack([tree, spans[tree[:, 0], tree[:, 1]].argmax(axis=1)])
                for tree, spans in each
            ]
        return Best(trees, best)

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Top-down on forests, whose inside sums are made for it."""
        return super().sample(scores, super().infer(scores), size, rng)

    @cached_property
    def _plain(self) -> "ConstituencyTrees":
        """The same trees without labels."""
        if self.n_labels is None:
            return self
        plain = ConstituencyTrees(self.n_words)
        plain.run = self.run
        return plain

    @cached_property
    def _order(self) -> IntArray:
        """Sentences by length, so that those of like length are computed side by side."""
        return np.argsort(self.n_words, kind="stable")

    @cached_property
    def _blocks(self) -> Blocks:
        sizes = N_CHARTS * self.n_words**2
        n_wide = n_in_eights(self.n_words[self._order], sizes[self._order])
        return Blocks(self._order, sizes, n_wide, is_reused=True)

    def _fill(
        self,
        scores: FloatArray,
        is_safe: BoolArray,
        log_partition: FloatArray,
        out: FloatArray,
        *,
        is_kept: bool = True,
    ) -> Fill:
        """Inside-outside in probabilities, of some sentences."""

        def fill(order: IntArray, offsets: IntArray) -> Array:
            kind = kind_of(order, offsets)
            charts: Array = cky.marginals(
                scores, self.part_offsets, self.n_words, order, kind, is_kept,
                is_safe, offsets, log_partition, out,
            )  # fmt: skip
            return charts

        return fill

    def _infer_spans(self, scores: FloatArray, *, keep: bool) -> Inference:
        log_partition, marginals = np.empty(self.n_sentences), np.empty(self.n_parts)
        is_safe = np.empty(self.n_sentences, dtype=np.bool_)
        is_kept = keep and self._blocks.is_kept
        fill = self._fill(scores, is_safe, log_partition, marginals, is_kept=is_kept)
        blocks = self._blocks.fill(fill, self.run, keep=keep)
        # What overflows or underflows is reported, and done again.
        again = _Again.of(self, where_false(is_safe), scores)
        if again is not None:
            log_partition[again.sentences] = again.inference.log_partition
            marginals[again.parts] = again.inference.marginals
        return Inference(log_partition, marginals, (blocks, again))

    def _span_covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        blocks, again = inference.state
        product = np.empty(self.n_parts)
        fill = self._fill(scores, *unread(self.n_sentences, self.n_parts))

        def multiply(order: IntArray, charts: Charts) -> None:
            cky.covariance_product(
                direction, self.part_offsets, self.n_words, order, *charts, product
            )

        each_block(multiply, fill, blocks, self.run)
        if again is not None:
            product[again.parts] = again.covariance_product(direction)
        return product

    def _sum_on_forests(self, scores: FloatArray) -> Inference:
        return super().infer(scores)

    def _product_on_forests(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        return super().covariance_product(scores, inference, direction)

    def clear_unused(self, scores: FloatArray) -> float:
        """-inf below the diagonal."""
        return float(
            span_labels.clear_below(scores, self.n_words, self.part_offsets, self.n_labels or 1)
        )


@dataclass(frozen=True)
class _Again:
    """The sentences of a batch whose sums in probabilities are not certain, on forests."""

    sentences: IntArray
    parts: IntArray
    """Where their parts are in the batch."""
    trees: ConstituencyTrees
    scores: FloatArray
    inference: Inference

    @classmethod
    def of(
        cls, batch: ConstituencyTrees, sentences: IntArray, scores: FloatArray
    ) -> "_Again | None":
        """None where there is none of them."""
        if not sentences.size:
            return None
        starts, ends = batch.part_offsets[sentences], batch.part_offsets[sentences + 1]
        parts = np.concatenate([np.arange(*each) for each in zip(starts, ends, strict=True)])
        trees = ConstituencyTrees(batch.n_words[sentences])
        return cls(sentences, parts, trees, scores[parts], trees._sum_on_forests(scores[parts]))

    def covariance_product(self, direction: FloatArray) -> FloatArray:
        """Of these sentences alone."""
        return self.trees._product_on_forests(self.scores, self.inference, direction[self.parts])
