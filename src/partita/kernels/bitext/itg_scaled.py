"""Bitext parsing in scaled probabilities: the inside half of the fast path.

X[s, t] is a matrix over target words: entry (k, l) sums the derivations of the source words
s .. t-1 and the target words k .. l, in normal form. Bitext parsing is then a chain of products
of upper-triangular matrices, (P Q)[k, l] = sum_u P[k, u] Q[u + 1, l], for s < S < t,

    straight[s, t] = a sum_S C[s, S] X[S, t]      inverted[s, t] = b sum_S X[S, t] D[s, S]

where a and b are the weights of the straight and the inverted rule. C leaves out what is straight
and D what is inverted,

    X = straight + inverted + L,   C = inverted + L,   D = straight + L,

with L[s, t] the link of word s and the null words attached to it: deletions up to t, then
insertions at the source boundary t.

Rules may have weights by place, a[s, S, t] and b[s, S, t]. These are then `factors` of the products
(None if there are none), and a = b = 1. Insertions have a row for each source boundary, or one for
all.

Every source word is linked or deleted, and every target word linked or inserted, exactly once, and
L links are joined by L - 1 binary rules. So a potential may be taken off all terminals of a word,
and the largest binary score moved to the links; what remains is at most 0.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_products import UPPER, add_products, padded_width
from partita.kernels.jit import borrowing, inlined, step
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store

# log 24: a derivation is a tree of at most n + m terminals of 3 kinds, with 2 kinds of binary rule
# and fewer than 4^T shapes, so there are fewer than 24^(n + m), and no outside sum is larger.
_LOG_DERIVATIONS_PER_WORD = math.log(24.0)
# What may be lost, relative to the whole, is one unit in the last place of a double.
_LOG_PRECISION = 53.0 * math.log(2.0)
# Spans that end this close to each other are filled together: what lies below their common start
# is then read from memory once for all of them.
BLOCK = 4


@inlined
def is_safe(log_total, n, m):
    """Whether what fell below 2^-1022 on the way cannot matter to the total, nor to a marginal.

    At most about (n m)^3 terms are lost, each at most 2^-1022 times an outside sum.
    """
    terms = 3.0 * math.log((n + 1.0) * (m + 1.0))
    largest = _LOG_DERIVATIONS_PER_WORD * (n + m)
    return LOWEST + terms + largest + _LOG_PRECISION < log_total < np.inf and largest < -LOWEST


@inlined
def n_splits(n):
    """Triples s < S < t of the boundaries of n words."""
    return (n + 1) * n * (n - 1) // 6


@step
def largest_of(scores, first, last):
    """The largest score, 0 if all are -inf or there are none."""
    largest = -np.inf
    for part in range(first, last):
        largest = max(largest, scores[part])
    return largest if largest > -np.inf else 0.0


@step
def fill_factors(scores, at, n, binary, out):
    """out[s, t, S] = exp(score - binary) of each split, whose scores come in the order s, S, t."""
    part = at
    for s in range(n + 1):
        for middle in range(s + 1, n + 1):
            for t in range(middle + 1, n + 1):
                out[(s * (n + 1) + t) * (n + 1) + middle] = exponential(scores[part] - binary)
                part += 1


@step
def weights(scores, at, shape, null, binary, links, deletions, insertions):
    """Terminal weights in (0, 1], and the logarithm that was taken off; -inf for no derivation.

    `null` is the score of attaching a null word, `binary` is moved to the links.
    """
    n, m, n_rows = shape
    delete, insert = at + n * m, at + n * m + n
    columns, rows = np.empty(m), np.empty(n)
    for k in range(m):
        best = -np.inf
        for i in range(n):
            best = max(best, scores[at + i * m + k])
        columns[k] = 0.5 * (best + binary)
        for row in range(n_rows):
            columns[k] = max(columns[k], scores[insert + row * m + k] + null)
    offset = -binary
    for i in range(n):
        rows[i] = scores[delete + i] + null
        for k in range(m):
            if scores[at + i * m + k] > -np.inf:
                rows[i] = max(rows[i], scores[at + i * m + k] + binary - columns[k])
        offset += rows[i]
    if offset == -np.inf:
        return offset
    for k in range(m):
        columns[k] = -np.inf
        for row in range(n_rows):
            columns[k] = max(columns[k], scores[insert + row * m + k] + null)
        for i in range(n):
            columns[k] = max(columns[k], scores[at + i * m + k] + binary - rows[i])
        offset += columns[k]
    if offset == -np.inf:
        return offset
    for i in range(n):
        deletions[i] = exponential(scores[delete + i] + null - rows[i])
        for k in range(m):
            links[i * m + k] = exponential(scores[at + i * m + k] + binary - rows[i] - columns[k])
    for row in range(n_rows):
        for k in range(m):
            insertions[row, k] = exponential(scores[insert + row * m + k] + null - columns[k])
    return offset


@step
def null_score(scores, at, shape, null):
    """The score of the alignment without links: one rule less than it has null words."""
    n, m, n_rows = shape
    total = 0.0
    for i in range(n):
        total += scores[at + n * m + i]
    for k in range(m):
        total += scores[at + n * m + n + (n_rows - 1) * m + k]
    return total + (n + m - 1) * null if n + m > 1 else total


@step
def runs(values, out):
    """out[i, j] = product of values[p] over i < p <= j: words that follow word i; 0 beyond them."""
    n = len(values)
    for i in range(len(out)):
        for j in range(len(out)):
            out[i, j] = 0.0
    for i in range(n):
        out[i, i] = 1.0
        for j in range(i + 1, n):
            out[i, j] = out[i, j - 1] * values[j]


@step
def prefixes(deletions, insertions, out):
    """out[i, k] = weight of deleting the words before i and inserting those before k."""
    n, m = len(deletions), insertions.shape[1]
    out[0, 0] = 1.0
    for i in range(n):
        out[i + 1, 0] = out[i, 0] * deletions[i]
    for i in range(n + 1):
        row = min(i, len(insertions) - 1)
        for k in range(m):
            out[i, k + 1] = out[i, k] * insertions[row, k]


@inlined
def lane_of(word):
    """The first lane of the four in which a word is."""
    return word - word % N_LANES


@borrowing
def fill_span(straight, inverted, a, b, links, first_link, m, deleted, table, charts, at):
    """X, C and D of one span, from the sums of both rules, and links with what follows each.

    `table` is that of the target words that follow, and where the rows of the span's end begin.
    """
    X, C, D = charts
    inserted, behind = table
    width = padded_width(m)
    for k in range(width):
        link = broadcast(links[first_link + k] * deleted if k < m else 0.0)
        # Tiles of eight columns also read the four before the diagonal.
        for column in range(max(lane_of(k) - N_LANES, 0), width, N_LANES):
            cell = k * width + column
            leaf = link * load(inserted, behind + cell)
            joined, swapped = a * load(straight, cell), b * load(inverted, cell)
            store(C, at + cell, swapped + leaf)
            store(D, at + cell, joined + leaf)
            store(X, at + cell, joined + swapped + leaf)


@step
def spans_upwards(n):
    """All source spans (s, t), parts before wholes, in blocks of those that end close by."""
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


@borrowing
def split_products(X, C, D, s, t, n, m, factors, straight, inverted):
    """sum_S C[s, S] X[S, t] and sum_S X[S, t] D[s, S], for s < S < t."""
    width = padded_width(m)
    square = width * width
    column = (n + 1) * square
    left, right = (s * (n + 1) + s + 1) * square, ((s + 1) * (n + 1) + t) * square
    clear(straight)
    clear(inverted)
    forwards, backwards = (square, width, 1), (column, width, 1)
    terms = (t - s - 1, UPPER, m)
    if factors is None:
        add_products(C, left, forwards, X, right + width, column, terms, None, straight)
        add_products(X, right, backwards, D, left + width, square, terms, None, inverted)
    else:
        first = (s * (n + 1) + t) * (n + 1) + s + 1
        by_place = (factors[0], first, 1)
        add_products(C, left, forwards, X, right + width, column, terms, by_place, straight)
        by_place = (factors[1], first, 1)
        add_products(X, right, backwards, D, left + width, square, terms, by_place, inverted)


@borrowing
def clear(matrix):
    """All entries become 0; they are so many as lanes can hold."""
    for cell in range(0, len(matrix), N_LANES):
        store(matrix, cell, broadcast(0.0))


@step
def inside(links, deletions, insertions, a, b, factors, charts, tables):
    """X, C and D for all s < t; returns the sum over the alignments that have a link.

    Null words follow the link before them; those before all links stand at the root, on the left:
    the sum is that of before[i, k] X[i, n][k, m] over i and k.
    """
    n, m, n_rows = len(deletions), insertions.shape[1], len(insertions)
    X, C, D = charts
    deleted, inserted, before = tables
    width = padded_width(m)
    square = width * width
    straight, inverted = np.empty(square), np.empty(square)
    runs(deletions, deleted)
    for row in range(n_rows):
        runs(insertions[row], inserted[row])
    prefixes(deletions, insertions, before)
    for s, t in spans_upwards(n):
        split_products(X, C, D, s, t, n, m, factors, straight, inverted)
        at = (s * (n + 1) + t) * square
        table = (inserted, min(t, n_rows - 1) * square)
        behind = deleted[s, t - 1]
        fill_span(straight, inverted, a, b, links, s * m, m, behind, table, charts, at)
    total = 0.0
    for i in range(n):
        for k in range(m):
            total += before[i, k] * X[(i * (n + 1) + n) * square + k * width + m - 1]
    return total


@inlined
def chart_size(n, m):
    """Numbers in a chart."""
    width = padded_width(m)
    return (n + 1) * (n + 1) * width * width
