"""Eight lanes: the same numbers as those of NumPy."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd.eight import (
    EIGHT,
    aligned,
    all_eight,
    exponential,
    fma,
    halves,
    joined,
    load_eight,
    maximum,
    select,
    spread_eight,
    store_eight,
    transpose_eight,
)
from partita.kernels.simd.lanes import store

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="about compiled code")
kernel = njit(nogil=True, error_model="numpy")


@kernel
def arithmetic(a, b, out):
    x, y = load_eight(a, 0), load_eight(b, 0)
    values = (
        x + y,
        x - 2.0,
        x * y,
        1.0 / y,
        fma(x, y, 0.5),
        maximum(x, y),
        select(x > y, x, 0.0),
        select(x == y, 1.0, y),
        all_eight(3.0) * spread_eight(a, 5),
        exponential(x),
    )
    for k in range(len(values)):
        store_eight(out, k * EIGHT, values[k])


def test_arithmetic_is_that_of_numpy():
    a, b = np.random.default_rng(0).normal(size=(2, EIGHT))
    b[2], out = a[2], np.empty((10, EIGHT))
    a[3] = -np.inf
    arithmetic(a, b, out)
    expected = [
        a + b, a - 2, a * b, 1 / b, a * b + 0.5, np.maximum(a, b), np.where(a > b, a, 0),
        np.where(a == b, 1, b), np.full(EIGHT, 3 * a[5]), np.exp(a),
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    assert out[9, 3] == 0.0


@kernel
def turned(square, out):
    rows = transpose_eight(
        load_eight(square, 0), load_eight(square, 8), load_eight(square, 16),
        load_eight(square, 24), load_eight(square, 32), load_eight(square, 40),
        load_eight(square, 48), load_eight(square, 56),
    )  # fmt: skip
    for k in range(EIGHT):
        store_eight(out, k * EIGHT, rows[k])


def test_rows_become_columns():
    square = np.arange(64.0).reshape(8, 8)
    out = np.empty((8, 8))
    turned(square, out)
    assert np.array_equal(out, square.T)


@kernel
def exchanged(values, out):
    first, last = halves(load_eight(values, 0))
    store(out, 0, first)
    store(out, 4, last)
    store_eight(out, 8, joined(last, first))


def test_halves_are_fours():
    values, out = np.arange(8.0), np.empty((2, 8))
    exchanged(values, out)
    assert np.array_equal(out, [values, np.roll(values, 4)])


@pytest.mark.parametrize("n_values", [0, 1, 7, 1000, 100_000])
def test_room_begins_with_a_line_of_the_cache(n_values):
    @kernel
    def made():
        return aligned(n_values)

    room = made()
    assert room.shape == (n_values,)
    assert not n_values or room.ctypes.data % 64 == 0


@compiled
@pytest.mark.parametrize(
    "array", [np.zeros(8, np.float32), np.zeros((8, 8)).T, np.zeros(16)[::2], 1.0]
)
def test_other_arrays_are_refused(array):
    @kernel
    def first(values):
        return halves(load_eight(values, 0))[0] is None

    with pytest.raises(TypingError, match="contiguous float64"):
        first(array)
