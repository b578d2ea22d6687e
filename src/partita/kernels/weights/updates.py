"""Mini-batch updates of the weights that a batch touches, and of those only.

A gradient is as long as the weights but almost everywhere 0. Weights are taken in blocks of
`WIDTH`; a batch comes with the list of blocks in which its gradient can differ from 0. An update
visits those, clears the gradient as it goes, and leaves weights whose gradient is 0 alone.

A weight's penalty is paid when the weight is visited, times `share`: one over the fraction of
visits, so that what it pays in a whole pass is right whether it is visited once or always.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import kernel
from partita.kernels.simd.prefetch import prefetch

WIDTH = 32
LINE = 8
"""Doubles in a cache line."""
AHEAD = 3
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


@kernel
def mark(gradient, visits, touched):
    """touched[b] = whether a gradient in block b differs from 0; counts visits; clears gradient."""
    for j in range(gradient.size):
        if gradient[j] != 0.0:
            visits[j] += 1.0
            touched[j // WIDTH] = True
            gradient[j] = 0.0


@kernel
def shrunk(value, threshold):
    """The value moved towards 0 by the threshold, and not beyond it."""
    if value > threshold:
        return value - threshold
    if value < -threshold:
        return value + threshold
    return 0.0


@kernel
def fetch(array, touched, place):
    """Ask for the block of an array that is `AHEAD` places further on."""
    start = touched[min(place + AHEAD, touched.size - 1)] * WIDTH
    for line in range(0, WIDTH, LINE):
        prefetch(array, start + line)


@kernel
def sgd(touched, gradient, share, update, weights, drift):
    """weights_j -= rate g_j, g_j = normaliser gradient_j + l2 share_j weights_j, then shrunk by L1.

    drift_j += age (new - old weights_j), from which the average follows. Returns sum_j g_j².
    """
    total = 0.0
    for place, block in enumerate(touched):
        fetch(gradient, touched, place)
        fetch(share, touched, place)
        fetch(weights, touched, place)
        for j in range(block * WIDTH, min(block * WIDTH + WIDTH, weights.size)):
            if gradient[j] != 0.0:
                old = weights[j]
                g = update.normaliser * gradient[j] + update.l2 * share[j] * old
                moved = shrunk(old - update.rate * g, update.rate * update.l1 * share[j])
                weights[j] = moved
                if update.age > 0.0:
                    drift[j] += update.age * (moved - old)
                gradient[j] = 0.0
                total += g * g
    return total


@kernel
def adagrad(touched, gradient, share, update, weights, drift, squares):
    """As `sgd`, the rate of each weight divided by the root of its squared gradients so far."""
    total = 0.0
    for place, block in enumerate(touched):
        fetch(gradient, touched, place)
        fetch(share, touched, place)
        fetch(weights, touched, place)
        fetch(squares, touched, place)
        for j in range(block * WIDTH, min(block * WIDTH + WIDTH, weights.size)):
            if gradient[j] != 0.0:
                old = weights[j]
                g = update.normaliser * gradient[j] + update.l2 * share[j] * old
                squares[j] += g * g
                # A gradient whose square underflows to 0 is too small to step along.
                rate = update.rate / np.sqrt(squares[j]) if squares[j] > 0.0 else 0.0
                moved = shrunk(old - rate * g, rate * update.l1 * share[j])
                weights[j] = moved
                if update.age > 0.0:
                    drift[j] += update.age * (moved - old)
                gradient[j] = 0.0
                total += g * g
    return total


@kernel
def adam(touched, gradient, share, update, means_of, weights, drift, squares, means):
    """As `sgd`, with running means of the gradient and of its square (taken when visited).

    `rate` includes the correction of both means for their start at 0.
    """
    total = 0.0
    for place, block in enumerate(touched):
        fetch(gradient, touched, place)
        fetch(share, touched, place)
        fetch(weights, touched, place)
        fetch(squares, touched, place)
        fetch(means, touched, place)
        for j in range(block * WIDTH, min(block * WIDTH + WIDTH, weights.size)):
            if gradient[j] != 0.0:
                old = weights[j]
                g = update.normaliser * gradient[j] + update.l2 * share[j] * old
                means[j] = means_of.momentum * means[j] + (1.0 - means_of.momentum) * g
                squares[j] = means_of.decay * squares[j] + (1.0 - means_of.decay) * g * g
                rate = update.rate / (np.sqrt(squares[j]) + means_of.floor)
                moved = shrunk(old - rate * means[j], rate * update.l1 * share[j])
                weights[j] = moved
                if update.age > 0.0:
                    drift[j] += update.age * (moved - old)
                gradient[j] = 0.0
                total += g * g
    return total
