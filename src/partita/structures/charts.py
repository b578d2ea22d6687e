"""Charts of trees: a large batch in blocks whose charts a cache holds.

Inside-outside leaves charts behind, from which the covariance product goes on. Those of a large
batch are many times its scores, and writing them to the main memory takes longer than the sums
(256 trees of 50 words: five times as long). So they are kept where they are few; of a large
batch each block's are dropped, and made again where a covariance product is asked for.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.kernels.simd.lanes import N_LANES

MOST_KEPT = 3 * 2**19
"""Numbers in the charts of a batch that are kept: 12 MB, which a processor's last cache holds."""
BLOCK = 2**17
"""Numbers in the charts of a block of a larger batch, as far as one group of sentences allows."""


class Charts(NamedTuple):
    """What a kernel leaves behind for some sentences."""

    numbers: FloatArray
    offsets: IntArray
    """Where those of each group of sentences begin."""


Fill = Callable[[IntArray, IntArray], FloatArray]
"""(order, offsets) -> numbers: inside and outside of the sentences in `order`."""


def in_blocks(order: IntArray, sizes: IntArray) -> list[IntArray]:
    """Sentences in their order, cut where the charts of a large batch would leave the cache.

    `sizes` says how many numbers the charts of each sentence have, about.
    """
    ends = np.cumsum(sizes[order])
    if not len(order) or ends[-1] <= MOST_KEPT:
        return [order]
    # Groups of sentences stay whole.
    first_of_group = np.r_[0, ends[N_LANES - 1 : -1 : N_LANES]]
    is_first = np.diff(first_of_group // BLOCK, prepend=-1) > 0
    return np.split(order, np.flatnonzero(is_first)[1:] * N_LANES)


def fill_charts(fill: Fill, blocks: list[IntArray]) -> Charts | None:
    """The charts of all sentences, kept where there is one block of them."""
    for order in blocks:
        charts = _filled(fill, order)
    return charts if len(blocks) == 1 else None


def charts_in_turn(
    charts: Charts | None, fill: Fill, blocks: list[IntArray]
) -> Iterable[tuple[IntArray, Charts]]:
    """Each block and its charts, made again where they were not kept."""
    for order in blocks:
        yield order, charts or _filled(fill, order)


def _filled(fill: Fill, order: IntArray) -> Charts:
    offsets = np.empty(1 + -(-len(order) // N_LANES), dtype=np.int64)
    return Charts(fill(order, offsets), offsets)


def unread(n_sentences: int, n_parts: int) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Room for what is known already when charts are made again."""
    return np.empty(n_sentences, dtype=np.bool_), np.empty(n_sentences), np.empty(n_parts)
