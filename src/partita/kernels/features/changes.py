"""What is added to weights, noted down first, and then added up range by range.

Hashed features have their weights all over a table that is larger than a cache. Who adds to one
range of it at a time finds that in a cache, and several threads can add to several ranges. All
changes of a weight stay in their order, so that sums are those of adding at once, to the last bit.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.jit import borrowing, lent

STRETCH = 128
"""Notes that lie side by side; each range has a list of such stretches."""
LEAST_BITS, RANGE_BITS = 6, 4
"""Ranges are so many bits of weights at least, and there are so many bits of ranges at most,
beside those behind the last power of two."""


class Changes(NamedTuple):
    """Notes of changes, of several writers; each has stretches of its own."""

    ids: Array
    """The weight of each note."""
    values: Array
    """What is to be added to it."""
    nexts: Array
    """For each stretch, where the one behind it begins."""


class Ranges(NamedTuple):
    """Weights from number << bits to (number + 1) << bits."""

    count: int
    bits: int


def ranges_of(n_weights):
    """The ranges of so many weights."""
    bits = max(LEAST_BITS, int(n_weights).bit_length() - 1 - RANGE_BITS)
    return Ranges(((n_weights - 1) >> bits) + 1, bits)


def n_stretches(n_notes, n_ranges):
    """That so many notes take at most: a range begins the next stretch when one is full."""
    return n_ranges + n_notes // STRETCH


def new_changes(n):
    """Room for so many stretches."""
    return Changes(
        np.empty(n * STRETCH, dtype=np.uint32), np.empty(n * STRETCH), np.empty(n, dtype=np.int64)
    )


@borrowing
def begin_notes(first, n_ranges, places):
    """Where each range's next note goes, and where the first stretch begins that is free."""
    for number in range(n_ranges + 1):
        places[number] = (first + number) * STRETCH


@borrowing
def note(weight, value, changes, bits, places):
    """Note that a value is to be added to a weight."""
    number = np.int64(weight) >> bits
    place = places[number]
    changes.ids[place] = weight
    changes.values[place] = value
    place += 1
    if place % STRETCH == 0:
        free = places[len(places) - 1]
        changes.nexts[(place - 1) // STRETCH] = free
        places[len(places) - 1] = free + STRETCH
        place = free
    places[number] = place


class Marks(NamedTuple):
    """Which weights several batches have."""

    seen: Array
    """The last batch that had each weight; batches are counted from 1."""
    visits: Array
    """How many batches have each weight."""
    touched: Array
    """Whether a batch has any of each eight weights that lie side by side."""


@borrowing
def mark(weight, batch, marks):
    """A batch has a weight."""
    if marks.seen[weight] != batch:
        marks.seen[weight] = batch
        marks.visits[weight] += 1
        marks.touched[weight // 8] = True


@lent
def mark_range(changes, first, end, batch, marks):
    """Mark all weights to which something other than 0 is to be added; see `add_range`."""
    place = first * STRETCH
    while True:
        stop = end if place // STRETCH == end // STRETCH else place + STRETCH
        for k in range(place, stop):
            if changes.values[k] != 0.0:
                mark(changes.ids[k], batch, marks)
        if stop == end:
            return
        place = changes.nexts[place // STRETCH]


@lent
def add_range(changes, first, end, out):
    """out[weight] += value for each note of a range, from its first stretch on to before `end`."""
    place = first * STRETCH
    while place // STRETCH != end // STRETCH:
        for k in range(place, place + STRETCH):
            out[changes.ids[k]] += changes.values[k]
        place = changes.nexts[place // STRETCH]
    for k in range(place, end):
        out[changes.ids[k]] += changes.values[k]
