"""All that templates see at words, as sparse rows of attributes: one call for many sentences.

A key is a number of mixed base whose digits are codes, -1 where a code is absent; see `text.keys`.
Tables are hardly ever in a cache, so a word's keys are made two words before they are looked up,
and asked for in two steps on the way.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.hash import FIRST
from partita.kernels.features.keys import ABSENT
from partita.kernels.jit import borrowing, kernel
from partita.kernels.simd.prefetch import prefetch

DENSE = -1
"""In place of a shift: a table has a number for every possible key."""
STAGES = 3
"""Words whose keys are on the way to their numbers."""


class CodedWords(NamedTuple):
    """Words by number of their value, and the codes of what views see in each value."""

    offsets: Array
    """(n_sentences + 1,)"""
    numbers: Array
    """(n_columns, n_words): which value of its column a word has."""
    n_values: Array
    """(n_columns,); behind them are what lies one, two, ... words before a sentence, and behind."""
    codes: Array
    """The codes of all values, column by column."""
    first: Array
    """(n_columns,): where its codes begin."""
    width: Array
    """(n_columns,): codes of each value."""
    reach: int
    """How many words before a sentence, and behind, there are to be seen."""


class Places(NamedTuple):
    """Where templates look: a column of a neighbour, each once."""

    column: Array
    offset: Array


class Units(NamedTuple):
    """What templates of one field see; it depends on a value alone."""

    template: Array
    column: Array
    code: Array
    """Which of the codes of a value it is."""


class Slots(NamedTuple):
    """What may become attributes of a word: for each template as many as it sees at once."""

    template: Array
    unit: Array
    """Of those with one field; -1 for others."""
    place: Array
    """Where those with one field look."""
    bounds: Array
    """(n_slots + 1,): where the fields of those with several begin, and the end."""
    field_place: Array
    field_code: Array
    """Which of the codes of a value each field sees."""
    size: Array
    """Codes of each field are below this."""
    seen_first: Array
    seen_last: Array
    """The keys that are replaced by their rank before this field, among `Tables.seen`."""


class Tables(NamedTuple):
    """From keys to numbers, the tables of all templates end to end.

    Keys lie in buckets, two in each on average, by the upper bits of their hash: neighbours, as
    those of frequent words are, do not come together.
    """

    shift: Array
    """(n_templates,): of a key's hash, which leaves its bucket; `DENSE` without buckets."""
    first: Array
    """(n_templates,): where its numbers begin in `dense`, or its buckets in `starts`."""
    dense: Array
    starts: Array
    """Where the keys of each bucket begin, and where those of the table end."""
    keys: Array
    numbers: Array
    seen: Array
    """Keys that are replaced by their rank, table by table; each in ascending order."""


@borrowing
def bucket_of(key, shift):
    """The upper bits of a key's hash."""
    return np.int64((np.uint64(key) * FIRST) >> np.uint64(shift))


@borrowing
def rank(key, first, last, seen):
    """The place of a key in a part of a sorted table, counted from its start, or -1."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if seen[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low - first if low < last and seen[low] == key else ABSENT


@borrowing
def value_of(place, word, start, end, places, words):
    """The value that a place has for a word of the sentence from `start` to `end`."""
    column, there = places.column[place], word + places.offset[place]
    if start <= there < end:
        return words.numbers[column, there]
    beyond = start - there - 1 if there < start else words.reach + there - end
    return words.n_values[column] + beyond


@borrowing
def key_of(slot, at, slots, words, seen):
    """The key of what several fields see, or -1; at[p] is where the codes of place p begin."""
    key = 0
    for field in range(slots.bounds[slot], slots.bounds[slot + 1]):
        code = words.codes[at[slots.field_place[field]] + slots.field_code[field]]
        if slots.seen_first[field] >= 0:
            key = rank(key, slots.seen_first[field], slots.seen_last[field], seen)
        if code < 0 or key < 0:
            return ABSENT
        key = slots.size[field] * key + code
    return key


@borrowing
def number_of(key, template, tables):
    """The number of a key in a template's table, or -1."""
    shift, first = tables.shift[template], tables.first[template]
    if key < 0:
        return ABSENT
    if shift == DENSE:
        return np.int64(tables.dense[first + key])
    bucket = first + bucket_of(key, shift)
    for place in range(tables.starts[bucket], tables.starts[bucket + 1]):
        if tables.keys[place] == key:
            return np.int64(tables.numbers[place])
    return ABSENT


@borrowing
def ask(key, template, tables):
    """Ask for what a key needs first."""
    shift, first = tables.shift[template], tables.first[template]
    if key >= 0:
        if shift == DENSE:
            prefetch(tables.dense, first + key)
        else:
            prefetch(tables.starts, first + bucket_of(key, shift))


@borrowing
def ask_more(key, template, tables):
    """Ask for what a key needs next."""
    shift, first = tables.shift[template], tables.first[template]
    if key >= 0 and shift != DENSE:
        place = tables.starts[first + bucket_of(key, shift)]
        prefetch(tables.keys, place)
        prefetch(tables.numbers, place)


@borrowing
def fill_units(units, words, tables, first_unit, unit_width, numbers):
    """The numbers of what each value is by itself, for templates of one field."""
    for unit in range(len(units.template)):
        column, template = units.column[unit], units.template[unit]
        at, out = words.first[column] + units.code[unit], first_unit[column] + unit
        for _ in range(words.n_values[column] + 2 * words.reach):
            numbers[out] = number_of(np.int64(words.codes[at]), template, tables)
            at += words.width[column]
            out += unit_width


@kernel
def attributes(words, skipped, places, units, slots, tables, offsets, ids):
    """The numbers of each word in the order of the slots, row by row; and where the rows begin.

    The first `skipped` words of each sentence have no row. `ids` has room for a number in every
    slot of every row, and for one more.
    """
    n_slots, n_places, n_rows = len(slots.template), len(places.column), len(offsets) - 1
    n_units, n_columns = len(units.template), len(words.n_values)
    first_unit = np.empty(n_columns + 1, dtype=np.int64)
    first_unit[0] = 0
    for column in range(n_columns):
        n_values = words.n_values[column] + 2 * words.reach
        first_unit[column + 1] = first_unit[column] + n_units * n_values
    by_value = np.empty(first_unit[n_columns], dtype=np.int32)
    fill_units(units, words, tables, first_unit, n_units, by_value)
    keys = np.empty(STAGES * n_slots, dtype=np.int64)
    unit_at = np.empty(STAGES * n_places, dtype=np.int64)
    at = np.empty(n_places, dtype=np.int64)
    sentence, word, end = -1, 0, 0
    n_ids = 0
    offsets[0] = 0
    for stage in range(n_rows + STAGES - 1):
        if stage < n_rows:
            word += 1
            while sentence < 0 or word >= end:
                sentence += 1
                end = words.offsets[sentence + 1]
                word = words.offsets[sentence] + skipped
            start, turn = words.offsets[sentence], stage % STAGES
            for place in range(n_places):
                value, column = (
                    value_of(place, word, start, end, places, words),
                    places.column[place],
                )
                at[place] = words.first[column] + words.width[column] * value
                unit_at[turn * n_places + place] = first_unit[column] + n_units * value
            for slot in range(n_slots):
                if slots.unit[slot] < 0:
                    key = key_of(slot, at, slots, words, tables.seen)
                    keys[turn * n_slots + slot] = key
                    ask(key, slots.template[slot], tables)
        if 0 < stage <= n_rows:
            turn = (stage - 1) % STAGES
            for slot in range(n_slots):
                if slots.unit[slot] < 0:
                    ask_more(keys[turn * n_slots + slot], slots.template[slot], tables)
        if stage > 1:
            turn = (stage - 2) % STAGES
            for slot in range(n_slots):
                if slots.unit[slot] >= 0:
                    place = unit_at[turn * n_places + slots.place[slot]]
                    number = np.int64(by_value[place + slots.unit[slot]])
                else:
                    number = number_of(keys[turn * n_slots + slot], slots.template[slot], tables)
                # Written in any case: which attributes there are nobody can guess.
                ids[n_ids] = number
                n_ids += number >= 0
            offsets[stage - 1] = n_ids


@kernel
def fill_buckets(known, known_numbers, shift, starts, keys, numbers):
    """Put keys into buckets: starts[b] is the place of the first of bucket b, counted from 0.

    Within a bucket they stay in their order.
    """
    for bucket in range(len(starts)):
        starts[bucket] = 0
    for k in range(len(known)):
        starts[bucket_of(known[k], shift)] += 1
    total = 0
    for bucket in range(len(starts)):
        total += starts[bucket]
        starts[bucket] = total
    # From behind, so that each start comes down to the first of its bucket.
    for k in range(len(known) - 1, -1, -1):
        bucket = bucket_of(known[k], shift)
        starts[bucket] -= 1
        keys[starts[bucket]] = known[k]
        numbers[starts[bucket]] = known_numbers[k]
