"""Gradients in the form of a caller's scores, in single precision: what networks are trained in.

Each sentence's share of a vector over parts, times a number for the sentence, goes to its place in
one pass, rounded there. Shapes are as in `padded`.
"""

from partita.kernels.doors.padded import power
from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.eight import EIGHT, load_eight, store_eight
from partita.kernels.simd.lanes import N_LANES, broadcast, load, store


@inlined
def copy_times(factor, source, start, target, first, n_cells):
    """Cells of `source`, times a number, to single precision."""
    whole = n_cells - n_cells % EIGHT
    for cell in range(0, whole, EIGHT):
        store_eight(target, first + cell, factor * load_eight(source, start + cell))
    for cell in range(whole, n_cells):
        target[first + cell] = factor * source[start + cell]


@kernel
def scatter(parts, factors, starts, width, n_axes, extra, inner, n_words, out):
    """A padded batch of the parts from starts[sentence] on, times factors[sentence]; else 0."""
    n_rows = power(width, max(n_axes - 1, 0))
    length = (width if n_axes > 0 else 1) * inner
    for sentence in range(len(n_words)):
        side = n_words[sentence] + extra
        run = (side if n_axes > 0 else 1) * inner
        source, to = starts[sentence], sentence * n_rows * length
        if side == width:
            # Nothing lies between the rows: they are one.
            copy_times(factors[sentence], parts, source, out, to, n_rows * length)
            continue
        for row in range(n_rows):
            counts = n_axes < 2 or (row % width < side and row // width < side)
            n_copied = run if counts else 0
            copy_times(factors[sentence], parts, source, out, to, n_copied)
            for cell in range(n_copied, length):
                out[to + cell] = 0.0
            source += n_copied
            to += length


@kernel
def merge(parts, factors, starts, out):
    """What the sentences have for one array, times a number for each, added up in doubles."""
    whole = len(out) - len(out) % N_LANES
    for cell in range(0, whole, N_LANES):
        merged = broadcast(0.0)
        for sentence in range(len(starts)):
            merged = merged + broadcast(factors[sentence]) * load(parts, starts[sentence] + cell)
        store(out, cell, merged)
    for cell in range(whole, len(out)):
        out[cell] = 0.0
        for sentence in range(len(starts)):
            out[cell] += factors[sentence] * parts[starts[sentence] + cell]
