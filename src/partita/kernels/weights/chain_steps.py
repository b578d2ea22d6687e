"""Steps of mini-batches of chains in one call: scores, marginals, gradient, moves.

Several threads make each together: pieces of the sentences, then, when these are done, chunks of
the attributes. Pieces and chunks depend on the batch alone, and every sentence and every attribute
is worked out by one thread, so that results do not depend on who did it.
"""

from typing import NamedTuple

from partita.arrays import Array
from partita.kernels.addressed import tuple_at
from partita.kernels.jit import kernel, lent, step
from partita.kernels.meeting import (
    DONE,
    N_BITS,
    STOPPED,
    TICKETS,
    add_to,
    begin,
    first_ticket,
    seen,
    take,
    wait_for,
)
from partita.kernels.weights.columns import Columns, move_columns
from partita.kernels.weights.tagged import (
    Tagged,
    TaggedRoom,
    ask_for_gradient,
    infer_piece,
    is_certain,
)
from partita.kernels.weights.updates import Update

REPEATED, SINGLE, TABLES = range(3)
"""Kinds of chunks."""
N_PHASES = 2
"""Of a step."""
CHUNK = 3
"""Numbers of a chunk."""


class ChainBatch(NamedTuple):
    """Sentences with their tags, and the attributes of their words by attribute."""

    tagged: Tagged
    repeated: Columns
    single: Columns
    tables: Columns
    chunks: Array
    """(3 n_chunks,): kind, first column and end of each; in such an order that threads that take
    them from both ends find what they need in their own caches."""


class BatchTable(NamedTuple):
    """All batches of a corpus."""

    table: Array
    """A row for each, as `addressed` has them."""
    like: ChainBatch
    """One of them."""


class Steps(NamedTuple):
    """Those of a pass."""

    order: Array
    """(n_steps,): the batch of each."""
    updates: Array
    """(n_steps, 5): as `Update` has them."""
    n_before: Array
    """(n_steps + 1,): how many tasks those before have."""


class StepsRoom(NamedTuple):
    """What steps fill."""

    tagged: TaggedRoom
    squares: Array
    """Of the gradient, for each chunk of a step."""
    losses: Array
    """(n, n_sentences): of the sentences of each of as many steps as one call makes."""
    norms: Array
    """(n,): the sum of the squares of each of these steps."""


class Moves(NamedTuple):
    """What is the same in all steps of a pass."""

    word_shares: Array
    table_shares: Array
    scale: Array


@step
def move_chunk(batch, chunk, moves, update, method, vectors, room):
    """The moves of one chunk of attributes."""
    at = CHUNK * chunk
    kind, begin, end = batch.chunks[at], batch.chunks[at + 1], batch.chunks[at + 2]
    if kind == TABLES:
        found = move_columns(
            batch.tables, begin, end, room.tagged.gradient, batch.tagged.first_table,
            batch.tagged.n_tags * batch.tagged.n_tags, moves.table_shares, moves.scale, update,
            method, vectors,
        )  # fmt: skip
    else:
        # One call for both, since each takes as long to compile.
        columns = batch.repeated if kind == REPEATED else batch.single
        found = move_columns(
            columns, begin, end, room.tagged.gradient, 0, batch.tagged.n_tags, moves.word_shares,
            moves.scale, update, method, vectors,
        )  # fmt: skip
    room.squares[chunk] = found


@lent
def note_step(batch, place, room):
    """Losses of the sentences of a step, and its norm."""
    for sentence in range(len(batch.tagged.part_offsets) - 1):
        room.losses[place, sentence] = (
            room.tagged.log_partition[sentence] - room.tagged.target_scores[sentence]
        )
    total = 0.0
    for chunk in range(len(batch.chunks) // CHUNK):
        total += room.squares[chunk]
    room.norms[place] = total


@step
def share_step(
    batch, number, n_before, thread, moves, update, method, vectors, room, counters
):  # fmt: skip
    """Tasks of a step, counted from 1, until there are none; `n_before` were done in earlier ones.

    Thread 0 begins the step and comes back when all is done, the others when there is no more to
    do. 1 if the weights were moved; 0 where the fast recursion did not do (nothing was moved); -1
    if everything was stopped.
    """
    n_pieces, n_chunks = len(batch.tagged.pieces) - 1, len(batch.chunks) // CHUNK
    phase, from_end = N_PHASES * number, thread % 2 == 1
    if thread == 0:
        begin(counters, phase)
    task = take(counters, phase, n_pieces, from_end)
    while task >= 0:
        ask_for_gradient(batch.tagged, task, room.tagged)
        infer_piece(batch.tagged, task, vectors.weights, room.tagged)
        add_to(counters, DONE, 1)
        task = take(counters, phase, n_pieces, from_end)
    if not wait_for(counters, DONE, n_before + n_pieces):
        return -1
    begin(counters, phase + 1)
    moved, task = False, take(counters, phase + 1, n_chunks, from_end)
    if task >= 0 or thread == 0:
        moved = is_certain(batch.tagged, room.tagged)
    while task >= 0:
        if moved:
            move_chunk(batch, task, moves, update, method, vectors, room)
        add_to(counters, DONE, 1)
        task = take(counters, phase + 1, n_chunks, from_end)
    if thread == 0 and not wait_for(counters, DONE, n_before + n_pieces + n_chunks):
        return -1
    return 1 if moved else 0


@lent
def step_to_help(counters, number):
    """Wait until this step, counted from 1, or a later one begins; its number, or 0 at the end."""
    if wait_for(counters, TICKETS, first_ticket(N_PHASES * number)):
        return (seen(counters, TICKETS) >> (2 * N_BITS)) // N_PHASES
    return 0


@kernel
def share_steps(first, end, thread, batches, steps, moves, method, vectors, room, counters):
    """Steps from `first` to before `end`, made by several threads together.

    Thread 0 comes back with the number of the first step that was not made, which is one where the
    fast recursion did not do, or `end`; -1 if everything was stopped. The others help with whatever
    it begins, also in later calls, until everything is stopped.
    """
    number = first if thread == 0 else step_to_help(counters, first + 1) - 1
    while 0 <= number < end:
        batch = tuple_at(batches.table, steps.order[number], batches.like)
        numbers = steps.updates[number]
        update = Update(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
        found = share_step(
            batch, number + 1, steps.n_before[number], thread, moves, update, method, vectors,
            room, counters,
        )  # fmt: skip
        if found < 0:
            return -1
        if thread > 0:
            number = step_to_help(counters, number + 2) - 1
        elif found == 0:
            break
        else:
            note_step(batch, number - first, room)
            number += 1
    return number


@kernel
def stop(counters):
    """Let all others come back."""
    add_to(counters, STOPPED, 1)
    return seen(counters, STOPPED)
