"""Arithmetic on long vectors, in an order that never changes.

A library's dot product of long vectors may be shared among as many threads as there are cores,
and its last bits then depend on their number. Here chunks of fixed length may be shared among
threads, and their results are added in order.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np

from partita.arrays import FloatArray, SingleArray
from partita.kernels.weights import vectors
from partita.training.spare_vectors import SPARE
from partita.training.threads import in_threads

CHUNK = 2**18
"""What a thread takes at a time."""
NONE = np.zeros(0)
"""For a vector that is not there."""

Result = TypeVar("Result")


def by_chunks(function: Callable[[int, int], Result], n: int, n_threads: int = 1) -> list[Result]:
    """function(start, end) for every chunk of n entries; the results in order."""
    starts = range(0, n, CHUNK)
    ends = [min(start + CHUNK, n) for start in starts]
    return in_threads(function, starts, ends, n_threads=n_threads)


def dot(left: FloatArray, right: FloatArray, n_threads: int = 1) -> float:
    """sum_j left_j right_j.

    >>> dot(np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    11.0
    """
    found = by_chunks(lambda *chunk: vectors.dot(left, right, *chunk), len(left), n_threads)
    return float(sum(found))


def norm(vector: FloatArray, n_threads: int = 1) -> float:
    """The Euclidean length of a vector."""
    return float(np.sqrt(dot(vector, vector, n_threads)))


def norm_of_quotient(left: FloatArray, right: FloatArray, n_threads: int = 1) -> float:
    """The Euclidean length of left / right, which is not written down.

    >>> norm_of_quotient(np.array([6.0, 8.0]), np.array([2.0, 2.0]))
    5.0
    """
    found = by_chunks(
        lambda *chunk: vectors.squares_of_quotients(left, right, *chunk), len(left), n_threads
    )
    return float(np.sqrt(sum(found)))


def product(
    left: FloatArray, right: FloatArray, n_threads: int = 1, out: FloatArray | None = None
) -> FloatArray:
    """left * right, entry by entry; in `out`, which may be one of them, or in a new array.

    >>> product(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    array([3., 1.])
    """
    return _by_entries(np.multiply, left, right, n_threads, out)


def sum_of(
    left: FloatArray, right: FloatArray, n_threads: int = 1, out: FloatArray | None = None
) -> FloatArray:
    """left + right, as `product`.

    >>> sum_of(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    array([4. , 2.5])
    """
    return _by_entries(np.add, left, right, n_threads, out)


def _by_entries(
    function: np.ufunc,
    left: FloatArray,
    right: FloatArray,
    n_threads: int,
    out: FloatArray | None,
) -> FloatArray:
    result = SPARE.vector(len(left)) if out is None else out

    def of_chunk(start: int, end: int) -> None:
        function(left[start:end], right[start:end], out=result[start:end])

    by_chunks(of_chunk, len(result), n_threads)
    return result


def moved(
    weights: FloatArray,
    step: float,
    direction: FloatArray,
    units: FloatArray = NONE,
    n_threads: int = 1,
) -> FloatArray:
    """weights + step * units * direction; without units these are all 1.

    >>> moved(np.array([1.0, 2.0]), 0.5, np.array([3.0, 1.0]))
    array([2.5, 2.5])
    """
    out = SPARE.vector(len(weights))
    by_chunks(
        lambda *chunk: vectors.move(weights, step, direction, units, *chunk, out),
        len(out),
        n_threads,
    )
    return out


class GradientSums(NamedTuple):
    """What is summed up while a gradient is finished."""

    penalties: float
    """sum_j scale_j weights_j²."""
    weights: float
    """sum_j weights_j²."""
    gradient: float
    """sum_j gradient_j², penalty included."""
    along: float
    """sum_j units_j gradient_j direction_j."""


def finish_gradient(
    gradient: FloatArray,
    weights: FloatArray,
    l2: float,
    scale: FloatArray | None = None,
    *,
    units: FloatArray = NONE,
    direction: FloatArray = NONE,
    n_threads: int = 1,
) -> GradientSums:
    """gradient = units * (gradient + l2 * scale * weights), in place; reads each vector once.

    Without units or a scale these are all 1.

    >>> gradient = np.array([1.0, 1.0])
    >>> found = finish_gradient(gradient, np.array([3.0, 4.0]), 2.0, units=np.array([1.0, 0.5]))
    >>> gradient, found.weights, found.gradient
    (array([7. , 4.5]), 25.0, 130.0)
    """
    scales = NONE if scale is None else scale

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros(len(GradientSums._fields))
        vectors.finish_gradient(l2, scales, weights, units, direction, start, end, gradient, out)
        return out

    found = by_chunks(of_chunk, len(gradient), n_threads)
    return GradientSums(*sum(found, np.zeros(len(GradientSums._fields))).tolist())


def pair_products(
    rows: Sequence[SingleArray],
    moved: tuple[float, FloatArray],
    gradients: tuple[FloatArray, FloatArray],
    slope: FloatArray,
    n_threads: int = 1,
) -> tuple[SingleArray, SingleArray, FloatArray]:
    """A step and the change of the gradient along it, and dot products; reads each vector once.

    `moved` is how far one went, and in which direction; `gradients` are the new and the old one.
    The products are those of all rows, then of step and change, with step and change and with the
    slope, (n_rows + 2, 3).

    >>> moved, old = (2.0, np.array([0.5, 1.5])), np.zeros(2)
    >>> step, change, found = pair_products(
    ...     [], moved, (np.array([0.5, 0.0]), old), np.array([0.0, 1.0])
    ... )
    >>> step, found
    (array([1., 3.], dtype=float32), array([[10.  ,  0.5 ,  3.  ],
           [ 0.5 ,  0.25,  0.  ]]))
    """
    # Both in one array, as large as a vector in full: what that leaves behind can take it.
    step, change = SPARE.vector(len(slope)).view(np.float32).reshape(2, -1)
    everything = [*rows, step, change]
    padded, n_rows = _padded(everything), len(everything)
    rest = *moved, *gradients, slope, step, change

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros((_by_four(n_rows), 3))
        vectors.pair_products(padded, n_rows, *rest, start, end, out)
        return out

    return step, change, _sum(by_chunks(of_chunk, len(slope), n_threads))[:n_rows]


def row_products(rows: Sequence[SingleArray], column: FloatArray, n_threads: int = 1) -> FloatArray:
    """Dot products of all rows with a column, (n_rows,).

    >>> row_products([np.array([1.0, 2.0], np.float32)], np.array([3.0, 4.0]))
    array([11.])
    """
    padded, n_rows = _padded(rows), len(rows)

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros((_by_four(n_rows), 3))
        vectors.row_products(padded, n_rows, column, start, end, out)
        return out

    return _sum(by_chunks(of_chunk, len(column), n_threads))[:n_rows, 2]


def converted_pairs(
    rows: Sequence[SingleArray],
    units: tuple[FloatArray, FloatArray],
    gradient: FloatArray,
    n_threads: int = 1,
) -> tuple[FloatArray, FloatArray]:
    """Steps and as many changes, overwritten in other units; reads each vector once.

    `units` are the old and the new ones, the gradient is in the new ones. What comes are the dot
    products of all rows, and those with the gradient.

    >>> rows = [np.array([3.0], np.float32), np.array([5.0], np.float32)]
    >>> converted_pairs(rows, (np.array([2.0]), np.array([1.0])), np.array([7.0]))
    (array([[36. , 15. ],
           [15. ,  6.25]]), array([42. , 17.5]))
    """
    padded, n_rows = _padded(rows), len(rows)

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros((_by_four(n_rows), 3 * n_rows // 2))
        vectors.convert_pairs(padded, n_rows // 2, *units, gradient, start, end, out)
        return out

    found = _sum(by_chunks(of_chunk, len(gradient), n_threads))[:n_rows].reshape(n_rows, -1, 3)
    return found[:, :, :2].reshape(n_rows, n_rows), found[:, 0, 2].copy()


def combination(
    coefficients: FloatArray, rows: Sequence[SingleArray], column: FloatArray, n_threads: int = 1
) -> tuple[FloatArray, float]:
    """sum_i coefficients_i rows_i, and the last coefficient times the column; reads each once.

    And the dot product of that with the column.

    >>> combination(np.array([1.0, 2.0]), [np.array([3.0, 4.0], np.float32)], np.array([1.0, 0.0]))
    (array([5., 4.]), 5.0)
    """
    total, n_rows = SPARE.vector(len(column)), len(rows)
    padded, factor = _padded(rows), float(coefficients[-1])
    factors = np.zeros(_by_four(n_rows))
    factors[:n_rows] = coefficients[:-1]
    found = by_chunks(
        lambda *chunk: vectors.combination(factors, padded, n_rows, factor, column, *chunk, total),
        len(total),
        n_threads,
    )
    return total, float(sum(found))


def _sum(found: Sequence[FloatArray]) -> FloatArray:
    """In order."""
    return sum(found, np.zeros_like(found[0]))


def _by_four(n_rows: int) -> int:
    """As many rows as kernels work on."""
    return n_rows + -n_rows % vectors.ROWS


def _padded(rows: Sequence[SingleArray]) -> tuple[SingleArray, ...]:
    """As a tuple whose length is a multiple of 16: kernels are compiled for each length."""
    return (*rows, *[rows[0]] * (-len(rows) % 16))
