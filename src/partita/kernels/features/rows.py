"""Sparse features with dense rows of weights: gather rows into scores, scatter gradients back.

Row r of the features stands for `width` parts, from `starts[r]` on (the tags of a word, the labels
of an arc), and holds the attributes ids[offsets[r] : offsets[r + 1]]; every attribute owns `width`
neighbouring weights, so that one attribute costs a few whole cache lines:

    scores[starts[r] + j]      += sum_k values[k] weights[ids[k], j]       (gather)
    gradient[ids[k], j]        += values[k] score_gradient[starts[r] + j]  (scatter)

An empty `values` means that all are 1. Rows are asked for `AHEAD` attributes before their use;
columns go 16 at a time through registers, then 4, then singly.
"""

from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.lanes import N_LANES, broadcast, fma, load, store
from partita.kernels.simd.prefetch import prefetch

AHEAD = 32
"""Measured at 9, 17 and 45 columns: a third faster than 12 where the weights outgrow the caches."""
LINE = 8
"""Doubles in a cache line."""


@inlined
def value_at(values, k):
    """The value of place k; 1 where the features are binary."""
    return values[k] if len(values) > 0 else 1.0


@inlined
def cell_ahead(ids, k, width, column):
    """The weight at `column` of the attribute `AHEAD` places on."""
    return ids[min(k + AHEAD, len(ids) - 1)] * width + column


@inlined
def gather_16(weights, width, ids, values, begin, end, column, out, at):
    """out[at : at + 16] += the sum of one row's weights in 16 columns."""
    first, second = load(out, at), load(out, at + N_LANES)
    third, fourth = load(out, at + 2 * N_LANES), load(out, at + 3 * N_LANES)
    for k in range(begin, end):
        ahead = cell_ahead(ids, k, width, column)
        prefetch(weights, ahead)
        prefetch(weights, ahead + LINE)
        prefetch(weights, ahead + 2 * LINE)
        cell = ids[k] * width + column
        value = broadcast(value_at(values, k))
        first = fma(value, load(weights, cell), first)
        second = fma(value, load(weights, cell + N_LANES), second)
        third = fma(value, load(weights, cell + 2 * N_LANES), third)
        fourth = fma(value, load(weights, cell + 3 * N_LANES), fourth)
    store(out, at, first)
    store(out, at + N_LANES, second)
    store(out, at + 2 * N_LANES, third)
    store(out, at + 3 * N_LANES, fourth)


@inlined
def gather_4(weights, width, ids, values, begin, end, column, out, at):
    """out[at : at + 4] += the sum of one row's weights in 4 columns."""
    lanes = load(out, at)
    for k in range(begin, end):
        prefetch(weights, cell_ahead(ids, k, width, column))
        value = broadcast(value_at(values, k))
        lanes = fma(value, load(weights, ids[k] * width + column), lanes)
    store(out, at, lanes)


@kernel
def gather(weights, width, ids, values, offsets, starts, out):
    """out += the scores of all rows; weights has shape (n_attributes * width,)."""
    for row in range(len(starts)):
        begin, end, start = offsets[row], offsets[row + 1], starts[row]
        column = 0
        while column + 4 * N_LANES <= width:
            gather_16(weights, width, ids, values, begin, end, column, out, start + column)
            column += 4 * N_LANES
        while column + N_LANES <= width:
            gather_4(weights, width, ids, values, begin, end, column, out, start + column)
            column += N_LANES
        while column < width:
            total = out[start + column]
            for k in range(begin, end):
                total += value_at(values, k) * weights[ids[k] * width + column]
            out[start + column] = total
            column += 1


@inlined
def scatter_16(gradient, at, width, ids, values, begin, end, column, out):
    """Add gradient[at : at + 16] to 16 columns of every attribute of one row."""
    first, second = load(gradient, at), load(gradient, at + N_LANES)
    third, fourth = load(gradient, at + 2 * N_LANES), load(gradient, at + 3 * N_LANES)
    for k in range(begin, end):
        ahead = cell_ahead(ids, k, width, column)
        prefetch(out, ahead)
        prefetch(out, ahead + LINE)
        prefetch(out, ahead + 2 * LINE)
        cell = ids[k] * width + column
        value = broadcast(value_at(values, k))
        store(out, cell, fma(value, first, load(out, cell)))
        store(out, cell + N_LANES, fma(value, second, load(out, cell + N_LANES)))
        store(out, cell + 2 * N_LANES, fma(value, third, load(out, cell + 2 * N_LANES)))
        store(out, cell + 3 * N_LANES, fma(value, fourth, load(out, cell + 3 * N_LANES)))


@inlined
def scatter_4(gradient, at, width, ids, values, begin, end, column, out):
    """Add gradient[at : at + 4] to 4 columns of every attribute of one row."""
    lanes = load(gradient, at)
    for k in range(begin, end):
        prefetch(out, cell_ahead(ids, k, width, column))
        cell = ids[k] * width + column
        store(out, cell, fma(broadcast(value_at(values, k)), lanes, load(out, cell)))


@kernel
def scatter(gradient, width, ids, values, offsets, starts, out):
    """out += the gradient of all weights; out has shape (n_attributes * width,)."""
    for row in range(len(starts)):
        begin, end, start = offsets[row], offsets[row + 1], starts[row]
        column = 0
        while column + 4 * N_LANES <= width:
            scatter_16(gradient, start + column, width, ids, values, begin, end, column, out)
            column += 4 * N_LANES
        while column + N_LANES <= width:
            scatter_4(gradient, start + column, width, ids, values, begin, end, column, out)
            column += N_LANES
        while column < width:
            for k in range(begin, end):
                cell = ids[k] * width + column
                out[cell] += value_at(values, k) * gradient[start + column]
            column += 1
