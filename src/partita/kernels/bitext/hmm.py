"""Hidden Markov alignment of one sentence pair: forward, backward, and expected counts.

The words of the target are written one after the other. Each is translated from a source word i,
reached by a jump from the last one that was used, k, or from the empty word, which leaves the
place as it is (Vogel et al. 1996; Och & Ney 2003):

    p(i | k) = (1 - p0) c(i - k) / Z(k),    Z(k) = sum_i c(i - k),    p(empty | k) = p0

Before the first jump the place is "outside", and p(i | outside) = (1 - p0) start(i). With s_j(k)
the probability that the place is k after word j, alpha_j(i) that of jumping to i at word j, both
given the words so far, and t the translation probabilities:

    jumped(i)  = sum_k s_(j-1)(k) / Z(k) c(i - k) + s_(j-1)(outside) start(i)
    alpha_j(i) = (1 - p0) t(f_j | e_i) jumped(i)
    s_j(i)     = alpha_j(i) + p0 t(f_j | empty) s_(j-1)(i),    everything over its sum, scale_j

Jumps are told apart up to a distance, D; c(d) = c(D) beyond it, so that all sums over k are a band
of 2 D - 1 products and two running sums: O(n D) a word, where a general chain takes O(n²).

Rows are padded: place i is column PAD + i, and columns around the sentence are 0.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import N_LANES, fma, load, spread, store

TILE = 4 * N_LANES


@inlined
def padding(jumps):
    """Empty columns on either side of a row: as far as a band reaches, and a tile."""
    return len(jumps) // 2 + TILE


@inlined
def correlate(weights, w_at, n_weights, values, v_at, n_out, out, out_at):
    """out[out_at + x] += sum_y weights[w_at + y] values[v_at + x + y], x below n_out or a bit more.

    Sixteen x at a time: up to 15 more than `n_out` are computed.
    """
    for x in range(0, n_out, TILE):
        first, second = load(out, out_at + x), load(out, out_at + x + N_LANES)
        third, fourth = load(out, out_at + x + 2 * N_LANES), load(out, out_at + x + 3 * N_LANES)
        for y in range(n_weights):
            weight, at = spread(weights, w_at + y), v_at + x + y
            first = fma(weight, load(values, at), first)
            second = fma(weight, load(values, at + N_LANES), second)
            third = fma(weight, load(values, at + 2 * N_LANES), third)
            fourth = fma(weight, load(values, at + 3 * N_LANES), fourth)
        store(out, out_at + x, first)
        store(out, out_at + x + N_LANES, second)
        store(out, out_at + x + 2 * N_LANES, third)
        store(out, out_at + x + 3 * N_LANES, fourth)


@kernel
def jump_norms(jumps, n, out):
    """out_k = Z(k) = sum over places i of c(i - k); sums of positive numbers only, O(n)."""
    reach = len(jumps) // 2
    below = 0.0
    for k in range(n):
        out[k] = below
        below += jumps[max(reach - k - 1, 0)]
    above = 0.0
    for k in range(n - 1, -1, -1):
        above += jumps[min(reach + n - 1 - k, 2 * reach)]
        out[k] += above


@kernel
def start_weights(starts, n, out):
    """out_i = start(i), the probability that the first jump goes to i of n places."""
    total = 0.0
    for i in range(n):
        out[i] = starts[min(i, len(starts) - 1)]
        total += out[i]
    for i in range(n):
        out[i] /= total


@inlined
def add_far(row, pad, n, reach, weight_after, weight_before, out):
    """out_i += weight_after sum_(k <= i - D) row_k + weight_before sum_(k >= i + D) row_k."""
    running = 0.0
    for i in range(reach, n):
        running += row[pad + i - reach]
        out[pad + i] += weight_after * running
    running = 0.0
    for i in range(n - 1 - reach, -1, -1):
        running += row[pad + i + reach]
        out[pad + i] += weight_before * running


@kernel
def forward(emissions, empty, n, jumps, norms, start, p0, alpha, ratio, outside, scale):
    """The recursion above; `ratio` is s_j(k) / Z(k) before word j. Returns the log-likelihood.

    `emissions` (m, width) and `alpha` (m, width), `ratio` (m + 1, width), `outside` (m + 1,).
    """
    m, pad, reach = len(empty), padding(jumps), len(jumps) // 2
    reversed_jumps = jumps[::-1].copy()
    ratio[:] = 0.0
    place = np.zeros(n)
    sums = np.zeros(emissions.shape[1])
    outside[0] = 1.0
    log_likelihood, product = 0.0, 1.0
    for j in range(m):
        row = ratio[j]
        sums[:] = 0.0
        correlate(reversed_jumps, 1, 2 * reach - 1, row, pad - reach + 1, n, sums, pad)
        add_far(row, pad, n, reach, jumps[2 * reach], jumps[0], sums)
        stay = p0 * empty[j]
        total = stay * outside[j]
        for i in range(n):
            jumped = sums[pad + i] + outside[j] * start[i]
            alpha[j, pad + i] = (1.0 - p0) * emissions[j, pad + i] * jumped
            place[i] = alpha[j, pad + i] + stay * place[i]
            total += place[i]
        inverse = 1.0 / total
        for i in range(n):
            place[i] *= inverse
            alpha[j, pad + i] *= inverse
            ratio[j + 1, pad + i] = place[i] / norms[i]
        outside[j + 1] = stay * outside[j] * inverse
        scale[j] = total
        # One logarithm serves many factors: from 1e-100 on, the next one cannot underflow.
        product *= total
        if product < 1e-100:
            log_likelihood += math.log(product)
            product = 1.0
    return log_likelihood + math.log(product)


@kernel
def backward(
    emissions, empty, n, jumps, norms, start, p0, alpha, ratio, outside, scale, posteriors,
    jump_counts, departures, start_counts,
):  # fmt: skip
    """Posteriors of one pair, (n + 1, m) with the empty word first, and its expected jumps.

    With beta_j(k) the probability of the words after j if the place is k, over that of the same
    words: gain_j(i) = (1 - p0) t(f_j | e_i) beta_j(i) / scale_j, and

        beta_(j-1)(k) = sum_i c(i - k) / Z(k) gain_j(i) + p0 t(f_j | empty) / scale_j beta_j(k)

    The expected jumps by c(d) are c(d) sum_jk ratio_j(k) gain_j(k + d), those from k (departures)
    sum_j ratio_j(k) sum_i c(i - k) gain_j(i). All counts are added to.
    """
    m, pad, reach = len(empty), padding(jumps), len(jumps) // 2
    width = emissions.shape[1]
    gain, sums = np.zeros(width), np.zeros(width)
    beta, outside_beta = np.ones(n), 1.0
    met = np.zeros(2 * reach + TILE)
    for j in range(m - 1, -1, -1):
        inverse = 1.0 / scale[j]
        stay = p0 * empty[j] * inverse
        place_total = stay * outside[j] * outside_beta
        first_jump = 0.0
        for i in range(n):
            posteriors[i + 1, j] = alpha[j, pad + i] * beta[i]
            place_total += stay * ratio[j, pad + i] * norms[i] * beta[i]
            gain[pad + i] = (1.0 - p0) * emissions[j, pad + i] * beta[i] * inverse
            first_jump += start[i] * gain[pad + i]
            start_counts[min(i, len(start_counts) - 1)] += outside[j] * start[i] * gain[pad + i]
        posteriors[0, j] = place_total
        row = ratio[j]
        correlate(row, pad, n, gain, pad - reach + 1, 2 * reach - 1, met, 0)
        sums[:] = 0.0
        correlate(jumps, 1, 2 * reach - 1, gain, pad - reach + 1, n, sums, pad)
        far_jumps(row, gain, pad, n, reach, jump_counts)
        add_far(gain, pad, n, reach, jumps[0], jumps[2 * reach], sums)
        for k in range(n):
            departures[k] += row[pad + k] * sums[pad + k]
            beta[k] = sums[pad + k] / norms[k] + stay * beta[k]
        outside_beta = first_jump + stay * outside_beta
    for d in range(2 * reach - 1):
        jump_counts[d + 1] += met[d]


@inlined
def far_jumps(row, gain, pad, n, reach, jump_counts):
    """The products of places that lie the reach or more apart, for both ends of the counts."""
    running, total = 0.0, 0.0
    for i in range(reach, n):
        running += row[pad + i - reach]
        total += gain[pad + i] * running
    jump_counts[2 * reach] += total
    running, total = 0.0, 0.0
    for i in range(n - 1 - reach, -1, -1):
        running += row[pad + i + reach]
        total += gain[pad + i] * running
    jump_counts[0] += total


@kernel
def infer(
    emissions, empty, n, jumps, starts, p0, posteriors, jump_counts, departures, start_counts
):
    """Forward and backward; returns the log-likelihood. The counts are still to be times c(d)."""
    m, width = emissions.shape
    norms, start = np.empty(n), np.empty(n)
    jump_norms(jumps, n, norms)
    start_weights(starts, n, start)
    alpha, ratio = np.empty((m, width)), np.empty((m + 1, width))
    outside, scale = np.empty(m + 1), np.empty(m)
    log_likelihood = forward(
        emissions, empty, n, jumps, norms, start, p0, alpha, ratio, outside, scale
    )
    backward(
        emissions, empty, n, jumps, norms, start, p0, alpha, ratio, outside, scale, posteriors,
        jump_counts, departures, start_counts,
    )  # fmt: skip
    return log_likelihood
