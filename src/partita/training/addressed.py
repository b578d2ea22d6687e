"""Batches as rows of addresses of their arrays, which one compiled call reads (see the kernel)."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from partita.arrays import Array
from partita.kernels import addressed as kernels


class Addressed:
    """Named tuples alike: of arrays of one axis, of other such tuples, and of equal numbers.

    Arrays in the same place are made of one type, since code is compiled for types: where they are
    not, by copying them. Addresses are those of this process, and are found again in another.
    """

    def __init__(self, tuples: Sequence[Any]) -> None:
        each = zip(*map(kernels.arrays_of, tuples), strict=True)
        self._arrays = list(zip(*map(_of_one_type, each), strict=True))
        self.like = kernels.filled(tuples[0], iter(self._arrays[0]))
        """The first of them."""
        self.table = np.array([[kernels.cells_of(array) for array in of] for of in self._arrays])
        """(n_tuples, n_arrays, 2)."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Addressed, ([kernels.filled(self.like, iter(each)) for each in self._arrays],)


def _of_one_type(arrays: Sequence[Array]) -> list[Array]:
    kind = np.result_type(*arrays)
    return [np.ascontiguousarray(array, kind) for array in arrays]
