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

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.simd.eight import EIGHT
from partita.kernels.simd.either import EIGHTS, FOURS
from partita.kernels.simd.lanes import N_LANES
from partita.kernels.simd.sums import IS_LONG
from partita.structures.base import Run

MOST_KEPT = 3 * 2**19
"""Numbers in the charts of a batch that are kept: 12 MB, which a processor's last cache holds."""
BLOCK = 2**17
"""Numbers in the charts of a block, as far as one group of sentences allows; some 50 µs of work."""
WIDEST = 2**16
"""Numbers in the charts of eight sentences side by side, if every sum reads them: half of what a
second cache holds."""
COST_OF_EIGHT = 1.7
"""What eight sentences side by side take, in registers of eight, beside four of the same length."""


class Charts(NamedTuple):
    """What a kernel leaves behind for some sentences."""

    numbers: Array
    offsets: IntArray
    """Where those of each group of sentences begin."""


Fill = Callable[[IntArray, IntArray], Array]
"""(order, offsets) -> numbers: inside and outside of the sentences in `order`."""


class Block(NamedTuple):
    """Some sentences of a batch, and how many of them a kernel takes side by side."""

    order: IntArray
    n_lanes: int
    charts: Charts | None = None
    """What was left behind, where it is kept."""


class Blocks:
    """The sentences of a batch in blocks of about as many numbers each.

    `sizes` says how many numbers the charts of each sentence have, about. Where a batch is cut
    depends on them alone, and never within a group, so that answers are the same for any number of
    threads. They are cut in `order`, by an even number. The first `n_wide` sentences are taken
    eight at a time (see `n_in_eights`), the others four. `is_reused` says that charts which are
    not kept have one place for all sentences that a kernel is given.
    """

    def __init__(
        self, order: IntArray, sizes: IntArray, n_wide: int = 0, *, is_reused: bool = False
    ) -> None:
        self.is_kept = int(sizes.sum()) <= MOST_KEPT
        self.is_reused = is_reused
        wide, rest = Block(order[:n_wide], EIGHT), Block(order[n_wide:], N_LANES)
        self.whole = [block for block in (wide, rest) if len(block.order)] or [rest]
        self.cut = [
            Block(part, block.n_lanes)
            for block in self.whole
            for part in _cut(block.order, sizes[block.order], block.n_lanes)
        ]

    def fill(self, fill: Fill, run: Run = map, *, keep: bool = True) -> list[Block]:
        """Fill the charts of all sentences; each block's are dropped before the next is filled.

        Charts that are kept are filled in one go, unless several threads share them. They are kept
        where they are few, and `keep` says that a covariance product may be asked for. Whatever
        they were filled in, what is not kept is made again in blocks.
        """
        is_kept = keep and self.is_kept

        def filled(block: Block) -> Block:
            charts = _filled(fill, block)
            return block._replace(charts=charts) if is_kept else block

        is_whole = run is map and (is_kept or self.is_reused)
        if is_whole and not is_kept:
            for block in self.whole:
                _fill_block(fill, block)
            return self.cut
        found = list(run(filled, self.whole if is_whole else self.cut))
        return found if is_kept else self.cut


def each_block(
    use: Callable[[IntArray, Charts], None], fill: Fill, blocks: list[Block], run: Run = map
) -> None:
    """Use the charts of each block, made again where they were not kept."""

    def used(block: Block) -> None:
        use(block.order, block.charts or _filled(fill, block))

    deque(run(used, blocks), maxlen=0)


def _cut(order: IntArray, sizes: IntArray, n_lanes: int) -> list[IntArray]:
    """Sentences with charts of these sizes in blocks, each of whole groups."""
    ends = np.cumsum(sizes)
    n_numbers = int(ends[-1]) if len(ends) else 0
    if n_numbers <= BLOCK:
        return [order]
    n_blocks = 2 * -(-n_numbers // (2 * BLOCK))
    groups = np.concatenate([[0], ends[n_lanes - 1 : -1 : n_lanes]])
    firsts = np.searchsorted(groups, np.arange(1, n_blocks) * (n_numbers / n_blocks))
    return np.split(order, np.unique(firsts[firsts < len(groups)]) * n_lanes)


def n_in_eights(n_words: IntArray, sizes: IntArray, widest: int = WIDEST) -> int:
    """How many sentences, the shortest first, are taken eight at a time; `n_words` in that order.

    As many as make full groups whose charts have at most `widest` numbers, where the processor has
    registers of eight and the lengths within a group are so much alike that it pays.
    """
    n_wide = int(np.searchsorted(sizes, widest // EIGHT, side="right")) // EIGHT * EIGHT
    ends = n_words[:n_wide].astype(np.float64) ** 3
    pays = COST_OF_EIGHT * ends[EIGHT - 1 :: EIGHT].sum() < ends[N_LANES - 1 :: N_LANES].sum()
    return n_wide if pays and IS_LONG else 0


def kind_of(order: IntArray, offsets: IntArray) -> Array:
    """What a kernel's charts are to be like, for sentences in so many groups (see `Fill`)."""
    return EIGHTS if len(offsets) <= len(order) // EIGHT + 1 else FOURS


def _filled(fill: Fill, block: Block) -> Charts:
    return Charts(*_fill_block(fill, block))


def _fill_block(fill: Fill, block: Block) -> tuple[Array, IntArray]:
    """What a kernel leaves behind for a block, and where that of each group begins."""
    offsets = np.empty(1 + -(-len(block.order) // block.n_lanes), dtype=np.int64)
    return fill(block.order, offsets), offsets


def unread(n_sentences: int, n_parts: int) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Room for what is known already when charts are made again."""
    return np.empty(n_sentences, dtype=np.bool_), np.empty(n_sentences), np.empty(n_parts)
