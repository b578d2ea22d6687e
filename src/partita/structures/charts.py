"""Charts of trees: a large batch in blocks whose charts a cache holds, for several threads to fill.

Inside-outside leaves charts behind, from which the covariance product goes on. Those of a large
batch are many times its scores, and writing them to the main memory takes longer than the sums
(256 trees of 50 words: five times as long). So they are kept where they are few; of a large
batch each block's are dropped, and made again where a covariance product is asked for.
"""

from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.kernels.simd.lanes import N_LANES
from partita.structures.base import Run

MOST_KEPT = 3 * 2**19
"""Numbers in the charts of a batch that are kept: 12 MB, which a processor's last cache holds."""
BLOCK = 2**17
"""Numbers in the charts of a block, as far as one group of sentences allows; some 50 µs of work."""


class Charts(NamedTuple):
    """What a kernel leaves behind for some sentences."""

    numbers: FloatArray
    offsets: IntArray
    """Where those of each group of sentences begin."""


Fill = Callable[[IntArray, IntArray], FloatArray]
"""(order, offsets) -> numbers: inside and outside of the sentences in `order`."""
Kept = list[Charts | None]
"""The charts of each block, or None where they are not kept."""


class Blocks:
    """The sentences of a batch in blocks of about as many numbers each.

    `sizes` says how many numbers the charts of each sentence have, about. Where a batch is cut
    depends on them alone, and never within a group, so that answers are the same for any number of
    threads. They are cut in `order`, by an even number.
    """

    def __init__(self, order: IntArray, sizes: IntArray) -> None:
        ends = np.cumsum(sizes[order])
        n_numbers = int(ends[-1]) if len(ends) else 0
        self.is_kept = n_numbers <= MOST_KEPT
        self.orders = self._whole = [order]
        if n_numbers > BLOCK:
            n_blocks = 2 * -(-n_numbers // (2 * BLOCK))
            groups = np.concatenate([[0], ends[N_LANES - 1 : -1 : N_LANES]])
            firsts = np.searchsorted(groups, np.arange(1, n_blocks) * (n_numbers / n_blocks))
            firsts = np.unique(firsts[firsts < len(groups)])
            self.orders = np.split(order, firsts * N_LANES)

    def fill(self, fill: Fill, run: Run = map) -> Kept:
        """Fill the charts of all sentences; each block's are dropped before the next is filled.

        Charts that are kept are filled in one go, unless several threads share them.
        """

        def filled(order: IntArray) -> Charts | None:
            charts = _filled(fill, order)
            return charts if self.is_kept else None

        return list(run(filled, self._whole if self.is_kept and run is map else self.orders))

    def each(
        self, use: Callable[[IntArray, Charts], None], fill: Fill, kept: Kept, run: Run = map
    ) -> None:
        """Use the charts of each block, made again where they were not kept."""

        def used(order: IntArray, charts: Charts | None) -> None:
            use(order, charts or _filled(fill, order))

        deque(run(used, self._whole if len(kept) == 1 else self.orders, kept), maxlen=0)


def _filled(fill: Fill, order: IntArray) -> Charts:
    offsets = np.empty(1 + -(-len(order) // N_LANES), dtype=np.int64)
    return Charts(fill(order, offsets), offsets)


def unread(n_sentences: int, n_parts: int) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Room for what is known already when charts are made again."""
    return np.empty(n_sentences, dtype=np.bool_), np.empty(n_sentences), np.empty(n_parts)
