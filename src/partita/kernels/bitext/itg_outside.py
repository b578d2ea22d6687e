"""Bitext parsing in scaled probabilities: outside sums and marginals.

With G the derivative of the log-partition with respect to a matrix of the inside half
(`bitext.itg_scaled`), and GS = a G(straight), GI = b G(inverted), the products differentiate to
the following, where a block next to another one begins a word later (`bitext.itg_products`):

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
    clear,
    fill_factors,
    inside,
    is_safe,
    lane_of,
    largest_of,
    n_splits,
    null_score,
    spans_upwards,
    weights,
)
from partita.kernels.jit import borrowing, kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store, total
from partita.kernels.simd.lanes import transpose as rows_to_columns


@step
def transpose(chart, n, m, out):
    """out[s, t][u, l] = chart[s, t][l + 1, u] for all s < t: what the shape RIGHT asks for."""
    width = padded_width(m)
    for s in range(n):
        for t in range(s + 1, n + 1):
            at = (s * (n + 1) + t) * width * width
            for column in range(0, width, N_LANES):
                # Tiles of eight columns also read the four rows above the diagonal's.
                for row in range(max(column - N_LANES, 0), column):
                    store(out, at + row * width + column, broadcast(0.0))
                for row in range(column, width, N_LANES):
                    cell = at + (column + 1) * width + row
                    # No block begins behind the last word.
                    is_last = column + N_LANES == width
                    last = broadcast(0.0) if is_last else load(chart, cell + 3 * width)
                    lanes = rows_to_columns(
                        load(chart, cell),
                        load(chart, cell + width),
                        load(chart, cell + 2 * width),
                        last,
                    )
                    store_rows(out, at + row * width + column, width, *lanes)


@borrowing
def store_rows(out, cell, width, row_0, row_1, row_2, row_3):
    """Write four lanes to each of four rows."""
    store(out, cell, row_0)
    store(out, cell + width, row_1)
    store(out, cell + 2 * width, row_2)
    store(out, cell + 3 * width, row_3)


@borrowing
def gather_right(C, DT, GS, GI, s, t, n, m, factors, GX):
    """G(X) of one span as a right child, added to what is there."""
    width = padded_width(m)
    square = width * width
    column = (n + 1) * square
    above, beside = t * square, s * square
    by_rows, by_columns = (column, 1, width), (column, width, 1)
    before, behind = (s, LEFT, m), (s, RIGHT, m)
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
    """G(C) and G(D) of one span, added to what is there."""
    width = padded_width(m)
    square = width * width
    wider, other = (s * (n + 1) + t + 1) * square, (t * (n + 1) + t + 1) * square
    terms = n - t
    steps = (square, width, 1)
    add_products(GS, wider, steps, XT, other, square, (terms, RIGHT, m), None, GC)
    steps = (square, 1, width)
    add_products(X, other, steps, GI, wider, square, (terms, LEFT, m), None, GD)


@borrowing
def gather_left_by_place(charts, XT, GS, GI, s, t, n, m, factors, counts, term, GC, GD):
    """The same, with the expected count of every rule: counts[s, r, t] of the splits of (s, r)."""
    X, C, D = charts
    width = padded_width(m)
    square = width * width
    at = (s * (n + 1) + t) * square
    for r in range(t + 1, n + 1):
        wider, other = (s * (n + 1) + r) * square, (t * (n + 1) + r) * square
        split = (s * (n + 1) + r) * (n + 1) + t
        clear(term)
        steps = (square, width, 1)
        add_products(GS, wider, steps, XT, other, square, (1, RIGHT, m), None, term)
        counts[0][split] = add_term(C, at, term, m, factors[0][split], GC)
        clear(term)
        steps = (square, 1, width)
        add_products(X, other, steps, GI, wider, square, (1, LEFT, m), None, term)
        counts[1][split] = add_term(D, at, term, m, factors[1][split], GD)


@borrowing
def add_term(chart, at, term, m, factor, out):
    """out += factor term, above the diagonal; returns factor times the sum of chart * term."""
    width = padded_width(m)
    products = broadcast(0.0)
    for k in range(m):
        for cell in range(k * width + lane_of(k), (k + 1) * width, N_LANES):
            value = load(term, cell)
            products = fma(load(chart, at + cell), value, products)
            store(out, cell, fma(broadcast(factor), value, load(out, cell)))
    return factor * total(products)


@borrowing
def fill_rules(GX, GC, GD, a, b, m, GS, GI, at):
    """GS and GI of one span, and in place of G(X) the sum of all three: that of its links."""
    width = padded_width(m)
    for k in range(m):
        for cell in range(k * width + lane_of(k), (k + 1) * width, N_LANES):
            right, straight, inverted = load(GX, cell), load(GC, cell), load(GD, cell)
            store(GS, at + cell, a * (right + inverted))
            store(GI, at + cell, b * (right + straight))
            store(GX, cell, right + straight + inverted)
        for cell in range(k * width + lane_of(k), k * width + k):
            GS[at + cell] = 0.0
            GI[at + cell] = 0.0


@borrowing
def inner_product(chart, at, matrix, m):
    """sum of chart[at + c] matrix[c], above the diagonal."""
    width = padded_width(m)
    products = broadcast(0.0)
    for k in range(m):
        for cell in range(k * width + lane_of(k), (k + 1) * width, N_LANES):
            products = fma(load(chart, at + cell), load(matrix, cell), products)
    return total(products)


@borrowing
def add_links(links, first_link, m, deleted, table, G, inserted_mass, marginals):
    """Marginals of the links of one span, and of what follows each; returns their sum.

    `table` is that of the target words that follow, and where the rows of the span's end begin.
    """
    inserted, behind = table
    width = padded_width(m)
    of_all = 0.0
    for k in range(m):
        link = links[first_link + k] * deleted
        if link != 0.0:
            masses = broadcast(0.0)
            for cell in range(k * width + lane_of(k), (k + 1) * width, N_LANES):
                mass = load(G, cell) * (link * load(inserted, behind + cell))
                store(inserted_mass, behind + cell, load(inserted_mass, behind + cell) + mass)
                masses = masses + mass
            mass = total(masses)
            marginals[first_link + k] += mass
            of_all += mass
    return of_all


@step
def outside(terminals, a, b, factors, charts, tables, whole, marginals, work, counts):
    """Marginals of terminals, from the charts and tables that `inside` filled.

    `whole` is the sum over all derivations. Returns the expected numbers of rules that join two
    blocks with links; by place they are in `counts`.
    """
    links, deletions, insertions = terminals
    n, m, n_rows = len(deletions), insertions.shape[1], len(insertions)
    X, C, D = charts
    deleted, inserted, before = tables
    XT, DT, GS, GI = work
    width = padded_width(m)
    square = width * width
    transpose(X, n, m, XT)
    transpose(D, n, m, DT)
    # A row more than needed: see `add_products`.
    size = square + width
    GX, GC, GD, term = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    deleted_mass, inserted_mass = np.zeros((n, n)), np.zeros((n_rows, width, width))
    n_straight, n_inverted = 0.0, 0.0
    for s, t in spans_upwards(n)[::-1]:
        clear(GX)
        clear(GC)
        clear(GD)
        if t == n:
            for k in range(m):
                GX[k * width + m - 1] = before[s, k] / whole
        gather_right(C, DT, GS, GI, s, t, n, m, factors, GX)
        at = (s * (n + 1) + t) * square
        if factors is None:
            gather_left(X, XT, GS, GI, s, t, n, m, GC, GD)
            n_straight += inner_product(C, at, GC, m)
            n_inverted += inner_product(D, at, GD, m)
        else:
            gather_left_by_place(charts, XT, GS, GI, s, t, n, m, factors, counts, term, GC, GD)
        fill_rules(GX, GC, GD, a, b, m, GS, GI, at)
        table = (inserted, min(t, n_rows - 1) * square)
        deleted_mass[s, t - 1] = add_links(
            links, s * m, m, deleted[s, t - 1], table, GX, inserted_mass, marginals
        )
    spread_nulls(deleted_mass, n, marginals, n * m)
    for row in range(n_rows):
        spread_nulls(inserted_mass[row], m, marginals, n * m + n + row * m)
    return n_straight, n_inverted


@step
def spread_nulls(mass, n_words, marginals, at):
    """Null words i < p <= j behind a link get mass[i, j]."""
    for i in range(n_words):
        behind = 0.0
        for p in range(n_words - 1, i, -1):
            behind += mass[i, p]
            marginals[at + p] += behind


@step
def root_marginals(shape, X, before, whole, only_nulls, marginals):
    """Null words before all links, and the alignment that has none, whose share is given."""
    n, m, n_rows = shape
    width = padded_width(m)
    for i in range(n + 1):
        first = n * m + n + min(i, n_rows - 1) * m
        # Word k is null where the first link is behind it.
        behind = 0.0
        for k in range(m, -1, -1):
            if k < m:
                marginals[first + k] += behind
            if i < n and k < m:
                cell = (i * (n + 1) + n) * width * width + k * width + m - 1
                behind += before[i, k] * X[cell] / whole
            elif i == n and k == m:
                behind += only_nulls
        for word in range(i):
            marginals[n * m + word] += behind


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
    width = padded_width(m)
    deleted, inserted = np.empty((n, n)), np.empty((n_rows, width, width))
    tables = (deleted, inserted, np.empty((n + 1, m + 1)))
    only_nulls = math.exp(null_score(scores, at, shape, null) - offset)
    a, b = 1.0, 1.0
    # Kernels are compiled once with factors and once without; a variable could not be both.
    if by_place is None:
        a, b = math.exp(scores[first] - binary), math.exp(scores[first + 1] - binary)
        whole = inside(*terminals, a, b, None, charts, tables) + only_nulls
    else:
        fill_factors(scores, first, n, binary, rules[0])
        fill_factors(scores, first + n_splits(n), n, binary, rules[1])
        whole = inside(*terminals, a, b, (rules[0], rules[1]), charts, tables) + only_nulls
    log_total = math.log(whole) if whole > 0.0 else -np.inf
    if not is_safe(log_total, n, m):
        return log_total + offset, False
    if marginals is not None:
        work = (memory[3], memory[4], memory[5], memory[6])
        rest = (charts, tables, whole, marginals, work)
        if by_place is None:
            n_straight, n_inverted = outside(terminals, a, b, None, *rest, None)
        else:
            outside(terminals, a, b, (rules[0], rules[1]), *rest, (rules[2], rules[3]))
            place_counts((rules[2], rules[3]), n, marginals[first - at :])
        root_marginals(shape, charts[0], tables[2], whole, only_nulls / whole, marginals)
        if by_place is None:
            # A rule for every null word, but for the first where there is no link.
            nulls = marginals[n * m : n * m + n + m].sum() - only_nulls / whole
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
