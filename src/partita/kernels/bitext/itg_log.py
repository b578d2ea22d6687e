"""Bitext parsing in logarithms: never underflows; much slower than the scaled matrix products.

Charts are arrays [s, t, k, l] over source boundaries s <= t and target boundaries k <= l; the cell
without any word is -inf. The recursions are those of `itg_scaled` and `itg_outside`, cell by cell.
In the plain grammar C and D are the same array as X, and a split may leave one side without source
or without target words; in the normal form (`is_normal`) it may not.
"""

import math

import numpy as np

from partita.kernels.jit import kernel


@kernel
def log_add(x, y):
    """log(e^x + e^y)."""
    if x == -np.inf:
        return y
    if y == -np.inf:
        return x
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@kernel
def scaled(count, score):
    """count * score, where 0 * -inf is 0."""
    return count * score if count > 0 else 0.0


@kernel
def runs(values, straight, out):
    """out[i, j] = sum of straight + values[p] over i < p < j, for i < j: words behind word i."""
    n = len(values)
    for i in range(n):
        total = 0.0
        for j in range(i + 1, n + 1):
            out[i, j] = total
            if j < n:
                total += straight + values[j]


@kernel
def prefixes(deletions, insertions, straight, out):
    """out[i, k] = score of deleting the words before i, then inserting those before k."""
    out[0, 0] = 0.0
    for i in range(len(deletions)):
        out[i + 1, 0] = out[i, 0] + straight + deletions[i]
    for i in range(len(deletions) + 1):
        for k in range(len(insertions)):
            out[i, k + 1] = out[i, k] + straight + insertions[k]


@kernel
def terminal(links, deletions, insertions, s, t, k, end):
    """Score of the plain grammar's terminal rule over a cell; -inf where there is none."""
    if t - s == 1 and end - k == 1:
        return links[s, k]
    if t - s == 1 and end == k:
        return deletions[s]
    if t == s and end - k == 1:
        return insertions[k]
    return -np.inf


@kernel
def splits(X, C, D, s, t, k, end, strict):
    """log sum of C[s,S,k,u] X[S,t,u,l], and of X[S,t,k,u] D[s,S,u,l], over the splits (S, u)."""
    straight, inverted = -np.inf, -np.inf
    for S in range(s + strict, t + 1 - strict):
        for u in range(k + strict, end + 1 - strict):
            straight = log_add(straight, C[s, S, k, u] + X[S, t, u, end])
            inverted = log_add(inverted, X[S, t, k, u] + D[s, S, u, end])
    return straight, inverted


@kernel
def inside(links, deletions, insertions, a, b, charts, deleted, inserted, is_normal):
    """Fill the charts bottom-up; a and b are the scores of the straight and the inverted rule."""
    n, m = links.shape
    X, C, D = charts
    X[:] = -np.inf
    C[:] = -np.inf
    D[:] = -np.inf
    strict = 1 if is_normal else 0
    for t in range(n + 1):
        for s in range(t - strict, -1, -1):
            for end in range(m + 1):
                for k in range(end - strict, -1, -1):
                    if s == t and k == end:
                        continue
                    straight, inverted = splits(X, C, D, s, t, k, end, strict)
                    straight, inverted = straight + a, inverted + b
                    if is_normal:
                        leaf = links[s, k] + deleted[s, t] + inserted[k, end]
                        C[s, t, k, end] = log_add(inverted, leaf)
                        D[s, t, k, end] = log_add(straight, leaf)
                    else:
                        leaf = terminal(links, deletions, insertions, s, t, k, end)
                    X[s, t, k, end] = log_add(leaf, log_add(straight, inverted))


@kernel
def pass_down(charts, outsides, s, t, k, end, straight, inverted, strict):
    """Add to the children of one cell; `straight`, `inverted`: outside sums of the rules.

    Returns the expected numbers of straight and of inverted rules over the cell.
    """
    X, C, D = charts
    GX, GC, GD = outsides
    n_straight, n_inverted = 0.0, 0.0
    for S in range(s + strict, t + 1 - strict):
        for u in range(k + strict, end + 1 - strict):
            left, right = C[s, S, k, u], X[S, t, u, end]
            if left > -np.inf and right > -np.inf:
                n_straight += math.exp(straight + left + right)
                GC[s, S, k, u] = log_add(GC[s, S, k, u], straight + right)
                GX[S, t, u, end] = log_add(GX[S, t, u, end], straight + left)
            left, right = D[s, S, u, end], X[S, t, k, u]
            if left > -np.inf and right > -np.inf:
                n_inverted += math.exp(inverted + left + right)
                GD[s, S, u, end] = log_add(GD[s, S, u, end], inverted + right)
                GX[S, t, k, u] = log_add(GX[S, t, k, u], inverted + left)
    return n_straight, n_inverted


@kernel
def outside(links, a, b, charts, outsides, is_normal, expected):
    """Fill the outside charts top-down from what the root put there; count the binary rules.

    Afterwards GX holds the outside sums of the terminals: links with their null words in the
    normal form, the terminal rules in the plain grammar.
    """
    n, m = links.shape
    GX, GC, GD = outsides
    strict = 1 if is_normal else 0
    for t in range(n, -1, -1):
        for s in range(t + 1 - strict):
            for end in range(m, -1, -1):
                for k in range(end + 1 - strict):
                    if s == t and k == end:
                        continue
                    straight = inverted = GX[s, t, k, end]
                    if is_normal:
                        straight = log_add(straight, GD[s, t, k, end])
                        inverted = log_add(inverted, GC[s, t, k, end])
                    n_straight, n_inverted = pass_down(
                        charts, outsides, s, t, k, end, straight + a, inverted + b, strict
                    )
                    expected[0] += n_straight
                    expected[1] += n_inverted
                    if is_normal:
                        GX[s, t, k, end] = log_add(straight, GC[s, t, k, end])


@kernel
def plain_pair(links, deletions, insertions, a, b, marginals):
    """Log-partition of the plain grammar; marginals, where there is any derivation."""
    n, m = links.shape
    X = np.empty((n + 1, n + 1, m + 1, m + 1))
    inside(links, deletions, insertions, a, b, (X, X, X), links, links, False)
    total = X[0, n, 0, m]
    if total == -np.inf:
        return total
    G = np.full_like(X, -np.inf)
    G[0, n, 0, m] = -total
    outside(links, a, b, (X, X, X), (G, G, G), False, marginals[n * m + n + m :])
    for k in range(m + 1):
        for s in range(n):
            marginals[n * m + s] += math.exp(G[s, s + 1, k, k] + deletions[s])
            if k < m:
                marginals[s * m + k] = math.exp(G[s, s + 1, k, k + 1] + links[s, k])
        for s in range(n + 1):
            if k < m:
                marginals[n * m + n + k] += math.exp(G[s, s, k, k + 1] + insertions[k])
    return total


@kernel
def normal_pair(links, deletions, insertions, a, b, marginals):
    """Log-partition of the normal form; marginals, where there is any alignment."""
    n, m = links.shape
    shape = (n + 1, n + 1, m + 1, m + 1)
    charts = (np.empty(shape), np.empty(shape), np.empty(shape))
    deleted, inserted = np.empty((n, n + 1)), np.empty((m, m + 1))
    before = np.empty((n + 1, m + 1))
    runs(deletions, a, deleted)
    runs(insertions, a, inserted)
    prefixes(deletions, insertions, a, before)
    inside(links, deletions, insertions, a, b, charts, deleted, inserted, True)
    only_nulls = deletions.sum() + insertions.sum() + scaled(n + m - 1, a)
    total = only_nulls
    for i in range(n):
        for k in range(m):
            total = log_add(total, before[i, k] + charts[0][i, n, k, m])
    if total == -np.inf:
        return total
    outsides = (np.full(shape, -np.inf), np.full(shape, -np.inf), np.full(shape, -np.inf))
    binary = marginals[n * m + n + m :]
    add_nulls(marginals, binary, 0, n, 0, m, n, m, math.exp(only_nulls - total), -1)
    for i in range(n):
        for k in range(m):
            outsides[0][i, n, k, m] = before[i, k] - total
            mass = math.exp(before[i, k] + charts[0][i, n, k, m] - total)
            add_nulls(marginals, binary, 0, i, 0, k, n, m, mass, 0)
    outside(links, a, b, charts, outsides, True, binary)
    for s in range(n):
        for t in range(s + 1, n + 1):
            for k in range(m):
                for end in range(k + 1, m + 1):
                    leaf = links[s, k] + deleted[s, t] + inserted[k, end]
                    mass = math.exp(outsides[0][s, t, k, end] + leaf)
                    marginals[s * m + k] += mass
                    add_nulls(marginals, binary, s + 1, t, k + 1, end, n, m, mass, 0)
    return total


@kernel
def add_nulls(marginals, binary, s, t, k, end, n, m, mass, n_more):
    """Count deletions s .. t-1 and insertions k .. l-1, and a straight rule for each of them."""
    if mass > 0.0:
        marginals[n * m + s : n * m + t] += mass
        marginals[n * m + n + k : n * m + n + end] += mass
        binary[0] += mass * (t - s + end - k + n_more)


@kernel
def marginals(scores, part_offsets, n_source, n_target, is_normal, pairs, log_partition, out):
    """Log-partition and marginals of the given pairs. Parts as in `itg_scaled.log_partitions`."""
    for pair in pairs:
        n, m = n_source[pair], n_target[pair]
        parts = scores[part_offsets[pair] : part_offsets[pair + 1]]
        result = out[part_offsets[pair] : part_offsets[pair + 1]]
        result[:] = 0.0
        links = parts[: n * m].reshape((n, m))
        deletions, insertions = parts[n * m : n * m + n], parts[n * m + n : n * m + n + m]
        a, b = parts[-2], parts[-1]
        if is_normal:
            log_partition[pair] = normal_pair(links, deletions, insertions, a, b, result)
        else:
            log_partition[pair] = plain_pair(links, deletions, insertions, a, b, result)
