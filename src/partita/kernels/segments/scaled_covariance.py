"""Covariance product of segments, from the messages of `segments.scaled`.

With v the direction of segments and V that of transitions, and E the expected direction, the
recursions are those of the messages, differentiated (left and right stand for messages times the
expected direction of all that they sum over):

    left_before[i]  = left[i] M + alpha[i] (M V)            (0 at the first word)
    left[e]         = sum_i W[i, e] (left_before[i] + before[i] v[i, e]) / c[e]
    right_gain[i]   = sum_e W[i, e] (right[e] + beta[e] v[i, e])
    right[e]        = (M right_gain[e] + (M V) gain[e]) / c[e]   (0 at the end)

and with E = sum of left at the end, the product is

    W[i, e] ((left_before[i] + before[i] (v[i, e] - E)) beta[e] + before[i] right[e])
    M (sum_i left[i] gain[i] + alpha[i] right_gain[i]) + (V - E) p    for transitions.
"""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.segments.rows import block, cell_of, fill, read_table, write_block
from partita.kernels.segments.scaled import pair_sums
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store
from partita.kernels.simd.small_matrix import padded_width, vector_times_matrix


@step
def moved_table(matrix, direction, table, n_tags, width, moved, moved_transposed):
    """M V and its transpose, zeros without a tag."""
    fill(moved_transposed, 0, n_tags * width, 0.0)
    for x in range(n_tags):
        fill(moved, x * width, (x + 1) * width, 0.0)
        for y in range(n_tags):
            value = matrix[x * width + y] * direction[table + x * n_tags + y]
            moved[x * width + y], moved_transposed[y * width + x] = value, value


@step
def move(moving, at, still, still_at, matrix, moved, n_tags, factor, out, row, scratch):
    """out = (moving M + still (M V)) times a factor."""
    width = padded_width(n_tags)
    vector_times_matrix(moving, at, n_tags, matrix, 0, width, width, out, row)
    vector_times_matrix(still, still_at, n_tags, moved, 0, width, width, scratch, 0)
    for k in range(0, width, N_LANES):
        store(out, row + k, (load(out, row + k) + load(scratch, k)) * factor)


@step
def left_messages(
    direction, start, n_words, longest, n_tags, matrix, moved, weights,
    messages, alpha, before, scale, at, left, left_before, scratch,
):  # fmt: skip
    """Fill left and left_before; returns E."""
    width = padded_width(n_tags)
    fill(left_before, 0, width, 0.0)
    for end in range(1, n_words + 1):
        row, c = end * width, scale[at + end]
        inverse = 1.0 / c if c > 0.0 else 0.0
        fill(left, row, row + width, 0.0)
        for first in range(max(0, end - longest), end):
            place, from_row = cell_of(first, end - first - 1, longest), first * width
            for k in range(0, width, N_LANES):
                value = block(direction, start + place * n_tags, k, n_tags)
                inside = load(messages, before + from_row + k)
                moving = fma(inside, value, load(left_before, from_row + k))
                weight = load(weights, start + place * n_tags + k) * inverse
                store(left, row + k, fma(weight, moving, load(left, row + k)))
        move(
            left, row, messages, alpha + row, matrix, moved, n_tags, 1.0, left_before, row, scratch
        )
    expected = 0.0
    for j in range(n_words * width, n_words * width + n_tags):
        expected += left[j]
    return expected


@step
def right_messages(
    direction, start, n_words, longest, n_tags, transposed, moved_transposed, weights,
    messages, before, beta, gain, scale, at, expected, left_before, right, right_gain, scratch,
    out,
):  # fmt: skip
    """Fill right and right_gain, and the product for segments."""
    width, mean = padded_width(n_tags), broadcast(expected)
    fill(right, n_words * width, (n_words + 1) * width, 0.0)
    for first in range(n_words - 1, -1, -1):
        row, most = first * width, min(longest, n_words - first)
        fill(right_gain, row, row + width, 0.0)
        for length in range(most):
            place, behind = cell_of(first, length, longest), (first + length + 1) * width
            for k in range(0, width, N_LANES):
                value = block(direction, start + place * n_tags, k, n_tags)
                weight, outside = load(weights, start + place * n_tags + k), load(right, behind + k)
                still, inside = load(messages, beta + behind + k), load(messages, before + row + k)
                moving = fma(still, value, outside)
                store(right_gain, row + k, fma(weight, moving, load(right_gain, row + k)))
                moving = fma(inside, value - mean, load(left_before, row + k))
                product = weight * fma(inside, outside, moving * still)
                write_block(product, out, start + place * n_tags, k, n_tags)
        unused = start + cell_of(first, most, longest) * n_tags
        fill(out, unused, start + cell_of(first + 1, 0, longest) * n_tags, 0.0)
        if first > 0:
            c = scale[at + first]
            inverse = 1.0 / c if c > 0.0 else 0.0
            move(
                right_gain, row, messages, gain + row, transposed, moved_transposed, n_tags,
                inverse, right, row, scratch,
            )  # fmt: skip


@kernel
def product(
    scores, direction, part_offsets, word_offsets, longest, n_tags, marginals,
    weights, messages, scale, is_safe, out,
):  # fmt: skip
    """The covariance product of the sentences that are safe."""
    n_sentences, width, most = len(is_safe), padded_width(n_tags), 0
    quarter, size = (word_offsets[n_sentences] + n_sentences) * width, n_tags * width
    for sentence in range(n_sentences):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    matrix, transposed = np.empty(size), np.empty(size)
    moved, moved_transposed = np.empty(size), np.empty(size)
    first_pairs, second_pairs = np.empty(size), np.empty(size)
    columns, scratch = np.empty(n_tags * most), np.empty(width)
    left, left_before = np.empty((most + 1) * width), np.empty((most + 1) * width)
    right, right_gain = np.empty((most + 1) * width), np.empty((most + 1) * width)
    for sentence in range(n_sentences):
        if not is_safe[sentence]:
            continue
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words, at = word_offsets[sentence + 1] - word, word + sentence
        alpha = at * width
        before, beta, gain = alpha + quarter, alpha + 2 * quarter, alpha + 3 * quarter
        table = part_offsets[sentence + 1] - n_tags * n_tags
        read_table(scores, table, n_tags, width, matrix, transposed)
        moved_table(matrix, direction, table, n_tags, width, moved, moved_transposed)
        expected = left_messages(
            direction, start, n_words, longest, n_tags, matrix, moved, weights,
            messages, alpha, before, scale, at, left, left_before, scratch,
        )  # fmt: skip
        right_messages(
            direction, start, n_words, longest, n_tags, transposed, moved_transposed, weights,
            messages, before, beta, gain, scale, at, expected, left_before, right,
            right_gain, scratch, out,
        )  # fmt: skip
        pair_sums(left, 0, messages, gain, n_words, n_tags, columns, first_pairs)
        pair_sums(messages, alpha, right_gain, 0, n_words, n_tags, columns, second_pairs)
        for x in range(n_tags):
            for y in range(n_tags):
                part, cell_xy = table + x * n_tags + y, x * width + y
                sums = matrix[cell_xy] * (first_pairs[cell_xy] + second_pairs[cell_xy])
                out[part] = sums + (direction[part] - expected) * marginals[part]
