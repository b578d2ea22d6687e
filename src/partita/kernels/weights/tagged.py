"""The likelihood of tagged sentences in one call, or in two: scores to gradient, and the way back.

With their entropy, too, or that of sentences without tags.

What Python does between the kernels of a batch takes as long as a third of them. The numbers are
those of the general way, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.chains import scaled, scaled_entropy
from partita.kernels.features import pairs, rows
from partita.kernels.jit import borrowing, kernel, lent, linked, step
from partita.kernels.simd.eight import EIGHT
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.prefetch import prefetch_to_write

marginals, entropy = linked(scaled.marginals), linked(scaled_entropy.entropy)
gather_rows, scatter_rows = linked(rows.gather), linked(rows.scatter)
gather_pairs, scatter_pairs = linked(pairs.gather), linked(pairs.scatter)
LINE = 8
"""Doubles in a cache line."""


class Tagged(NamedTuple):
    """Sentences that share one transition table, the attributes of their words, and their tags."""

    n_tags: int
    first_pair: int
    """Weights of pairs are those from here on, behind the rows of attributes."""
    first_table: int
    """The first weight of the transition table."""
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
    pairs: Array
    pair_values: Array
    pair_parts: Array
    """As `features.pairs` has them; none where there are several pieces."""
    fixed_parts: Array
    fixed_scores: Array
    fixed_ends: Array
    """Scores that no weight changes, and where those of each piece begin, and the end."""
    target_parts: Array
    target_values: Array
    target_sentences: Array
    target_ends: Array
    """(n_pieces + 1,): where the parts of the target of each piece begin, and the end."""


class TaggedRoom(NamedTuple):
    """What an inference fills."""

    scores: Array
    gradient: Array
    log_partition: Array
    target_scores: Array
    is_safe: Array
    members: Array
    cells: Array
    entropies: Array
    entropy_gradient: Array
    """No numbers where nobody wants them."""


class Slopes(NamedTuple):
    """Of the loss with respect to the terms."""

    has_target: bool
    likelihood: float
    entropy: float


@borrowing
def add_stretch(source, start, n_values, out, at):
    """out[at : at + n] += source[start : start + n]."""
    k = 0
    while k + N_LANES <= n_values:
        store(out, at + k, load(out, at + k) + load(source, start + k))
        k += N_LANES
    while k < n_values:
        out[at + k] += source[start + k]
        k += 1


@lent
def clear_stretch(begin, end, out):
    """out[begin:end] = 0."""
    k = begin
    while k + N_LANES <= end:
        store(out, k, broadcast(0.0))
        k += N_LANES
    while k < end:
        out[k] = 0.0
        k += 1


@lent
def read_tables(batch, first, last, weights, scores):
    """The transition table of every sentence."""
    n_table = batch.n_tags * batch.n_tags
    for sentence in range(first, last):
        table = batch.part_offsets[sentence + 1] - n_table
        add_stretch(weights, batch.first_table, n_table, scores, table)


@lent
def add_tables(batch, gradient, out):
    """The gradient of the transition table, sentence by sentence."""
    n_table = batch.n_tags * batch.n_tags
    for sentence in range(len(batch.part_offsets) - 1):
        table = batch.part_offsets[sentence + 1] - n_table
        add_stretch(gradient, table, n_table, out, batch.first_table)


@lent
def add_fixed(batch, begin, end, scores):
    """Scores that no weight changes."""
    for k in range(begin, end):
        scores[batch.fixed_parts[k]] += batch.fixed_scores[k]


@lent
def compare(batch, first, last, begin, end, room):
    """Scores of the target of each sentence, and marginals less the target."""
    for sentence in range(first, last):
        room.target_scores[sentence] = 0.0
    for k in range(begin, end):
        part, value = batch.target_parts[k], batch.target_values[k]
        room.target_scores[batch.target_sentences[k]] += value * room.scores[part]
        room.gradient[part] -= value


@lent
def ask_for_gradient(batch, piece, room):
    """Ask for the lines that the gradient of a piece is written to: others have read them."""
    begin, end = batch.pieces[piece], batch.pieces[piece + 1]
    for k in range(batch.part_offsets[begin], batch.part_offsets[end], LINE):
        prefetch_to_write(room.gradient, k)


@step
def score_piece(batch, piece, weights, room):
    """Scores of one piece."""
    first, last = batch.pieces[piece], batch.pieces[piece + 1]
    words, end = batch.word_offsets[first], batch.word_offsets[last]
    clear_stretch(batch.part_offsets[first], batch.part_offsets[last], room.scores)
    gather_rows(
        weights, batch.n_tags, batch.ids, batch.values, batch.offsets[words : end + 1],
        batch.starts[words:end], room.scores,
    )  # fmt: skip
    gather_pairs(
        weights[batch.first_pair :], batch.pairs, batch.pair_values, batch.pair_parts, room.scores
    )
    read_tables(batch, first, last, weights, room.scores)
    add_fixed(batch, batch.fixed_ends[piece], batch.fixed_ends[piece + 1], room.scores)


@step
def infer_piece(batch, piece, weights, room):
    """Scores, marginals and gradient by the scores of one piece."""
    score_piece(batch, piece, weights, room)
    first, last = batch.pieces[piece], batch.pieces[piece + 1]
    marginals(
        room.scores, batch.part_offsets[first : last + 1], batch.word_offsets[first : last + 1],
        batch.n_tags, batch.by_length[first:last], room.members[EIGHT * first : EIGHT * last],
        room.cells[first + piece : last + piece + 1], room.is_safe[first:last],
        room.log_partition[first:last], room.gradient,
    )  # fmt: skip
    compare(batch, first, last, batch.target_ends[piece], batch.target_ends[piece + 1], room)


@lent
def join_gradients(n_parts, slopes, room):
    """gradient = slope * gradient + slope of the entropy * its gradient.

    Multiplied one by one, then added: as where each term makes its own.
    """
    for k in range(n_parts):
        moved = slopes.entropy * room.entropy_gradient[k]
        if slopes.has_target:
            moved = slopes.likelihood * room.gradient[k] + moved
        room.gradient[k] = moved


@lent
def is_certain(batch, room):
    """Whether the fast recursion did for all sentences."""
    for sentence in range(len(batch.part_offsets) - 1):
        if not (room.is_safe[sentence] and np.isfinite(room.log_partition[sentence])):
            return False
    return True


@lent
def scale(factor, n_values, out):
    """out *= factor."""
    if factor != 1.0:
        for k in range(n_values):
            out[k] *= factor


@step
def add_gradient(batch, gradient, out):
    """out += the gradient of all weights, out of that by the scores.

    What is no pair in rows of weights gets one, too, which the caller clears.
    """
    scatter_rows(gradient, batch.n_tags, batch.ids, batch.values, batch.offsets, batch.starts, out)
    scatter_pairs(
        gradient, batch.pairs, batch.pair_values, batch.pair_parts, out[batch.first_pair :]
    )
    add_tables(batch, gradient, out)


@step
def infer_all(batch, weights, factor, room):
    """Scores, marginals and the gradient by the scores, times a factor; sentences in one piece.

    Whether the fast recursion did.
    """
    infer_piece(batch, 0, weights, room)
    if not is_certain(batch, room):
        return False
    scale(factor, batch.part_offsets[len(batch.part_offsets) - 1], room.gradient)
    return True


@step
def infer_with_entropy(batch, weights, slopes, room):
    """As `infer_all`, of likelihood and entropy, or of the entropy alone."""
    score_piece(batch, 0, weights, room)
    entropy(
        room.scores, batch.part_offsets, batch.word_offsets, batch.n_tags, batch.by_length,
        room.members, room.cells, room.is_safe, room.log_partition, room.gradient, room.entropies,
        room.entropy_gradient,
    )  # fmt: skip
    if not is_certain(batch, room):
        return False
    n_sentences = len(batch.part_offsets) - 1
    if slopes.has_target:
        compare(batch, 0, n_sentences, 0, len(batch.target_parts), room)
    join_gradients(batch.part_offsets[n_sentences], slopes, room)
    return True


@kernel
def learn(batch, infers, adds, weights, factor, room, out):
    """Whether the fast recursion did.

    Where it `infers`, as `infer_all`; where it `adds`, out += the gradient of all weights. One
    kernel for both: each takes seconds to compile.
    """
    if infers and not infer_all(batch, weights, factor, room):
        return False
    if adds:
        add_gradient(batch, room.gradient, out)
    return True


@kernel
def learn_with_entropy(batch, adds, weights, slopes, room, out):
    """As `learn`, of likelihood and entropy, or of the entropy alone; infers always."""
    if not infer_with_entropy(batch, weights, slopes, room):
        return False
    if adds:
        add_gradient(batch, room.gradient, out)
    return True
