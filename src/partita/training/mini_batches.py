"""How the gradient of a mini-batch is made and followed: by attributes, or by blocks of weights.

Where the features of a batch are rows of attributes, the gradient of each attribute is summed up
and followed at once (`ColumnSteps`), and is never a vector. Other features have their gradient
added up in a vector as long as the weights, of which a step visits the blocks that the mini-batch
touches (`BlockSteps`). Both move the same weights by the same amounts, and both share the weights
out among threads; which of them it is depends on the corpus, and on whether a mini-batch is one of
its batches.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from partita.arrays import FloatArray, SingleArray
from partita.features.columns import ColumnBlock
from partita.kernels.weights import columns, updates
from partita.kernels.weights.chain_steps import Moves
from partita.training.chain_steps import ChainPass, Plan
from partita.training.corpus import Corpus
from partita.training.pair_steps import PairPass
from partita.training.penalties import Penalty
from partita.training.running import RunningTotals
from partita.training.shared_steps import SharedSteps
from partita.training.support import BatchColumns, padded, padded_size
from partita.training.threads import in_threads

BLOCKS = 2**12
"""Blocks of weights that a thread moves at a time."""


class MiniBatches(ABC):
    """The mini-batches of one pass: their loss, and steps along their gradients."""

    def __init__(self, corpus: Corpus, weights: FloatArray, iteration: int) -> None:
        self.corpus, self.iteration = corpus, iteration
        self.running: RunningTotals = corpus.running_totals(weights, iteration)

    @abstractmethod
    def loss(self, weights: FloatArray, chosen: Sequence[int]) -> float:
        """The loss of some batches; their gradient is kept for the step that follows."""

    @abstractmethod
    def move(
        self, update: updates.Update, method: updates.Method, vectors: updates.Vectors
    ) -> float:
        """One step along that gradient, in place; gives its squared norm. Vectors are `padded`."""

    def whole_pass(
        self, plan: Plan, method: updates.Method, vectors: updates.Vectors
    ) -> SharedSteps | None:
        """A pass of compiled calls, each of many steps, where there is such a thing."""
        return None

    @contextmanager
    def stepping(
        self, plan: Plan, method: updates.Method, vectors: updates.Vectors
    ) -> Iterator[Callable[[int], list[tuple[float, float]]]]:
        """A function that makes the step of a number, and maybe some of those that follow.

        It gives for each step that was made its loss, and what `move` does.
        """
        weights = vectors.weights[: self.corpus.n_weights]
        whole = self.whole_pass(plan, method, vectors)

        def steps(number: int) -> list[tuple[float, float]]:
            found = [] if whole is None else whole.steps(number)
            if found:
                return found
            chosen, update = plan[number]
            return [(self.loss(weights, chosen), self.move(update, method, vectors))]

        try:
            yield steps
        finally:
            if whole is not None:
                whole.end()

    def final_loss(self) -> float:
        """Of the terms that depend on their totals, in which no batch has a share."""
        return self.corpus.running_loss(self.running, self.iteration)


class ColumnSteps(MiniBatches):
    """One batch a step, attribute by attribute."""

    def __init__(
        self,
        corpus: Corpus,
        weights: FloatArray,
        iteration: int,
        columns: BatchColumns,
        penalty: Penalty,
    ) -> None:
        super().__init__(corpus, weights, iteration)
        self._columns = columns
        has_penalty = bool(penalty.l2 or penalty.l1)
        self._shares = columns.shares if has_penalty else columns.no_shares
        self._scale = penalty.scale if has_penalty and penalty.scale is not None else np.zeros(0)

    def whole_pass(
        self, plan: Plan, method: updates.Method, vectors: updates.Vectors
    ) -> ChainPass | None:
        """Of chains that learn from tags."""
        batches = self.corpus.chain_batches(self.iteration)
        if batches is None:
            return None
        word_shares, table_shares = self._shares
        moves = Moves(word_shares, table_shares, self._scale)
        return ChainPass(batches, moves, plan, method, vectors, self.corpus.n_threads)

    def loss(self, weights: FloatArray, chosen: Sequence[int]) -> float:
        """Keeps the gradient with respect to the scores."""
        (self._chosen,) = chosen
        loss, (self._gradient,) = self.corpus.score_gradients(
            weights, chosen, self.iteration, self.running
        )
        return loss

    def move(
        self, update: updates.Update, method: updates.Method, vectors: updates.Vectors
    ) -> float:
        """Chunks of attributes are shared out, and summed in order, whoever did them."""
        gradient = self._gradient
        if gradient is None:
            return 0.0
        rest = self._scale, update, method, vectors
        n_threads = self.corpus.n_threads

        def moved(
            block: ColumnBlock, shares: SingleArray, chunk: tuple[columns.Columns, int, int]
        ) -> float:
            place = gradient, block.first, block.width, shares
            return float(columns.move(*chunk, *place, *rest))

        shared = [
            (block, shares, chunk)
            for block, shares in zip(self._columns.blocks[self._chosen], self._shares, strict=True)
            for chunk in block.chunks
        ]
        return sum(in_threads(moved, *zip(*shared, strict=True), n_threads=n_threads))


class BlockSteps(MiniBatches):
    """Any features: a gradient as long as the weights, of which a step visits some blocks."""

    def __init__(
        self, corpus: Corpus, weights: FloatArray, iteration: int, penalty: Penalty
    ) -> None:
        has_penalty = bool(penalty.l2 or penalty.l1)
        # Asked for first: finding the support needs a gradient of its own.
        is_spread = corpus.touches_all and not has_penalty
        self._support = None if is_spread else corpus.support
        self._share: SingleArray = np.zeros(0, dtype=np.float32)
        if has_penalty:
            self._share = corpus.support.shares
            if penalty.scale is not None:
                self._share = (self._share * padded(penalty.scale)).astype(np.float32)
        super().__init__(corpus, weights, iteration)
        self._gradient = np.zeros(padded_size(corpus.n_weights))

    def whole_pass(
        self, plan: Plan, method: updates.Method, vectors: updates.Vectors
    ) -> PairPass | None:
        """Of sentence pairs under an inversion transduction grammar."""
        batches = self.corpus.pair_batches(self.iteration)
        if batches is None:
            return None
        rest = plan, method, vectors, self.corpus.n_threads
        return PairPass(batches, self._gradient, self._share, *rest)

    def loss(self, weights: FloatArray, chosen: Sequence[int]) -> float:
        """Adds the gradient to a vector of zeros."""
        self._chosen = chosen
        gradient = self._gradient[: self.corpus.n_weights]
        return self.corpus.add_mini_batch(weights, chosen, self.iteration, self.running, gradient)

    def move(
        self, update: updates.Update, method: updates.Method, vectors: updates.Vectors
    ) -> float:
        """Chunks of blocks are shared out, and summed in order; the gradient is cleared."""
        rest = self._gradient, self._share, update, method, vectors
        n_threads = self.corpus.n_threads
        if self._support is None:
            n_blocks = len(self._gradient) // updates.WIDTH
            starts = range(0, n_blocks, BLOCKS)
            ends = [min(start + BLOCKS, n_blocks) for start in starts]
            found = in_threads(
                lambda *ends: float(updates.move_all(*ends, *rest)),
                starts, ends, n_threads=n_threads,
            )  # fmt: skip
        else:
            blocks = self._support.blocks(self._chosen)
            chunks = [blocks[start : start + BLOCKS] for start in range(0, len(blocks), BLOCKS)]
            found = in_threads(
                lambda chunk: float(updates.move(chunk, *rest)), chunks, n_threads=n_threads
            )
        return sum(found)


def mini_batches(
    corpus: Corpus,
    weights: FloatArray,
    iteration: int,
    penalty: Penalty,
    *,
    batches_per_step: int,
) -> MiniBatches:
    """The fastest way for a corpus."""
    columns = corpus.columns if batches_per_step == 1 else None
    if columns is None:
        return BlockSteps(corpus, weights, iteration, penalty)
    return ColumnSteps(corpus, weights, iteration, columns, penalty)
