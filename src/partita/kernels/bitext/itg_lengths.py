"""D_n(x) of the normal form without a hypergraph: polynomials in the number of target words.

X[s, t] is a vector: entry l sums the derivations of the source words s .. t-1 with l target words,
whichever they are. A binary rule is then a convolution, for s < S < t:

    straight[s, t] = sum_S a[s, S, t] C[s, S] * X[S, t]
    inverted[s, t] = sum_S b[s, S, t] D[s, S] * X[S, t]
    X = straight + inverted + L,   C = inverted + L,   D = straight + L,
    L[s, t](l) = link(s) prod_{s < p < t} deletion(p) insertion(t)^(l - 1),   l >= 1,

as in `itg_scaled`, of which this is the sum over all targets. Null words before all links stand at
the root. Weights of rules are arrays [s, t, S] here, also where they are all alike: a convolution
takes them in for nothing.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_scaled import is_safe, largest_of, n_splits
from partita.kernels.jit import kernel, step
from partita.kernels.simd.exponential import exponential


@step
def weights(scores, at, shape, null, binary, links, deletions, insertions):
    """Weights of at most 1, and what was taken off: (offset, tilt).

    Every source word is linked or deleted once, so a potential may be taken off both; the largest
    binary score goes to the links, of which there is one more than there are rules; and `tilt` is
    taken off for each target word, which links and insertions have one of.
    """
    n, n_rows = shape
    tilt = -np.inf
    for row in range(n_rows):
        tilt = max(tilt, scores[at + 2 * n + row] + null)
    tilt = tilt if tilt > -np.inf else 0.0
    offset = -binary
    for i in range(n):
        link, deletion = scores[at + i] + binary - tilt, scores[at + n + i] + null
        potential = max(link, deletion)
        offset += potential
        if potential > -np.inf:
            links[i] = exponential(link - potential)
            deletions[i] = exponential(deletion - potential)
    for boundary in range(n + 1):
        row = min(boundary, n_rows - 1)
        insertions[boundary] = exponential(scores[at + 2 * n + row] + null - tilt)
    return offset, tilt


@step
def fill_rules(scores, at, n, by_place, binary, out):
    """out[s, t, S] = exp(score - binary) of each split; without `by_place` they share one part."""
    part = at
    for s in range(n + 1):
        for middle in range(s + 1, n + 1):
            for t in range(middle + 1, n + 1):
                out[s, t, middle] = exponential(scores[part] - binary)
                part += by_place


@step
def add_leaves(link, insertion, longest, out):
    """out[l] += link insertion^(l - 1) for l >= 1."""
    value = link
    for length in range(1, longest + 1):
        out[length] += value
        value *= insertion


@step
def add_convolution(weight, left, right, longest, out):
    """out[u + v] += weight left[u] right[v] for u, v >= 1 and u + v <= longest."""
    for u in range(1, longest):
        factor = weight * left[u]
        if factor != 0.0:
            for v in range(1, longest - u + 1):
                out[u + v] += factor * right[v]


@step
def add_correlation(weight, slope, other, longest, out):
    """out[v] += weight sum_u slope[u + v] other[u]: the derivative of a convolution."""
    for u in range(1, longest):
        factor = weight * other[u]
        if factor != 0.0:
            for v in range(1, longest - u + 1):
                out[v] += factor * slope[u + v]


@step
def inside(links, deletions, insertions, rules, longest, charts, deleted):
    """X, C and D for all s < t, each [s, t, length]; deleted[s, t] of the words behind word s."""
    n = len(links)
    X, C, D = charts
    a, b = rules
    for s in range(n - 1, -1, -1):
        product = 1.0
        for t in range(s + 1, n + 1):
            deleted[s, t] = product
            if t < n:
                product *= deletions[t]
            C[s, t, : longest + 1] = 0.0
            D[s, t, : longest + 1] = 0.0
            for middle in range(s + 1, t):
                right = X[middle, t]
                add_convolution(a[s, t, middle], C[s, middle], right, longest, D[s, t])
                add_convolution(b[s, t, middle], D[s, middle], right, longest, C[s, t])
            for length in range(longest + 1):
                X[s, t, length] = C[s, t, length] + D[s, t, length]
            for chart in charts:
                add_leaves(links[s] * deleted[s, t], insertions[t], longest, chart[s, t])


@step
def before_links(deletions, insertions, longest, out):
    """out[i, k] = weight of i deleted words and k inserted ones before all links."""
    n = len(deletions)
    out[0, 0] = 1.0
    for i in range(n):
        out[i + 1, 0] = out[i, 0] * deletions[i]
    for i in range(n + 1):
        for k in range(longest):
            out[i, k + 1] = out[i, k] * insertions[i]


@step
def nulls_only(scores, at, shape, null, offset, tilt, out):
    """out[k] = weight of the derivation without links and with k target words."""
    n, n_rows = shape
    deleted = 0.0
    for i in range(n):
        deleted += scores[at + n + i]
    for k in range(len(out)):
        total = deleted
        if k > 0:
            total += k * (scores[at + 2 * n + n_rows - 1] - tilt)
        if n + k > 1:
            # One rule less than there are words.
            total += (n + k - 1) * null
        out[k] = math.exp(total - offset) if n + k > 0 else 0.0


@step
def fill_lengths(scores, at, by_place, tilt, out):
    """out[l] = what targets of l words have beside all else, relative to the largest, and that."""
    largest = -np.inf
    for length in range(len(out)):
        out[length] = tilt * length
        if by_place:
            out[length] += scores[at + length]
        largest = max(largest, out[length])
    if largest > -np.inf:
        for length in range(len(out)):
            out[length] = exponential(out[length] - largest)
    return largest


@step
def root(X, before, nulls, n, factor, out):
    """The sum over all derivations; out[l] gets those with l target words."""
    total = 0.0
    for length in range(len(nulls)):
        value = nulls[length]
        for i in range(n):
            for k in range(length):
                value += before[i, k] * X[i, n, length - k]
        out[length] = value * factor[length]
        total += out[length]
    return total


@step
def outside(n, longest, rules, charts, before, factor, total, slopes, counts):
    """Derivatives of the log of the root's sum with respect to X, C and D, as the leaves see them.

    On return slopes[0][s, t] is the derivative with respect to L[s, t], and `counts` has the
    expected number of every rule that joins two blocks with links, [s, t, S].
    """
    X, C, D = charts
    a, b = rules
    GX, GC, GD = slopes
    for s in range(n):
        for t in range(s + 1, n + 1):
            for slope in slopes:
                slope[s, t, : longest + 1] = 0.0
    straight, inverted = np.empty(longest + 1), np.empty(longest + 1)
    left = np.empty(longest + 1)
    for s in range(n):
        for length in range(1, longest + 1):
            for k in range(longest - length + 1):
                GX[s, n, length] += before[s, k] * factor[k + length] / total
    for s in range(n):
        for t in range(n, s, -1):
            for length in range(longest + 1):
                straight[length] = GX[s, t, length] + GD[s, t, length]
                inverted[length] = GX[s, t, length] + GC[s, t, length]
            for middle in range(s + 1, t):
                split = (s, t, middle)
                add_correlation(a[split], straight, C[s, middle], longest, GX[middle, t])
                add_correlation(b[split], inverted, D[s, middle], longest, GX[middle, t])
                left[:] = 0.0
                add_correlation(a[split], straight, X[middle, t], longest, left)
                counts[0][split] = add_product(C[s, middle], left, GC[s, middle])
                left[:] = 0.0
                add_correlation(b[split], inverted, X[middle, t], longest, left)
                counts[1][split] = add_product(D[s, middle], left, GD[s, middle])
            for length in range(longest + 1):
                GX[s, t, length] += GC[s, t, length] + GD[s, t, length]


@step
def add_product(chart, slope, out):
    """out += slope; returns the sum of chart * slope."""
    total = 0.0
    for length in range(len(slope)):
        total += chart[length] * slope[length]
        out[length] += slope[length]
    return total


@step
def add_marginals(links, deleted, insertions, n_rows, X, G, before, nulls, factor, total, out):
    """Expected counts of links, deletions and insertions; the share of what has no link at all."""
    n, longest = len(links), len(nulls) - 1
    inserted = out[2 * n : 2 * n + n_rows]
    for s in range(n):
        for t in range(s + 1, n + 1):
            value = links[s] * deleted[s, t]
            mass = 0.0
            for length in range(1, longest + 1):
                part = value * G[s, t, length]
                mass += part
                inserted[min(t, n_rows - 1)] += part * (length - 1)
                value *= insertions[t]
            out[s] += mass
            out[n + s + 1 : n + t] += mass
    for i in range(n):
        for k in range(longest):
            mass = 0.0
            for length in range(1, longest - k + 1):
                mass += before[i, k] * X[i, n, length] * factor[k + length] / total
            out[n : n + i] += mass
            inserted[min(i, n_rows - 1)] += mass * k
    only_nulls = 0.0
    for k in range(longest + 1):
        mass = nulls[k] * factor[k] / total
        out[n : 2 * n] += mass
        inserted[n_rows - 1] += mass * k
        only_nulls += mass
    return only_nulls


@step
def add_rules(counts, n, by_place, out):
    """The counts of splits, in the order s, S, t; all to one part without `by_place`."""
    for which in range(2):
        part = which * (n_splits(n) if by_place else 1)
        for s in range(n + 1):
            for middle in range(s + 1, n + 1):
                for t in range(middle + 1, n + 1):
                    out[part] += counts[which][s, t, middle]
                    part += by_place


@step
def infer_sentence(scores, at, shape, by_place, memory, rule_memory, out):
    """Log-partition and expected counts of one sentence, and whether they stand."""
    n, last = shape
    n_rows = n + 1 if by_place else 1
    lengths = at + 2 * n + n_rows
    rules = lengths + (last + 1 if by_place else 0)
    n_rules = n_splits(n) if by_place else 1
    null = 0.0 if by_place else scores[rules]
    binary = largest_of(scores, rules, rules + 2 * n_rules)
    links, deletions, insertions = np.empty(n), np.empty(n), np.empty(n + 1)
    offset, tilt = weights(
        scores, at, (n, n_rows), null, binary, links, deletions, insertions
    )  # fmt: skip
    if offset == -np.inf:
        # Without a rule for null words one word may still be deleted; the forest knows.
        return offset, null > -np.inf
    used = (n + 1, n + 1, last + 1)
    size = used[0] * used[1] * used[2]
    charts = (
        memory[0, :size].reshape(used), memory[1, :size].reshape(used),
        memory[2, :size].reshape(used),
    )  # fmt: skip
    slopes = (
        memory[3, :size].reshape(used), memory[4, :size].reshape(used),
        memory[5, :size].reshape(used),
    )  # fmt: skip
    cube, cubes = (n + 1) ** 3, (n + 1, n + 1, n + 1)
    a, b = rule_memory[0, :cube].reshape(cubes), rule_memory[1, :cube].reshape(cubes)
    counts = (rule_memory[2, :cube].reshape(cubes), rule_memory[3, :cube].reshape(cubes))
    fill_rules(scores, rules, n, by_place, binary, a)
    fill_rules(scores, rules + n_rules, n, by_place, binary, b)
    deleted, before = np.empty((n, n + 1)), np.empty((n + 1, last + 1))
    nulls, factor, by_length = np.empty(last + 1), np.empty(last + 1), np.empty(last + 1)
    inside(links, deletions, insertions, (a, b), last, charts, deleted)
    before_links(deletions, insertions, last, before)
    nulls_only(scores, at, (n, n_rows), null, offset, tilt, nulls)
    most = fill_lengths(scores, lengths, by_place, tilt, factor)
    if most == -np.inf:
        return most, True
    total = root(charts[0], before, nulls, n, factor, by_length)
    log_total = math.log(total) if total > 0.0 else -np.inf
    if not is_safe(log_total, n, last):
        return 0.0, False
    outside(n, last, (a, b), charts, before, factor, total, slopes, counts)
    only_nulls = add_marginals(
        links, deleted, insertions, n_rows, charts[0], slopes[0], before, nulls, factor, total, out
    )  # fmt: skip
    add_rules(counts, n, by_place, out[rules - at :])
    if by_place:
        out[lengths - at : rules - at] = by_length / total
    else:
        # A rule for every null word, but for the first where there is no link.
        out[rules - at] += out[n : 2 * n + 1].sum() - only_nulls
    return log_total + most + offset, True


@kernel
def infer(scores, part_offsets, n_source, longest, by_place, log_partition, out, safe):
    """log Z_n(x) and expected counts of every sentence; `safe` says which of them stand.

    The parts of a sentence are its links (n,), each the sum over the translations of a word, its
    deletions (n,), one insertion, the straight and the inverted rule, each of which is also used to
    attach a null word. With `by_place` there is an insertion for each source boundary (n + 1,), a
    part for each number of target words (longest + 1,), and each rule has a part for every split,
    in the order s, S, t; null words are attached for nothing.
    """
    most_n, most_length = 0, 0
    for p in range(len(n_source)):
        most_n, most_length = max(most_n, n_source[p]), max(most_length, longest[p])
    memory = np.empty((6, (most_n + 1) * (most_n + 1) * (most_length + 1)))
    rule_memory = np.empty((4, (most_n + 1) ** 3))
    for p in range(len(n_source)):
        at, end = part_offsets[p], part_offsets[p + 1]
        out[at:end] = 0.0
        shape = (n_source[p], longest[p])
        log_partition[p], safe[p] = infer_sentence(
            scores, at, shape, by_place, memory, rule_memory, out[at:end]
        )
