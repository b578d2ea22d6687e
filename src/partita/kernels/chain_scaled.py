"""Forward-backward in probabilities rescaled at every word: the fast path.

Scores are taken relative to the largest of their row or table, so that every exponential is at
most 1, and alpha sums to 1 at every word:

    alpha[t, j] = ratio[t, j] sum_i alpha[t-1, i] M[i, j]      (the sum is 1 at the first word)
    beta[t, i]  = sum_j M[i, j] gain[t+1, j]                   (1 at the last word)
    ratio = exp(unary) / c,  gain = ratio * beta,  M = exp(pairwise)

where c[t] makes alpha[t] sum to 1. Then A = sum log c + the maxima taken out,
alpha * beta are the unary marginals, and alpha[t-1, i] M[i, j] gain[t, j] the pairwise ones.

A number below 2^-1022 becomes 0 on the way, which loses at most 2^-1022 times what multiplies it
to a marginal, and that is at most beta / c. Where beta / c stays below `SAFE` everywhere, the
result stands; otherwise the sentence is reported as unsafe and the caller takes `chain_log`.
"""

import math

import numpy as np

from partita.kernels.exponential import exponential
from partita.kernels.jit import kernel
from partita.kernels.lanes import N_LANES, broadcast, fma, lane, load, maximum, store
from partita.kernels.lanes import total as lane_total

SAFE = 1e280


@kernel
def padded_width(n_tags):
    """The number of tags rounded up to whole SIMD lanes."""
    return (n_tags + N_LANES - 1) // N_LANES * N_LANES


@kernel
def largest(values, first, n_values):
    """The largest of values[first : first + n_values]."""
    highest = -np.inf
    if n_values >= N_LANES:
        lanes = load(values, first)
        for k in range(N_LANES, n_values - N_LANES + 1, N_LANES):
            lanes = maximum(lanes, load(values, first + k))
        # The last four overlap those before them, which does no harm to a maximum.
        highest = highest_lane(maximum(lanes, load(values, first + n_values - N_LANES)))
    else:
        for k in range(first, first + n_values):
            highest = max(highest, values[k])
    return highest


@kernel
def highest_lane(lanes):
    """The largest of the lanes."""
    return max(max(lane(lanes, 0), lane(lanes, 1)), max(lane(lanes, 2), lane(lanes, 3)))


@kernel
def weights(scores, first, n_values, out, at):
    """out[at:] = exp(scores[first:] - their maximum); returns the maximum (0 if all are -inf)."""
    highest = largest(scores, first, n_values)
    if highest == -np.inf:
        highest = 0.0
    for k in range(n_values):
        out[at + k] = exponential(scores[first + k] - highest)
    return highest


@kernel
def transition_weights(scores, table, n_tags, matrix, transposed):
    """M = exp(table - its maximum), and its transpose, padded with zeros; returns the maximum."""
    width = padded_width(n_tags)
    flat = np.empty(n_tags * n_tags)
    largest = weights(scores, table, n_tags * n_tags, flat, 0)
    matrix[:] = 0.0
    transposed[:] = 0.0
    for i in range(n_tags):
        for j in range(n_tags):
            matrix[i * width + j] = flat[i * n_tags + j]
            transposed[j * width + i] = flat[i * n_tags + j]
    return largest


@kernel
def same_table(scores, first, second, n_values):
    """Whether two transition tables are equal: sentences of a tagger share one."""
    for k in range(n_values):
        if scores[first + k] != scores[second + k]:
            return False
    return True


@kernel
def vector_times_matrix(vector, at, n_rows, matrix, width, out, out_at):
    """out[j] = sum_i vector[i] matrix[i, j], the sums of up to 16 columns held in registers."""
    column = 0
    while column + 4 * N_LANES <= width:
        first = broadcast(0.0)
        second, third, fourth = first, first, first
        for i in range(n_rows):
            value = broadcast(vector[at + i])
            cell = i * width + column
            first = fma(value, load(matrix, cell), first)
            second = fma(value, load(matrix, cell + N_LANES), second)
            third = fma(value, load(matrix, cell + 2 * N_LANES), third)
            fourth = fma(value, load(matrix, cell + 3 * N_LANES), fourth)
        store(out, out_at + column, first)
        store(out, out_at + column + N_LANES, second)
        store(out, out_at + column + 2 * N_LANES, third)
        store(out, out_at + column + 3 * N_LANES, fourth)
        column += 4 * N_LANES
    while column < width:
        first = broadcast(0.0)
        for i in range(n_rows):
            first = fma(broadcast(vector[at + i]), load(matrix, i * width + column), first)
        store(out, out_at + column, first)
        column += N_LANES


@kernel
def outer_sums(left, right, first, n_terms, width, out):
    """out[i, j] += sum_t left[t, i] right[t+1, j] for the rows t = first .. first + n_terms - 1.

    Tiles of 4 rows and 4 columns: 4 sums in registers for every 5 loads.
    """
    for row in range(0, width, 4):
        for column in range(0, width, N_LANES):
            cell = row * width + column
            sum_0 = load(out, cell)
            sum_1 = load(out, cell + width)
            sum_2 = load(out, cell + 2 * width)
            sum_3 = load(out, cell + 3 * width)
            for t in range(first, first + n_terms):
                values = load(right, (t + 1) * width + column)
                at = t * width + row
                sum_0 = fma(broadcast(left[at]), values, sum_0)
                sum_1 = fma(broadcast(left[at + 1]), values, sum_1)
                sum_2 = fma(broadcast(left[at + 2]), values, sum_2)
                sum_3 = fma(broadcast(left[at + 3]), values, sum_3)
            store(out, cell, sum_0)
            store(out, cell + width, sum_1)
            store(out, cell + 2 * width, sum_2)
            store(out, cell + 3 * width, sum_3)


@kernel
def normalise(alpha, ratio, at, width):
    """alpha *= ratio at one word, and both divided by their scale c, which makes alpha sum to 1."""
    sums = broadcast(0.0)
    for j in range(at, at + width, N_LANES):
        product = load(alpha, j) * load(ratio, j)
        store(alpha, j, product)
        sums = sums + product
    scale = lane_total(sums)
    if scale > 0.0:
        inverse = broadcast(1.0 / scale)
        for j in range(at, at + width, N_LANES):
            store(alpha, j, load(alpha, j) * inverse)
            store(ratio, j, load(ratio, j) * inverse)
    return scale


@kernel
def forward(scores, start, word, n_words, n_tags, matrix, alpha, ratio, scale):
    """Forward messages of one sentence; returns sum log c plus the maxima of the unary rows."""
    width = padded_width(n_tags)
    total, product = 0.0, 1.0
    for t in range(n_words):
        at = (word + t) * width
        total += weights(scores, start + t * n_tags, n_tags, ratio, at)
        if t == 0:
            alpha[at : at + n_tags] = 1.0
        else:
            vector_times_matrix(alpha, at - width, n_tags, matrix, width, alpha, at)
        scale[word + t] = normalise(alpha, ratio, at, width)
        if not scale[word + t] > 0.0:
            return -np.inf
        # One logarithm for many factors.
        product *= scale[word + t]
        if product < 1e-200 or product > 1e200:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@kernel
def backward(word, n_words, n_tags, transposed, beta, gain, ratio, scale):
    """Backward messages of one sentence; returns the largest beta / c."""
    width = padded_width(n_tags)
    limit = broadcast(0.0)
    for t in range(n_words - 1, -1, -1):
        at = (word + t) * width
        if t == n_words - 1:
            beta[at : at + n_tags] = 1.0
        else:
            vector_times_matrix(gain, at + width, n_tags, transposed, width, beta, at)
        inverse = broadcast(1.0 / scale[word + t])
        for j in range(at, at + width, N_LANES):
            outside = load(beta, j)
            limit = maximum(limit, outside * inverse)
            store(gain, j, load(ratio, j) * outside)
    return highest_lane(limit)


@kernel
def shared_marginals(scores, part_offsets, word_offsets, n_tags, log_partition, marginals):
    """Log-partition and marginals of a batch with one transition table per sentence.

    Returns which sentences are safe, and the messages alpha, beta, gain and ratio, padded.
    """
    width = padded_width(n_tags)
    n_cells = word_offsets[-1] * width
    alpha, beta = np.zeros(n_cells), np.zeros(n_cells)
    gain, ratio = np.zeros(n_cells), np.zeros(n_cells)
    scale = np.empty(word_offsets[-1])
    matrix, transposed = np.empty(width * width), np.empty(width * width)
    pairs = np.empty(width * width)
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    previous, shift = -1, 0.0
    for sentence in range(len(log_partition)):
        start, word = part_offsets[sentence], word_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word
        table = start + n_words * n_tags
        if previous < 0 or not same_table(scores, previous, table, n_tags * n_tags):
            shift = transition_weights(scores, table, n_tags, matrix, transposed)
        previous = table
        total = forward(scores, start, word, n_words, n_tags, matrix, alpha, ratio, scale)
        log_partition[sentence] = total + (n_words - 1) * shift
        if total == -np.inf:
            continue
        limit = backward(word, n_words, n_tags, transposed, beta, gain, ratio, scale)
        is_safe[sentence] = limit < SAFE
        for t in range(n_words):
            for j in range(n_tags):
                cell = (word + t) * width + j
                marginals[start + t * n_tags + j] = alpha[cell] * beta[cell]
        pairs[:] = 0.0
        outer_sums(alpha, gain, word, n_words - 1, width, pairs)
        for i in range(n_tags):
            for j in range(n_tags):
                cell = i * width + j
                marginals[table + i * n_tags + j] = matrix[cell] * pairs[cell]
    return is_safe, alpha, beta, gain, ratio


@kernel
def positional_forward(scores, start, n_words, n_tags, marginals, alpha, psi, scale):
    """Forward messages of one sentence; leaves the weights of its tables in `marginals`.

    Returns sum log c plus the maxima taken out, -inf where all mass is lost.
    """
    total = 0.0
    for t in range(n_words):
        total += weights(scores, start + t * n_tags, n_tags, psi[t], 0)
        if t == 0:
            alpha[0] = psi[0]
        else:
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            total += weights(scores, table, n_tags * n_tags, marginals, table)
            alpha[t] = 0.0
            for i in range(n_tags):
                left = alpha[t - 1, i]
                for j in range(n_tags):
                    alpha[t, j] += left * marginals[table + i * n_tags + j]
            for j in range(n_tags):
                alpha[t, j] *= psi[t, j]
        scale[t] = alpha[t].sum()
        if not scale[t] > 0.0:
            return -np.inf
        alpha[t] /= scale[t]
        total += math.log(scale[t])
    return total


@kernel
def positional_row(values, first, n_tags, gain, left):
    """values[j] *= left gain[j] along one row of a table; returns sum_j values[j] gain[j]."""
    total = 0.0
    lanes = broadcast(0.0)
    before = broadcast(left)
    whole = n_tags - n_tags % N_LANES
    for j in range(0, whole, N_LANES):
        outside = load(values, first + j) * load(gain, j)
        lanes = lanes + outside
        store(values, first + j, before * outside)
    for j in range(whole, n_tags):
        outside = values[first + j] * gain[j]
        total += outside
        values[first + j] = left * outside
    return total + lane_total(lanes)


@kernel
def positional_backward(start, n_words, n_tags, marginals, alpha, psi, scale):
    """Turn the weights in `marginals` into marginals; returns the largest beta / c."""
    beta, gain = np.ones(n_tags), np.empty(n_tags)
    limit = 0.0
    for t in range(n_words - 1, -1, -1):
        for j in range(n_tags):
            marginals[start + t * n_tags + j] = alpha[t, j] * beta[j]
            gain[j] = beta[j] / scale[t]
            limit = max(limit, gain[j])
            gain[j] *= psi[t, j]
        if t > 0:
            table = start + n_words * n_tags + (t - 1) * n_tags * n_tags
            for i in range(n_tags):
                row = table + i * n_tags
                beta[i] = positional_row(marginals, row, n_tags, gain, alpha[t - 1, i])
    return limit


@kernel
def positional_marginals(scores, part_offsets, word_offsets, n_tags, log_partition, marginals):
    """Log-partition and marginals of a batch with a transition table for every pair of neighbours.

    Returns which sentences are safe, in a tuple. The pairwise marginals are all that the
    covariance product needs.
    """
    is_safe = np.zeros(len(log_partition), dtype=np.bool_)
    most = 0
    for sentence in range(len(log_partition)):
        most = max(most, word_offsets[sentence + 1] - word_offsets[sentence])
    alpha, psi = np.empty((most, n_tags)), np.empty((most, n_tags))
    scale = np.empty(most)
    for sentence in range(len(log_partition)):
        start = part_offsets[sentence]
        n_words = word_offsets[sentence + 1] - word_offsets[sentence]
        total = positional_forward(scores, start, n_words, n_tags, marginals, alpha, psi, scale)
        log_partition[sentence] = total
        if total > -np.inf:
            limit = positional_backward(start, n_words, n_tags, marginals, alpha, psi, scale)
            is_safe[sentence] = limit < SAFE
    return (is_safe,)
