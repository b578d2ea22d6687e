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

Rows are padded: place i is column PAD + i, and columns around the sentence are 0, those up to whole
lanes behind its last place too. So four places are worked on at a time, and sums over places are
those of four running sums.
"""

import math
from typing import NamedTuple

import numpy as np

from partita.kernels.jit import borrowing, inlined, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, spread, store
from partita.kernels.simd.lanes import total as lane_total

TILE = 4 * N_LANES


class Room(NamedTuple):
    """Memory for one pair: rows of places, one for each target word, end to end; or one row."""

    emissions: np.ndarray
    """(1 - p0) t(f_j | e_i), over the largest of its row."""
    alpha: np.ndarray
    ratio: np.ndarray
    """s_j(k) / Z(k) before word j; a row more than there are target words."""
    empty: np.ndarray
    """p0 t(f_j | empty) over the same, (m,)."""
    largest: np.ndarray
    outside: np.ndarray
    scale: np.ndarray
    norms: np.ndarray
    inverse_norms: np.ndarray
    start: np.ndarray
    place: np.ndarray
    """s_j, then beta_j; (n,)."""
    sums: np.ndarray
    gain: np.ndarray
    first_gain: np.ndarray
    left: np.ndarray
    met: np.ndarray
    reversed_jumps: np.ndarray


@inlined
def padding(jumps):
    """Empty columns on either side of a row: as far as a band reaches, and a tile."""
    return len(jumps) // 2 + TILE


@inlined
def whole_lanes(n):
    """n rounded up to lanes."""
    return (n + N_LANES - 1) // N_LANES * N_LANES


@inlined
def room_for(n, m, jumps):
    """Room for pairs of at most n source and m target words."""
    lanes = whole_lanes(n)
    width = lanes + 2 * padding(jumps)
    return Room(
        np.empty(m * width), np.empty(m * width), np.empty((m + 1) * width),
        np.empty(m), np.empty(m), np.empty(m + 1), np.empty(m),
        np.empty(lanes), np.empty(lanes), np.empty(lanes), np.empty(lanes),
        np.empty(width), np.empty(width), np.empty(lanes), np.empty(lanes),
        np.empty(len(jumps) + TILE), np.empty(len(jumps)),
    )  # fmt: skip


@inlined
def clear(array, end):
    """array[i] = 0 for i < end."""
    for i in range(end):
        array[i] = 0.0


@borrowing
def correlate(weights, w_at, n_weights, values, v_at, n_out, is_fresh, out, out_at):
    """out[out_at + x] += sum_y weights[w_at + y] values[v_at + x + y], x below n_out or a bit more.

    Sixteen x at a time, or the last eight: up to 15 more than `n_out` are computed. What is there
    counts as 0 if `is_fresh`.
    """
    x = 0
    while x < n_out:
        nothing = broadcast(0.0)
        first, second, third, fourth = nothing, nothing, nothing, nothing
        if not is_fresh:
            first, second = load(out, out_at + x), load(out, out_at + x + N_LANES)
        if n_out - x <= 2 * N_LANES:
            for y in range(n_weights):
                weight, at = spread(weights, w_at + y), v_at + x + y
                first = fma(weight, load(values, at), first)
                second = fma(weight, load(values, at + N_LANES), second)
            store(out, out_at + x, first)
            store(out, out_at + x + N_LANES, second)
            return
        if not is_fresh:
            third = load(out, out_at + x + 2 * N_LANES)
            fourth = load(out, out_at + x + 3 * N_LANES)
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
        x += TILE


@step
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


@step
def start_weights(starts, n, out):
    """out_i = start(i), the probability that the first jump goes to i of n places."""
    total = 0.0
    for i in range(n):
        out[i] = starts[min(i, len(starts) - 1)]
        total += out[i]
    for i in range(n):
        out[i] /= total


@borrowing
def add_far(row, at, n, reach, weight_after, weight_before, out, out_at):
    """out_i += weight_after sum_(k <= i - D) row_k + weight_before sum_(k >= i + D) row_k."""
    # Both running sums at once, since each waits for its last addition.
    after, before = 0.0, 0.0
    for k in range(n - reach):
        after += row[at + k]
        before += row[at + n - 1 - k]
        out[out_at + reach + k] += weight_after * after
        out[out_at + n - 1 - reach - k] += weight_before * before


@borrowing
def forward(n, m, p0, jumps, room):
    """The recursion above, from emissions and empty words. Returns the log-likelihood."""
    pad, reach, lanes = padding(jumps), len(jumps) // 2, whole_lanes(n)
    width = lanes + 2 * pad
    clear(room.ratio, (m + 1) * width)
    clear(room.place, lanes)
    for d in range(len(jumps)):
        room.reversed_jumps[d] = jumps[len(jumps) - 1 - d]
    room.outside[0] = 1.0
    log_likelihood, product = 0.0, 1.0
    for j in range(m):
        row, at = j * width, j * width + pad
        correlate(
            room.reversed_jumps, 1, 2 * reach - 1, room.ratio, at - reach + 1, n, True,
            room.sums, pad,
        )  # fmt: skip
        add_far(room.ratio, at, n, reach, jumps[2 * reach], jumps[0], room.sums, pad)
        stay, outside = room.empty[j], room.outside[j]
        sums = broadcast(0.0)
        for x in range(0, n, N_LANES):
            jumped = fma(broadcast(outside), load(room.start, x), load(room.sums, pad + x))
            alpha = load(room.emissions, at + x) * jumped
            place = fma(broadcast(stay), load(room.place, x), alpha)
            store(room.alpha, at + x, alpha)
            store(room.place, x, place)
            sums = sums + place
        total = stay * outside + lane_total(sums)
        inverse = 1.0 / total
        for x in range(0, n, N_LANES):
            place = load(room.place, x) * inverse
            store(room.place, x, place)
            store(room.alpha, at + x, load(room.alpha, at + x) * inverse)
            store(room.ratio, row + width + pad + x, place * load(room.inverse_norms, x))
        room.outside[j + 1] = stay * outside * inverse
        room.scale[j] = total
        # One logarithm serves many factors: from 1e-100 on, the next one cannot underflow.
        product *= total
        if product < 1e-100:
            log_likelihood += math.log(product)
            product = 1.0
    return log_likelihood + math.log(product)


@borrowing
def backward(n, m, jumps, room, posteriors, jump_counts, departures, start_counts):
    """Posteriors of one pair, (n + 1, m) with the empty word first, and its expected jumps.

    With beta_j(k) the probability of the words after j if the place is k, over that of the same
    words: gain_j(i) = (1 - p0) t(f_j | e_i) beta_j(i) / scale_j, and

        beta_(j-1)(k) = sum_i c(i - k) / Z(k) gain_j(i) + p0 t(f_j | empty) / scale_j beta_j(k)

    The expected jumps by c(d) are c(d) sum_jk ratio_j(k) gain_j(k + d), those from k (departures)
    sum_j ratio_j(k) sum_i c(i - k) gain_j(i). All counts are added to.
    """
    pad, reach, lanes = padding(jumps), len(jumps) // 2, whole_lanes(n)
    width = lanes + 2 * pad
    clear(room.gain, width)
    clear(room.first_gain, lanes)
    clear(room.left, lanes)
    clear(room.met, len(room.met))
    for k in range(lanes):
        room.place[k] = 1.0 if k < n else 0.0
    outside_beta = 1.0
    for j in range(m - 1, -1, -1):
        at = j * width + pad
        inverse = 1.0 / room.scale[j]
        stay, outside = room.empty[j] * inverse, room.outside[j]
        staying, first_jump = broadcast(0.0), broadcast(0.0)
        for x in range(0, n, N_LANES):
            beta, ratio = load(room.place, x), load(room.ratio, at + x)
            store(room.alpha, at + x, load(room.alpha, at + x) * beta)
            staying = fma(ratio * load(room.norms, x), beta, staying)
            gain = load(room.emissions, at + x) * (beta * inverse)
            store(room.gain, pad + x, gain)
            first_jump = fma(load(room.start, x), gain, first_jump)
            store(room.first_gain, x, fma(broadcast(outside), gain, load(room.first_gain, x)))
        posteriors[0, j] = stay * (outside * outside_beta + lane_total(staying))
        for i in range(n):
            posteriors[i + 1, j] = room.alpha[at + i]
        near = 2 * reach - 1
        correlate(room.ratio, at, n, room.gain, pad - reach + 1, near, False, room.met, 0)
        correlate(jumps, 1, near, room.gain, pad - reach + 1, n, True, room.sums, pad)
        far_jumps(room.ratio, at, room.gain, pad, n, reach, jump_counts)
        add_far(room.gain, pad, n, reach, jumps[0], jumps[2 * reach], room.sums, pad)
        for x in range(0, n, N_LANES):
            jumped = load(room.sums, pad + x)
            store(room.left, x, fma(load(room.ratio, at + x), jumped, load(room.left, x)))
            beta = fma(jumped, load(room.inverse_norms, x), load(room.place, x) * stay)
            store(room.place, x, beta)
        outside_beta = lane_total(first_jump) + stay * outside_beta
    for d in range(2 * reach - 1):
        jump_counts[d + 1] += room.met[d]
    for k in range(n):
        departures[k] += room.left[k]
        start_counts[min(k, len(start_counts) - 1)] += room.start[k] * room.first_gain[k]


@borrowing
def far_jumps(row, at, gain, pad, n, reach, jump_counts):
    """The products of places that lie the reach or more apart, for both ends of the counts."""
    after, before, total_after, total_before = 0.0, 0.0, 0.0, 0.0
    for k in range(n - reach):
        after += row[at + k]
        before += row[at + n - 1 - k]
        total_after += gain[pad + reach + k] * after
        total_before += gain[pad + n - 1 - reach - k] * before
    jump_counts[2 * reach] += total_after
    jump_counts[0] += total_before


@inlined
def infer(n, m, jumps, starts, p0, room, posteriors, jump_counts, departures, start_counts):
    """Forward and backward; returns the log-likelihood. The counts are still to be times c(d)."""
    clear(room.norms, whole_lanes(n))
    clear(room.inverse_norms, whole_lanes(n))
    clear(room.start, whole_lanes(n))
    jump_norms(jumps, n, room.norms)
    for k in range(n):
        room.inverse_norms[k] = 1.0 / room.norms[k]
    start_weights(starts, n, room.start)
    log_likelihood = forward(n, m, p0, jumps, room)
    backward(n, m, jumps, room, posteriors, jump_counts, departures, start_counts)
    return log_likelihood
