"""Exact samples of spanning trees: Wilson's loop-erased walks.

From a word outside the tree, walk from modifier to head, each head drawn in proportion to the
weight of its arc, until the walk meets the tree; without its loops it joins the tree. With a
single root, the root word is drawn first from its exact marginal, and is then the tree to meet.

Words that strongly prefer each other keep a walk among them for very long. How long a walk takes
says nothing about the tree it leaves (Propp and Wilson 1998), so after (n+1)³ steps another sampler
may take over: head after head, each from its exact marginal given those before.
"""

import math

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.spanning.elimination import marginals as safe_marginals
from partita.kernels.spanning.wide import marginals as wide_marginals
from partita.kernels.trees.reachability import clear_impossible


@step
def draw(cumulative, uniform):
    """The first index whose cumulative weight exceeds uniform * the total."""
    threshold = uniform * cumulative[-1]
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > threshold:
            high = middle
        else:
            low = middle + 1
    # Rounding may put the threshold at the total: step back to an index that has weight.
    while low > 0 and cumulative[low] == cumulative[low - 1]:
        low -= 1
    return low


@step
def cumulative_weights(arcs, first, n_words, lowest, cumulative):
    """cumulative[j, i] = sum over heads lowest <= i' <= i of exp(arcs[i', j] - best of j)."""
    for j in range(1, n_words + 1):
        best = -np.inf
        for i in range(lowest, n_words + 1):
            if i != j:
                best = max(best, arcs[first + i * (n_words + 1) + j])
        total = 0.0
        for i in range(n_words + 1):
            if i >= lowest and i != j and best > -np.inf:
                total += math.exp(arcs[first + i * (n_words + 1) + j] - best)
            cumulative[j, i] = total


@step
def wilson(cumulative, root, n_steps, rng, in_tree, heads):
    """One tree; `root` is the node to meet. Returns whether it took at most `n_steps` steps."""
    n_words = len(heads)
    in_tree[:] = False
    in_tree[root] = True
    for start in range(1, n_words + 1):
        word = start
        while not in_tree[word]:
            if n_steps == 0:
                return False
            n_steps -= 1
            # A later visit overwrites the head, which erases the loop in between.
            heads[word - 1] = draw(cumulative[word], rng.random())
            word = heads[word - 1]
        word = start
        while not in_tree[word]:
            in_tree[word] = True
            word = heads[word - 1]
    return True


@step
def keep_arc(arcs, n_words, head, modifier):
    """Forbid all other heads of a modifier."""
    for i in range(n_words + 1):
        if i != head:
            arcs[i * (n_words + 1) + modifier] = -np.inf


@step
def one_by_one(arcs, n_words, single_root, rng, heads):
    """One tree, head after head, each from its marginal given the others; `arcs` is used up."""
    n_nodes = n_words + 1
    offsets, lengths = np.array([0, n_nodes * n_nodes]), np.array([n_words])
    log_partition, marginals = np.empty(1), np.empty(n_nodes * n_nodes)
    only, is_safe, ignored = (
        np.zeros(1, dtype=np.int64),
        np.empty(1, np.bool_),
        np.empty(1, np.bool_),
    )
    allowed, reached = np.empty(n_nodes * n_nodes, np.bool_), np.empty(n_nodes, np.bool_)
    queue, starts = np.empty(n_nodes, np.int64), np.empty(2, np.int64)
    for j in range(1, n_nodes):
        safe_marginals(
            arcs, offsets, lengths, only, single_root, np.empty(0), True,
            is_safe, ignored, starts, log_partition, marginals,
        )  # fmt: skip
        if not is_safe[0]:
            wide_marginals(arcs, offsets, lengths, single_root, only, log_partition, marginals)
        # An arc that is in no tree may have 1e-17 of the elimination's rounding.
        clear_impossible(
            arcs, offsets, lengths, single_root, only, allowed, reached, queue, marginals
        )
        heads[j - 1] = draw(np.cumsum(marginals.reshape(n_nodes, n_nodes)[:, j]), rng.random())
        keep_arc(arcs, n_words, heads[j - 1], j)


@kernel
def sample(arcs, first, n_words, single_root, marginals, rng, heads):
    """Fill heads[sample, word]."""
    n_nodes = n_words + 1
    cumulative = np.empty((n_nodes, n_nodes))
    cumulative_weights(arcs, first, n_words, 1 if single_root else 0, cumulative)
    roots = np.cumsum(marginals[first : first + n_nodes])
    in_tree = np.empty(n_nodes, dtype=np.bool_)
    walks = True
    for item in range(len(heads)):
        root = 0
        if single_root:
            root = draw(roots, rng.random())
            heads[item, root - 1] = 0
        if walks:
            walks = wilson(cumulative, root, n_nodes**3, rng, in_tree, heads[item])
        if not walks:
            left = arcs[first : first + n_nodes * n_nodes].copy()
            if single_root:
                keep_arc(left, n_words, 0, root)
            one_by_one(left, n_words, single_root, rng, heads[item])
