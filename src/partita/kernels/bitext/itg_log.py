"""Bitext parsing in logarithms: never underflows; much slower than the scaled matrix products.

Charts are arrays [s, t, k, l] over source boundaries s <= t and target boundaries k <= l; the cell
without any word is -inf. The recursions are those of `itg_scaled` and `itg_outside`, cell by cell.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step


@step
def log_add(x, y):
    """log(e^x + e^y)."""
    if x == -np.inf:
        return y
    if y == -np.inf:
        return x
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@step
def scaled(count, score):
    """count * score, where 0 * -inf is 0."""
    return count * score if count > 0 else 0.0


@step
def runs(values, straight, out):
    """out[i, j] = sum of straight + values[p] over i < p < j, for i < j: words behind word i."""
    n = len(values)
    for i in range(n):
        total = 0.0
        for j in range(i + 1, n + 1):
            out[i, j] = total
            if j < n:
                total += straight + values[j]


@step
def prefixes(deletions, insertions, straight, out):
    """out[i, k] = score of deleting the words before i, then inserting those before k."""
    out[0, 0] = 0.0
    for i in range(len(deletions)):
        out[i + 1, 0] = out[i, 0] + straight + deletions[i]
    for i in range(len(deletions) + 1):
        for k in range(len(insertions)):
            out[i, k + 1] = out[i, k] + straight + insertions[k]


@step
def splits(X, C, D, s, t, k, end):
    """log sum of C[s,S,k,u] X[S,t,u,l], and of X[S,t,k,u] D[s,S,u,l], over the splits (S, u)."""
    straight, inverted = -np.inf, -np.inf
    for S in range(s + 1, t):
        for u in range(k + 1, end):
            straight = log_add(straight, C[s, S, k, u] + X[S, t, u, end])
            inverted = log_add(inverted, X[S, t, k, u] + D[s, S, u, end])
    return straight, inverted


@step
def inside(links, a, b, charts, deleted, inserted):
    """Fill the charts bottom-up; a and b are the scores of the straight and the inverted rule."""
    n, m = links.shape
    X, C, D = charts
    X[:] = -np.inf
    C[:] = -np.inf
    D[:] = -np.inf
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for end in range(1, m + 1):
                for k in range(end - 1, -1, -1):
                    straight, inverted = splits(X, C, D, s, t, k, end)
                    straight, inverted = straight + a, inverted + b
                    leaf = links[s, k] + deleted[s, t] + inserted[k, end]
                    C[s, t, k, end] = log_add(inverted, leaf)
                    D[s, t, k, end] = log_add(straight, leaf)
                    X[s, t, k, end] = log_add(leaf, log_add(straight, inverted))


@step
def pass_down(charts, outsides, s, t, k, end, straight, inverted):
    """Add to the children of one cell; `straight`, `inverted`: outside sums of the rules.

    Returns the expected numbers of straight and of inverted rules over the cell.
    """
    X, C, D = charts
    GX, GC, GD = outsides
    n_straight, n_inverted = 0.0, 0.0
    for S in range(s + 1, t):
        for u in range(k + 1, end):
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


@step
def outside(links, a, b, charts, outsides, expected):
    """Fill the outside charts top-down from what the root put there; count the binary rules.

    Afterwards GX holds the outside sums of the links with their null words.
    """
    n, m = links.shape
    GX, GC, GD = outsides
    for t in range(n, 0, -1):
        for s in range(t):
            for end in range(m, 0, -1):
                for k in range(end):
                    straight = log_add(GX[s, t, k, end], GD[s, t, k, end])
                    inverted = log_add(GX[s, t, k, end], GC[s, t, k, end])
                    n_straight, n_inverted = pass_down(
                        charts, outsides, s, t, k, end, straight + a, inverted + b
                    )
                    expected[0] += n_straight
                    expected[1] += n_inverted
                    GX[s, t, k, end] = log_add(straight, GC[s, t, k, end])


@step
def infer_pair(links, deletions, insertions, a, b, marginals):
    """Log-partition; marginals, where there is any alignment."""
    n, m = links.shape
    shape = (n + 1, n + 1, m + 1, m + 1)
    charts = (np.empty(shape), np.empty(shape), np.empty(shape))
    deleted, inserted = np.empty((n, n + 1)), np.empty((m, m + 1))
    before = np.empty((n + 1, m + 1))
    runs(deletions, a, deleted)
    runs(insertions, a, inserted)
    prefixes(deletions, insertions, a, before)
    inside(links, a, b, charts, deleted, inserted)
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
    outside(links, a, b, charts, outsides, binary)
    for s in range(n):
        for t in range(s + 1, n + 1):
            for k in range(m):
                for end in range(k + 1, m + 1):
                    leaf = links[s, k] + deleted[s, t] + inserted[k, end]
                    mass = math.exp(outsides[0][s, t, k, end] + leaf)
                    marginals[s * m + k] += mass
                    add_nulls(marginals, binary, s + 1, t, k + 1, end, n, m, mass, 0)
    return total


@step
def add_nulls(marginals, binary, s, t, k, end, n, m, mass, n_more):
    """Count deletions s .. t-1 and insertions k .. l-1, and a straight rule for each of them."""
    if mass > 0.0:
        marginals[n * m + s : n * m + t] += mass
        marginals[n * m + n + k : n * m + n + end] += mass
        binary[0] += mass * (t - s + end - k + n_more)


@kernel
def marginals(scores, part_offsets, n_source, n_target, pairs, log_partition, out):
    """Log-partition and marginals of the given pairs. Parts as in `itg_scaled.log_partitions`."""
    for pair in pairs:
        n, m = n_source[pair], n_target[pair]
        parts = scores[part_offsets[pair] : part_offsets[pair + 1]]
        result = out[part_offsets[pair] : part_offsets[pair + 1]]
        result[:] = 0.0
        links = parts[: n * m].reshape((n, m))
        deletions, insertions = parts[n * m : n * m + n], parts[n * m + n : n * m + n + m]
        a, b = parts[-2], parts[-1]
        log_partition[pair] = infer_pair(links, deletions, insertions, a, b, result)
