"""Steps of mini-batches of sentence pairs under an ITG in one call: scores to moves of weights.

Several threads make each together: pairs, of which each notes what it adds to the weights, then,
when these are done, ranges of the weights. Every pair and every range is worked out by one thread,
and what pairs add to a weight is added in their order, so that results do not depend on who did it.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.addressed import tuple_at
from partita.kernels.bitext import itg_lengths, itg_outside, source_pairs, source_targets
from partita.kernels.features.changes import Changes, Ranges, add_range, begin_notes
from partita.kernels.features.translation import JoinedRules, rows_of
from partita.kernels.features.translation_sums import add_values, note_gradient, sentence_scores
from partita.kernels.jit import kernel, lent, linked, step
from partita.kernels.meeting import DONE, add_to, begin, take, wait_for
from partita.kernels.weights import updates
from partita.kernels.weights.chain_steps import N_PHASES, step_to_help

infer_pairs, infer_targets = linked(itg_outside.infer), linked(itg_lengths.infer)
gather_pair, scatter_pair = linked(source_pairs.gather), linked(source_pairs.scatter)
gather_targets, scatter_targets = linked(source_targets.gather), linked(source_targets.scatter)
unpack, move_blocks = linked(updates.unpack), linked(updates.move)

BYTE_BITS = 6
"""A byte of a batch's bits is of so many bits of weights: eight blocks of eight."""


class PairBatch(NamedTuple):
    """Pairs of sentences, the rules of their sources, and which weights these touch."""

    rules: JoinedRules
    part_offsets: Array
    """(n + 1,): of one set of parts, which D(x, y) and D_n(x) share."""
    n_target: Array
    pair_bounds: Array
    """(4 n,), as `source_pairs` has them."""
    gathered: Array
    gathered_offsets: Array
    target_bounds: Array
    """(5 n,), as `source_targets` has them."""
    longest: Array
    sample_weights: Array
    bits: Array
    """As `training.support.Support` has them."""


class PairTable(NamedTuple):
    """All batches of a corpus."""

    table: Array
    """A row for each, as `addressed` has them."""
    like: PairBatch
    """One of them."""
    shift: np.uint32
    """Of the places of features."""
    ranges: Ranges
    n_weights: int


class PairPlan(NamedTuple):
    """The steps of a pass."""

    updates: Array
    """(n_steps, 5): as `Update` has them."""
    first_batch: Array
    """(n_steps + 1,): where the batches of each begin."""
    batches: Array
    first_task: Array
    """(n_steps + 1,): where the pairs of each begin."""
    of_batch: Array
    of_pair: Array
    """Pairs in the order in which they are taken, which is that of the longest first."""
    of_place: Array
    """The place of each in the order of the batches, which is that of adding."""
    part_starts: Array
    """By that place, where the gradient of each pair goes, by its scores."""
    first_notes: Array
    """By that place, the first stretch of notes of each pair."""


class PairRoom(NamedTuple):
    """What steps fill."""

    changes: Changes
    ends: Array
    """(n_pairs, n_ranges + 1): where the notes of each range end."""
    gradients: Array
    """Of the scores of all pairs of a step."""
    log_partitions: Array
    """(n, n_pairs, 2): of D(x, y) and D_n(x), of each of as many steps as one call makes; step
    `number` has row number modulo n."""
    squares: Array
    """Of the gradient, of each range."""
    norms: Array
    """(n,): the sum of the squares of each of these steps."""


class PairMoves(NamedTuple):
    """What is the same in all steps of a pass."""

    gradient: Array
    """All 0, before a step and after it; `padded`."""
    share: Array
    byte_places: tuple[Array, Array]
    """As `updates` has them."""


@step
def infer_observed(batch, pair, scores, marginals, log_partition):
    """Of D(x, y); the log-partition is not a number where the fast recursion did not do."""
    n, m = len_of(batch.rules.word_offsets, pair), batch.n_target[pair]
    bounds = batch.pair_bounds[4 * pair : 4 * pair + 4].reshape((1, 4))
    parts, starts, safe = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(1, np.bool_)
    parts[0], parts[1] = 0, len(scores)
    starts[0] = 0
    starts[1] = len_of(batch.gathered_offsets, pair) + n + len(scores) - bounds[0, 3]
    places = (batch.gathered, batch.gathered_offsets[pair : pair + 2])
    targets = batch.n_target[pair : pair + 1]
    dense, counts, words = np.empty(starts[1]), np.empty(starts[1]), np.empty(1, np.int64)
    words[0] = n
    gather_pair(scores, parts, bounds, targets, *places, starts, dense)
    infer_pairs(dense, starts, words, targets, True, log_partition, counts, safe)
    log_partition[0] += scores[bounds[0, 2] + m]
    scatter_pair(counts, parts, bounds, targets, *places, starts, safe, marginals)
    if not safe[0]:
        log_partition[0] = np.nan


@step
def infer_every(batch, pair, scores, marginals, log_partition):
    """Of D_n(x); the same."""
    first = batch.rules.word_offsets[pair]
    n = len_of(batch.rules.word_offsets, pair)
    bounds = batch.target_bounds[5 * pair : 5 * pair + 5].reshape((1, 5))
    parts, starts, safe = np.empty(2, np.int64), np.empty(2, np.int64), np.empty(1, np.bool_)
    parts[0], parts[1] = 0, len(scores)
    starts[0], starts[1] = 0, 3 * n + 1 + len(scores) - bounds[0, 3]
    # A sentence has one boundary more than words.
    links = batch.rules.link_offsets[first : first + n + 1]
    insertions = batch.rules.insertion_offsets[first + pair : first + pair + n + 2]
    shape = (parts, bounds, links, insertions, starts)
    shares, words = np.empty(len(scores)), np.empty(1, np.int64)
    summed, counts = np.empty(starts[1]), np.empty(starts[1])
    words[0] = n
    gather_targets(scores, *shape, shares, summed)
    longest = batch.longest[pair : pair + 1]
    infer_targets(summed, starts, words, longest, True, log_partition, counts, safe)
    scatter_targets(counts, shares, *shape, marginals)
    if not safe[0]:
        log_partition[0] = np.nan


@lent
def len_of(offsets, number):
    """The length of one of several stretches."""
    return offsets[number + 1] - offsets[number]


@step
def learn_pair(batch, pair, shift, ranges, weights, changes, places, gradient, log_partitions):
    """Note what a pair adds to the gradient of the weights; its gradient by the scores is kept."""
    rows = rows_of(batch.rules, pair, shift)
    n_parts = len(gradient)
    scores, observed, every = np.empty(n_parts), np.empty(n_parts), np.empty(n_parts)
    scores[:] = 0.0
    sentence_scores(weights, rows, scores)
    infer_observed(batch, pair, scores, observed, log_partitions[0:1])
    infer_every(batch, pair, scores, every, log_partitions[1:2])
    weight = batch.sample_weights[pair]
    for part in range(n_parts):
        gradient[part] = -weight * observed[part] + weight * every[part]
    note_gradient(gradient, rows, changes, ranges.bits, places)


@step
def learn_task(table, plan, number, task, row, weights, room):
    """One of the pairs of a step."""
    at = plan.first_task[number] + task
    place = plan.of_place[at]
    batch = tuple_at(table.table, plan.of_batch[at], table.like)
    first = plan.part_starts[plan.first_task[number] + place]
    n_parts = len_of(batch.part_offsets, plan.of_pair[at])
    begin_notes(
        plan.first_notes[plan.first_task[number] + place], table.ranges.count, room.ends[place]
    )
    learn_pair(
        batch, plan.of_pair[at], table.shift, table.ranges, weights, room.changes,
        room.ends[place], room.gradients[first : first + n_parts],
        room.log_partitions[row, place],
    )  # fmt: skip


@step
def touched_blocks(table, plan, number, first, end, byte_places):
    """The blocks that batches of a step touch, of those that some bytes say something of."""
    union = np.empty(end - first, dtype=np.uint8)
    union[:] = 0
    for k in range(plan.first_batch[number], plan.first_batch[number + 1]):
        batch = tuple_at(table.table, plan.batches[k], table.like)
        for byte in range(first, end):
            union[byte - first] |= batch.bits[byte]
    blocks = np.empty(8 * len(union) + 8, dtype=np.int64)
    count = unpack(union, byte_places[0], byte_places[1], blocks)
    for k in range(count):
        blocks[k] += 8 * first
    return blocks[:count]


@step
def add_valued(table, plan, number, gradient, room):
    """What the features with a value add, of all pairs of a step."""
    place = plan.first_task[number]
    for k in range(plan.first_batch[number], plan.first_batch[number + 1]):
        batch = tuple_at(table.table, plan.batches[k], table.like)
        for pair in range(len(batch.n_target)):
            first, end = batch.rules.word_offsets[pair], batch.rules.word_offsets[pair + 1]
            offsets = batch.rules.link_offsets
            links = batch.rules.link_values[3 * offsets[first] : 3 * offsets[end]]
            offsets = batch.rules.insertion_offsets
            insertions = batch.rules.insertion_values[
                offsets[first + pair] : offsets[end + pair + 1]
            ]
            begin, n = plan.part_starts[place], end - first
            slopes = room.gradients[begin : begin + len_of(batch.part_offsets, pair)]
            n_splits = (n + 1) * n * (n - 1) // 6
            add_values(slopes, links, insertions, n, n_splits, gradient)
            place += 1


@step
def move_range(table, plan, number, which, moves, update, method, vectors, room):
    """Add what was noted of a range, and move its weights."""
    first_task = plan.first_task[number]
    for place in range(len_of(plan.first_task, number)):
        begin = plan.first_notes[first_task + place] + which
        add_range(room.changes, begin, room.ends[place, which], moves.gradient)
    size = table.ranges.bits - BYTE_BITS
    first, end = which << size, (which + 1) << size
    if which == table.ranges.count - 1:
        add_valued(table, plan, number, moves.gradient[: table.n_weights], room)
        end = len(table.like.bits)
    blocks = touched_blocks(table, plan, number, first, end, moves.byte_places)
    room.squares[which] = move_blocks(
        blocks, moves.gradient, moves.share, update, method, vectors
    )  # fmt: skip


@lent
def is_certain(n_pairs, row, room):
    """Whether the fast recursions did for all pairs of a step."""
    for place in range(n_pairs):
        for which in range(2):
            if not np.isfinite(room.log_partitions[row, place, which]):
                return False
    return True


@step
def share_step(table, plan, number, row, n_before, thread, moves, method, vectors, room, counters):
    """Tasks of a step until there are none; `n_before` were done in earlier ones.

    Thread 0 begins the step and comes back when all is done, the others when there is no more to
    do. 1 if the weights were moved; 0 where the fast recursion did not do (nothing was moved); -1
    if everything was stopped.
    """
    n_pairs, n_ranges = len_of(plan.first_task, number), table.ranges.count
    phase = N_PHASES * (number + 1)
    if thread == 0:
        begin(counters, phase)
    task = take(counters, phase, n_pairs, False)
    while task >= 0:
        learn_task(table, plan, number, task, row, vectors.weights[: table.n_weights], room)
        add_to(counters, DONE, 1)
        task = take(counters, phase, n_pairs, False)
    if not wait_for(counters, DONE, n_before + n_pairs):
        return -1
    begin(counters, phase + 1)
    from_end = thread % 2 == 1
    moved, task = False, take(counters, phase + 1, n_ranges, from_end)
    if task >= 0 or thread == 0:
        moved = is_certain(n_pairs, row, room)
    numbers = plan.updates[number]
    update = updates.Update(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4])
    while task >= 0:
        if moved:
            move_range(table, plan, number, task, moves, update, method, vectors, room)
        add_to(counters, DONE, 1)
        task = take(counters, phase + 1, n_ranges, from_end)
    if thread == 0 and not wait_for(counters, DONE, n_before + n_pairs + n_ranges):
        return -1
    return 1 if moved else 0


@kernel
def share_steps(first, end, thread, table, plan, moves, method, vectors, room, counters):
    """Steps from `first` to before `end`, made by several threads together.

    Thread 0 comes back with the number of the first step that was not made, which is one where the
    fast recursion did not do, or `end`; -1 if everything was stopped. The others help with whatever
    it begins, also in later calls, until everything is stopped.
    """
    number = first if thread == 0 else step_to_help(counters, first + 1) - 1
    while 0 <= number < end:
        n_before = plan.first_task[number] + number * table.ranges.count
        row = number % len(room.norms)
        found = share_step(
            table, plan, number, row, n_before, thread, moves, method, vectors, room, counters
        )  # fmt: skip
        if found < 0:
            return -1
        if thread > 0:
            number = step_to_help(counters, number + 2) - 1
        elif found == 0:
            break
        else:
            total = 0.0
            for which in range(table.ranges.count):
                total += room.squares[which]
            room.norms[row] = total
            number += 1
    return number
