"""Mini-batches of chains in compiled calls of many steps, which threads make together.

For what taggers learn by: the likelihood of tags, attributes of words, one transition table. The
numbers are those of the general way, to the last bit; what Python does there for each batch, a
quarter of the time, is done once for a pass.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import IntArray
from partita.features.columns import ColumnBlock, shared_out
from partita.kernels.jit import is_ready
from partita.kernels.weights import chain_steps as kernels
from partita.kernels.weights import updates
from partita.kernels.weights.tagged import Tagged
from partita.structures.chains import Chains
from partita.training.addressed import Addressed
from partita.training.batches import Batch
from partita.training.shared_steps import SharedSteps
from partita.training.support import BatchColumns
from partita.training.tagged_batches import room_of, tagged

STRETCH = 16
"""Steps of one call: signals, and whoever watches, have to wait for it."""
N_PIECES = 2
"""Into so many the sentences of a batch are cut: more would leave lanes empty."""
Plan = Sequence[tuple[Sequence[int], updates.Update]]
"""The batches of each step of a pass, and its numbers."""


@dataclass(frozen=True)
class ChainBatches:
    """All batches of a corpus as the kernel wants them."""

    batches: Addressed
    n_sentences: list[int]
    """Of each batch."""
    n_tasks: IntArray
    """Of a step with each batch."""
    n_chunks: int
    """The most of a batch."""
    largest: list[Tagged]
    """Those with the most parts and sentences."""

    @classmethod
    def of(cls, found: Sequence[kernels.ChainBatch]) -> "ChainBatches":
        """With what all passes want to know."""
        n_chunks = [len(batch.chunks) // kernels.CHUNK for batch in found]
        n_pieces = [len(batch.tagged.pieces) - 1 for batch in found]
        n_sentences = [len(batch.tagged.part_offsets) - 1 for batch in found]
        n_parts = [batch.tagged.part_offsets[-1] for batch in found]
        return cls(
            Addressed(found),
            n_sentences,
            np.add(n_chunks, n_pieces),
            max(n_chunks),
            [found[int(np.argmax(sizes))].tagged for sizes in (n_parts, n_sentences)],
        )

    def room(self) -> kernels.StepsRoom:
        """For any step, and for what one call finds."""
        tagged = room_of(self.largest, has_entropy=False)
        losses = np.empty((STRETCH, max(self.n_sentences)))
        return kernels.StepsRoom(tagged, np.empty(self.n_chunks), losses, np.empty(STRETCH))


def chain_batches(
    batches: Iterable[Batch], name: str, columns: BatchColumns
) -> "ChainBatches | None":
    """All batches as the kernel wants them; None if it is not for all of them."""
    found = []
    for batch, blocks in zip(batches, columns.blocks, strict=True):
        made = _chain_batch(batch, name, blocks)
        if made is None:
            return None
        found.append(made)
    return ChainBatches.of(found)


def _chain_batch(
    batch: Batch, name: str, blocks: Sequence[ColumnBlock]
) -> kernels.ChainBatch | None:
    """A batch as the kernel wants it; None where the kernel is not for it."""
    chains = batch.structures
    if not isinstance(chains, Chains):
        return None
    pieces = [0, *(end for _, end in shared_out(chains.part_offsets, N_PIECES))]
    found = tagged(batch, name, np.array(pieces))
    if found is None or len(blocks) != 2 or len(found.pairs):
        return None
    words, tables = blocks
    return kernels.ChainBatch(
        found,
        words.repeated,
        words.single,
        tables.repeated if len(tables.repeated.attributes) else tables.single,
        _chunks(words, tables),
    )


def _chunks(words: ColumnBlock, tables: ColumnBlock) -> IntArray:
    """Chunks of all columns, as `kernels.ChainBatch` has them.

    Attributes that occur once come in the order of their rows, and so of the pieces. Those of the
    transition table take no time, and come in the middle.
    """
    single, repeated = (
        [(kind, *ends) for ends in shared_out(work)]
        for kind, work in (
            (kernels.SINGLE, words.single_work),
            (kernels.REPEATED, words.repeated_work),
        )
    )
    n_tables = len(tables.repeated.attributes) + len(tables.single.attributes)
    once, again = len(single) // 2, len(repeated) // 2
    return np.array(
        [
            *single[:once],
            *repeated[:again],
            (kernels.TABLES, 0, n_tables),
            *repeated[again:],
            *single[once:],
        ]
    ).ravel()


class ChainPass(SharedSteps):
    """The steps of one pass; `end` it."""

    def __init__(
        self,
        batches: ChainBatches,
        moves: kernels.Moves,
        plan: Plan,
        method: updates.Method,
        vectors: updates.Vectors,
        n_threads: int,
    ) -> None:
        super().__init__(len(plan), STRETCH, n_threads, N_PIECES - 1)
        order = np.array([index for (index,), _ in plan])
        self._steps = kernels.Steps(
            order,
            np.array([update for _, update in plan]),
            np.concatenate([[0], np.cumsum(batches.n_tasks[order])]),
        )
        self._n_sentences, self._room = batches.n_sentences, batches.room()
        addressed = kernels.BatchTable(batches.batches.table, batches.batches.like)
        self._rest = addressed, self._steps, moves, method, vectors, self._room, self.counters
        # Who waits for a step is busy looking, which costs a core while the step is compiled.
        if is_ready(kernels.share_steps):
            self._call_helpers()

    def _share(self, first: int, end: int, thread: int) -> int:
        found: int = kernels.share_steps(first, end, thread, *self._rest)
        return found

    def _found(self, first: int, end: int) -> list[tuple[float, float]]:
        made = self._steps.order[first:end]
        return [
            (float(losses[: self._n_sentences[index]].sum()), float(norm))
            for index, losses, norm in zip(made, self._room.losses, self._room.norms, strict=False)
        ]
