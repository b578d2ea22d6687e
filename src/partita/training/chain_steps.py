"""Mini-batches of chains in one compiled call a step, which threads make together.

For what taggers learn by: the likelihood of tags, attributes of words, one transition table. The
numbers are those of the general way, to the last bit; what Python does there for each batch, a
quarter of the time, is done once.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from partita.arrays import IntArray
from partita.features.columns import ColumnBlock, shared_out
from partita.kernels import meeting
from partita.kernels.jit import is_ready
from partita.kernels.simd.eight import EIGHT
from partita.kernels.weights import chain_steps as kernels
from partita.kernels.weights import updates
from partita.structures.chains import Chains
from partita.training.batches import Batch
from partita.training.support import BatchColumns
from partita.training.tagged_batches import losses_of, room_of, tagged
from partita.training.threads import Helpers

Plan = Sequence[tuple[Sequence[int], updates.Update]]
"""The batches of each step of a pass, and its numbers."""


def chain_batches(
    batches: Iterable[Batch], name: str, columns: BatchColumns
) -> tuple[kernels.ChainBatch, ...] | None:
    """All batches as the kernel wants them; None if it is not for all of them."""
    found = []
    for batch, blocks in zip(batches, columns.blocks, strict=True):
        made = _chain_batch(batch, name, blocks)
        if made is None:
            return None
        found.append(made)
    return tuple(found)


def _chain_batch(
    batch: Batch, name: str, blocks: Sequence[ColumnBlock]
) -> kernels.ChainBatch | None:
    """A batch as the kernel wants it; None where the kernel is not for it."""
    pieces = _pieces(batch.structures) if isinstance(batch.structures, Chains) else None
    found = None if pieces is None else tagged(batch, name, pieces)
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


def _pieces(chains: Chains) -> IntArray:
    """Where two pieces of the sentences begin, and the end: whole groups of lanes, if possible."""
    middle = int(np.searchsorted(chains.part_offsets, chains.n_parts // 2))
    middle -= middle % EIGHT if middle > EIGHT else 0
    return np.array([0, middle, chains.n_sentences])


def _chunks(words: ColumnBlock, tables: ColumnBlock) -> IntArray:
    """Chunks of all columns, the longest first, so that threads come to the end together."""
    n_tables = len(tables.repeated.attributes) + len(tables.single.attributes)
    found = []
    for kind, work in (
        (kernels.SINGLE, words.single_work),
        (kernels.REPEATED, words.repeated_work),
    ):
        found += [(kind, begin, end) for begin, end in shared_out(work)]
    return np.array([*found, (kernels.TABLES, 0, n_tables)])


class ChainPass:
    """The steps of one pass; `end` it."""

    def __init__(
        self,
        batches: Sequence[kernels.ChainBatch],
        moves: kernels.Moves,
        plan: Plan,
        method: updates.Method,
        vectors: updates.Vectors,
        n_threads: int,
    ) -> None:
        self._batches, self._plan = batches, plan
        each = [batches[index] for (index,), _ in plan]
        n_tasks = [len(batch.tagged.pieces) - 1 + len(batch.chunks) for batch in each]
        self._n_before: list[int] = np.cumsum([0, *n_tasks]).tolist()
        self._rest = moves, method, vectors
        self._counters = meeting.new_counters()
        self._room = _room(batches)
        self._n_threads = n_threads
        # Who waits for a step is busy looking, which costs a core while the step is compiled.
        self._helpers = self._call_helpers() if is_ready(kernels.share_step) else None

    def step(self, number: int) -> tuple[float, float] | None:
        """Loss and squared norm of the gradient of a step; None if it is to be made otherwise."""
        (index,), _ = self._plan[number]
        batch, room = self._batches[index], self._room
        moved = self._share(number, is_first=True)
        if moved < 0 and self._helpers is not None:
            self._helpers.check()
        if self._helpers is None:
            self._helpers = self._call_helpers()
        if moved <= 0:
            return None
        return float(losses_of(batch.tagged, room.tagged).sum()), float(
            room.squares[: len(batch.chunks)].sum()
        )

    def end(self) -> None:
        """Send the helpers home."""
        kernels.stop(self._counters)
        if self._helpers is not None:
            self._helpers.wait()

    def _call_helpers(self) -> Helpers:
        n_helpers = Helpers.possible(self._n_threads, kernels.N_PIECES - 1)
        return Helpers(self._help, n_helpers, self._n_threads)

    def _share(self, number: int, *, is_first: bool) -> int:
        (index,), update = self._plan[number]
        moves, method, vectors = self._rest
        found: int = kernels.share_step(
            self._batches[index], number + 1, self._n_before[number], is_first, moves, update,
            method, vectors, self._room, self._counters,
        )  # fmt: skip
        return found

    def _help(self) -> None:
        try:
            following: int = kernels.wait_for_step(self._counters, 1)
            while following:
                following = self._share(following - 1, is_first=False)
        except BaseException:
            # The first would wait for ever for what was taken and not done.
            kernels.stop(self._counters)
            raise


def _room(batches: Sequence[kernels.ChainBatch]) -> kernels.StepRoom:
    """Room for the largest of some batches."""
    n_chunks = max(len(batch.chunks) for batch in batches)
    return kernels.StepRoom(
        room_of([batch.tagged for batch in batches], has_entropy=False), np.empty(n_chunks)
    )
