"""Gradients on their way back: from a flat vector over parts to the form that scores came in."""

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kernels.doors import slopes
from partita.structures.base import Structures
from partita.structures.doors import shape_alike
from partita.structures.forms import Form

ONE = np.float32(1.0).tobytes()


def single_slopes(
    sets: Structures, form: Form, parts: FloatArray, factors: FloatArray
) -> list[Array] | None:
    """Each sentence's share of `parts` times its factor, (n_sentences,), in single precision.

    An array for each of `sets.arrays`, with memory of its own; what came once for all sentences is
    added up. None for forms that need more than one pass: lists, and masks with holes.
    """
    if form.kind == "list" or form.order is not None:
        return None
    width = form.n_padded if form.kind == "padded" else sets.largest_length
    leading = (sets.n_sentences,) if form.kind == "padded" else ()
    found: list[Array] = []
    for array, once, starts in zip(sets.arrays, form.once, sets.array_starts, strict=True):
        if once:
            found.append(merged(parts, factors, starts, array.inner))
            continue
        batch = np.empty((*leading, *array.shape(width)), dtype=np.float32)
        slopes.scatter(
            parts, factors, starts, width + array.extra, array.n_axes, array.extra, array.n_inner,
            sets.lengths, batch.reshape(-1),
        )  # fmt: skip
        found.append(batch)
    return found


def own_slopes(
    sets: Structures, form: Form, parts: FloatArray, factors: FloatArray
) -> list[Array] | None:
    """`single_slopes` of parts that are in single precision, and the caller's own.

    They are given back as they are where every factor is 1, as those of a sum are.
    """
    shape = shape_alike(sets, form)
    if shape is not None and factors.tobytes() == ONE * len(factors):
        return [parts.reshape(shape)]
    return single_slopes(sets, form, parts, np.ascontiguousarray(factors, dtype=np.float64))


def merged(
    parts: FloatArray, factors: FloatArray, starts: IntArray, shape: tuple[int, ...]
) -> Array:
    """The parts from starts[sentence] on, times a factor each, added up over the sentences."""
    total = np.empty(shape)
    slopes.merge(parts, factors, starts, total.reshape(-1))
    return total.astype(np.float32)
