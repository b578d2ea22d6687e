"""Arithmetic on long vectors, in an order that never changes.

A library's dot product of long vectors may be shared among as many threads as there are cores,
and its last bits then depend on their number. Here chunks of fixed length may be shared among
threads, and their results are added in order.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from partita.arrays import FloatArray, SingleArray
from partita.kernels.weights import vectors
from partita.training.spare_vectors import SPARE
from partita.training.threads import in_threads

CHUNK = 2**18
"""What a thread takes at a time."""

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


def norm_of_product(
    left: FloatArray, right: FloatArray, n_threads: int = 1, *, is_quotient: bool = False
) -> float:
    """The Euclidean length of left * right, or of left / right, which is not written down.

    >>> norm_of_product(np.array([1.0, 2.0]), np.array([3.0, 2.0]))
    5.0
    """
    found = by_chunks(
        lambda *chunk: vectors.dot_of_products(left, right, is_quotient, *chunk),
        len(left),
        n_threads,
    )
    return float(np.sqrt(sum(found)))


def product(
    left: FloatArray, right: FloatArray, n_threads: int = 1, out: FloatArray | None = None
) -> FloatArray:
    """left * right, entry by entry; in `out`, which may be one of them, or in a new array.

    >>> product(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    array([3., 1.])
    """
    result = SPARE.vector(len(left)) if out is None else out

    def of_chunk(start: int, end: int) -> None:
        np.multiply(left[start:end], right[start:end], out=result[start:end])

    by_chunks(of_chunk, len(result), n_threads)
    return result


def moved(
    weights: FloatArray, step: float, direction: FloatArray, n_threads: int = 1
) -> FloatArray:
    """weights + step * direction.

    >>> moved(np.array([1.0, 2.0]), 0.5, np.array([3.0, 1.0]))
    array([2.5, 2.5])
    """
    out = SPARE.vector(len(weights))

    def of_chunk(start: int, end: int) -> None:
        np.multiply(direction[start:end], step, out=out[start:end])
        out[start:end] += weights[start:end]

    by_chunks(of_chunk, len(out), n_threads)
    return out


def pair_products(
    rows: Sequence[SingleArray],
    new: tuple[FloatArray, FloatArray],
    old: tuple[FloatArray, FloatArray],
    slope: FloatArray,
    n_threads: int = 1,
) -> tuple[SingleArray, SingleArray, FloatArray]:
    """The differences of two places and their gradients, and dot products; reads each vector once.

    `new` and `old` are weights and gradients. The products are those of all rows, then of both
    differences, with both differences and with the slope, (n_rows + 2, 3).

    >>> new, old = (np.array([1.0, 3.0]), np.array([0.5, 0.0])), (np.zeros(2), np.zeros(2))
    >>> step, change, found = pair_products([], new, old, np.array([0.0, 1.0]))
    >>> step, found
    (array([1., 3.], dtype=float32), array([[10.  ,  0.5 ,  3.  ],
           [ 0.5 ,  0.25,  0.  ]]))
    """
    # Both in one array, as large as a vector in full: what that leaves behind can take it.
    step, change = SPARE.vector(len(slope)).view(np.float32).reshape(2, -1)
    everything = [*rows, step, change]
    padded, n_rows = _padded(everything), len(everything)
    places = new[0], old[0], new[1], old[1], slope, step, change

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros((n_rows, 3))
        vectors.pair_products(padded, n_rows, *places, start, end, out)
        return out

    return step, change, sum(by_chunks(of_chunk, len(slope), n_threads), np.zeros((n_rows, 3)))


def row_products(rows: Sequence[SingleArray], column: FloatArray, n_threads: int = 1) -> FloatArray:
    """Dot products of all rows with a column, (n_rows,).

    >>> row_products([np.array([1.0, 2.0], np.float32)], np.array([3.0, 4.0]))
    array([11.])
    """
    padded = _padded(rows)

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros(len(rows))
        vectors.row_products(padded, len(rows), column, start, end, out)
        return out

    return sum(by_chunks(of_chunk, len(column), n_threads), np.zeros(len(rows)))


def combination(
    coefficients: FloatArray, rows: Sequence[SingleArray], column: FloatArray, n_threads: int = 1
) -> FloatArray:
    """sum_i coefficients_i rows_i, and the last coefficient times the column; reads each once.

    >>> combination(np.array([1.0, 2.0]), [np.array([3.0, 4.0], np.float32)], np.array([1.0, 0.0]))
    array([5., 4.])
    """
    total = SPARE.vector(len(column))
    padded, factor = _padded(rows), float(coefficients[-1])
    by_chunks(
        lambda *chunk: vectors.combination(
            coefficients, padded, len(rows), factor, column, *chunk, total
        ),
        len(total),
        n_threads,
    )
    return total


def _padded(rows: Sequence[SingleArray]) -> tuple[SingleArray, ...]:
    """As a tuple whose length is a multiple of 16: kernels are compiled for each length."""
    return (*rows, *[rows[0]] * (-len(rows) % 16))
