"""Features of the rules of a source sentence under an ITG, hashed into a table of weights.

Each kernel fills a row of weight numbers for every part of one kind. A feature is a template with
up to four numbers (words, classes, lengths), mixed to one state (see `hash`), which has a place in
the table of 2**(32 - shift) weights. Places before and behind the sentence have the number 0. Words
come padded: word s of the sentence is words[s + PAD].
"""

import numpy as np

from partita.kernels.features.hash import key_of, mixed, place_of
from partita.kernels.jit import inlined, kernel

PAD = 2
N_LINK, N_DELETION, N_INSERTION, N_LENGTH, N_SPLIT = 13, 9, 9, 3, 20
"""Features of a part of each kind."""


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


@kernel
def splits(words, classes, starts, middles, ends, shift, out):
    """Features of joining the words starts .. middles-1 and middles .. ends-1.

    The first half of the rows by the straight rule, the second by the inverted one.
    """
    n_splits = len(starts)
    for rule in range(2):
        for r in range(n_splits):
            s, middle, t = starts[r] + PAD, middles[r] + PAD, ends[r] + PAD
            last, end = middle - 1, t - 1
            left, right = short(middle - s), short(t - middle)
            base = 100 + 100 * rule
            row = out[rule * n_splits + r]
            row[0] = place(base, 0, 0, 0, 0, shift)
            row[1] = place(base + 1, left, right, 0, 0, shift)
            row[2] = place(base + 2, words[last], words[middle], 0, 0, shift)
            row[3] = place(base + 3, classes[last], classes[middle], 0, 0, shift)
            row[4] = place(base + 4, words[s], words[end], 0, 0, shift)
            row[5] = place(
                base + 5, classes[s], classes[last], classes[middle], classes[end], shift
            )
            row[6] = place(base + 6, words[middle], right, 0, 0, shift)
            row[7] = place(base + 7, words[last], left, 0, 0, shift)
            row[8] = place(base + 8, words[end], right, left, 0, shift)
            row[9] = place(base + 9, words[s], left, right, 0, shift)
            row[10] = place(base + 10, words[s - 1], words[t], 0, 0, shift)
            row[11] = place(base + 11, words[s - 1], 0, 0, 0, shift)
            row[12] = place(base + 12, words[t], 0, 0, 0, shift)
            row[13] = place(base + 13, classes[s - 1], classes[s], classes[end], classes[t], shift)
            row[14] = place(base + 14, words[middle], words[end], 0, 0, shift)
            row[15] = place(base + 15, words[s], words[last], 0, 0, shift)
            row[16] = place(base + 16, words[s], words[middle], 0, 0, shift)
            row[17] = place(base + 17, words[s - 1], words[end], right, 0, shift)
            row[18] = place(base + 18, classes[s - 1], classes[s], classes[middle], right, shift)
            row[19] = place(base + 19, classes[end], right, classes[t], 0, shift)


@kernel
def gather(weights, ids, out):
    """out[r] += sum of the weights of row r."""
    for r in range(ids.shape[0]):
        total = 0.0
        for k in range(ids.shape[1]):
            total += weights[ids[r, k]]
        out[r] += total


@kernel
def scatter(gradient, ids, out):
    """out[ids[r, k]] += gradient[r]."""
    for r in range(ids.shape[0]):
        value = gradient[r]
        if value != 0.0:
            for k in range(ids.shape[1]):
                out[ids[r, k]] += value
