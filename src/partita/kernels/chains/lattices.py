"""Forward-backward over lattices of words: every path is a sentence, every word gets a tag.

States of a lattice are numbered from 0, the start, and arcs lead upwards. With F[q, j] the log sum
of all that leads to state q with j as the last tag, and B[q, j] of all that may follow,

    G[q, k] = log sum_j exp(F[q, j] + pairwise[j, k])        (start[k] at state 0)
    F[r, k] = log sum over arcs q -> r of exp(G[q, k] + word[arc, k])
    H[q, k] = log sum over arcs q -> r of exp(word[arc, k] + B[r, k])
    B[q, j] = log (exp(stop[j]) where q is final, + sum_k exp(pairwise[j, k] + H[q, k]))

where word[arc, k] is the log sum over the words that the arc offers. Sums over a table are
products of exponentials that are at most 1; one that comes out smaller than `CERTAIN` is taken
again in logarithms, so that nothing is lost where scores are far apart.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel, step

CERTAIN = 2.0**-900
"""A sum of products this large has lost at most 2^-100 of itself where a product underflowed."""
LIMIT = 64.0
"""The largest logarithm of a factor by which a product that underflowed may still be multiplied."""


@inlined
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@step
def log_product(vector, table, weights, largest, transposed, ratio, out):
    """out[k] = log sum_j exp(vector[j] + table[j, k]), or table[k, j] where transposed.

    weights = exp(table - largest); `ratio` is room for a vector.
    """
    n = len(vector)
    top = vector.max()
    if top == -np.inf or largest == -np.inf:
        out[:] = -np.inf
        return
    for j in range(n):
        ratio[j] = math.exp(vector[j] - top)
    for k in range(n):
        total = 0.0
        for j in range(n):
            total += ratio[j] * (weights[k, j] if transposed else weights[j, k])
        if total >= CERTAIN:
            out[k] = math.log(total) + top + largest
            continue
        out[k] = -np.inf
        for j in range(n):
            out[k] = log_add(out[k], vector[j] + (table[k, j] if transposed else table[j, k]))


@step
def word_sums(scores, n_tags, first_part, words, offsets, first, end, sums):
    """sums[b, k] = log sum over the words of bundle b of exp(score[word, k])."""
    for bundle in range(first, end):
        for k in range(n_tags):
            top = -np.inf
            for place in range(offsets[bundle], offsets[bundle + 1]):
                top = max(top, scores[first_part + words[place] * n_tags + k])
            total = 0.0
            if offsets[bundle + 1] - offsets[bundle] == 1 or top == -np.inf:
                sums[bundle - first, k] = top
                continue
            for place in range(offsets[bundle], offsets[bundle + 1]):
                total += math.exp(scores[first_part + words[place] * n_tags + k] - top)
            sums[bundle - first, k] = top + math.log(total)


@step
def forward(arcs, is_final, sums, table, weights, largest, start, stop, F, G, ratio):
    """Fill F and G; returns the log-partition. `arcs` are rows (source, target, bundle)."""
    n_tags = F.shape[1]
    F[:] = -np.inf
    arc, total = 0, -np.inf
    for state in range(len(F)):
        if state == 0:
            G[0] = start
        else:
            log_product(F[state], table, weights, largest, False, ratio, G[state])
            if is_final[state]:
                for j in range(n_tags):
                    total = log_add(total, F[state, j] + stop[j])
        while arc < len(arcs) and arcs[arc, 0] == state:
            target, bundle = arcs[arc, 1], arcs[arc, 2]
            for k in range(n_tags):
                F[target, k] = log_add(F[target, k], G[state, k] + sums[bundle, k])
            arc += 1
    return total


@step
def backward(arcs, is_final, sums, table, weights, largest, stop, H, B, ratio):
    """Fill H and B."""
    n_tags = B.shape[1]
    H[:] = -np.inf
    arc = len(arcs) - 1
    for state in range(len(B) - 1, -1, -1):
        while arc >= 0 and arcs[arc, 0] == state:
            target, bundle = arcs[arc, 1], arcs[arc, 2]
            for k in range(n_tags):
                H[state, k] = log_add(H[state, k], sums[bundle, k] + B[target, k])
            arc -= 1
        log_product(H[state], table, weights, largest, True, ratio, B[state])
        if is_final[state]:
            for j in range(n_tags):
                B[state, j] = log_add(B[state, j], stop[j])


@step
def add_transitions(F, H, table, weights, largest, total, ratio, gain, out):
    """out[j, k] += exp(F[j] + pairwise[j, k] + H[k] - total)."""
    n_tags = len(F)
    left, right = F.max(), H.max()
    if left == -np.inf or right == -np.inf:
        return
    factor = left + right + largest - total
    if factor > LIMIT:
        for j in range(n_tags):
            for k in range(n_tags):
                out[j, k] += math.exp(F[j] + table[j, k] + H[k] - total)
        return
    for j in range(n_tags):
        ratio[j], gain[j] = math.exp(F[j] - left), math.exp(H[j] - right)
    factor = math.exp(factor)
    for j in range(n_tags):
        for k in range(n_tags):
            out[j, k] += ratio[j] * weights[j, k] * gain[k] * factor


@step
def add_words(counts, sums, scores, n_tags, first_part, words, offsets, first, end, out):
    """Share the expected count of each bundle out among its words."""
    for bundle in range(first, end):
        for place in range(offsets[bundle], offsets[bundle + 1]):
            part = first_part + words[place] * n_tags
            for k in range(n_tags):
                if counts[bundle - first, k] > 0.0:
                    share = math.exp(scores[part + k] - sums[bundle - first, k])
                    out[part + k] += counts[bundle - first, k] * share


@step
def lattice(
    arcs, is_final, sums, table, weights, largest, start, stop,
    counts, table_counts, start_counts, stop_counts,
):  # fmt: skip
    """Add the expected counts of one lattice; returns its log-partition."""
    n_states, n_tags = len(is_final), len(start)
    F, G = np.empty((n_states, n_tags)), np.empty((n_states, n_tags))
    H, B = np.empty((n_states, n_tags)), np.empty((n_states, n_tags))
    ratio, gain = np.empty(n_tags), np.empty(n_tags)
    shared = (table, weights, largest)
    total = forward(arcs, is_final, sums, *shared, start, stop, F, G, ratio)
    if total == -np.inf:
        return total
    backward(arcs, is_final, sums, *shared, stop, H, B, ratio)
    for arc in range(len(arcs)):
        source, target, bundle = arcs[arc, 0], arcs[arc, 1], arcs[arc, 2]
        for k in range(n_tags):
            counts[bundle, k] += math.exp(G[source, k] + sums[bundle, k] + B[target, k] - total)
    for k in range(n_tags):
        start_counts[k] += math.exp(start[k] + H[0, k] - total)
    for state in range(1, n_states):
        add_transitions(F[state], H[state], *shared, total, ratio, gain, table_counts)
        if is_final[state]:
            for j in range(n_tags):
                stop_counts[j] += math.exp(F[state, j] + stop[j] - total)
    return total


@kernel
def infer(
    scores, part_offsets, n_tags, n_choices, has_ends, words, word_offsets, bundle_offsets,
    lattice_offsets, arcs, arc_offsets, is_final, state_offsets, log_partition, marginals,
):  # fmt: skip
    """Log-partition and marginals of every item: its lattices, independent, share its parts."""
    marginals[:] = 0.0
    for item in range(len(part_offsets) - 1):
        first_part = part_offsets[item]
        first, end = bundle_offsets[item], bundle_offsets[item + 1]
        sums, counts = np.empty((end - first, n_tags)), np.zeros((end - first, n_tags))
        word_sums(scores, n_tags, first_part, words, word_offsets, first, end, sums)
        at_table = first_part + n_choices[item] * n_tags
        at_start = at_table + n_tags * n_tags
        table = scores[at_table:at_start].reshape(n_tags, n_tags)
        table_counts = marginals[at_table:at_start].reshape(n_tags, n_tags)
        start, stop = np.zeros(n_tags), np.zeros(n_tags)
        start_counts, stop_counts = np.zeros(n_tags), np.zeros(n_tags)
        if has_ends:
            start[:] = scores[at_start : at_start + n_tags]
            stop[:] = scores[at_start + n_tags : at_start + 2 * n_tags]
        largest = table.max()
        weights = np.zeros((n_tags, n_tags))
        if largest > -np.inf:
            for j in range(n_tags):
                for k in range(n_tags):
                    weights[j, k] = math.exp(table[j, k] - largest)
        log_partition[item] = 0.0
        for index in range(lattice_offsets[item], lattice_offsets[item + 1]):
            total = lattice(
                arcs[arc_offsets[index] : arc_offsets[index + 1]],
                is_final[state_offsets[index] : state_offsets[index + 1]],
                sums, table, weights, largest, start, stop,
                counts, table_counts, start_counts, stop_counts,
            )  # fmt: skip
            log_partition[item] += total
        if log_partition[item] == -np.inf:
            marginals[first_part : part_offsets[item + 1]] = 0.0
            continue
        add_words(
            counts, sums, scores, n_tags, first_part, words, word_offsets, first, end, marginals
        )
        if has_ends:
            marginals[at_start : at_start + n_tags] = start_counts
            marginals[at_start + n_tags : at_start + 2 * n_tags] = stop_counts
