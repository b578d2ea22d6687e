"""Exponentials of segments, relative to the likeliest way to where they end, all in one sweep.

With h[e] the best score of all ways to cut the words before boundary e, where every transition
counts as the largest of the table,

    h[e]       = max_i,y (h[i] + score[i, e, y])       plus the largest transition behind it
    W[i, e, y] = exp(score[i, e, y] + h[i] - h[e])     at most 1

which is exact, as h is a potential: all structures lose the same. It needs no exponential itself,
so that those of W wait for nothing, and go along the memory of the scores, where a row of
(longest, tags) fills its registers whatever the number of tags.
"""

import numpy as np

from partita.kernels.jit import borrowing, lent
from partita.kernels.segments.rows import cell_of, fill
from partita.kernels.simd.any_lanes import gather
from partita.kernels.simd.eight import EIGHT, load_eight, store_eight
from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    load,
    maximum,
    store,
)
from partita.kernels.simd.small_matrix import top

FAR = 64.0
"""From here on potentials are counted from anew, so that they keep their digits behind the dot."""


@borrowing
def best_tags(scores, start, n_cells, n_tags, tops):
    """The best tag of each segment."""
    cell = 0
    if n_tags < N_LANES:
        # Four segments side by side, since one does not fill a register.
        while cell + N_LANES <= n_cells:
            place, highest = start + cell * n_tags, broadcast(-np.inf)
            for k in range(place, place + n_tags):
                places = (k, k + n_tags, k + 2 * n_tags, k + 3 * n_tags)
                highest = maximum(gather(scores, places), highest)
            store(tops, cell, highest)
            cell += N_LANES
    for rest in range(cell, n_cells):
        tops[rest] = top(scores, start + rest * n_tags, n_tags)


@borrowing
def best_ending(tops, befores, end, longest):
    """The best way to a boundary; -inf if no segment ends there."""
    highest = -np.inf
    for first in range(max(0, end - longest), end):
        moved = tops[cell_of(first, end - first - 1, longest)] + befores[first]
        highest = moved if moved > highest else highest
    return highest


@borrowing
def row_weights(scores, row, n_cells, before, potentials, ends, weights):
    """W of one row."""
    k = 0
    while k + EIGHT <= n_cells:
        moved = load_eight(scores, row + k) + before - load_eight(potentials, ends + k)
        store_eight(weights, row + k, exponential(moved))
        k += EIGHT
    if n_cells < N_LANES:
        for k in range(n_cells):
            weights[row + k] = exponential(scores[row + k] + before - potentials[ends + k])
        return
    while k < n_cells:
        # The last four overlap those before them: the same numbers are written again.
        k = min(k, n_cells - N_LANES)
        moved = load(scores, row + k) + before - load(potentials, ends + k)
        store(weights, row + k, exponential(moved))
        k += N_LANES


@lent
def segment_weights(
    scores, start, n_words, longest, n_tags, table_shift, tops, befores, potentials, weights
):  # fmt: skip
    """Fill W of a sentence, at the places of its scores; returns h at its end.

    And befores[i] > -inf where a segment ends at boundary i, or the sentence begins. Potentials are
    [boundary, tag], as the ends of a row lie, with the same number for all tags.
    """
    n_cells, taken, highest, n_done = longest * n_tags, 0.0, 0.0, 0
    best_tags(scores, start, n_words * longest, n_tags, tops)
    befores[0] = 0.0
    for end in range(1, n_words + 1):
        highest = best_ending(tops, befores, end, longest)
        befores[end] = highest + table_shift
        # W is 0 where nothing ends.
        shared = highest if highest > -np.inf else 0.0
        fill(potentials, end * n_tags, (end + 1) * n_tags, shared)
        if end < n_words and abs(shared) < FAR:
            continue
        # Of rows with ends behind this one the potentials are not known yet.
        n_ready = n_words if end == n_words else max(n_done, end + 1 - longest)
        for first in range(n_done, n_ready):
            row, n_used = start + first * n_cells, min(longest, n_words - first) * n_tags
            row_weights(
                scores, row, n_used, befores[first], potentials, (first + 1) * n_tags, weights
            )
            fill(weights, row + n_used, row + n_cells, 0.0)
        n_done = n_ready
        if end < n_words:
            taken += highest
            for boundary in range(n_done, end + 1):
                befores[boundary] -= highest
            for k in range(n_done * n_tags, (end + 1) * n_tags):
                potentials[k] -= highest
    return taken + highest
