"""Bitext parsing in scaled probabilities: the inside half of the fast path.

X[s, t] is a matrix over target boundaries: entry (k, l) sums the derivations of the source words
s .. t-1 and the target words k .. l-1, in normal form. Bitext parsing is then a chain of products
of upper-triangular matrices (a, b: the weights of the straight and the inverted rule):

    straight[s, t] = a sum_S C[s, S] X[S, t]      inverted[s, t] = b sum_S X[S, t] D[s, S]

for s < S < t. C leaves out what is straight and D what is inverted,

    X = straight + inverted + L,   C = inverted + L,   D = straight + L,

with L[s, t] the link of word s and the null words attached to it.

Every source word is linked or deleted, and every target word linked or inserted, exactly once, and
a derivation of T terminals has T - 1 binary rules. So a potential may be taken off all terminals of
a word, and the larger binary score moved to the terminals; what remains is at most 0.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_products import UPPER, add_products, padded_width
from partita.kernels.jit import kernel
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import N_LANES

# log 24: a derivation is a tree of at most n + m terminals of 3 kinds, with 2 kinds of binary rule
# and fewer than 4^T shapes, so there are fewer than 24^(n + m), and no outside sum is larger.
_LOG_DERIVATIONS_PER_WORD = math.log(24.0)
# What may be lost, relative to the whole, is one unit in the last place of a double.
_LOG_PRECISION = 53.0 * math.log(2.0)
BLOCK = 4


@kernel
def is_safe(log_total, n, m):
    """Whether what fell below 2^-1022 on the way cannot matter to the total, nor to a marginal.

    At most about (n m)^3 terms are lost, each at most 2^-1022 times an outside sum.
    """
    terms = 3.0 * math.log((n + 1.0) * (m + 1.0))
    largest = _LOG_DERIVATIONS_PER_WORD * (n + m)
    return LOWEST + terms + largest + _LOG_PRECISION < log_total < np.inf and largest < -LOWEST


@kernel
def weights(scores, at, n, m, links, deletions, insertions):
    """Terminal and binary weights in (0, 1], and the logarithm that was taken off them all.

    Returns (a, b, offset); the offset is -inf where a word has no terminal at all.
    """
    straight, inverted = scores[at + n * m + n + m], scores[at + n * m + n + m + 1]
    binary = max(straight, inverted)
    if binary == -np.inf:
        binary = 0.0
    offset = -binary
    columns = np.empty(m)
    for k in range(m):
        best = -np.inf
        for i in range(n):
            best = max(best, scores[at + i * m + k])
        columns[k] = max(scores[at + n * m + n + k] + binary, 0.5 * (best + binary))
    rows = np.empty(n)
    for i in range(n):
        rows[i] = scores[at + n * m + i] + binary
        for k in range(m):
            if scores[at + i * m + k] > -np.inf:
                rows[i] = max(rows[i], scores[at + i * m + k] + binary - columns[k])
        offset += rows[i]
    if offset == -np.inf:
        return 0.0, 0.0, offset
    for k in range(m):
        columns[k] = scores[at + n * m + n + k] + binary
        for i in range(n):
            columns[k] = max(columns[k], scores[at + i * m + k] + binary - rows[i])
        offset += columns[k]
    if offset == -np.inf:
        return 0.0, 0.0, offset
    for i in range(n):
        deletions[i] = exponential(scores[at + n * m + i] + binary - rows[i])
        for k in range(m):
            links[i * m + k] = exponential(scores[at + i * m + k] + binary - rows[i] - columns[k])
    for k in range(m):
        insertions[k] = exponential(scores[at + n * m + n + k] + binary - columns[k])
    return exponential(straight - binary), exponential(inverted - binary), offset


@kernel
def runs(values, a, out):
    """out[i, j] = product of a values[p] over i < p < j, for i < j: words that follow word i."""
    n = len(values)
    for i in range(n):
        product = 1.0
        for j in range(i + 1, n + 1):
            out[i, j] = product
            if j < n:
                product *= a * values[j]


@kernel
def prefixes(deletions, insertions, a, out):
    """out[i, k] = weight of deleting the words before i and inserting those before k, straight on.

    One binary rule joins this to what follows, so there is one a for every word; 1 at (0, 0).
    """
    n, m = len(deletions), len(insertions)
    out[0, 0] = 1.0
    for i in range(n):
        out[i + 1, 0] = out[i, 0] * a * deletions[i]
    for i in range(n + 1):
        for k in range(m):
            out[i, k + 1] = out[i, k] * a * insertions[k]


@kernel
def add_row(matrix, at, factor, other, other_at, first, last):
    """matrix[at + l] += factor other[other_at + l] for first <= l < last."""
    for column in range(first, last):
        matrix[at + column] += factor * other[other_at + column]


@kernel
def spans_upwards(n):
    """All source spans (s, t), parts before wholes.

    Spans that end within `BLOCK` of each other go together, those that start at one word next to
    each other, so that what lies below that start is read from memory once for all of them.
    """
    spans = np.empty((n * (n + 1) // 2, 2), dtype=np.int64)
    n_spans = 0
    for first in range(1, n + 1, BLOCK):
        last = min(first + BLOCK, n + 1)
        for s in range(last - 2, -1, -1):
            for t in range(max(first, s + 1), last):
                spans[n_spans, 0] = s
                spans[n_spans, 1] = t
                n_spans += 1
    return spans


@kernel
def split_products(X, C, D, s, t, n, m, straight, inverted):
    """sum_S C[s, S] X[S, t] and sum_S X[S, t] D[s, S], for s < S < t."""
    width = padded_width(m + 1)
    square = width * width
    column = (n + 1) * square
    left, right = (s * (n + 1) + s + 1) * square, ((s + 1) * (n + 1) + t) * square
    straight[:] = 0.0
    inverted[:] = 0.0
    steps = (square, width, 1)
    add_products(C, left, steps, X, right, column, t - s - 1, UPPER, m + 1, straight)
    steps = (column, width, 1)
    add_products(X, right, steps, D, left, square, t - s - 1, UPPER, m + 1, inverted)


@kernel
def inside(links, deletions, insertions, a, b, charts, deleted, inserted, before):
    """X, C and D for all s < t; returns the sum over alignments of the pair.

    Null words follow the link before them; those before all links stand at the root, on the left:

        total = sum_{i, k} before[i, k] X[i, n][k, m] + deletions and insertions only
    """
    n, m = len(deletions), len(insertions)
    X, C, D = charts
    width = padded_width(m + 1)
    square = width * width
    straight, inverted = np.empty(square), np.empty(square)
    runs(deletions, a, deleted)
    runs(insertions, a, inserted)
    prefixes(deletions, insertions, a, before)
    for s, t in spans_upwards(n):
        split_products(X, C, D, s, t, n, m, straight, inverted)
        at = (s * (n + 1) + t) * square
        for cell in range(square):
            C[at + cell] = b * inverted[cell]
            D[at + cell] = a * straight[cell]
            X[at + cell] = a * straight[cell] + b * inverted[cell]
        for k in range(m):
            link = links[s * m + k] * deleted[s, t]
            if link != 0.0:
                row = at + k * width
                add_row(X, row, link, inserted[k], 0, k + 1, m + 1)
                add_row(C, row, link, inserted[k], 0, k + 1, m + 1)
                add_row(D, row, link, inserted[k], 0, k + 1, m + 1)
    total = null_total(deletions, insertions, a)
    for i in range(n):
        for k in range(m):
            total += before[i, k] * X[(i * (n + 1) + n) * square + k * width + m]
    return total


@kernel
def null_total(deletions, insertions, a):
    """The weight of the alignment without links: n + m terminals and one straight rule less."""
    total = 1.0
    is_first = True
    for values in (deletions, insertions):
        for value in values:
            total *= value if is_first else a * value
            is_first = False
    return total


@kernel
def chart_size(n, m):
    """Numbers in a chart; lanes may be read from its last entry on."""
    width = padded_width(m + 1)
    return (n + 1) * (n + 1) * width * width + N_LANES


@kernel
def log_partitions(scores, part_offsets, n_source, n_target, log_partition, safe):
    """Log-partition of every pair; `safe` says which of them stand.

    The parts of a pair are its links (n, m), deletions (n,), insertions (m,), and the straight and
    the inverted rule.
    """
    largest = 0
    for pair in range(len(n_source)):
        largest = max(largest, chart_size(n_source[pair], n_target[pair]))
    # One allocation, since the C library keeps a large block but gives several back each time.
    charts = np.empty((3, largest))
    X, C, D = charts[0], charts[1], charts[2]
    for pair in range(len(n_source)):
        n, m = n_source[pair], n_target[pair]
        links, deletions, insertions = np.empty(n * m), np.empty(n), np.empty(m)
        a, b, offset = weights(scores, part_offsets[pair], n, m, links, deletions, insertions)
        log_partition[pair] = -np.inf
        safe[pair] = True
        if offset == -np.inf:
            continue
        deleted, inserted = np.empty((n, n + 1)), np.empty((m, m + 1))
        before = np.empty((n + 1, m + 1))
        total = inside(links, deletions, insertions, a, b, (X, C, D), deleted, inserted, before)
        log_total = math.log(total) if total > 0.0 else -np.inf
        safe[pair] = is_safe(log_total, n, m)
        log_partition[pair] = log_total + offset
