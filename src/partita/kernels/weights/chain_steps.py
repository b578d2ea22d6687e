"""A whole step of a mini-batch of chains in one call: scores, marginals, gradient, moves.

Several threads make it together: pieces of the sentences, then, when these are done, chunks of the
attributes. Pieces and chunks depend on the batch alone, and every sentence
and every attribute is worked out by one thread, so that results do not depend on who did it.
"""

from typing import NamedTuple

from partita.arrays import Array
from partita.kernels.jit import kernel, step
from partita.kernels.meeting import (
    DONE,
    MOST_TASKS,
    STOPPED,
    TICKETS,
    add_to,
    begin_step,
    seen,
    take,
    wait_for,
)
from partita.kernels.weights.columns import Columns, move_columns
from partita.kernels.weights.tagged import Tagged, TaggedRoom, infer_piece, is_certain

N_PIECES = 2
"""Into so many the sentences of a batch are cut: more would leave lanes empty."""
REPEATED, SINGLE, TABLES = range(3)
"""Kinds of chunks."""


class ChainBatch(NamedTuple):
    """Sentences with their tags, and the attributes of their words by attribute."""

    tagged: Tagged
    repeated: Columns
    single: Columns
    tables: Columns
    chunks: Array
    """(n_chunks, 3): kind, first column, end."""


class StepRoom(NamedTuple):
    """What a step fills."""

    tagged: TaggedRoom
    squares: Array
    """Of the gradient, for each chunk."""


class Moves(NamedTuple):
    """What is the same in all steps of a pass."""

    word_shares: Array
    table_shares: Array
    scale: Array


@step
def move_chunk(batch, chunk, moves, update, method, vectors, room):
    """The moves of one chunk of attributes."""
    kind, begin, end = batch.chunks[chunk, 0], batch.chunks[chunk, 1], batch.chunks[chunk, 2]
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


@kernel
def wait_for_step(counters, number):
    """Wait until this step, or a later one, begins; its number, or 0 if there are no more."""
    if wait_for(counters, TICKETS, number * MOST_TASKS):
        return seen(counters, TICKETS) // MOST_TASKS
    return 0


@kernel
def share_step(batch, number, n_before, is_first, moves, update, method, vectors, room, counters):
    """Tasks of a step, counted from 1, until there are none; `n_before` were done in earlier ones.

    The first thread begins the step and comes back when all is done: 1 if the weights were moved,
    0 where the fast recursion did not do (nothing was moved). The others come back when a later
    step has begun, so that no two of them want the interpreter at once, with its number. -1 and 0
    mean to the first and to the others that everything was stopped.
    """
    n_pieces = len(batch.tagged.pieces) - 1
    n_tasks = n_pieces + len(batch.chunks)
    if is_first:
        begin_step(counters, number)
    task = take(counters, number, n_pieces)
    while task >= 0:
        infer_piece(batch.tagged, task, vectors.weights, room.tagged)
        add_to(counters, DONE, 1)
        task = take(counters, number, n_pieces)
    if not wait_for(counters, DONE, n_before + n_pieces):
        return -1 if is_first else 0
    moved, task = False, take(counters, number, n_tasks)
    if task >= 0 or is_first:
        moved = is_certain(batch.tagged, room.tagged)
    while task >= 0:
        if moved:
            move_chunk(batch, task - n_pieces, moves, update, method, vectors, room)
        add_to(counters, DONE, 1)
        task = take(counters, number, n_tasks)
    if not is_first:
        if wait_for(counters, TICKETS, (number + 1) * MOST_TASKS):
            return seen(counters, TICKETS) // MOST_TASKS
        return 0
    if not wait_for(counters, DONE, n_before + n_tasks):
        return -1
    return 1 if moved else 0


@kernel
def stop(counters):
    """Let all others come back."""
    add_to(counters, STOPPED, 1)
    return seen(counters, STOPPED)
