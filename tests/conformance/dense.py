"""Dense NumPy recursions for sizes that cannot be enumerated. They share no code with the library.

Derivatives are by complex steps: the imaginary part of f(x + ih v) / h is exact to the last bits.
"""

import itertools

import numpy as np

STEP = 1e-100


def log_sum(values, axis):
    """log sum exp along an axis, of complex numbers as well."""
    shift = values.real.max(axis=axis, keepdims=True)
    total = np.exp(values - shift).sum(axis=axis)
    return np.log(total) + np.squeeze(shift, axis)


def highest(values, axis):
    return values.max(axis=axis)


# ---------------------------------------------------------------------- chains


def sweep(unary, tables, add):
    """What `add` makes of all prefixes up to each tag, and of all suffixes behind it."""
    prefixes, suffixes = [unary[0]], [np.zeros_like(unary[0])]
    for row, table in zip(unary[1:], tables, strict=True):
        prefixes.append(row + add(prefixes[-1][:, None] + table, 0))
    for row, table in zip(unary[:0:-1], tables[::-1], strict=True):
        suffixes.append(add(table + row + suffixes[-1], 1))
    return np.array(prefixes), np.array(suffixes[::-1])


def through_parts(unary, tables, add):
    """What `add` makes of all sequences through each tag, and through each transition."""
    before, behind = sweep(unary, tables, add)
    right = (unary + behind)[1:, None, :]
    return before + behind, before[:-1, :, None] + tables + right


def chain_marginals(unary, tables):
    """The log-partition and the marginals of tags and of transitions, a table for each position."""
    words, pairs = through_parts(unary, tables, log_sum)
    log_partition = log_sum(words[0], 0)
    return log_partition, np.exp(words - log_partition), np.exp(pairs - log_partition)


def chain_product(unary, tables, direction):
    """The derivative of the marginals along a direction (unary, tables)."""
    along = unary + 1j * STEP * direction[0], tables + 1j * STEP * direction[1]
    _, words, pairs = chain_marginals(*along)
    return words.imag / STEP, pairs.imag / STEP


def chain_k_best(unary, tables, k):
    """The k highest scores of sequences, best first."""
    lists = unary[0][None]
    for row, table in zip(unary[1:], tables, strict=True):
        every = (lists[:, :, None] + table).reshape(-1, table.shape[1])
        lists = np.sort(every, axis=0)[::-1][:k] + row
    return np.sort(lists.ravel())[::-1][:k]


# ---------------------------------------------------------------------- projective trees


def eisner(arcs, single_root, add):
    """What `add` makes of all projective trees; arcs[..., head, modifier], any leading axes."""
    n_words = arcs.shape[-1] - 1
    right = {(i, i): np.zeros(arcs.shape[:-2], dtype=arcs.dtype) for i in range(n_words + 1)}
    left, ahead, back = dict(right), {}, {}
    for width in range(1, n_words + 1):
        for i in range(n_words + 1 - width):
            j = i + width
            splits = range(i, i + 1 if single_root and i == 0 else j)
            pair = add(np.array([right[i, k] + left[k + 1, j] for k in splits]), 0)
            ahead[i, j], back[i, j] = arcs[..., i, j] + pair, arcs[..., j, i] + pair
            right[i, j] = add(np.array([ahead[i, k] + right[k, j] for k in range(i + 1, j + 1)]), 0)
            left[i, j] = add(np.array([left[i, k] + back[k, j] for k in range(i, j)]), 0)
    return right[0, n_words]


# ---------------------------------------------------------------------- spanning trees


def spanning(arcs, single_root):
    """The log-partition by the matrix-tree theorem; any leading axes, complex numbers as well."""
    n_words = arcs.shape[-1] - 1
    weights = np.exp(arcs)
    weights[..., np.arange(n_words + 1), np.arange(n_words + 1)] = 0.0
    inner, root = weights[..., 1:, 1:], weights[..., 0, 1:]
    laplacian = -inner
    diagonal = inner.sum(axis=-2) + (0.0 if single_root else root)
    laplacian[..., np.arange(n_words), np.arange(n_words)] += diagonal
    if single_root:
        laplacian[..., 0, :] = root
    return np.log(np.linalg.det(laplacian))


def arborescence(arcs):
    """Heads of the best tree of words 1 .. n with root 0: Chu-Liu-Edmonds by recursion."""
    n_nodes = len(arcs)
    heads = [0, *(int(np.argmax(arcs[:, j])) for j in range(1, n_nodes))]
    cycle = find_cycle(heads)
    if not cycle:
        return heads
    outside = [v for v in range(n_nodes) if v not in cycle]
    best = {v: arcs[heads[v], v] for v in cycle}
    smaller = np.full((len(outside) + 1, len(outside) + 1), -np.inf)
    smaller[:-1, :-1] = arcs[np.ix_(outside, outside)]
    into = [max(cycle, key=lambda v, u=u: arcs[u, v] - best[v]) for u in outside]
    out = [max(cycle, key=lambda v, u=u: arcs[v, u]) for u in outside]
    for place, u in enumerate(outside):
        smaller[place, -1] = arcs[u, into[place]] - best[into[place]]
        smaller[-1, place] = arcs[out[place], u] if u else -np.inf
    found = arborescence(smaller)
    for place, u in list(enumerate(outside))[1:]:
        heads[u] = out[place] if found[place] == len(outside) else outside[found[place]]
    heads[into[found[-1]]] = outside[found[-1]]
    return heads


def find_cycle(heads):
    for start in range(1, len(heads)):
        seen, node = [], start
        while node and node not in seen:
            seen.append(node)
            node = heads[node]
        if node:
            return seen[seen.index(node) :]
    return []


def best_spanning(arcs, single_root):
    """The score of the best spanning tree; a single root is tried at every word."""
    arcs = arcs.copy()
    np.fill_diagonal(arcs, -np.inf)
    arcs[:, 0] = -np.inf
    roots = range(1, len(arcs)) if single_root else [None]
    totals = []
    for root in roots:
        tried = arcs.copy()
        if root is not None:
            tried[0, 1:] = -np.inf
            tried[1:, root] = -np.inf
            tried[0, root] = arcs[0, root]
        heads = arborescence(tried)
        totals.append(sum(tried[heads[j], j] for j in range(1, len(arcs))))
    return max(totals)


# ---------------------------------------------------------------------- any tree


def tree_marginals(log_partition, arcs):
    """The gradient of a log-partition of arcs, an arc for each leading index."""
    size = arcs.size
    along = arcs + 1j * STEP * np.eye(size).reshape(size, *arcs.shape)
    marginals = (log_partition(along).imag / STEP).reshape(arcs.shape)
    marginals[:, 0] = 0.0
    np.fill_diagonal(marginals, 0.0)
    return marginals


def with_arc(arcs):
    """For each arc between two words a copy of `arcs` in which its modifier has no other head."""
    cells = [(i, j) for i, j in itertools.product(range(len(arcs)), repeat=2) if i != j and j > 0]
    forced = np.repeat(arcs[None], len(cells), axis=0)
    for copy, (head, modifier) in zip(forced, cells, strict=True):
        copy[:, modifier] = -np.inf
        copy[head, modifier] = arcs[head, modifier]
    return cells, forced
