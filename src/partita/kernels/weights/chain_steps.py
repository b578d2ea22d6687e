"""A whole step of a mini-batch of chains in one call: scores, marginals, gradient, moves.

Several threads make it together: pieces of the sentences, then, when these are done, chunks of the
attributes. Pieces and chunks depend on the batch alone, and every sentence
and every attribute is worked out by one thread, so that results do not depend on who did it.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.chains import scaled
from partita.kernels.features import rows
from partita.kernels.jit import kernel, lent, linked, step
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
from partita.kernels.simd.eight import EIGHT
from partita.kernels.weights.columns import Columns, move_columns

gather, marginals = linked(rows.gather), linked(scaled.marginals)
N_PIECES = 2
"""Into so many the sentences of a batch are cut: more would leave lanes empty."""
REPEATED, SINGLE, TABLES = range(3)
"""Kinds of chunks."""


class ChainBatch(NamedTuple):
    """Sentences that share one transition table, the attributes of their words, and their tags."""

    n_tags: int
    part_offsets: Array
    word_offsets: Array
    pieces: Array
    """(n_pieces + 1,): where pieces of sentences begin, and the end."""
    by_length: Array
    """(n_sentences,): those of each piece by length, counted from its first one."""
    ids: Array
    values: Array
    offsets: Array
    starts: Array
    """Attributes of words as `features.rows` has them."""
    target_parts: Array
    target_values: Array
    target_sentences: Array
    target_ends: Array
    """(n_pieces + 1,): where the parts of the target of each piece begin, and the end."""
    repeated: Columns
    single: Columns
    tables: Columns
    chunks: Array
    """(n_chunks, 3): kind, first column, end."""


class StepRoom(NamedTuple):
    """What a step fills."""

    scores: Array
    gradient: Array
    log_partition: Array
    target_scores: Array
    is_safe: Array
    members: Array
    cells: Array
    squares: Array
    """Of the gradient, for each chunk."""


class Moves(NamedTuple):
    """What is the same in all steps of a pass."""

    first_table: int
    """The first weight of the transition table."""
    word_shares: Array
    table_shares: Array
    scale: Array


@lent
def read_tables(batch, first, last, weights, first_table, scores):
    """The transition table of every sentence."""
    n_table = batch.n_tags * batch.n_tags
    for sentence in range(first, last):
        table = batch.part_offsets[sentence + 1] - n_table
        for k in range(n_table):
            # As a gather does it, which adds to 0.
            scores[table + k] = 0.0 + weights[first_table + k]


@lent
def compare(batch, first, last, begin, end, room):
    """Scores of the target of each sentence, and marginals less the target."""
    for sentence in range(first, last):
        room.target_scores[sentence] = 0.0
    for k in range(begin, end):
        part, value = batch.target_parts[k], batch.target_values[k]
        room.target_scores[batch.target_sentences[k]] += value * room.scores[part]
        room.gradient[part] -= value


@step
def infer_piece(batch, piece, weights, first_table, room):
    """Scores, marginals and gradient by the scores of one piece."""
    first, last = batch.pieces[piece], batch.pieces[piece + 1]
    words, end = batch.word_offsets[first], batch.word_offsets[last]
    for part in range(batch.part_offsets[first], batch.part_offsets[last]):
        room.scores[part] = 0.0
    gather(
        weights, batch.n_tags, batch.ids, batch.values, batch.offsets[words : end + 1],
        batch.starts[words:end], room.scores,
    )  # fmt: skip
    read_tables(batch, first, last, weights, first_table, room.scores)
    marginals(
        room.scores, batch.part_offsets[first : last + 1], batch.word_offsets[first : last + 1],
        batch.n_tags, batch.by_length[first:last], room.members[EIGHT * first : EIGHT * last],
        room.cells[first + piece : last + piece + 1], room.is_safe[first:last],
        room.log_partition[first:last], room.gradient,
    )  # fmt: skip
    compare(batch, first, last, batch.target_ends[piece], batch.target_ends[piece + 1], room)


@step
def move_chunk(batch, chunk, moves, update, method, vectors, room):
    """The moves of one chunk of attributes."""
    kind, begin, end = batch.chunks[chunk, 0], batch.chunks[chunk, 1], batch.chunks[chunk, 2]
    if kind == TABLES:
        found = move_columns(
            batch.tables, begin, end, room.gradient, moves.first_table,
            batch.n_tags * batch.n_tags, moves.table_shares, moves.scale, update, method, vectors,
        )  # fmt: skip
    else:
        # One call for both, since each takes as long to compile.
        columns = batch.repeated if kind == REPEATED else batch.single
        found = move_columns(
            columns, begin, end, room.gradient, 0, batch.n_tags, moves.word_shares, moves.scale,
            update, method, vectors,
        )  # fmt: skip
    room.squares[chunk] = found


@lent
def is_certain(batch, room):
    """Whether the fast recursion did for all sentences."""
    for sentence in range(len(batch.part_offsets) - 1):
        if not (room.is_safe[sentence] and np.isfinite(room.log_partition[sentence])):
            return False
    return True


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
    n_pieces = len(batch.pieces) - 1
    n_tasks = n_pieces + len(batch.chunks)
    if is_first:
        begin_step(counters, number)
    task = take(counters, number, n_pieces)
    while task >= 0:
        infer_piece(batch, task, vectors.weights, moves.first_table, room)
        add_to(counters, DONE, 1)
        task = take(counters, number, n_pieces)
    if not wait_for(counters, DONE, n_before + n_pieces):
        return -1 if is_first else 0
    moved, task = False, take(counters, number, n_tasks)
    if task >= 0 or is_first:
        moved = is_certain(batch, room)
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
