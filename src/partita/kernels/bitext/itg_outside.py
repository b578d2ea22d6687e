"""Bitext parsing in scaled probabilities: outside sums and marginals.

With G the derivative of the log-partition with respect to a matrix of the inside half
(`bitext.itg_scaled`), and GS = a G(straight), GI = b G(inverted), the products differentiate to

    G(X)[s, t] = sum_{r < s} C[r, s]^T GS[r, t] + GI[r, t] D[r, s]^T          (a right child)
    G(C)[s, t] = sum_{r > t} GS[s, r] X[t, r]^T                  (the left child of a straight rule)
    G(D)[s, t] = sum_{r > t} X[t, r]^T GI[s, r]                  (the left child of an inverted one)

Every straight rule has one left child, so their expected number is the sum of C * G(C); and that of
inverted rules the sum of D * G(D). Marginals are weights times derivatives.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_products import LEFT, RIGHT, add_products, padded_width
from partita.kernels.bitext.itg_scaled import (
    chart_size,
    inside,
    is_safe,
    null_total,
    spans_upwards,
    weights,
)
from partita.kernels.jit import kernel


@kernel
def transpose(chart, n, m, out):
    """out[s, t] = chart[s, t]^T for all s < t."""
    width = padded_width(m + 1)
    for s in range(n):
        for t in range(s + 1, n + 1):
            at = (s * (n + 1) + t) * width * width
            for k in range(width):
                for end in range(width):
                    out[at + end * width + k] = chart[at + k * width + end]


@kernel
def gather(X, C, D, XT, DT, GS, GI, s, t, n, m, GX, GC, GD):
    """G(X), G(C) and G(D) of one span, from the wider spans that use it; adds to G(X)."""
    width = padded_width(m + 1)
    square = width * width
    column = (n + 1) * square
    above, beside = t * square, s * square
    steps = (column, 1, width)
    add_products(C, beside, steps, GS, above, column, s, LEFT, m + 1, GX)
    steps = (column, width, 1)
    add_products(GI, above, steps, DT, beside, column, s, RIGHT, m + 1, GX)
    wider, other = (s * (n + 1) + t + 1) * square, (t * (n + 1) + t + 1) * square
    GC[:] = 0.0
    GD[:] = 0.0
    steps = (square, width, 1)
    add_products(GS, wider, steps, XT, other, square, n - t, RIGHT, m + 1, GC)
    steps = (square, 1, width)
    add_products(X, other, steps, GI, wider, square, n - t, LEFT, m + 1, GD)


@kernel
def clear_below(matrix, m):
    """matrix[k, l] = 0 for l <= k: a block has at least one target word."""
    width = padded_width(m + 1)
    for k in range(width):
        matrix[k * width : k * width + k + 1] = 0.0


@kernel
def inner_product(chart, at, matrix):
    """sum of chart[at + c] matrix[c]."""
    total = 0.0
    for cell in range(len(matrix)):
        total += chart[at + cell] * matrix[cell]
    return total


@kernel
def outside(links, deletions, insertions, a, b, charts, tables, total, marginals, work):
    """Marginals, from the charts and tables that `inside` filled."""
    n, m = len(deletions), len(insertions)
    X, C, D = charts
    deleted, inserted, before = tables
    XT, DT, GS, GI = work
    width = padded_width(m + 1)
    square = width * width
    transpose(X, n, m, XT)
    transpose(D, n, m, DT)
    GX, GC, GD = np.empty(square), np.empty(square), np.empty(square)
    deleted_mass, inserted_mass = np.zeros((n, n + 1)), np.zeros((m, m + 1))
    marginals[:] = 0.0
    for s, t in spans_upwards(n)[::-1]:
        GX[:] = 0.0
        if t == n:
            for k in range(m):
                GX[k * width + m] = before[s, k] / total
        gather(X, C, D, XT, DT, GS, GI, s, t, n, m, GX, GC, GD)
        clear_below(GX, m)
        clear_below(GC, m)
        clear_below(GD, m)
        at = (s * (n + 1) + t) * square
        marginals[-2] += inner_product(C, at, GC)
        marginals[-1] += inner_product(D, at, GD)
        for cell in range(square):
            GS[at + cell] = a * (GX[cell] + GD[cell])
            GI[at + cell] = b * (GX[cell] + GC[cell])
            GX[cell] += GC[cell] + GD[cell]
        for k in range(m):
            link = links[s * m + k] * deleted[s, t]
            mass = 0.0
            if link != 0.0:
                for end in range(k + 1, m + 1):
                    part = GX[k * width + end] * link * inserted[k, end]
                    inserted_mass[k, end] += part
                    mass += part
            deleted_mass[s, t] += mass
            marginals[s * m + k] += mass
    spread_nulls(deleted_mass, marginals, n * m, marginals[n * m + n + m :])
    spread_nulls(inserted_mass, marginals, n * m + n, marginals[n * m + n + m :])
    root_marginals(deletions, insertions, a, X, before, total, marginals)


@kernel
def spread_nulls(mass, marginals, at, binary):
    """Null words i < p < j behind a link get mass[i, j], and each of them a straight rule."""
    n = len(mass)
    for i in range(n):
        for j in range(i + 2, n + 1):
            for p in range(i + 1, j):
                marginals[at + p] += mass[i, j]
            binary[0] += mass[i, j] * (j - i - 1)


@kernel
def root_marginals(deletions, insertions, a, X, before, total, marginals):
    """Null words before all links, and the alignment that has no link at all."""
    n, m = len(deletions), len(insertions)
    width = padded_width(m + 1)
    for i in range(n + 1):
        for k in range(m + 1):
            mass = 0.0
            n_rules = i + k
            if i < n and k < m:
                cell = (i * (n + 1) + n) * width * width + k * width + m
                mass = before[i, k] * X[cell] / total
            elif i == n and k == m:
                mass = null_total(deletions, insertions, a) / total
                n_rules -= 1
            marginals[n * m : n * m + i] += mass
            marginals[n * m + n : n * m + n + k] += mass
            marginals[n * m + n + m] += mass * n_rules


@kernel
def marginals(scores, part_offsets, n_source, n_target, log_partition, out, safe):
    """Log-partition and marginals of every pair; `safe` says which of them stand.

    Parts as in `itg_scaled.log_partitions`.
    """
    largest = 0
    for pair in range(len(n_source)):
        largest = max(largest, chart_size(n_source[pair], n_target[pair]))
    memory = np.empty((7, largest))
    charts = (memory[0], memory[1], memory[2])
    work = (memory[3], memory[4], memory[5], memory[6])
    for pair in range(len(n_source)):
        n, m = n_source[pair], n_target[pair]
        at = part_offsets[pair]
        parts = out[at : part_offsets[pair + 1]]
        links, deletions, insertions = np.empty(n * m), np.empty(n), np.empty(m)
        terminals = (links, deletions, insertions)
        a, b, offset = weights(scores, at, n, m, links, deletions, insertions)
        log_partition[pair] = -np.inf
        safe[pair] = True
        parts[:] = 0.0
        if offset == -np.inf:
            continue
        deleted, filled = np.empty((n, n + 1)), np.empty((m, m + 1))
        tables = (deleted, filled, np.empty((n + 1, m + 1)))
        total = inside(*terminals, a, b, charts, *tables)
        log_total = math.log(total) if total > 0.0 else -np.inf
        safe[pair] = is_safe(log_total, n, m)
        log_partition[pair] = log_total + offset
        if safe[pair]:
            outside(*terminals, a, b, charts, tables, total, parts, work)
