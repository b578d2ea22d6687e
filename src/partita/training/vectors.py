"""Arithmetic on long vectors, in an order that never changes.

A library's dot product of long vectors may be shared among as many threads as there are cores,
and its last bits then depend on their number. Here chunks of fixed length may be shared among
threads, and their results are added in order.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.weights import vectors
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


def difference(left: FloatArray, right: FloatArray, n_threads: int = 1) -> FloatArray:
    """left - right.

    >>> difference(np.array([1.0, 2.0]), np.array([3.0, 1.0]))
    array([-2.,  1.])
    """
    out = np.empty_like(left)

    def of_chunk(start: int, end: int) -> None:
        np.subtract(left[start:end], right[start:end], out=out[start:end])

    by_chunks(of_chunk, len(out), n_threads)
    return out


def product(left: FloatArray, right: FloatArray, n_threads: int = 1) -> FloatArray:
    """left * right, entry by entry.

    >>> product(np.array([1.0, 2.0]), np.array([3.0, 0.5]))
    array([3., 1.])
    """
    out = np.empty_like(left)

    def of_chunk(start: int, end: int) -> None:
        np.multiply(left[start:end], right[start:end], out=out[start:end])

    by_chunks(of_chunk, len(out), n_threads)
    return out


def moved(
    weights: FloatArray, step: float, direction: FloatArray, n_threads: int = 1
) -> FloatArray:
    """weights + step * direction.

    >>> moved(np.array([1.0, 2.0]), 0.5, np.array([3.0, 1.0]))
    array([2.5, 2.5])
    """
    out = np.empty_like(weights)

    def of_chunk(start: int, end: int) -> None:
        np.multiply(direction[start:end], step, out=out[start:end])
        out[start:end] += weights[start:end]

    by_chunks(of_chunk, len(out), n_threads)
    return out


def products(
    rows: Sequence[FloatArray], columns: Sequence[FloatArray], n_threads: int = 1
) -> FloatArray:
    """Dot products of all rows with three columns, (n_rows, 3); reads each vector once.

    >>> products([np.array([1.0, 2.0])], [np.array([3.0, 4.0]), np.ones(2), np.zeros(2)])
    array([[11., 3., 0.]])
    """
    padded = _padded(rows)

    def of_chunk(start: int, end: int) -> FloatArray:
        out = np.zeros((len(rows), 3))
        vectors.products(padded, len(rows), *columns, start, end, out)
        return out

    total = np.zeros((len(rows), 3))
    for found in by_chunks(of_chunk, len(columns[0]), n_threads):
        total += found
    return total


def combination(
    coefficients: FloatArray, rows: Sequence[FloatArray], n_threads: int = 1
) -> FloatArray:
    """sum_i coefficients_i rows_i; reads each row once.

    >>> combination(np.array([1.0, 2.0]), [np.array([3.0, 4.0]), np.array([1.0, 0.0])])
    array([5., 4.])
    """
    total = np.zeros(len(rows[0]))
    padded = _padded(rows)
    by_chunks(
        lambda *chunk: vectors.combination(coefficients, padded, len(rows), *chunk, total),
        len(total),
        n_threads,
    )
    return total


def _padded(rows: Sequence[FloatArray]) -> tuple[FloatArray, ...]:
    """As a tuple whose length is a multiple of 16: kernels are compiled for each length."""
    return (*rows, *[rows[0]] * (-len(rows) % 16))
