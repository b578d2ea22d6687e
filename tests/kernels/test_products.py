"""Sums of products from places in an array, and exponentials by a table: those of NumPy."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd.either import EIGHTS, FOURS, all_lanes, load, store
from partita.kernels.simd.lanes import N_LANES
from partita.kernels.simd.products import N_PRODUCTS, add_products, moved, place
from partita.kernels.simd.sums import IS_LONG
from partita.kernels.simd.tabled import lane_exponential

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="about compiled code")
kernel = njit(nogil=True, error_model="numpy")


@kernel
def products(numbers, n_terms, width, out):
    one = all_lanes(numbers, 1.0)
    sums = (one, one, one, one, one, one, one, one)
    rows, columns = place(numbers, 0), place(numbers, 4 * width)
    for _ in range(n_terms):
        sums = add_products(sums, numbers, rows, width, columns, width)
        rows, columns = moved(numbers, rows, N_LANES), moved(numbers, columns, N_LANES)
    for k in range(N_PRODUCTS):
        store(out, k * N_LANES, sums[k])


@pytest.mark.parametrize("kind", [FOURS, EIGHTS])
def test_products_of_four_rows_and_two_columns(kind):
    n_terms, n_lanes = 5, N_LANES * kind.itemsize // 8
    numbers = np.random.default_rng(0).normal(size=(6, n_terms, n_lanes))
    out = np.empty(N_PRODUCTS * N_LANES, kind.dtype)
    products(numbers.reshape(-1).view(kind.dtype), n_terms, n_terms * N_LANES, out)
    found = out.view(np.float64).reshape(4, 2, n_lanes)
    expected = 1.0 + np.einsum("rkl,ckl->rcl", numbers[:4], numbers[4:])
    np.testing.assert_allclose(found, expected, rtol=1e-14)


@compiled
def test_places_are_of_lanes_in_a_vector():
    with pytest.raises(TypingError, match="C-contiguous vector"):
        products(np.zeros(100, dtype=np.float32), 1, 4, np.zeros(100, dtype=np.float32))


@kernel
def lane_exponentials(x, out):
    for i in range(0, len(x), N_LANES):
        store(out, i, lane_exponential(load(x, i)))


def of(x, kind=FOURS):
    out = np.empty_like(x)
    lane_exponentials(x.view(kind.dtype), out.view(kind.dtype))
    return out


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs an extended long double")
@pytest.mark.skipif(not IS_LONG or config.DISABLE_JIT, reason="needs AVX-512")
@pytest.mark.parametrize("lowest, largest", [(-708.39, 709.78), (-40.0, 0.0), (-0.4, 0.4)])
def test_errors_of_exponentials_by_a_table(lowest, largest):
    x = np.random.default_rng(0).uniform(lowest, largest, 4_000)
    exact = np.exp(x.astype(np.longdouble))
    errors = np.abs((of(x) - exact) / np.spacing(exact.astype(np.float64)))
    assert errors.max() < 0.66


def test_four_exponentials_and_eight_are_the_same():
    x = np.random.default_rng(0).normal(size=64) * 20.0
    assert of(x).tobytes() == of(x, EIGHTS).tobytes()


def test_special_arguments_of_exponentials():
    found = of(np.array([0.0, -0.0, -np.inf, np.nan, -708.4, -1e300, -708.39, 709.78]))
    assert found[:3].tolist() == [1.0, 1.0, 0.0]
    assert np.isnan(found[3])
    assert found[4:6].tolist() == [0.0, 0.0]
    assert found[6] >= np.finfo(np.float64).tiny
    assert np.isfinite(found[7])
