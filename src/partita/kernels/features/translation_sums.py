"""Scores of the parts of source sentences by hashed features, and the way back to the weights.

The last weights are of features with a value: three of a link, one of an insertion behind its
companion; then of any deletion, insertion and inverted rule.
"""

import numpy as np

from partita.kernels.features.changes import (
    add_range,
    begin_notes,
    mark,
    mark_range,
    n_stretches,
    new_changes,
    note,
)
from partita.kernels.features.translation import (
    N_BOUNDARY,
    N_DELETION,
    N_INSERTION,
    N_LENGTH,
    N_LINK,
    N_PAIR,
    N_TRIPLE,
    N_VALUES,
    rows_of,
)
from partita.kernels.jit import borrowing, kernel, linked, step

new_changes = linked(new_changes)


def n_notes(n_links, n_words, n_insertions, longest):
    """How many changes of weights, but for features with a value, a sentence has at most."""
    terminals = N_LINK * n_links + N_DELETION * n_words + N_INSERTION * n_insertions
    boundaries = N_BOUNDARY * (n_words + 1) + 3 * N_PAIR * (n_words * (n_words + 1) // 2)
    triples = N_TRIPLE * ((n_words + 1) * n_words * (n_words - 1) // 6)
    return terminals + N_LENGTH * (longest + 1) + 2 * (1 + boundaries + triples)


most_notes, least_stretches = linked(n_notes), linked(n_stretches)


@borrowing
def total_of(weights, ids, first, count):
    """The sum of the weights of some numbers in a row."""
    total = 0.0
    for k in range(first, first + count):
        total += weights[ids[k]]
    return total


@step
def gather(weights, ids, first, out):
    """out[first + r] += the sum of the weights of row r."""
    for r in range(ids.shape[0]):
        out[first + r] += total_of(weights, ids[r], 0, ids.shape[1])


@borrowing
def pair_of(i, j, n):
    """The row of boundaries i < j of n words, see `translation.splits`."""
    return i * (2 * n + 1 - i) // 2 + j - i - 1


@step
def split_scores(weights, rows, first, out):
    """out[first + r] += the score of each split.

    Features that see one or two of its boundaries are summed once for all splits that share these.
    """
    n = rows.boundaries.shape[1] - 1
    singles, pairs = np.empty((3, n + 1)), np.empty((3, len(rows.pairs[0])))
    for rule in range(2):
        bias = weights[rows.biases[rule]]
        for i in range(n + 1):
            ids = rows.boundaries[rule, i]
            singles[0, i] = bias + weights[ids[0]]
            singles[1, i] = weights[ids[1]] + weights[ids[2]]
            singles[2, i] = weights[ids[3]]
        for pair in range(pairs.shape[1]):
            for which in range(3):
                pairs[which, pair] = total_of(
                    weights, rows.pairs[rule, pair], N_PAIR * which, N_PAIR
                )
        part = 0
        for s in range(n + 1):
            for middle in range(s + 1, n + 1):
                left, right = pair_of(s, middle, n), pair_of(middle, middle, n)
                shared = singles[0, s] + singles[1, middle] + pairs[1, left]
                for t in range(middle + 1, n + 1):
                    own = total_of(weights, rows.splits[rule, part], 0, N_TRIPLE) + singles[2, t]
                    ends = pairs[0, left + t - middle]
                    out[first] += shared + own + ends + pairs[2, right + t - middle]
                    first += 1
                    part += 1


@step
def sentence_scores(weights, rows, out):
    """out += the scores of the parts of a sentence, in the order of `SourceParts`."""
    part = 0
    for ids in rows.terminals:
        gather(weights, ids, part, out)
        part += len(ids)
    split_scores(weights, rows, part, out)
    values, more = rows.link_values, rows.insertion_values
    n_links, n = len(rows.terminals[0]), len(rows.terminals[1])
    valued = weights[len(weights) - N_VALUES :]
    for r in range(n_links):
        for k in range(3):
            out[r] += values[3 * r + k] * valued[k]
    for s in range(n_links, n_links + n):
        out[s] += valued[4]
    for r in range(len(more)):
        out[n_links + n + r] += more[r] * valued[3] + valued[5]
    for k in range((len(out) + part) // 2, len(out)):
        out[k] += valued[6]


@borrowing
def note_row(ids, first, count, value, changes, bits, places):
    """The same value for some numbers in a row."""
    for k in range(first, first + count):
        note(ids[k], value, changes, bits, places)


@step
def scatter(gradient, first, ids, changes, bits, places):
    """The transpose of `gather`."""
    for r in range(ids.shape[0]):
        value = gradient[first + r]
        if value != 0.0:
            note_row(ids[r], 0, ids.shape[1], value, changes, bits, places)


@step
def scatter_splits(gradient, first, rows, changes, bits, places):
    """The transpose of `split_scores`."""
    n, part = rows.boundaries.shape[1] - 1, first
    singles, pairs = np.empty((3, n + 1)), np.empty((3, len(rows.pairs[0])))
    for rule in range(2):
        singles[:] = 0.0
        pairs[:] = 0.0
        number, bias = 0, 0.0
        for s in range(n + 1):
            for middle in range(s + 1, n + 1):
                left, right = pair_of(s, middle, n), pair_of(middle, middle, n)
                for t in range(middle + 1, n + 1):
                    value = gradient[part]
                    part, number = part + 1, number + 1
                    if value == 0.0:
                        continue
                    ids = rows.splits[rule, number - 1]
                    note_row(ids, 0, N_TRIPLE, value, changes, bits, places)
                    singles[0, s] += value
                    singles[1, middle] += value
                    singles[2, t] += value
                    pairs[0, left + t - middle] += value
                    pairs[1, left] += value
                    pairs[2, right + t - middle] += value
        pair = 0
        for i in range(n + 1):
            bias += singles[0, i]
            ids = rows.boundaries[rule, i]
            note(ids[0], singles[0, i], changes, bits, places)
            note(ids[1], singles[1, i], changes, bits, places)
            note(ids[2], singles[1, i], changes, bits, places)
            note(ids[3], singles[2, i], changes, bits, places)
            for _ in range(i + 1, n + 1):
                for which in range(3):
                    value = pairs[which, pair]
                    if value != 0.0:
                        note_row(
                            rows.pairs[rule, pair], N_PAIR * which, N_PAIR, value, changes, bits,
                            places,
                        )  # fmt: skip
                pair += 1
        note(rows.biases[rule], bias, changes, bits, places)


@step
def note_gradient(gradient, rows, changes, bits, places):
    """Note the transpose of `sentence_scores`, but for features with a value."""
    part = 0
    for ids in rows.terminals:
        scatter(gradient, part, ids, changes, bits, places)
        part += len(ids)
    scatter_splits(gradient, part, rows, changes, bits, places)


@step
def add_values(gradient, link_values, insertion_values, n, n_splits, out):
    """The rest of it: adds to the last weights."""
    valued = out[len(out) - N_VALUES :]
    n_links = len(link_values) // 3
    for r in range(n_links):
        for k in range(3):
            valued[k] += link_values[3 * r + k] * gradient[r]
    for s in range(n_links, n_links + n):
        valued[4] += gradient[s]
    for r in range(len(insertion_values)):
        valued[3] += insertion_values[r] * gradient[n_links + n + r]
        valued[5] += gradient[n_links + n + r]
    for k in range(len(gradient) - n_splits, len(gradient)):
        valued[6] += gradient[k]


@kernel
def add_scores(weights, given, part_offsets, shift, out):
    """out += the scores of the parts of sentences."""
    for number in range(len(given.longest)):
        rows = rows_of(given, number, shift)
        sentence_scores(weights, rows, out[part_offsets[number] : part_offsets[number + 1]])


@step
def noted(gradient, rows, ranges, places):
    """What a sentence adds to the gradient, range by range, but for features with a value."""
    n_links, n_words, n_insertions, n_lengths = rows.terminals
    most = most_notes(len(n_links), len(n_words), len(n_insertions), len(n_lengths) - 1)
    changes = new_changes(least_stretches(most, ranges.count))
    begin_notes(0, ranges.count, places)
    note_gradient(gradient, rows, changes, ranges.bits, places)
    return changes


@step
def add_values_of(gradient, rows, out):
    """Those of a sentence with these rows."""
    add_values(
        gradient, rows.link_values, rows.insertion_values, len(rows.terminals[1]),
        len(rows.splits[0]), out,
    )  # fmt: skip


@kernel
def add_gradient(score_gradient, given, part_offsets, shift, ranges, out):
    """The transpose of `add_scores`: adds to the gradient of the weights."""
    places = np.empty(ranges.count + 1, dtype=np.int64)
    for number in range(len(given.longest)):
        rows = rows_of(given, number, shift)
        gradient = score_gradient[part_offsets[number] : part_offsets[number + 1]]
        changes = noted(gradient, rows, ranges, places)
        for which in range(ranges.count):
            add_range(changes, which, places[which], out)
        add_values_of(gradient, rows, out)


@kernel
def mark_weights(given, part_offsets, shift, ranges, batch, marks):
    """Mark the weights that a gradient of ones, by the scores, goes to."""
    places, values = np.empty(ranges.count + 1, dtype=np.int64), np.empty(N_VALUES)
    values[:] = 0.0
    for number in range(len(given.longest)):
        rows = rows_of(given, number, shift)
        ones = np.empty(part_offsets[number + 1] - part_offsets[number])
        ones[:] = 1.0
        changes = noted(ones, rows, ranges, places)
        for which in range(ranges.count):
            mark_range(changes, which, places[which], batch, marks)
        add_values_of(ones, rows, values)
    for k in range(N_VALUES):
        if values[k] != 0.0:
            mark(len(marks.seen) - N_VALUES + k, batch, marks)
