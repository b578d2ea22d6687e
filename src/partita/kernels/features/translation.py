"""Features of the rules of a source sentence under an ITG, hashed into a table of weights.

Each kernel fills a row of weight numbers for every part of one kind. A feature is a template with
up to four numbers (words, classes, lengths), mixed to one state (see `hash`), which has a place in
the table of 2**(32 - shift) weights. Places before and behind the sentence have the number 0. Words
come padded: word s of the sentence is words[s + PAD].
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.hash import key_of, mixed, place_of
from partita.kernels.jit import inlined, kernel, step

PAD = 2
N_LINK, N_DELETION, N_INSERTION, N_LENGTH, N_SPLIT = 13, 9, 9, 3, 20
"""Features of a part of each kind."""
N_BOUNDARY, N_PAIR, N_TRIPLE = 4, 3, 6
"""Those of a split that see one boundary, two of them in a way, and all three."""
N_VALUES = 7
"""Weights of features with a value, behind all others; see `translation_sums`."""


@inlined
def place(template, a, b, c, d, shift):
    """The weight of a feature."""
    state = mixed(mixed(mixed(mixed(np.uint64(template), a), b), c), d)
    return place_of(key_of(state), shift)


@inlined
def short(length):
    """1, 2, 3, then 4 for four and five words, 5 for six to eight, 6 for more."""
    if length <= 3:
        return length
    if length <= 5:
        return 4
    return 5 if length <= 8 else 6


@kernel
def links(words, classes, word_of, target, kind, shift, out):
    """Features of translating word word_of[r] as target[r]; `kind` is a class of that pair."""
    for r in range(len(target)):
        i, y = word_of[r] + PAD, target[r]
        x = words[i]
        row = out[r]
        row[0] = place(1, x, y, 0, 0, shift)
        row[1] = place(2, y, 0, 0, 0, shift)
        row[2] = place(3, words[i - 1], y, 0, 0, shift)
        row[3] = place(4, words[i + 1], y, 0, 0, shift)
        row[4] = place(5, words[i - 1], x, y, 0, shift)
        row[5] = place(6, x, words[i + 1], y, 0, shift)
        row[6] = place(7, words[i - 2], x, y, 0, shift)
        row[7] = place(8, x, words[i + 2], y, 0, shift)
        row[8] = place(9, classes[i - 1], classes[i + 1], y, 0, shift)
        row[9] = place(10, kind[r], 0, 0, 0, shift)
        row[10] = place(11, kind[r], classes[i], 0, 0, shift)
        row[11] = place(12, words[i - 2], y, 0, 0, shift)
        row[12] = place(13, words[i + 2], y, 0, 0, shift)


@kernel
def deletions(words, classes, shift, out):
    """Features of deleting each word."""
    for s in range(len(out)):
        i = s + PAD
        x, before, behind = words[i], words[i - 1], words[i + 1]
        row = out[s]
        row[0] = place(21, 0, 0, 0, 0, shift)
        row[1] = place(22, x, 0, 0, 0, shift)
        row[2] = place(23, before, x, 0, 0, shift)
        row[3] = place(24, x, behind, 0, 0, shift)
        row[4] = place(25, before, x, behind, 0, shift)
        row[5] = place(26, classes[i - 1], classes[i], classes[i + 1], 0, shift)
        row[6] = place(27, classes[i], 0, 0, 0, shift)
        row[7] = place(28, words[i - 2], x, 0, 0, shift)
        row[8] = place(29, x, words[i + 2], 0, 0, shift)


@kernel
def insertions(words, classes, boundary_of, target, kind, shift, out):
    """Features of inserting target[r] at source boundary boundary_of[r]."""
    for r in range(len(target)):
        i, y = boundary_of[r] + PAD, target[r]
        before, behind = words[i - 1], words[i]
        row = out[r]
        row[0] = place(41, kind[r], 0, 0, 0, shift)
        row[1] = place(42, y, 0, 0, 0, shift)
        row[2] = place(43, before, y, 0, 0, shift)
        row[3] = place(44, behind, y, 0, 0, shift)
        row[4] = place(45, before, behind, y, 0, shift)
        row[5] = place(46, classes[i - 1], classes[i], y, 0, shift)
        row[6] = place(47, words[i - 2], before, y, 0, shift)
        row[7] = place(48, words[i - 2], y, 0, 0, shift)
        row[8] = place(49, words[i + 1], y, 0, 0, shift)


@kernel
def lengths(n_source, shift, out):
    """Features of a target of m words, for each row m."""
    for m in range(len(out)):
        row = out[m]
        row[0] = place(61, m + 1000 - n_source, 0, 0, 0, shift)
        row[1] = place(62, m + 1000 - n_source, short(n_source), 0, 0, shift)
        row[2] = place(63, m, n_source, 0, 0, shift)


@inlined
def of_boundary(words, classes, base, s, middle, t, shift, row):
    """The features of a split that see one boundary: the first, the one in the middle, the last."""
    row[0] = place(base + 11, words[s - 1], 0, 0, 0, shift)
    row[1] = place(base + 2, words[middle - 1], words[middle], 0, 0, shift)
    row[2] = place(base + 3, classes[middle - 1], classes[middle], 0, 0, shift)
    row[3] = place(base + 12, words[t], 0, 0, 0, shift)


@inlined
def of_ends(words, classes, base, s, t, shift, row):
    """Those that see both ends."""
    row[0] = place(base + 4, words[s], words[t - 1], 0, 0, shift)
    row[1] = place(base + 10, words[s - 1], words[t], 0, 0, shift)
    row[2] = place(base + 13, classes[s - 1], classes[s], classes[t - 1], classes[t], shift)


@inlined
def of_left(words, base, s, middle, shift, row):
    """Those that see the left part."""
    row[0] = place(base + 7, words[middle - 1], short(middle - s), 0, 0, shift)
    row[1] = place(base + 15, words[s], words[middle - 1], 0, 0, shift)
    row[2] = place(base + 16, words[s], words[middle], 0, 0, shift)


@inlined
def of_right(words, classes, base, middle, t, shift, row):
    """Those that see the right part."""
    right = short(t - middle)
    row[0] = place(base + 6, words[middle], right, 0, 0, shift)
    row[1] = place(base + 14, words[middle], words[t - 1], 0, 0, shift)
    row[2] = place(base + 19, classes[t - 1], right, classes[t], 0, shift)


@inlined
def of_all(words, classes, base, s, middle, t, shift, row):
    """Those that see all three boundaries."""
    last, end = middle - 1, t - 1
    left, right = short(middle - s), short(t - middle)
    row[0] = place(base + 1, left, right, 0, 0, shift)
    row[1] = place(base + 5, classes[s], classes[last], classes[middle], classes[end], shift)
    row[2] = place(base + 8, words[end], right, left, 0, shift)
    row[3] = place(base + 9, words[s], left, right, 0, shift)
    row[4] = place(base + 17, words[s - 1], words[end], right, 0, shift)
    row[5] = place(base + 18, classes[s - 1], classes[s], classes[middle], right, shift)


@kernel
def splits(words, classes, shift, biases, boundaries, pairs, splits):
    """Features of each split s < S < t by what they see, straight ones, then inverted ones.

    A split joins the words s .. S-1 and S .. t-1. Features that see one boundary have a row for
    each, (2, n + 1, 4); those that see two of them a row for each i < j, (2, n (n + 1) / 2, 9):
    three as ends, three as a left part, three as a right one. Others have a row for each split in
    the order s, S, t, (2, n_splits, 6), and one sees nothing, (2,).
    """
    n = boundaries.shape[1] - 1
    for rule in range(2):
        base = 100 + 100 * rule
        biases[rule] = place(base, 0, 0, 0, 0, shift)
        pair, part = 0, 0
        for i in range(n + 1):
            at = i + PAD
            of_boundary(words, classes, base, at, at, at, shift, boundaries[rule, i])
            for j in range(i + 1, n + 1):
                row = pairs[rule, pair]
                of_ends(words, classes, base, at, j + PAD, shift, row)
                of_left(words, base, at, j + PAD, shift, row[3:])
                of_right(words, classes, base, at, j + PAD, shift, row[6:])
                pair += 1
        for s in range(n + 1):
            for middle in range(s + 1, n + 1):
                for t in range(middle + 1, n + 1):
                    row = splits[rule, part]
                    of_all(words, classes, base, s + PAD, middle + PAD, t + PAD, shift, row)
                    part += 1


class JoinedRules(NamedTuple):
    """What features look at, of some sentences laid end to end.

    Where the links of each word of all sentences begin, and the insertions of each boundary, is
    counted from the first sentence on.
    """

    words: Array
    """With `PAD` zeros on both sides of each sentence."""
    classes: Array
    longest: Array
    """Most target words of each sentence."""
    word_offsets: Array
    """Where the words of each sentence begin, without the zeros; and the end."""
    link_offsets: Array
    link_words: Array
    link_kinds: Array
    link_values: Array
    """(3 n_links,): three of each."""
    insertion_offsets: Array
    inserted: Array
    insertion_kinds: Array
    insertion_values: Array
    """(n_insertions,)."""


@inlined
def whose(offsets, first, count):
    """For each word at some groups, in a row from `first` on, which of the groups it is in."""
    found = np.empty(offsets[first + count] - offsets[first], dtype=np.int64)
    for group in range(count):
        for word in range(offsets[first + group], offsets[first + group + 1]):
            found[word - offsets[first]] = group
    return found


class Rows(NamedTuple):
    """The weight numbers of the parts of a sentence, and the values of features that have some."""

    terminals: tuple[Array, Array, Array, Array]
    """Of links, deletions, insertions and lengths, a row for each part."""
    biases: Array
    boundaries: Array
    pairs: Array
    splits: Array
    """As `splits` has them."""
    link_values: Array
    insertion_values: Array
    """Of this sentence, as `JoinedRules` has them."""


@step
def rows_of(given, number, shift):
    """The rows of one of the sentences."""
    first, end = given.word_offsets[number], given.word_offsets[number + 1]
    n, padded = end - first, first + 2 * PAD * number
    words = given.words[padded : padded + n + 2 * PAD]
    classes = given.classes[padded : padded + n + 2 * PAD]
    begin, stop = given.link_offsets[first], given.link_offsets[end]
    # A sentence has one boundary more than words.
    more = slice(given.insertion_offsets[first + number], given.insertion_offsets[end + number + 1])
    word_of = whose(given.link_offsets, first, n)
    boundary_of = whose(given.insertion_offsets, first + number, n + 1)
    of_links = np.empty((len(word_of), N_LINK), dtype=np.uint32)
    of_deletions = np.empty((n, N_DELETION), dtype=np.uint32)
    of_insertions = np.empty((len(boundary_of), N_INSERTION), dtype=np.uint32)
    of_lengths = np.empty((given.longest[number] + 1, N_LENGTH), dtype=np.uint32)
    links(
        words, classes, word_of, given.link_words[begin:stop], given.link_kinds[begin:stop], shift,
        of_links,
    )  # fmt: skip
    deletions(words, classes, shift, of_deletions)
    insertions(
        words, classes, boundary_of, given.inserted[more], given.insertion_kinds[more], shift,
        of_insertions,
    )  # fmt: skip
    lengths(n, shift, of_lengths)
    biases = np.empty(2, dtype=np.uint32)
    boundaries = np.empty((2, n + 1, N_BOUNDARY), dtype=np.uint32)
    pairs = np.empty((2, n * (n + 1) // 2, 3 * N_PAIR), dtype=np.uint32)
    triples = np.empty((2, (n + 1) * n * (n - 1) // 6, N_TRIPLE), dtype=np.uint32)
    splits(words, classes, shift, biases, boundaries, pairs, triples)
    return Rows(
        (of_links, of_deletions, of_insertions, of_lengths), biases, boundaries, pairs, triples,
        given.link_values[3 * begin : 3 * stop], given.insertion_values[more],
    )  # fmt: skip
