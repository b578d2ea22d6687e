"""Log-partition and marginals of spanning trees by elimination without subtraction.

Weights w[i, j] = exp(arcs[i, j] - best arc into j) of head i and modifier j, the root as row 0.
Words leave one by one, k = n .. 1, and what went through a word stays (Grassmann, Taksar, Heyman):

    d_k = sum_i<k w[i, k],    q_k[i] = w[i, k] / d_k,    w[i, j] += q_k[i] w[k, j]  for i, j < k

and A = sum_k log d_k + the best arcs. Only positive numbers are added, so nothing cancels at any
conditioning, where an LU decomposition of the Laplacian loses all digits. With a single root the
root's row is left out of d_k until the last word.

Backwards, k = 1 .. n, G is the gradient of A with respect to w:

    h[i] = sum_j<k G[i, j] w[k, j] / d_k
    G[i, k] = h[i] + 1 / d_k - sum_i' q_k[i'] h[i']     (a single root: G[0, k] = h[0])
    G[k, j] = sum_i q_k[i] G[i, j]

and the marginals are w * G. Matrices have n + 1 rows of `padded_width(n + 1)` columns. The
elimination works in place and leaves behind what the way back needs: w[k, j] as it was when k
left in row k, left of the diagonal, and w[i, k] in column k, above it.

A number below 2^-1022 becomes 0 on the way, which moves A and every marginal by at most 2^-1022
times the gradient there. Where G stays below `SAFE`, the result stands; otherwise the sentence is
reported as unsafe and the caller takes `spanning.wide`.
"""

import math

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.exponential import exponential
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, maximum, store, total
from partita.kernels.simd.small_matrix import padded_width
from partita.kernels.trees.reachability import clear_impossible
from partita.kernels.underflow import SAFE

# Factors between these can be multiplied before one logarithm is taken of them all.
SMALL, LARGE = 1.0 / 2.0**300, 2.0**300


@kernel
def copy_arcs(arcs, first, n_words, out):
    """The arcs of a sentence with rows padded, -inf on unused cells."""
    width = padded_width(n_words + 1)
    whole = (n_words + 1) // N_LANES * N_LANES
    for i in range(n_words + 1):
        at, arc = i * width, first + i * (n_words + 1)
        for j in range(0, whole, N_LANES):
            store(out, at + j, load(arcs, arc + j))
        for j in range(whole, width):
            out[at + j] = arcs[arc + j] if j <= n_words else -np.inf
        out[at] = -np.inf
        out[at + i] = -np.inf


@kernel
def swap_words(matrix, n_words, word):
    """Exchange word 1 and another, as heads and as modifiers."""
    width = padded_width(n_words + 1)
    if word != 1:
        for j in range(n_words + 1):
            a, b = width + j, word * width + j
            matrix[a], matrix[b] = matrix[b], matrix[a]
        for i in range(n_words + 1):
            a, b = i * width + 1, i * width + word
            matrix[a], matrix[b] = matrix[b], matrix[a]


@kernel
def best_heads(matrix, n_words, first, best):
    """best[j] = max over heads i >= first of matrix[i, j]."""
    width = padded_width(n_words + 1)
    for j in range(0, width, N_LANES):
        highest = broadcast(-np.inf)
        for i in range(first, n_words + 1):
            highest = maximum(highest, load(matrix, i * width + j))
        store(best, j, highest)


@kernel
def likeliest_root(matrix, n_words, best):
    """The word whose root arc beats its best other arc by most, given the `best` of those."""
    word, most = 1, -np.inf
    for j in range(1, n_words + 1):
        if matrix[j] > -np.inf:
            # Not a difference: both may be infinite.
            advantage = np.inf if best[j] == -np.inf else matrix[j] - best[j]
            if advantage > most:
                word, most = j, advantage
    return word


@kernel
def prepare(arcs, first, n_words, single_root, weights, best):
    """weights = exp(arcs - best of each modifier); returns sum of these bests, and the word at 1.

    With a single root the word that is eliminated last must be one that can lead to all others:
    the likeliest root word changes places with word 1. The sum is -inf if no arc reaches a word.
    """
    width = padded_width(n_words + 1)
    copy_arcs(arcs, first, n_words, weights)
    best_heads(weights, n_words, 1, best)
    word = 1
    if single_root:
        word = likeliest_root(weights, n_words, best)
        swap_words(weights, n_words, word)
        best[1], best[word] = best[word], best[1]
    for j in range(0, width, N_LANES):
        store(best, j, maximum(load(best, j), load(weights, j)))
    shift = 0.0
    for j in range(width):
        if 1 <= j <= n_words:
            shift += best[j]
        else:
            best[j] = 0.0
    if shift == -np.inf:
        return shift, word
    for i in range(n_words + 1):
        for j in range(0, width, N_LANES):
            cell = i * width + j
            store(weights, cell, exponential(load(weights, cell) - load(best, j)))
    return shift, word


@kernel
def copy_row(matrix, at, k, out):
    """out[j] = matrix[at + j] for j < k, and zeros up to whole lanes."""
    for j in range(0, k, N_LANES):
        store(out, j, load(matrix, at + j))
    for j in range(k, padded_width(k)):
        out[j] = 0.0


@kernel
def incoming(rows, width, k, first):
    """d_k = sum of w[i, k] over first <= i < k, in four sums side by side."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    i = first
    while i + 4 <= k:
        cell = i * width + k
        a += rows[cell]
        b += rows[cell + width]
        c += rows[cell + 2 * width]
        d += rows[cell + 3 * width]
        i += 4
    while i < k:
        a += rows[i * width + k]
        i += 1
    return (a + b) + (c + d)


@kernel
def pass_on(rows, width, k, inverse, source):
    """w[i, j] += q_k[i] w[k, j] for i, j < k, with w[k, :k] in `source` and q_k = w[:, k] / d_k."""
    i = 0
    while i + 4 <= k:
        a, b = i * width, (i + 1) * width
        c, d = (i + 2) * width, (i + 3) * width
        by_a, by_b = broadcast(rows[a + k] * inverse), broadcast(rows[b + k] * inverse)
        by_c, by_d = broadcast(rows[c + k] * inverse), broadcast(rows[d + k] * inverse)
        for j in range(0, k, N_LANES):
            value = load(source, j)
            store(rows, a + j, fma(by_a, value, load(rows, a + j)))
            store(rows, b + j, fma(by_b, value, load(rows, b + j)))
            store(rows, c + j, fma(by_c, value, load(rows, c + j)))
            store(rows, d + j, fma(by_d, value, load(rows, d + j)))
        i += 4
    while i < k:
        a, by_a = i * width, broadcast(rows[i * width + k] * inverse)
        for j in range(0, k, N_LANES):
            store(rows, a + j, fma(by_a, load(source, j), load(rows, a + j)))
        i += 1


@kernel
def eliminate(n_words, single_root, rows, inverses, source):
    """Forwards, in place, with inverses[k] = 1 / d_k. Returns sum log d_k.

    Not a number where some d_k is too close to 0 or to infinity.
    """
    width = padded_width(n_words + 1)
    result, product = 0.0, 1.0
    for k in range(n_words, 0, -1):
        d = incoming(rows, width, k, 1 if single_root and k > 1 else 0)
        if not 1.0 / SAFE < d < SAFE:
            return np.nan
        inverses[k] = 1.0 / d
        if SMALL < d < LARGE:
            product *= d
        else:
            result += math.log(d)
        if not SMALL < product < LARGE:
            result += math.log(product)
            product = 1.0
        copy_row(rows, k * width, k, source)
        pass_on(rows, width, k, inverses[k], source)
    return result + math.log(product)


@kernel
def products(gradient, rows, width, k, inverse, source, left):
    """left[i] = sum_j<k G[i, j] w[k, j] and G[k, j] = sum_i<k q_k[i] G[i, j], in one pass.

    Returns 1 - sum_i q_k[i] left[i].
    """
    at = k * width
    i = 0
    rest, rest_b = 1.0, 0.0
    while i + 4 <= k:
        a, b = i * width, (i + 1) * width
        c, d = (i + 2) * width, (i + 3) * width
        q_a, q_b = rows[a + k] * inverse, rows[b + k] * inverse
        q_c, q_d = rows[c + k] * inverse, rows[d + k] * inverse
        by_a, by_b, by_c, by_d = broadcast(q_a), broadcast(q_b), broadcast(q_c), broadcast(q_d)
        sum_a = broadcast(0.0)
        sum_b, sum_c, sum_d = sum_a, sum_a, sum_a
        for j in range(0, k, N_LANES):
            weight = load(source, j)
            g_a, g_b = load(gradient, a + j), load(gradient, b + j)
            g_c, g_d = load(gradient, c + j), load(gradient, d + j)
            sum_a, sum_b = fma(g_a, weight, sum_a), fma(g_b, weight, sum_b)
            sum_c, sum_d = fma(g_c, weight, sum_c), fma(g_d, weight, sum_d)
            low = fma(by_a, g_a, fma(by_b, g_b, load(gradient, at + j)))
            store(gradient, at + j, fma(by_c, g_c, fma(by_d, g_d, low)))
        left[i], left[i + 1] = total(sum_a), total(sum_b)
        left[i + 2], left[i + 3] = total(sum_c), total(sum_d)
        rest -= q_a * left[i] + q_b * left[i + 1]
        rest_b -= q_c * left[i + 2] + q_d * left[i + 3]
        i += 4
    while i < k:
        q_a = rows[i * width + k] * inverse
        by_a, sum_a = broadcast(q_a), broadcast(0.0)
        for j in range(0, k, N_LANES):
            g_a = load(gradient, i * width + j)
            sum_a = fma(g_a, load(source, j), sum_a)
            store(gradient, at + j, fma(by_a, g_a, load(gradient, at + j)))
        left[i] = total(sum_a)
        rest -= q_a * left[i]
        i += 1
    return rest + rest_b


@kernel
def differentiate(n_words, single_root, rows, inverses, source, left, gradient):
    """Backwards: fill G. Returns whether all of it is below `SAFE`."""
    width = padded_width(n_words + 1)
    gradient[: (n_words + 1) * width] = 0.0
    for k in range(1, n_words + 1):
        copy_row(rows, k * width, k, source)
        rest = products(gradient, rows, width, k, inverses[k], source, left)
        gradient[k] = (left[0] if single_root and k > 1 else left[0] + rest) * inverses[k]
        for i in range(1, k):
            gradient[i * width + k] = (left[i] + rest) * inverses[k]
    highest = broadcast(0.0)
    for cell in range(0, (n_words + 1) * width, N_LANES):
        # The sum is not a number if any term is not; the maximum could lose it.
        highest = maximum(highest, load(gradient, cell)) + 0.0 * load(gradient, cell)
    return total(highest) < SAFE


@kernel
def write_marginals(weights, gradient, n_words, word, out, first):
    """weights * G, with words 1 and `word` back in their places; `out` from `first` on.

    A probability is not negative; a rounding error may be.
    """
    width = padded_width(n_words + 1)
    whole = (n_words + 1) // N_LANES * N_LANES
    for i in range(n_words + 1):
        row = i * width
        if i == 1 or i == word:
            row = (word + 1 - i) * width
        at = first + i * (n_words + 1)
        for j in range(0, whole, N_LANES):
            store(out, at + j, maximum(load(weights, row + j) * load(gradient, row + j), 0.0))
        for j in range(whole, n_words + 1):
            out[at + j] = max(weights[row + j] * gradient[row + j], 0.0)
        out[at + 1], out[at + word] = out[at + word], out[at + 1]


@kernel
def marginals(arcs, arc_offsets, n_words, single_root, log_partition, out):
    """Log-partition and marginals of a batch. Returns which sentences are safe.

    Everything else is scratch, which stays in the cache from sentence to sentence: to run the
    elimination again costs less than to keep its matrices.
    """
    is_safe = np.zeros(len(n_words), dtype=np.bool_)
    most = 0
    for n in n_words:
        most = max(most, n)
    width = padded_width(most + 1)
    weights, rows = np.empty((most + 1) * width), np.empty((most + 1) * width)
    gradient = np.empty((most + 1) * width)
    best, inverses = np.empty(width), np.empty(width)
    source, left = np.empty(width), np.empty(width)
    for b in range(len(n_words)):
        n, first = n_words[b], arc_offsets[b]
        shift, word = prepare(arcs, first, n, single_root, weights, best)
        log_partition[b] = -np.inf
        if shift == -np.inf:
            is_safe[b] = True
            out[first : arc_offsets[b + 1]] = 0.0
            continue
        for cell in range(0, (n + 1) * padded_width(n + 1), N_LANES):
            store(rows, cell, load(weights, cell))
        log_partition[b] = shift + eliminate(n, single_root, rows, inverses, source)
        if log_partition[b] < np.inf:
            is_safe[b] = differentiate(n, single_root, rows, inverses, source, left, gradient)
            write_marginals(weights, gradient, n, word, out, first)
            clear_impossible(arcs, first, n, single_root, out)
    return is_safe
