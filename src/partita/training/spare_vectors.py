"""Long vectors whose memory is used again while a run lasts.

An iteration makes half a dozen vectors as long as the weights, and gives as many back. The system
clears memory before it gives it out again, which takes as long as the arithmetic on it: with seven
million weights a fifth of an iteration of L-BFGS.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from partita.arrays import FloatArray

LEAST = 2**16
"""Entries: shorter vectors come from the process's own memory, which nobody clears."""
MOST = 32
"""Vectors kept at most; a run holds a dozen. No more if an interpreter counts otherwise."""


def _references(vectors: list[FloatArray]) -> Iterator[tuple[FloatArray, int]]:
    """Each vector with the references to it, as this interpreter counts them while one looks."""
    for vector in vectors:
        yield vector, sys.getrefcount(vector)


def _unused() -> int:
    """The references to a vector of a list that nobody else holds."""
    for _, references in _references([np.empty(1)]):
        return references
    raise AssertionError


class SpareVectors:
    """The vectors of a run; those that nobody holds any more are given out again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._vectors: list[FloatArray] = []
        self._n_runs = 0
        self._unused = _unused()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Vectors are kept for each other inside, by any thread; at the end nothing is."""
        with self._lock:
            self._n_runs += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_runs -= 1
                if not self._n_runs:
                    self._vectors.clear()

    def vector(self, size: int) -> FloatArray:
        """A vector of any contents; its memory is its own until nobody holds it or a view of it.

        >>> spare = SpareVectors()
        >>> with spare.kept():
        ...     first, second = spare.vector(2**16), spare.vector(2**16)
        ...     place, view = first.ctypes.data, second[1:]
        ...     del first, second
        ...     (
        ...         spare.vector(2**16).ctypes.data == place,
        ...         np.shares_memory(spare.vector(2**16), view),
        ...     )
        (True, False)
        """
        if size < LEAST or not self._n_runs:
            return np.empty(size)
        with self._lock:
            for vector, references in _references(self._vectors):
                # A view refers to the vector whose memory it sees, so it counts, too.
                if vector.size == size and references == self._unused:
                    return vector
            vector = np.empty(size)
            if len(self._vectors) < MOST:
                self._vectors.append(vector)
            return vector


SPARE = SpareVectors()
"""Those of this process."""
