"""Eight lanes: the same numbers as those of NumPy."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd import either
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
    minimum,
    select,
    spread_eight,
    store_eight,
    transpose_eight,
)
from partita.kernels.simd.lanes import N_LANES, store

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
        select(x < y, x, minimum(y, 0.0)),
        all_eight(3.0) * spread_eight(a, 5),
        exponential(x),
    )
    for k in range(len(values)):
        store_eight(out, k * EIGHT, values[k])


def test_arithmetic_is_that_of_numpy():
    a, b = np.random.default_rng(0).normal(size=(2, EIGHT))
    b[2], out = a[2], np.empty((11, EIGHT))
    a[3] = -np.inf
    arithmetic(a, b, out)
    expected = [
        a + b, a - 2, a * b, 1 / b, a * b + 0.5, np.maximum(a, b), np.where(a > b, a, 0),
        np.where(a == b, 1, b), np.where(a < b, a, np.minimum(b, 0)),
        np.full(EIGHT, 3 * a[5]), np.exp(a),
    ]  # fmt: skip
    np.testing.assert_allclose(out, expected, rtol=1e-15)
    assert out[10, 3] == 0.0


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


@kernel
def in_single_precision(source, out):
    store_eight(out, 0, load_eight(source, 1) * 3.0)


def test_single_precision_is_read_exactly_and_rounded_once():
    source, out = (
        np.random.default_rng(1).normal(size=9).astype(np.float32),
        np.empty(8, np.float32),
    )
    in_single_precision(source, out)
    np.testing.assert_array_equal(out, (source[1:].astype(np.float64) * 3.0).astype(np.float32))


@kernel
def with_either(kind, array, out):
    found = either.room(kind, len(array))
    numbers = either.doubles(found)
    for place in range(len(numbers)):
        numbers[place] = place
    value = either.load(found, N_LANES) + either.all_lanes(found, 0.5)
    either.store(found, 0, value)
    for place in range(either.n_lanes(found)):
        out[place] = numbers[place]
    return found


@pytest.mark.parametrize(("kind", "n_lanes"), [(either.FOURS, 4), (either.EIGHTS, 8)])
def test_either_is_as_wide_as_its_array(kind, n_lanes):
    out = np.zeros(8)
    found = with_either(kind, np.zeros(12), out)
    assert found.shape == (12,)
    assert found.dtype == kind.dtype
    assert found.ctypes.data % 64 == 0
    assert out.tolist() == [n_lanes + k + 0.5 if k < n_lanes else 0.0 for k in range(8)]


@compiled
@pytest.mark.parametrize("array", [np.zeros(8, np.float32), np.zeros((8, 8)), np.zeros(16)[::2]])
def test_either_refuses_other_arrays(array):
    @kernel
    def width(values):
        return either.n_lanes(values)

    with pytest.raises(TypingError, match="contiguous vector"):
        width(array)


@compiled
@pytest.mark.parametrize(
    "array", [np.zeros(8, np.int32), np.zeros((8, 8)).T, np.zeros(16)[::2], 1.0]
)
def test_other_arrays_are_refused(array):
    @kernel
    def first(values):
        return halves(load_eight(values, 0))[0] is None

    with pytest.raises(TypingError, match="contiguous float64"):
        first(array)
