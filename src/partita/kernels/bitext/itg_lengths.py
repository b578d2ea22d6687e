"""D_n(x) of the normal form without a hypergraph: polynomials in the number of target words.

X[s, t] is a vector: entry l sums the derivations of the source words s .. t-1 with l target words,
whichever they are. A binary rule is then a convolution, the same for both rules (a, b: their
weights), for s < S < t:

    straight[s, t] = a sum_S C[s, S] * X[S, t]      inverted[s, t] = b sum_S D[s, S] * X[S, t]
    X = straight + inverted + L,   C = inverted + L,   D = straight + L,
    L[s, t](l) = link(s) prod_{s < p < t} a deletion(p) (a insertion)^(l - 1),   l >= 1,

as in `itg_scaled`, of which this is the sum over all targets. Null words before all links stand at
the root. The parts of a sentence are its links (n,), each the sum over the translations of a word,
its deletions (n,), one insertion, the straight and the inverted rule.
"""

import math

import numpy as np

from partita.kernels.bitext.itg_scaled import is_safe
from partita.kernels.jit import kernel
from partita.kernels.simd.exponential import LOWEST, exponential


@kernel
def weights(scores, at, n, links, deletions):
    """Weights of at most 1: (insertion, a, b, offset, tilt).

    Every source word is linked or deleted once, so a potential may be taken off both; a derivation
    of T terminals has T - 1 binary rules, so the larger binary score goes to the terminals; and
    `tilt` is taken off for each target word, which links and insertions have one of.
    """
    straight, inverted = scores[at + 2 * n + 1], scores[at + 2 * n + 2]
    binary = max(straight, inverted)
    if binary == -np.inf:
        binary = 0.0
    insertion = scores[at + 2 * n] + binary
    tilt = insertion if insertion > -np.inf else 0.0
    offset = -binary
    for i in range(n):
        link, deletion = scores[at + i] + binary - tilt, scores[at + n + i] + binary
        potential = max(link, deletion)
        offset += potential
        if potential > -np.inf:
            links[i] = exponential(link - potential)
            deletions[i] = exponential(deletion - potential)
    a, b = exponential(straight - binary), exponential(inverted - binary)
    return exponential(insertion - tilt), a, b, offset, tilt


@kernel
def add_leaves(link, deleted, insertion, a, longest, out):
    """out[l] += link deleted (a insertion)^(l - 1) for l >= 1."""
    value = link * deleted
    for length in range(1, longest + 1):
        out[length] += value
        value *= a * insertion


@kernel
def add_convolution(left, right, longest, out):
    """out[u + v] += left[u] right[v] for u, v >= 1 and u + v <= longest."""
    for u in range(1, longest):
        factor = left[u]
        if factor != 0.0:
            for v in range(1, longest - u + 1):
                out[u + v] += factor * right[v]


@kernel
def add_correlation(slope, other, longest, out):
    """out[v] += sum_u slope[u + v] other[u]: the derivative of a convolution."""
    for u in range(1, longest):
        factor = other[u]
        if factor != 0.0:
            for v in range(1, longest - u + 1):
                out[v] += factor * slope[u + v]


@kernel
def inside(links, deletions, insertion, a, b, longest, X, C, D, deleted):
    """X, C and D for all s < t, each [s, t, length]."""
    n = len(links)
    straight, inverted = np.empty(longest + 1), np.empty(longest + 1)
    for s in range(n - 1, -1, -1):
        product = 1.0
        for t in range(s + 1, n + 1):
            deleted[s, t] = product
            if t < n:
                product *= a * deletions[t]
            straight[:] = 0.0
            inverted[:] = 0.0
            for middle in range(s + 1, t):
                add_convolution(C[s, middle], X[middle, t], longest, straight)
                add_convolution(D[s, middle], X[middle, t], longest, inverted)
            for length in range(longest + 1):
                C[s, t, length] = b * inverted[length]
                D[s, t, length] = a * straight[length]
            add_leaves(links[s], deleted[s, t], insertion, a, longest, C[s, t])
            add_leaves(links[s], deleted[s, t], insertion, a, longest, D[s, t])
            for length in range(longest + 1):
                X[s, t, length] = C[s, t, length] + a * straight[length]


@kernel
def before_links(deletions, insertion, a, longest, out):
    """out[i, k] = weight of i deleted words and k inserted ones before all links, straight on."""
    n = len(deletions)
    out[0, 0] = 1.0
    for i in range(n):
        out[i + 1, 0] = out[i, 0] * a * deletions[i]
    for i in range(n + 1):
        for k in range(longest):
            out[i, k + 1] = out[i, k] * a * insertion


@kernel
def nulls_only(deletions, insertion, a, longest, out):
    """out[k] = weight of the derivation without links and with k target words."""
    product = 1.0
    is_first = True
    for value in deletions:
        product *= value if is_first else a * value
        is_first = False
    out[0] = 0.0 if is_first else product
    for k in range(1, longest + 1):
        product *= insertion if is_first else a * insertion
        is_first = False
        out[k] = product


@kernel
def root(X, before, nulls, n, longest, factor, out):
    """The sum over derivations with at most `longest` words; out[l] gets those with l of them."""
    total = 0.0
    for length in range(longest + 1):
        value = nulls[length]
        for i in range(n):
            for k in range(length):
                value += before[i, k] * X[i, n, length - k]
        out[length] = value
        total += value * factor[length]
    return total


@kernel
def outside(n, longest, a, b, X, C, D, before, factor, total, GX, GC, GD, work):
    """Derivatives of the log of the root's sum with respect to X, C and D, as the leaves see them.

    On return GX[s, t] is the derivative with respect to L[s, t]. Returns the expected number of
    straight and of inverted rules that join two blocks with links.
    """
    GX[:] = 0.0
    GC[:] = 0.0
    GD[:] = 0.0
    straight, inverted = work
    n_straight, n_inverted = 0.0, 0.0
    for s in range(n):
        for length in range(1, longest + 1):
            for k in range(longest - length + 1):
                GX[s, n, length] += before[s, k] * factor[k + length] / total
    for s in range(n):
        for t in range(n, s, -1):
            for length in range(longest + 1):
                n_straight += C[s, t, length] * GC[s, t, length]
                n_inverted += D[s, t, length] * GD[s, t, length]
                straight[length] = a * (GX[s, t, length] + GD[s, t, length])
                inverted[length] = b * (GX[s, t, length] + GC[s, t, length])
            for middle in range(s + 1, t):
                add_correlation(straight, C[s, middle], longest, GX[middle, t])
                add_correlation(inverted, D[s, middle], longest, GX[middle, t])
                add_correlation(straight, X[middle, t], longest, GC[s, middle])
                add_correlation(inverted, X[middle, t], longest, GD[s, middle])
            for length in range(longest + 1):
                GX[s, t, length] += GC[s, t, length] + GD[s, t, length]
    return n_straight, n_inverted


@kernel
def add_marginals(links, deleted, insertion, a, X, G, before, nulls, factor, total, marginals):
    """Expected counts of links, deletions, insertions and of the straight rules of null words."""
    n, longest = len(links), len(nulls) - 1
    for s in range(n):
        for t in range(s + 1, n + 1):
            value = links[s] * deleted[s, t]
            mass = 0.0
            for length in range(1, longest + 1):
                part = value * G[s, t, length]
                mass += part
                marginals[2 * n] += part * (length - 1)
                marginals[2 * n + 1] += part * (length - 1)
                value *= a * insertion
            marginals[s] += mass
            marginals[n + s + 1 : n + t] += mass
            marginals[2 * n + 1] += mass * (t - s - 1)
    for i in range(n):
        for k in range(longest):
            mass = 0.0
            for length in range(1, longest - k + 1):
                mass += before[i, k] * X[i, n, length] * factor[k + length] / total
            marginals[n : n + i] += mass
            marginals[2 * n] += mass * k
            marginals[2 * n + 1] += mass * (i + k)
    for k in range(longest + 1):
        mass = nulls[k] * factor[k] / total
        marginals[n : 2 * n] += mass
        marginals[2 * n] += mass * k
        if n + k > 1:
            marginals[2 * n + 1] += mass * (n + k - 1)


@kernel
def infer(scores, n_source, longest, log_partition, out, safe):
    """log Z_n(x) and expected counts of every sentence; `safe` says which of them stand.

    The parts of sentence p start behind those of the ones before it, 2 n + 3 of each.
    """
    most_n, most_length = 0, 0
    for p in range(len(n_source)):
        most_n, most_length = max(most_n, n_source[p]), max(most_length, longest[p])
    size = (most_n + 1) * (most_n + 1) * (most_length + 1)
    charts = np.empty((6, size))
    at = 0
    for p in range(len(n_source)):
        n, last = n_source[p], longest[p]
        shape = (n + 1, n + 1, last + 1)
        used = (n + 1) * (n + 1) * (last + 1)
        X, C = charts[0, :used].reshape(shape), charts[1, :used].reshape(shape)
        D, GX = charts[2, :used].reshape(shape), charts[3, :used].reshape(shape)
        GC, GD = charts[4, :used].reshape(shape), charts[5, :used].reshape(shape)
        marginals = out[at : at + 2 * n + 3]
        links, deletions, deleted = np.empty(n), np.empty(n), np.empty((n, n + 1))
        before, nulls = np.empty((n + 1, last + 1)), np.empty(last + 1)
        by_length, factor = np.empty(last + 1), np.empty(last + 1)
        insertion, a, b, offset, tilt = weights(scores, at, n, links, deletions)
        at += 2 * n + 3
        marginals[:] = 0.0
        log_partition[p] = -np.inf
        safe[p] = True
        if offset == -np.inf:
            continue
        inside(links, deletions, insertion, a, b, last, X, C, D, deleted)
        before_links(deletions, insertion, a, last, before)
        nulls_only(deletions, insertion, a, last, nulls)
        # What was taken off for each target word comes back relative to the largest power.
        most = max(0.0, tilt * last)
        for length in range(last + 1):
            factor[length] = exponential(tilt * length - most)
        total = root(X, before, nulls, n, last, factor, by_length)
        log_total = math.log(total) if total > 0.0 else -np.inf
        safe[p] = is_safe(log_total, n, last) and abs(tilt) * last < -LOWEST
        log_partition[p] = log_total + most + offset
        if safe[p]:
            work = (np.empty(last + 1), np.empty(last + 1))
            grads = (GX, GC, GD)
            pair = outside(n, last, a, b, X, C, D, before, factor, total, *grads, work)
            terms = (X, GX, before, nulls, factor, total, marginals)
            add_marginals(links, deleted, insertion, a, *terms)
            marginals[2 * n + 1] += pair[0]
            marginals[2 * n + 2] += pair[1]
