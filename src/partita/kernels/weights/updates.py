"""Mini-batch updates of the weights that a batch touches, and of those only.

A gradient is as long as the weights but almost everywhere 0. Weights are taken in blocks of
`WIDTH`, a line of the cache; a batch comes with the list of blocks in which its gradient can differ
from 0. An update visits those, clears the gradient as it goes, and leaves weights whose gradient is
0 alone.

A weight's penalty is paid when the weight is visited, times `share`: one over the fraction of
visits, so that what it pays in a whole pass is right whether it is visited once or always. It is
kept in single precision, since what limits an update is the lines that it reads from memory. An
empty `share` means that there is no penalty.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import borrowing, kernel
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    load,
    load_single,
    select,
    square_root,
    store,
    total,
)
from partita.kernels.simd.prefetch import prefetch

WIDTH = 8
"""Doubles in a cache line: rows of weights begin and end anywhere, and are short."""
AHEAD = 24
"""Blocks lie far apart, so each is asked for this many blocks before its use."""


class Update(NamedTuple):
    """The numbers of one step."""

    normaliser: float
    """Times the gradient: one over the number of sentences."""
    l2: float
    l1: float
    rate: float
    age: float
    """Steps that the average already covers; 0 before it begins."""


class Means(NamedTuple):
    """How Adam takes its means."""

    momentum: float
    """Share of the old mean gradient that is kept."""
    decay: float
    """Share of the old mean square that is kept."""
    floor: float
    """Added to the root of the mean square, so that a tiny one makes no huge step."""


def byte_places():
    """The places of the bits that are set in each byte, (256, 8), and their number, (256,)."""
    is_set = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.bool_)
    return np.argsort(~is_set, axis=1, kind="stable"), is_set.sum(axis=1)


@kernel
def mark(gradient, visits, touched):
    """touched[b] = whether a gradient in block b differs from 0; counts visits; clears gradient."""
    for j in range(gradient.size):
        if gradient[j] != 0.0:
            visits[j] += 1
            touched[j // WIDTH] = True
            gradient[j] = 0.0


@kernel
def unpack(bits, places, counts, blocks):
    """blocks[:n] = the numbers of the bits that are set, as `np.packbits` orders them; gives n.

    `places[b]` are those within byte b, `counts[b]` how many (see `byte_places`); eight numbers are
    written for each byte and the next one writes over those too many, so `blocks` has a byte more.
    """
    n = 0
    for byte in range(bits.size):
        value = bits[byte]
        if value:
            for k in range(8):
                blocks[n + k] = 8 * byte + places[value, k]
            n += counts[value]
    return n


@borrowing
def shrunk(value, threshold):
    """The value moved towards 0 by the threshold, and not beyond it."""
    less = select(value > threshold, value - threshold, 0.0)
    return select(value < -threshold, value + threshold, less)


@borrowing
def penalised(values, old, share, update, j):
    """The gradient of the mean loss and of the L2 penalty."""
    g = update.normaliser * values
    if len(share) > 0:
        g = g + update.l2 * load_single(share, j) * old
    return g


@borrowing
def put(weights, drift, share, update, j, old, step, rate, is_still):
    """Write old - step, shrunk by the L1 penalty at its rate, where the gradient is not 0."""
    moved = old - step
    if update.l1 > 0.0:
        moved = shrunk(moved, rate * update.l1 * load_single(share, j))
    moved = select(is_still, old, moved)
    store(weights, j, moved)
    if update.age > 0.0:
        store(drift, j, load(drift, j) + update.age * (moved - old))


@borrowing
def sgd_lanes(j, gradient, share, update, weights, drift):
    """The step of one vector of weights; gives the squares of its gradient."""
    values, old = load(gradient, j), load(weights, j)
    is_still = values == 0.0
    g = select(is_still, 0.0, penalised(values, old, share, update, j))
    put(weights, drift, share, update, j, old, update.rate * g, broadcast(update.rate), is_still)
    store(gradient, j, broadcast(0.0))
    return g * g


@borrowing
def adagrad_lanes(j, gradient, share, update, weights, drift, squares):
    """As `sgd_lanes`."""
    values, old = load(gradient, j), load(weights, j)
    is_still = values == 0.0
    g = select(is_still, 0.0, penalised(values, old, share, update, j))
    so_far = load(squares, j) + g * g
    store(squares, j, so_far)
    # A gradient whose square underflows to 0 is too small to step along.
    rate = select(so_far > 0.0, update.rate / square_root(so_far), 0.0)
    put(weights, drift, share, update, j, old, rate * g, rate, is_still)
    store(gradient, j, broadcast(0.0))
    return g * g


@borrowing
def adam_lanes(j, gradient, share, update, weights, drift, squares, means, means_of):
    """As `sgd_lanes`."""
    values, old = load(gradient, j), load(weights, j)
    is_still = values == 0.0
    g = select(is_still, 0.0, penalised(values, old, share, update, j))
    mean, square = load(means, j), load(squares, j)
    new_mean = means_of.momentum * mean + (1.0 - means_of.momentum) * g
    new_square = means_of.decay * square + (1.0 - means_of.decay) * g * g
    store(means, j, select(is_still, mean, new_mean))
    store(squares, j, select(is_still, square, new_square))
    rate = update.rate / (square_root(new_square) + means_of.floor)
    put(weights, drift, share, update, j, old, rate * new_mean, rate, is_still)
    store(gradient, j, broadcast(0.0))
    return g * g


@borrowing
def fetch(array, touched, place):
    """Ask for the block of an array that is `AHEAD` places further on."""
    prefetch(array, touched[min(place + AHEAD, touched.size - 1)] * WIDTH)


@kernel
def sgd(touched, gradient, share, update, weights, drift):
    """weights_j -= rate g_j, g_j = normaliser gradient_j + l2 share_j weights_j, then shrunk by L1.

    drift_j += age (new - old weights_j), from which the average follows. Returns sum_j g_j².
    All arrays but `touched` are (n_weights,), padded with zeros to whole blocks.
    """
    sums = broadcast(0.0)
    for place in range(touched.size):
        fetch(gradient, touched, place)
        fetch(weights, touched, place)
        fetch(share, touched, place)
        for part in range(0, WIDTH, N_LANES):
            j = touched[place] * WIDTH + part
            sums = sums + sgd_lanes(j, gradient, share, update, weights, drift)
    return total(sums)


@kernel
def adagrad(touched, gradient, share, update, weights, drift, squares):
    """As `sgd`, the rate of each weight divided by the root of its squared gradients so far."""
    sums = broadcast(0.0)
    for place in range(touched.size):
        fetch(gradient, touched, place)
        fetch(weights, touched, place)
        fetch(share, touched, place)
        fetch(squares, touched, place)
        for part in range(0, WIDTH, N_LANES):
            j = touched[place] * WIDTH + part
            sums = sums + adagrad_lanes(j, gradient, share, update, weights, drift, squares)
    return total(sums)


@kernel
def adam(touched, gradient, share, update, means_of, weights, drift, squares, means):
    """As `sgd`, with running means of the gradient and of its square (taken when visited).

    `rate` includes the correction of both means for their start at 0.
    """
    sums = broadcast(0.0)
    for place in range(touched.size):
        fetch(gradient, touched, place)
        fetch(weights, touched, place)
        fetch(share, touched, place)
        fetch(squares, touched, place)
        fetch(means, touched, place)
        for part in range(0, WIDTH, N_LANES):
            j = touched[place] * WIDTH + part
            sums = sums + adam_lanes(
                j, gradient, share, update, weights, drift, squares, means, means_of
            )
    return total(sums)
