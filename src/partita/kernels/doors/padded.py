"""Batches, padded or end to end: their cells to flat vectors over parts, and back.

The array of a sentence of n words has `n_axes` axes of n + extra places, then `inner` cells that
lie together. In a padded batch the axes have `width` places, of which the first n + extra count.
So runs of (n + extra) * inner cells lie end to end in the flat vector, and `width` * inner apart
in the batch; with one such axis, or none, there is one run a sentence.
"""

import numpy as np

from partita.kernels.jit import borrowing, inlined, kernel, pasted
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store
from partita.kernels.simd.registers import (
    all_whole,
    lane,
    load_whole,
    maximum,
    n_whole,
    select,
    store_whole,
)


@inlined
def power(base, exponent):
    """A small whole power of a whole number."""
    result = 1
    for _ in range(exponent):
        result *= base
    return result


@borrowing
def copy_cells(source, start, target, first, n_cells):
    """Copy cells as they are; what is left over at the end, together with some before it."""
    n_each = n_whole(target)
    if n_cells < n_each:
        for cell in range(n_cells):
            target[first + cell] = source[start + cell]
        return
    last = n_cells - n_each
    for cell in range(0, last, n_each):
        store_whole(target, first + cell, load_whole(target, source, start + cell))
    store_whole(target, first + last, load_whole(target, source, start + last))


@borrowing
def copy_scores(source, start, target, first, n_cells, seen):
    """Copy cells likewise; returns what is seen of them, with what was `seen` before.

    That is whether there are some that are neither finite nor -inf, and the largest absolute value
    of the finite ones, each in lanes; it costs next to nothing beside the memory that is read
    anyway.
    """
    (odd, most), n_each = seen, n_whole(target)
    if n_cells < n_each:
        for cell in range(n_cells):
            value = source[start + cell]
            target[first + cell] = value
            odd, most = look(all_whole(target, value), odd, most)
        return odd, most
    last = n_cells - n_each
    for cell in range(0, last, n_each):
        values = load_whole(target, source, start + cell)
        store_whole(target, first + cell, values)
        odd, most = look(values, odd, most)
    values = load_whole(target, source, start + last)
    store_whole(target, first + last, values)
    return look(values, odd, most)


@pasted
def look(values, odd, most):
    """Not 0 where something is neither finite nor -inf, and the largest finite absolute value."""
    # A comparison with NaN is false, so NaN is odd too.
    sizes = maximum(values, 0.0 - values)
    return (
        select(values < np.inf, odd, 1.0),
        maximum(select(sizes < np.inf, sizes, 0.0), most),
    )


@inlined
def nothing_seen(target):
    """For `copy_scores` to begin with."""
    return all_whole(target, 0.0), all_whole(target, 0.0)


@inlined
def summary(target, seen):
    """Whether some are neither finite nor -inf; the largest absolute value of the finite ones."""
    odd, largest = 0.0, 0.0
    for index in range(n_whole(target)):
        odd = max(odd, float(lane(seen[0], index)))
        largest = max(largest, float(lane(seen[1], index)))
    return odd > 0.0, largest


END_TO_END = -1
"""In place of a stride: sentences lie one behind the other, without padding."""


@kernel
def gather(batch, stride, width, n_axes, extra, inner, n_words, starts, out):
    """Copy the cells that count of every sentence to `out`, from starts[sentence] on.

    Sentences lie `stride` cells apart; with a stride of 0 they all get the same cells. Returns
    whether some are neither finite nor -inf, and the largest absolute value of the finite ones.
    """
    seen, end = nothing_seen(out), 0
    for sentence in range(len(n_words)):
        side = n_words[sentence] + extra
        n_runs = power(side, max(n_axes - 1, 0))
        run = (side if n_axes > 0 else 1) * inner
        if side == width or stride == END_TO_END:
            # Nothing lies between the runs: they are one.
            n_runs, run = 1, n_runs * run
        source = end if stride == END_TO_END else sentence * stride
        end += run
        to = starts[sentence]
        if n_axes == stride == 0 and sentence > 0:
            # What all sentences share was seen with the first of them.
            copy_cells(batch, 0, out, to, run)
            continue
        for index in range(n_runs):
            row = index
            if n_axes == 3:
                row = index // side * width + index % side
            seen = copy_scores(batch, source + row * width * inner, out, to, run, seen)
            to += run
    return summary(out, seen)


@kernel
def copy(source, out):
    """Copy all of it; returns whether some are neither finite nor -inf; the largest of others."""
    return summary(out, copy_scores(source, 0, out, 0, len(out), nothing_seen(out)))


@kernel
def scatter(parts, starts, width, n_axes, extra, inner, n_words, fill, out):
    """The inverse of `gather`, with `fill` in all other cells of the batch."""
    n_rows = power(width, max(n_axes - 1, 0))
    length = (width if n_axes > 0 else 1) * inner
    for sentence in range(len(n_words)):
        side = n_words[sentence] + extra
        run = (side if n_axes > 0 else 1) * inner
        source = starts[sentence]
        for row in range(n_rows):
            to = (sentence * n_rows + row) * length
            counts = n_axes < 2 or (row % width < side and row // width < side)
            n_copied = run if counts else 0
            copy_cells(parts, source, out, to, n_copied)
            for cell in range(n_copied, length):
                out[to + cell] = fill
            source += n_copied


@kernel
def merge(parts, starts, is_largest, neutral, out):
    """What the sentences have for one array, added up, or the largest; `neutral` without any."""
    whole = len(out) - len(out) % N_LANES
    for cell in range(0, whole, N_LANES):
        merged = broadcast(neutral)
        for sentence in range(len(starts)):
            values = load(parts, starts[sentence] + cell)
            merged = select(values > merged, values, merged) if is_largest else merged + values
        store(out, cell, merged)
    for cell in range(whole, len(out)):
        out[cell] = neutral
        for sentence in range(len(starts)):
            value = parts[starts[sentence] + cell]
            out[cell] = max(out[cell], value) if is_largest else out[cell] + value
