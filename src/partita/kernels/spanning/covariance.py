"""The covariance of the arcs of spanning trees, times a direction: `elimination`, differentiated.

A constant added to the direction on all arcs into one word changes nothing; the word's expected
value is taken out first, which leaves less to cancel.
"""

import numpy as np

from partita.kernels.jit import kernel, step
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store
from partita.kernels.spanning.elimination import (
    as_lanes,
    copy,
    differentiate,
    eliminate,
    prepare,
    square,
    swap_words,
)
from partita.kernels.trees.side_by_side import fill_lanes, lengths_of, write_lanes


@step
def centre(directions, marginals, at):
    """Subtract from direction[i, j] its mean over the heads of j, sum_i p(i, j) direction[i, j]."""
    for j in range(0, at.stride, N_LANES):
        mean = broadcast(0.0)
        for row in range(0, (at.n_words + 1) * at.stride, at.stride):
            mean = fma(load(marginals, row + j), load(directions, row + j), mean)
        for row in range(0, (at.n_words + 1) * at.stride, at.stride):
            store(directions, row + j, load(directions, row + j) - mean)


@kernel
def covariance_product(arcs, direction, marginals, arc_offsets, n_words, order, single_root, out):
    """The covariance product of a batch, given its marginals; right for the safe sentences."""
    if len(order) == 0:
        return
    most = square(n_words[order[-1]])
    size = (most.n_words + 1) * most.stride
    weights, directions = np.empty(size), np.empty(size)
    rows, moved, gradient, moved_gradient = (
        np.empty(size),
        np.empty(size),
        np.empty(size),
        np.empty(size),
    )
    best, words = np.empty(most.stride), np.empty(N_LANES)
    inverses, moved_ds = np.empty(most.stride), np.empty(most.stride)
    left, moved_left = np.empty(most.stride + 2 * N_LANES), np.empty(most.stride + 2 * N_LANES)
    for first in range(0, len(order), N_LANES):
        last = min(first + N_LANES, len(order)) - 1
        at, lengths = square(n_words[order[last]]), lengths_of(n_words, order, first)
        prepare(arcs, arc_offsets, n_words, order, first, at, single_root, weights, best, words)
        fill_lanes(direction, arc_offsets, n_words, order, first, at, 0.0, directions)
        fill_lanes(marginals, arc_offsets, n_words, order, first, at, 0.0, moved)
        centre(directions, moved, at)
        for index in range(N_LANES):
            swap_words(directions, at, index, int(words[index]))
        copy(weights, at, rows, gradient)
        for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
            store(moved, cell, load(weights, cell) * load(directions, cell))
            store(moved_gradient, cell, broadcast(0.0))
        eliminate(rows, moved, at, single_root, as_lanes(lengths), inverses, moved_ds)
        differentiate(
            rows, moved, at, single_root, inverses, moved_ds, left, moved_left,
            gradient, moved_gradient,
        )  # fmt: skip
        for cell in range(0, (at.n_words + 1) * at.stride, N_LANES):
            change = fma(load(directions, cell), load(gradient, cell), load(moved_gradient, cell))
            store(gradient, cell, load(weights, cell) * change)
        for index in range(N_LANES):
            swap_words(gradient, at, index, int(words[index]))
        write_lanes(gradient, at, arc_offsets, n_words, order, first, out)
