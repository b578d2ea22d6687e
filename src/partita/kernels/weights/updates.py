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

from partita.arrays import Array
from partita.kernels.jit import borrowing, kernel
from partita.kernels.simd.alike import all_like, load_like, store_like
from partita.kernels.simd.any_lanes import load_any
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    load,
    maximum,
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


SGD, ADAGRAD, ADAM = range(3)


class Method(NamedTuple):
    """Which method it is, and how Adam takes its means."""

    kind: int
    """`SGD`, `ADAGRAD` or `ADAM`."""
    momentum: float = 0.0
    """Share of the old mean gradient that is kept."""
    decay: float = 0.0
    """Share of the old mean square that is kept."""
    floor: float = 0.0
    """Added to the root of the mean square, so that a tiny one makes no huge step."""


class Vectors(NamedTuple):
    """What a step changes; all (n_weights,) or more. What a method has no use for may be empty."""

    weights: Array
    drift: Array
    """Sum of the moves times the age at each, from which the average follows."""
    squares: Array
    """Of the gradients: sums (AdaGrad), or running means (Adam)."""
    means: Array
    """Of the gradients (Adam)."""


def byte_places():
    """The places of the bits that are set in each byte, (256, 8), and their number, (256,)."""
    is_set = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.bool_)
    return np.argsort(~is_set, axis=1, kind="stable"), is_set.sum(axis=1)


@borrowing
def is_zero(array, block):
    """Whether a block of an array is all 0."""
    values, others = load(array, block * WIDTH), load(array, block * WIDTH + N_LANES)
    return total(maximum(values, -values) + maximum(others, -others)) == 0.0


@kernel
def mark(gradient, visits, touched):
    """touched[b] = whether a gradient in block b differs from 0; counts visits; clears gradient.

    The gradient is padded with zeros to whole blocks.
    """
    for block in range(touched.size):
        if is_zero(gradient, block):
            continue
        touched[block] = True
        for j in range(block * WIDTH, min((block + 1) * WIDTH, visits.size)):
            if gradient[j] != 0.0:
                visits[j] += 1
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
def put(j, old, step, threshold, is_still, plain, update, vectors):
    """Write old - step, shrunk by the L1 penalty, where the gradient is not 0."""
    moved = old - step
    if not plain and update.l1 > 0.0:
        moved = shrunk(moved, threshold)
    moved = select(is_still, old, moved)
    store_like(vectors.weights, j, moved)
    if not plain and update.age > 0.0:
        drift = load_like(old, vectors.drift, j)
        store_like(vectors.drift, j, drift + update.age * (moved - old))


@borrowing
def follow(j, values, share, plain, kind, update, method, vectors):
    """The step of eight weights from j on, of four or of one; gives the squares of their gradient.

    `values` and `share` are so many lanes, or numbers (of the end of a row: a masked store to a
    line that is not in the first cache takes three times as long).

    `plain` and `kind` are constants in the text of a caller in a hurry: branches for each few
    weights are a third of the time. `plain` means that there is neither an L1 penalty nor an
    average; False says nothing.

    With `values` the gradient, and g = normaliser values + l2 share weights, where `values` is not
    0:

        SGD      weights -= rate g
        AdaGrad  squares += g², weights -= rate / sqrt(squares) g
        Adam     squares and means of g are running means, weights -= rate / (sqrt(squares) + floor)
                 means; `rate` includes the correction of both for their start at 0

    and the L1 penalty moves weights towards 0, by l1 share times the factor of g, or of its mean.
    """
    old = load_like(values, vectors.weights, j)
    is_still = values == 0.0
    g = select(is_still, 0.0, update.normaliser * values + update.l2 * share * old)
    along, rate = g, all_like(values, update.rate)
    if kind == ADAGRAD:
        square = load_like(values, vectors.squares, j) + g * g
        store_like(vectors.squares, j, square)
        # A gradient whose square underflows to 0 is too small to step along.
        rate = update.rate / select(square > 0.0, square_root(square), np.inf)
    elif kind == ADAM:
        mean, square = load_like(values, vectors.means, j), load_like(values, vectors.squares, j)
        along = method.momentum * mean + (1.0 - method.momentum) * g
        new = method.decay * square + (1.0 - method.decay) * g * g
        store_like(vectors.means, j, select(is_still, mean, along))
        store_like(vectors.squares, j, select(is_still, square, new))
        rate = update.rate / (square_root(new) + method.floor)
    put(j, old, rate * along, rate * update.l1 * share, is_still, plain, update, vectors)
    return g * g


@borrowing
def fetch(array, block):
    """Ask for a block of an array, unless that is empty."""
    if len(array) > 0:
        prefetch(array, block * WIDTH)


@borrowing
def move_block(block, gradient, share, update, method, vectors):
    """The step of one block; clears its gradient."""
    sums = broadcast(0.0)
    for part in range(0, WIDTH, N_LANES):
        j = block * WIDTH + part
        paid = load_any(share, j) if len(share) > 0 else broadcast(0.0)
        sums = sums + follow(
            j, load(gradient, j), paid, False, method.kind, update, method, vectors
        )
        store(gradient, j, broadcast(0.0))
    return sums


@borrowing
def ask(block, gradient, share, update, vectors):
    """Ask for all that the step of a block needs."""
    fetch(gradient, block)
    fetch(share, block)
    fetch(vectors.weights, block)
    fetch(vectors.squares, block)
    fetch(vectors.means, block)
    if update.age > 0.0:
        fetch(vectors.drift, block)


@kernel
def move(touched, gradient, share, update, method, vectors):
    """One step of the weights in the blocks `touched`; gives the squared norm of g (see `follow`).

    All arrays are (n_weights,), padded with zeros to whole blocks.
    """
    sums = broadcast(0.0)
    for place in range(touched.size):
        later = touched[min(place + AHEAD, touched.size - 1)]
        ask(later, gradient, share, update, vectors)
        sums = sums + move_block(touched[place], gradient, share, update, method, vectors)
    return total(sums)


@borrowing
def move_if_any(block, gradient, share, update, method, vectors):
    """The step of a block whose gradient is not all 0."""
    if is_zero(gradient, block):
        return broadcast(0.0)
    return move_block(block, gradient, share, update, method, vectors)


@kernel
def move_all(begin, end, gradient, share, update, method, vectors):
    """`move` of the blocks from `begin` to `end` whose gradient is not all 0.

    Most of them: what comes next is asked for by the processor itself, which was faster than to
    look ahead for it.
    """
    sums = broadcast(0.0)
    for block in range(begin, end):
        sums = sums + move_if_any(block, gradient, share, update, method, vectors)
    return total(sums)
