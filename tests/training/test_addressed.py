"""Tuples of arrays by their addresses."""

import pickle
from typing import NamedTuple

import numpy as np
import pytest

from partita.arrays import Array
from partita.kernels.addressed import tuple_at
from partita.kernels.jit import kernel
from partita.training.addressed import Addressed


class Inner(NamedTuple):
    factor: int
    values: Array


class Outer(NamedTuple):
    ids: Array
    inner: Inner
    more: Array


@kernel
def read(table, row, like, out):
    found = tuple_at(table, row, like)
    out[0], out[1] = len(found.ids), len(found.more)
    for k in range(len(found.ids)):
        out[2] += found.inner.factor * found.ids[k] * found.inner.values[k]
    for k in range(len(found.more)):
        out[3] += found.more[k]


def outers():
    rng = np.random.default_rng(0)
    kinds = [np.uint16, np.int32, np.uint16]
    return [
        Outer(
            rng.integers(1000, size=n).astype(kind),
            Inner(3, rng.normal(size=2 * n)[::2]),
            np.arange(n - 2),
        )
        for n, kind in zip([4, 2, 7], kinds, strict=True)
    ]


@pytest.mark.parametrize("is_pickled", [False, True])
def test_a_row_is_the_tuple_that_it_was_made_of(is_pickled):
    tuples = outers()
    addressed = Addressed(tuples)
    if is_pickled:
        addressed = pickle.loads(pickle.dumps(addressed))
    assert addressed.like.ids.dtype == np.int32
    for row, (ids, inner, more) in enumerate(tuples):
        out = np.zeros(4)
        read(addressed.table, row, addressed.like, out)
        expected = [len(ids), len(more), 3 * (ids * inner.values).sum(), more.sum()]
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_what_fits_is_not_copied():
    given = [Outer(np.arange(3), Inner(1, np.ones(2)), np.arange(k)) for k in range(2)]
    table = Addressed(given).table
    assert table[1, 0].tolist() == [given[1].ids.ctypes.data, 3]
