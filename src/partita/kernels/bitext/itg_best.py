"""The best alignment of a pair under the normal form of an ITG: `bitext.itg_log` with a maximum.

Charts are arrays [s, t, k, l] over source boundaries s < t and target boundaries k < l, as in
`bitext.itg_log`; every alignment has one derivation, so the best derivation is the best alignment.
"""

import numpy as np

from partita.kernels.bitext.itg_log import prefixes, runs, scaled
from partita.kernels.jit import kernel, step


@step
def raise_cells(left, right, k, first, last, out):
    """out[k, l] = max(out[k, l], left[k, u] + right[u, l]) for first <= u < l <= last."""
    for u in range(first, last):
        score = left[k, u]
        if score > -np.inf:
            for end in range(u + 1, last + 1):
                out[k, end] = max(out[k, end], score + right[u, end])


@step
def fill(links, a, b, charts, deleted, inserted):
    """X, C and D bottom-up."""
    n, m = links.shape
    X, C, D = charts
    X[:] = -np.inf
    C[:] = -np.inf
    D[:] = -np.inf
    straight, inverted = np.empty((m + 1, m + 1)), np.empty((m + 1, m + 1))
    for s in range(n - 1, -1, -1):
        for t in range(s + 1, n + 1):
            straight[:] = -np.inf
            inverted[:] = -np.inf
            for middle in range(s + 1, t):
                for k in range(m):
                    raise_cells(C[s, middle], X[middle, t], k, k + 1, m, straight)
                    raise_cells(X[middle, t], D[s, middle], k, k + 1, m, inverted)
            for k in range(m):
                link = links[s, k] + deleted[s, t]
                for end in range(k + 1, m + 1):
                    leaf = link + inserted[k, end]
                    C[s, t, k, end] = max(b + inverted[k, end], leaf)
                    D[s, t, k, end] = max(a + straight[k, end], leaf)
                    X[s, t, k, end] = max(C[s, t, k, end], a + straight[k, end])


@step
def best_split(left, right, s, t, k, end, is_inverted):
    """The best score of two blocks that make up a cell, and where they meet."""
    best, place = -np.inf, (-1, -1)
    for middle in range(s + 1, t):
        for u in range(k + 1, end):
            if is_inverted:
                total = right[middle, t, k, u] + left[s, middle, u, end]
            else:
                total = left[s, middle, k, u] + right[middle, t, u, end]
            if total > best:
                best, place = total, (middle, u)
    return best, place


# Which rules a cell may have: any, all but the straight one, all but the inverted one.
ANY, NOT_STRAIGHT, NOT_INVERTED = 0, 1, 2


@step
def trace(links, a, b, charts, deleted, inserted, cell, targets):
    """Write the links of the best derivation of a cell."""
    X, C, D = charts
    stack = [(cell[0], cell[1], cell[2], cell[3], ANY)]
    while len(stack) > 0:
        s, t, k, end, kind = stack.pop()
        best = links[s, k] + deleted[s, t] + inserted[k, end]
        rule, place = ANY, (-1, -1)
        if kind != NOT_STRAIGHT:
            score, where = best_split(C, X, s, t, k, end, False)
            if a + score > best:
                best, rule, place = a + score, NOT_STRAIGHT, where
        if kind != NOT_INVERTED:
            score, where = best_split(D, X, s, t, k, end, True)
            if b + score > best:
                best, rule, place = b + score, NOT_INVERTED, where
        middle, u = place
        if rule == ANY:
            targets[s] = k
        elif rule == NOT_STRAIGHT:
            stack.append((s, middle, k, u, NOT_STRAIGHT))
            stack.append((middle, t, u, end, ANY))
        else:
            stack.append((s, middle, u, end, NOT_INVERTED))
            stack.append((middle, t, k, u, ANY))


@step
def best_pair(links, deletions, insertions, a, b, targets):
    """The best score; `targets` gets the target word of each source word, -1 for none."""
    n, m = links.shape
    targets[:] = -1
    shape = (n + 1, n + 1, m + 1, m + 1)
    charts = (np.empty(shape), np.empty(shape), np.empty(shape))
    deleted, inserted = np.empty((n, n + 1)), np.empty((m, m + 1))
    before = np.empty((n + 1, m + 1))
    runs(deletions, a, deleted)
    runs(insertions, a, inserted)
    prefixes(deletions, insertions, a, before)
    fill(links, a, b, charts, deleted, inserted)
    best = deletions.sum() + insertions.sum() + scaled(n + m - 1, a)
    first = (-1, -1)
    for i in range(n):
        for k in range(m):
            score = before[i, k] + charts[0][i, n, k, m]
            if score > best:
                best, first = score, (i, k)
    if first[0] >= 0:
        trace(links, a, b, charts, deleted, inserted, (first[0], n, first[1], m), targets)
    return best


@kernel
def best_pairs(scores, part_offsets, n_source, n_target, word_offsets, best, targets):
    """The best alignment of every pair; parts as in `itg_scaled.log_partitions`."""
    for p in range(len(n_source)):
        n, m, at = n_source[p], n_target[p], part_offsets[p]
        links = scores[at : at + n * m].reshape((n, m))
        deletions = scores[at + n * m : at + n * m + n]
        insertions = scores[at + n * m + n : at + n * m + n + m]
        a, b = scores[at + n * m + n + m], scores[at + n * m + n + m + 1]
        mine = targets[word_offsets[p] : word_offsets[p + 1]]
        best[p] = best_pair(links, deletions, insertions, a, b, mine)
