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
    combine_rows,
    is_safe,
    normal_inside,
    null_total,
    plain_inside,
    spans_upwards,
    weights,
)
from partita.kernels.jit import kernel
from partita.kernels.simd.lanes import N_LANES, load, store


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
def clear_below(matrix, m, first):
    """matrix[k, l] = 0 for l < k + first: below the diagonal, or on it too."""
    width = padded_width(m + 1)
    for k in range(width):
        for column in range(min(width, k + first)):
            matrix[k * width + column] = 0.0


@kernel
def inner_product(chart, at, matrix):
    """sum of chart[at + c] matrix[c]."""
    total = 0.0
    for cell in range(len(matrix)):
        total += chart[at + cell] * matrix[cell]
    return total


@kernel
def normal_outside(links, deletions, insertions, a, b, charts, tables, total, marginals, work):
    """Marginals of the normal form, from the charts and tables that `normal_inside` filled."""
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
        clear_below(GX, m, 1)
        clear_below(GC, m, 1)
        clear_below(GD, m, 1)
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
def adjoint_grow(matrix, inserted, inserted_t, m):
    """Solve G = R + E^T G + G E^T in place: R goes in, G comes out; E holds a + b already.

    The derivative of `grow`: rows downwards, columns leftwards four at a time.
    """
    width = padded_width(m + 1)
    for u in range(m + 1):
        row = u * width
        first = u // N_LANES * N_LANES
        for column in range(width - N_LANES, first - 1, -N_LANES):
            last = min(column + N_LANES, m + 1)
            value = load(matrix, row + column)
            value = combine_rows(inserted, u, width, 0, u, matrix, column, width, value)
            value = combine_rows(matrix, row, 1, last, m + 1, inserted_t, column, width, value)
            store(matrix, row + column, value)
            for end in range(last - 2, max(u, column) - 1, -1):
                for v in range(end + 1, last):
                    matrix[row + end] += matrix[row + v] * inserted_t[v * width + end]
        matrix[row + first : row + u] = 0.0


@kernel
def plain_outside(links, deletions, insertions, a, b, X, inserted, total, marginals, work):
    """Marginals of the plain grammar, from the charts that `plain_inside` filled."""
    n, m = len(deletions), len(insertions)
    XT, _, GS, GI = work
    width = padded_width(m + 1)
    square = width * width
    transpose(X, n, m, XT)
    weighted = (a + b) * inserted
    weighted_t = np.ascontiguousarray(weighted[:square].reshape(width, width).T).reshape(square)
    GX, GC, GD = np.empty(square), np.empty(square), np.empty(square)
    marginals[:] = 0.0
    for s, t in spans_upwards(n)[::-1]:
        GX[:] = 0.0
        if s == 0 and t == n:
            GX[m] = 1.0 / total
        gather(X, X, X, XT, XT, GS, GI, s, t, n, m, GX, GC, GD)
        clear_below(GX, m, 0)
        clear_below(GC, m, 0)
        clear_below(GD, m, 0)
        at = (s * (n + 1) + t) * square
        marginals[-2] += inner_product(X, at, GC)
        marginals[-1] += inner_product(X, at, GD)
        for cell in range(square):
            GX[cell] += GC[cell] + GD[cell]
        adjoint_grow(GX, weighted, weighted_t, m)
        for cell in range(square):
            GS[at + cell] = a * GX[cell]
            GI[at + cell] = b * GX[cell]
        if t == s + 1:
            for k in range(m + 1):
                marginals[n * m + s] += GX[k * width + k] * deletions[s]
                if k < m:
                    marginals[s * m + k] += GX[k * width + k + 1] * links[s * m + k]
    insertion_marginals(
        insertions, a, b, X, XT, GS, GI, n, inserted, weighted, weighted_t, total, marginals
    )


@kernel
def insertion_marginals(
    insertions, a, b, X, XT, GS, GI, n, inserted, weighted, weighted_t, total, marginals
):
    """Marginals of insertions, and of the binary rules with a child that has no source word.

    G(E) = (a + b) sum_{s < t} G X^T + X^T G, where (a + b) G = GS + GI; each such rule has one such
    child, so there are sum of E * G(E) of them; within E there are (a + b) E E * G'(E), where G'
    solves the derivative of E = insertions + (a + b) E E.
    """
    m = len(insertions)
    width = padded_width(m + 1)
    square = width * width
    column = (n + 1) * square
    GE = np.zeros(square)
    for G in (GS, GI):
        for t in range(1, n + 1):
            at, steps = t * square, (column, width, 1)
            add_products(G, at, steps, XT, at, column, t, RIGHT, m + 1, GE)
            steps = (column, 1, width)
            add_products(X, at, steps, G, at, column, t, LEFT, m + 1, GE)
    clear_below(GE, m, 1)
    n_rules = inner_product(inserted, 0, GE)
    if n == 0:
        GE[m] = 1.0 / total
    adjoint_grow(GE, weighted, weighted_t, m)
    for k in range(m):
        at = len(marginals) - 2 - m
        marginals[at + k] += GE[k * width + k + 1] * insertions[k]
        for end in range(k + 2, m + 1):
            n_rules += inserted[k * width + end] * GE[k * width + end]
    if a + b > 0.0:
        marginals[-2] += n_rules * (a / (a + b))
        marginals[-1] += n_rules * (b / (a + b))


@kernel
def allocate(size, is_normal):
    """X, C, D, the transposes of X and D, GS and GI; C and D are X in the plain grammar."""
    n_charts = 7 if is_normal else 4
    charts = np.empty((n_charts, size))
    X, XT, GS, GI = charts[0], charts[1], charts[2], charts[3]
    if is_normal:
        return X, charts[4], charts[5], XT, charts[6], GS, GI
    return X, X, X, XT, XT, GS, GI


@kernel
def marginals(scores, part_offsets, n_source, n_target, is_normal, log_partition, out, safe):
    """Log-partition and marginals of every pair; `safe` says which of them stand.

    Parts as in `itg_scaled.log_partitions`.
    """
    largest = 0
    for pair in range(len(n_source)):
        largest = max(largest, chart_size(n_source[pair], n_target[pair]))
    X, C, D, XT, DT, GS, GI = allocate(largest, is_normal)
    charts, work = (X, C, D), (XT, DT, GS, GI)
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
        inserted = np.empty(padded_width(m + 1) ** 2 + N_LANES)
        if is_normal:
            total = normal_inside(*terminals, a, b, charts, *tables)
        else:
            total = plain_inside(*terminals, a, b, charts[0], inserted)
        log_total = math.log(total) if total > 0.0 else -np.inf
        safe[pair] = is_safe(log_total, n, m)
        log_partition[pair] = log_total + offset
        if safe[pair]:
            if is_normal:
                normal_outside(*terminals, a, b, charts, tables, total, parts, work)
            else:
                plain_outside(*terminals, a, b, charts[0], inserted, total, parts, work)
