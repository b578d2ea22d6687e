"""Bitext parsing in scaled probabilities: outside sums and marginals.

With G the derivative of the log-partition with respect to a matrix of the inside half
(`bitext.itg_scaled`), and GS = a G(straight), GI = b G(inverted), the products differentiate to

    G(X)[s, t] = sum_{r < s} C[r, s]^T GS[r, t] + GI[r, t] D[r, s]^T          (a right child)
    G(C)[s, t] = sum_{r > t} GS[s, r] X[t, r]^T                  (the left child of a straight rule)
    G(D)[s, t] = sum_{r > t} X[t, r]^T GI[s, r]                  (the left child of an inverted one)

Every straight rule has one left child, so their expected number is the sum of C * G(C), and that of
inverted rules the sum of D * G(D); by place, each term of the sums over r counts alone. Marginals
are weights times derivatives.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_products import LEFT, RIGHT, add_products, padded_width
from partita.kernels.bitext.itg_scaled import (
    chart_size,
    fill_factors,
    inside,
    is_safe,
    largest_of,
    n_splits,
    null_score,
    spans_upwards,
    weights,
)
from partita.kernels.jit import borrowing, kernel, step


@step
def transpose(chart, n, m, out):
    """out[s, t] = chart[s, t]^T for all s < t."""
    width = padded_width(m + 1)
    for s in range(n):
        for t in range(s + 1, n + 1):
            at = (s * (n + 1) + t) * width * width
            for k in range(width):
                for end in range(width):
                    out[at + end * width + k] = chart[at + k * width + end]


@borrowing
def gather_right(C, DT, GS, GI, s, t, n, m, factors, GX):
    """G(X) of one span as a right child, added to what is there."""
    width = padded_width(m + 1)
    square = width * width
    column = (n + 1) * square
    above, beside = t * square, s * square
    by_rows, by_columns = (column, 1, width), (column, width, 1)
    before, behind = (s, LEFT, m + 1), (s, RIGHT, m + 1)
    if factors is None:
        add_products(C, beside, by_rows, GS, above, column, before, None, GX)
        add_products(GI, above, by_columns, DT, beside, column, behind, None, GX)
    else:
        first, step = t * (n + 1) + s, (n + 1) * (n + 1)
        by_place = (factors[0], first, step)
        add_products(C, beside, by_rows, GS, above, column, before, by_place, GX)
        by_place = (factors[1], first, step)
        add_products(GI, above, by_columns, DT, beside, column, behind, by_place, GX)


@borrowing
def gather_left(X, XT, GS, GI, s, t, n, m, GC, GD):
    """G(C) and G(D) of one span."""
    width = padded_width(m + 1)
    square = width * width
    wider, other = (s * (n + 1) + t + 1) * square, (t * (n + 1) + t + 1) * square
    GC[:] = 0.0
    GD[:] = 0.0
    terms = n - t
    steps = (square, width, 1)
    add_products(GS, wider, steps, XT, other, square, (terms, RIGHT, m + 1), None, GC)
    steps = (square, 1, width)
    add_products(X, other, steps, GI, wider, square, (terms, LEFT, m + 1), None, GD)
    clear_below(GC, m)
    clear_below(GD, m)


@borrowing
def gather_left_by_place(charts, XT, GS, GI, s, t, n, m, factors, counts, term, GC, GD):
    """The same, with the expected count of every rule: counts[s, r, t] of the splits of (s, r)."""
    X, C, D = charts
    width = padded_width(m + 1)
    square = width * width
    at = (s * (n + 1) + t) * square
    GC[:] = 0.0
    GD[:] = 0.0
    for r in range(t + 1, n + 1):
        wider, other = (s * (n + 1) + r) * square, (t * (n + 1) + r) * square
        split = (s * (n + 1) + r) * (n + 1) + t
        term[:] = 0.0
        steps = (square, width, 1)
        add_products(GS, wider, steps, XT, other, square, (1, RIGHT, m + 1), None, term)
        counts[0][split] = add_term(C, at, term, m, factors[0][split], GC)
        term[:] = 0.0
        steps = (square, 1, width)
        add_products(X, other, steps, GI, wider, square, (1, LEFT, m + 1), None, term)
        counts[1][split] = add_term(D, at, term, m, factors[1][split], GD)


@borrowing
def add_term(chart, at, term, m, factor, out):
    """out += factor term, above the diagonal; returns factor times the sum of chart * term."""
    clear_below(term, m)
    total = 0.0
    for cell in range(len(term)):
        total += chart[at + cell] * term[cell]
        out[cell] += factor * term[cell]
    return factor * total


@borrowing
def clear_below(matrix, m):
    """matrix[k, l] = 0 for l <= k: a block has at least one target word."""
    width = padded_width(m + 1)
    for k in range(width):
        matrix[k * width : k * width + k + 1] = 0.0


@borrowing
def inner_product(chart, at, matrix):
    """sum of chart[at + c] matrix[c]."""
    total = 0.0
    for cell in range(len(matrix)):
        total += chart[at + cell] * matrix[cell]
    return total


@step
def outside(terminals, a, b, factors, charts, tables, total, marginals, work, counts):
    """Marginals of terminals, from the charts and tables that `inside` filled.

    Returns the expected numbers of rules that join two blocks with links; by place they are in
    `counts`.
    """
    links, deletions, insertions = terminals
    n, m, n_rows = len(deletions), insertions.shape[1], len(insertions)
    X, C, D = charts
    deleted, inserted, before = tables
    XT, DT, GS, GI = work
    width = padded_width(m + 1)
    square = width * width
    transpose(X, n, m, XT)
    transpose(D, n, m, DT)
    GX, GC, GD = np.empty(square), np.empty(square), np.empty(square)
    term = np.empty(square)
    deleted_mass, inserted_mass = np.zeros((n, n + 1)), np.zeros((n_rows, m, m + 1))
    n_straight, n_inverted = 0.0, 0.0
    for s, t in spans_upwards(n)[::-1]:
        GX[:] = 0.0
        if t == n:
            for k in range(m):
                GX[k * width + m] = before[s, k] / total
        gather_right(C, DT, GS, GI, s, t, n, m, factors, GX)
        clear_below(GX, m)
        at = (s * (n + 1) + t) * square
        if factors is None:
            gather_left(X, XT, GS, GI, s, t, n, m, GC, GD)
            n_straight += inner_product(C, at, GC)
            n_inverted += inner_product(D, at, GD)
        else:
            gather_left_by_place(charts, XT, GS, GI, s, t, n, m, factors, counts, term, GC, GD)
        for cell in range(square):
            GS[at + cell] = a * (GX[cell] + GD[cell])
            GI[at + cell] = b * (GX[cell] + GC[cell])
            GX[cell] += GC[cell] + GD[cell]
        row = min(t, n_rows - 1)
        for k in range(m):
            link = links[s * m + k] * deleted[s, t]
            mass = 0.0
            if link != 0.0:
                for end in range(k + 1, m + 1):
                    part = GX[k * width + end] * link * inserted[row, k, end]
                    inserted_mass[row, k, end] += part
                    mass += part
            deleted_mass[s, t] += mass
            marginals[s * m + k] += mass
    spread_nulls(deleted_mass, marginals, n * m)
    for row in range(n_rows):
        spread_nulls(inserted_mass[row], marginals, n * m + n + row * m)
    return n_straight, n_inverted


@step
def spread_nulls(mass, marginals, at):
    """Null words i < p < j behind a link get mass[i, j]."""
    n = len(mass)
    for i in range(n):
        for j in range(i + 2, n + 1):
            for p in range(i + 1, j):
                marginals[at + p] += mass[i, j]


@step
def root_marginals(shape, X, before, total, only_nulls, marginals):
    """Null words before all links, and the alignment that has none, whose share is given."""
    n, m, n_rows = shape
    width = padded_width(m + 1)
    for i in range(n + 1):
        first = n * m + n + min(i, n_rows - 1) * m
        for k in range(m + 1):
            mass = 0.0
            if i < n and k < m:
                cell = (i * (n + 1) + n) * width * width + k * width + m
                mass = before[i, k] * X[cell] / total
            elif i == n and k == m:
                mass = only_nulls
            marginals[n * m : n * m + i] += mass
            marginals[first : first + k] += mass


@step
def without_links(scores, at, shape, null, marginals):
    """A pair with an empty side: one derivation, or none. Returns its score."""
    n, m, n_rows = shape
    score = null_score(scores, at, shape, null)
    if marginals is not None and score > -np.inf:
        first = n * m + n + (n_rows - 1) * m
        marginals[n * m : n * m + n] = 1.0
        marginals[first : first + m] = 1.0
    return score


@step
def place_counts(counts, n, out):
    """The counts [s, t, S] of both rules in the order s, S, t."""
    part = 0
    for s in range(n + 1):
        for middle in range(s + 1, n + 1):
            for t in range(middle + 1, n + 1):
                split = (s * (n + 1) + t) * (n + 1) + middle
                out[part] = counts[0][split]
                out[part + n_splits(n)] = counts[1][split]
                part += 1


@step
def infer_pair(scores, at, shape, by_place, memory, rules, marginals):
    """Log-partition and marginals of one pair with words on both sides; whether they stand."""
    n, m, n_rows = shape
    first = at + n * m + n + n_rows * m
    last = first + 2 * (1 if by_place is None else n_splits(n))
    null = scores[first] if by_place is None else 0.0
    binary = largest_of(scores, first, last)
    links, deletions, insertions = np.empty(n * m), np.empty(n), np.empty((n_rows, m))
    offset = weights(scores, at, shape, null, binary, links, deletions, insertions)
    if offset == -np.inf:
        return offset, True
    terminals = (links, deletions, insertions)
    charts = (memory[0], memory[1], memory[2])
    deleted, inserted = np.empty((n, n + 1)), np.empty((n_rows, m, m + 1))
    tables = (deleted, inserted, np.empty((n + 1, m + 1)))
    only_nulls = math.exp(null_score(scores, at, shape, null) - offset)
    a, b = 1.0, 1.0
    # Kernels are compiled once with factors and once without; a variable could not be both.
    if by_place is None:
        a, b = math.exp(scores[first] - binary), math.exp(scores[first + 1] - binary)
        total = inside(*terminals, a, b, None, charts, tables) + only_nulls
    else:
        fill_factors(scores, first, n, binary, rules[0])
        fill_factors(scores, first + n_splits(n), n, binary, rules[1])
        total = inside(*terminals, a, b, (rules[0], rules[1]), charts, tables) + only_nulls
    log_total = math.log(total) if total > 0.0 else -np.inf
    if not is_safe(log_total, n, m):
        return log_total + offset, False
    if marginals is not None:
        work = (memory[3], memory[4], memory[5], memory[6])
        rest = (charts, tables, total, marginals, work)
        if by_place is None:
            n_straight, n_inverted = outside(terminals, a, b, None, *rest, None)
        else:
            outside(terminals, a, b, (rules[0], rules[1]), *rest, (rules[2], rules[3]))
            place_counts((rules[2], rules[3]), n, marginals[first - at :])
        root_marginals(shape, charts[0], tables[2], total, only_nulls / total, marginals)
        if by_place is None:
            # A rule for every null word, but for the first where there is no link.
            nulls = marginals[n * m : n * m + n + m].sum() - only_nulls / total
            marginals[-2] = n_straight + nulls
            marginals[-1] = n_inverted
    return log_total + offset, True


@kernel
def infer(scores, part_offsets, n_source, n_target, by_place, log_partition, out, safe):
    """Log-partition and marginals of every pair; `safe` says which of them stand.

    The parts of a pair are its links (n, m), deletions (n,), insertions (m,), and the straight and
    the inverted rule; the straight one also attaches null words. With `by_place` (True; None if
    not), insertions are (n + 1, m), a row for each source boundary, and each rule has a part for
    every split, in the order s, S, t; null words are attached for nothing. Without `out` (None)
    there are no marginals.
    """
    most, longest = 0, 0
    for pair in range(len(n_source)):
        most = max(most, chart_size(n_source[pair], n_target[pair]))
        longest = max(longest, n_source[pair])
    # One allocation, since the C library keeps a large block but gives several back each time.
    memory = np.empty((3 if out is None else 7, most))
    rules = np.empty((4, 1 if by_place is None else (longest + 1) ** 3))
    for pair in range(len(n_source)):
        at, end = part_offsets[pair], part_offsets[pair + 1]
        n, m = n_source[pair], n_target[pair]
        shape = (n, m, 1 if by_place is None else n + 1)
        marginals = None if out is None else out[at:end]
        if out is not None:
            out[at:end] = 0.0
        if n > 0 and m > 0:
            log_partition[pair], safe[pair] = infer_pair(
                scores, at, shape, by_place, memory, rules, marginals
            )
            continue
        null = scores[end - 2] if by_place is None else 0.0
        log_partition[pair], safe[pair] = without_links(scores, at, shape, null, marginals), True
        if out is not None and by_place is None and log_partition[pair] > -np.inf:
            out[end - 2] = max(n + m - 1, 0)
