"""Batches that some threads infer and one adds up, in one call for many of them.

Threads wait for each other in compiled code, and need the interpreter for nothing: who asks for it
back from another thread is put to sleep, and waking takes as long as a batch.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.addressed import tuple_at
from partita.kernels.jit import borrowing, kernel, step
from partita.kernels.meeting import STOPPED, add_to, replaced, seen, wait_for
from partita.kernels.weights.tagged import (
    Slopes,
    Tagged,
    TaggedRoom,
    add_gradient,
    ask_for_gradient,
    infer_all,
    infer_with_entropy,
)

LINE = 8
"""Counters in a line of the cache; each that is waited for has one of its own."""
TAKEN, ADDED, FIRST = range(STOPPED + LINE, STOPPED + 4 * LINE, LINE)
"""Places: batches that were taken, and added; then one for each batch."""
MADE, GIVEN_UP = 1, 2
"""Of a batch: it was inferred; somebody else has to, since the fast recursion did not do."""


class Total(NamedTuple):
    """The gradient of a shard."""

    gradient: Array


class Pass(NamedTuple):
    """Batches in the order in which they are added."""

    table: Array
    like: Tagged
    """All batches of a corpus, as `addressed` has them."""
    order: Array
    """(n,): the number of each there."""
    places: Array
    """(n,): its shard."""
    slopes: Array
    """(n, 4): whether there are tags to learn from, that slope; likewise of the entropy."""
    offsets: Array
    """(n + 1,): where its sentences begin among all."""
    totals: Array
    total: Total
    """The shards, as `addressed` has them."""
    weights: Array


class Inferred(NamedTuple):
    """What a pass finds."""

    gradients: Array
    """(n_ahead, n_parts): by the scores, of batches that are inferred and not yet added."""
    losses: Array
    """(n_sentences,)"""
    entropies: Array | None
    """(n_sentences,), or None where nobody wants them: then nothing is compiled for them."""


def new_counters(n_batches):
    """All 0."""
    return np.zeros(FIRST + LINE * n_batches, dtype=np.int64)


@borrowing
def take(counters, place, end):
    """The next number before `end` that nobody has taken; -1 if there is none."""
    while True:
        number = seen(counters, place)
        if number >= end:
            return -1
        if replaced(counters, place, number, number + 1):
            return number


@step
def infer_wanted(batch, numbers, weights, room, entropies):
    """The gradient by the scores; whether the fast recursion did, and anything was wanted."""
    has_target = numbers[0] > 0.0
    if entropies is not None:  # noqa: SIM102 (with `and`, what is not wanted would be compiled)
        if numbers[2] > 0.0:
            return infer_with_entropy(
                batch, weights, Slopes(has_target, numbers[1], numbers[3]), room
            )
    return has_target and infer_all(batch, weights, numbers[1], room)


@step
def note(offset, n_sentences, room, losses, entropies):
    """What was found for the sentences of a batch."""
    for k in range(n_sentences):
        losses[offset + k] = room.log_partition[k] - room.target_scores[k]
    if entropies is not None:
        for k in range(n_sentences):
            entropies[offset + k] = room.entropies[k]


@step
def infer(work, number, room, found, counters):
    """Infer one batch, to be added when its turn comes."""
    batch = tuple_at(work.table, work.order[number], work.like)
    gradient = found.gradients[number % len(found.gradients)]
    own = TaggedRoom(
        room.scores, gradient, room.log_partition, room.target_scores, room.is_safe, room.members,
        room.cells, room.entropies, room.entropy_gradient,
    )  # fmt: skip
    ask_for_gradient(batch, 0, own)
    done = infer_wanted(batch, work.slopes[number], work.weights, own, found.entropies)
    if done:
        n_sentences = len(batch.part_offsets) - 1
        note(work.offsets[number], n_sentences, room, found.losses, found.entropies)
    add_to(counters, FIRST + LINE * number, MADE if done else GIVEN_UP)


@step
def add(work, number, found):
    """Add a batch that was inferred."""
    batch = tuple_at(work.table, work.order[number], work.like)
    total = tuple_at(work.totals, work.places[number], work.total)
    add_gradient(batch, found.gradients[number % len(found.gradients)], total.gradient)


@step
def help_until_end(work, room, found, counters):
    """Infer, no further ahead than there is room."""
    number = take(counters, TAKEN, len(work.order))
    while number >= 0:
        if not wait_for(counters, ADDED, number + 1 - len(found.gradients)):
            return
        infer(work, number, room, found, counters)
        number = take(counters, TAKEN, len(work.order))


@kernel
def share_turns(begin, end, thread, work, room, found, counters):
    """Batches from `begin` to before `end`, added by thread 0; the others help with all of them.

    Thread 0 infers, too, while nothing is ready. It comes back with the number of the first batch
    that was not added, which is one that was given up, or `end`; -1 if everything was stopped.
    """
    if thread > 0:
        help_until_end(work, room, found, counters)
        return end
    for number in range(begin, end):
        own = FIRST + LINE * number
        most = min(number + len(found.gradients), len(work.order))
        while seen(counters, own) == 0:
            other = take(counters, TAKEN, most)
            if other < 0:
                break
            infer(work, other, room, found, counters)
        if not wait_for(counters, own, 1):
            return -1
        if seen(counters, own) == GIVEN_UP:
            return number
        add(work, number, found)
        add_to(counters, ADDED, 1)
    return end


@kernel
def has_added(counters):
    """One more batch was added, in another way."""
    add_to(counters, ADDED, 1)


@kernel
def stop(counters):
    """Let nobody wait any more."""
    add_to(counters, STOPPED, 1)
