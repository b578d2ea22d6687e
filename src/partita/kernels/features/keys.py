"""What templates see, as attributes: codes to keys, keys to numbers, numbers to sparse rows.

A key is a number of mixed base whose digits are codes, -1 where a code is absent; see `text.keys`.
"""

from partita.kernels.jit import borrowing, kernel
from partita.kernels.simd.prefetch import prefetch

ABSENT = -1
AHEAD = 8
"""Keys lie anywhere in a table, so each is asked for so many keys before its use, in two steps."""


@kernel
def combine(codes, places, size, keys):
    """keys[r, w] = size keys[r, w] + codes[r, places[w]], or absent where either is.

    `codes` has as many rows as `keys`, or one for all of them.
    """
    for row in range(len(keys)):
        source = row if row < len(codes) else 0
        for word in range(len(places)):
            code = codes[source, places[word]]
            key = keys[row, word]
            keys[row, word] = ABSENT if code < 0 or key < 0 else key * size + code


@borrowing
def place_of(key, starts, shift, known):
    """The place of a key in a sorted table, or -1: binary search where those that begin alike are.

    starts[b] is the first of those with the upper bits b, whose number is the key's without its
    last `shift` bits.
    """
    bucket = key >> shift
    if key < 0 or bucket + 1 >= len(starts):
        return -1
    low, high = starts[bucket], starts[bucket + 1]
    end = high
    while low < high:
        middle = (low + high) >> 1
        if known[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and known[low] == key else -1


@borrowing
def ask(later, soon, starts, shift, known):
    """Ask for what a key needs first, and for what one that asked before needs next."""
    if later >= 0:
        prefetch(starts, later >> shift)
    if soon >= 0:
        prefetch(known, starts[soon >> shift])


@kernel
def index(known, shift, starts):
    """Where the keys with each value of their upper bits begin in a sorted table (`place_of`)."""
    bucket = 0
    for place in range(len(known)):
        while bucket <= known[place] >> shift:
            starts[bucket] = place
            bucket += 1
    while bucket < len(starts):
        starts[bucket] = len(known)
        bucket += 1


@kernel
def numbers(keys, starts, shift, known, table, found):
    """table[place] of each key, or -1; all arrays are flat."""
    last = len(keys) - 1
    for k in range(len(keys)):
        ask(keys[min(k + 2 * AHEAD, last)], keys[min(k + AHEAD, last)], starts, shift, known)
        place = place_of(keys[k], starts, shift, known)
        found[k] = table[place] if place >= 0 else ABSENT


@kernel
def numbers_of_all(keys, table, found):
    """table[key] of each key, or -1 where that is absent; all arrays are flat."""
    for k in range(len(keys)):
        found[k] = table[keys[k]] if keys[k] >= 0 else ABSENT


@kernel
def count_rows(columns, offsets):
    """offsets[w + 1] = how many numbers the words up to w have in all columns."""
    for word in range(columns.shape[1]):
        offsets[word + 1] = 0
    for column in range(len(columns)):
        for word in range(columns.shape[1]):
            offsets[word + 1] += columns[column, word] >= 0
    offsets[0] = 0
    for word in range(columns.shape[1]):
        offsets[word + 1] += offsets[word]


@kernel
def fill_rows(columns, offsets, ids):
    """The numbers of each word, in the order of the columns."""
    for word in range(columns.shape[1]):
        at = offsets[word]
        for column in range(len(columns)):
            number = columns[column, word]
            if number >= 0:
                ids[at] = number
                at += 1
