import math
import operator
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd.lanes import (
    N_LANES,
    broadcast,
    exponential,
    fma,
    lane,
    load,
    maximum,
    minimum,
    select,
    store,
    total,
    transpose,
)

HAS_AVX2 = {"avx2", "fma"} <= {k for k, on in binding.get_host_cpu_features().items() if on}
compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="about compiled code")
kernel = njit(nogil=True, error_model="numpy")

finite = st.floats(-1e100, 1e100)
four = st.lists(finite, min_size=N_LANES, max_size=N_LANES).map(np.array)


@kernel
def arithmetic(a, b, out):
    x, y = load(a, 0), load(b, 0)
    store(out, 0, x + y)
    store(out, 4, x - y)
    store(out, 8, x * y)
    store(out, 12, -x)
    store(out, 16, maximum(x, y))
    store(out, 20, minimum(x, y))


@settings(deadline=None)
@given(four, four)
def test_arithmetic_is_that_of_numpy(a, b):
    out = np.empty((6, N_LANES))
    arithmetic(a, b, out)
    assert np.array_equal(out, [a + b, a - b, a * b, -a, np.maximum(a, b), np.minimum(a, b)])


@kernel
def turned(square, out):
    rows = load(square, 0), load(square, 4), load(square, 8), load(square, 12)
    a, b, c, d = transpose(rows[0], rows[1], rows[2], rows[3])
    store(out, 0, a)
    store(out, 4, b)
    store(out, 8, c)
    store(out, 12, d)


def test_rows_become_columns():
    square, out = np.arange(16.0).reshape(4, 4), np.empty((4, 4))
    turned(square, out)
    assert np.array_equal(out, square.T)


@kernel
def with_numbers(a, x, out):
    v = load(a, 0)
    store(out, 0, (1 - v) * x + v / 2)
    store(out, 4, fma(v, x, 1.0))
    store(out, 8, fma(x, x, v))
    store(out, 12, maximum(v, 0.0))
    store(out, 16, x / v)


def test_numbers_mix_with_lanes():
    a, out = np.array([1.0, -2.0, 4.0, 8.0]), np.empty((5, N_LANES))
    with_numbers(a, 3.0, out)
    expected = [(1 - a) * 3 + a / 2, 3 * a + 1, 9 + a, np.maximum(a, 0), 3 / a]
    assert np.array_equal(out, expected)


@kernel
def comparisons(a, b, out):
    x, y = load(a, 0), load(b, 0)
    store(out, 0, select(x < y, 1.0, 0.0))
    store(out, 4, select(x <= y, 1.0, 0.0))
    store(out, 8, select(x > y, 1.0, 0.0))
    store(out, 12, select(x >= y, 1.0, 0.0))
    store(out, 16, select(x == y, x, y))


def test_comparisons_select():
    a, b = np.array([1.0, 2.0, -math.inf, math.nan]), np.array([2.0, 2.0, -math.inf, 0.0])
    out = np.empty((5, N_LANES))
    comparisons(a, b, out)
    for row, compare in zip(
        out[:4], [operator.lt, operator.le, operator.gt, operator.ge], strict=True
    ):
        assert np.array_equal(row, compare(a, b))
    assert np.array_equal(out[4], b)


@kernel
def sum_and_lanes(a):
    v = load(a, 0)
    return total(v), lane(v, 0), lane(v, a.size - 1)


def test_total_and_lane():
    assert sum_and_lanes(np.array([1.0, 2.0, 4.0, 8.0])) == (15.0, 1.0, 8.0)


@kernel
def exponentials(a, out):
    store(out, 0, exponential(load(a, 0)))


def test_exponential_of_lanes():
    out = np.empty(N_LANES)
    exponentials(np.array([0.0, -math.inf, 1.0, -800.0]), out)
    assert out.tolist() == [1.0, 0.0, pytest.approx(math.e, rel=4e-16, abs=0.0), 0.0]


@kernel
def shift_by_one(a):
    value = load(a, 0)
    store(a, 1, value)
    store(a, 5, value)


def test_loaded_lanes_are_a_value_and_need_no_alignment():
    a = np.arange(9.0)
    shift_by_one(a)
    assert a.tolist() == [0, 0, 1, 2, 3, 0, 1, 2, 3]


@kernel
def add_products(c0, c1, x, y0, y1):
    return fma(x, y0, c0), fma(x, y1, c1)


@kernel
def products(a, b, out):
    """out[p, q] = sum_i a[i, p] b[i, q] in each lane, for p, q < 2."""
    c00, c01, c10, c11 = broadcast(0.0), broadcast(0.0), broadcast(0.0), broadcast(0.0)
    for i in range(a.shape[0]):
        row = i * 2 * N_LANES
        y0, y1 = load(b, row), load(b, row + N_LANES)
        c00, c01 = add_products(c00, c01, load(a, row), y0, y1)
        c10, c11 = add_products(c10, c11, load(a, row + N_LANES), y0, y1)
    store(out, 0, c00)
    store(out, 4, c01)
    store(out, 8, c10)
    store(out, 12, c11)


def run_products(n_rows):
    rng = np.random.default_rng(n_rows)
    a, b = rng.normal(size=(2, n_rows, 2, N_LANES))
    out = np.empty((2, 2, N_LANES))
    products(a, b, out)
    return out, np.einsum("ipl,iql->pql", a, b)


@pytest.mark.parametrize("n_rows", [0, 1, 17])
def test_a_tile_of_accumulators(n_rows):
    out, expected = run_products(n_rows)
    np.testing.assert_allclose(out, expected, rtol=0, atol=1e-14)


@compiled
@pytest.mark.skipif(not HAS_AVX2 or config.CPU_NAME is not None, reason="needs code for AVX2")
def test_a_tile_stays_in_registers():
    run_products(1)
    (assembly,) = products.inspect_asm().values()
    loops = [b for b in re.split(r"\n(?=\.L\w+:)", assembly) if re.search(r"vfmadd.*%ymm", b)]
    assert loops
    assert not any("rsp" in block for block in loops)


@compiled
@pytest.mark.parametrize("array", [np.zeros(4, dtype=np.float32), np.zeros(8)[::2]])
def test_other_arrays_are_refused(array):
    with pytest.raises(TypingError, match="expected a C-contiguous float64 array"):
        sum_and_lanes(array)


CACHED = """
import numpy as np
from numba import njit
from partita.kernels.simd.lanes import broadcast, exponential, load, total


@njit(cache=True, nogil=True, error_model="numpy")
def kernel(a):
    return total(exponential(load(a, 0)) + broadcast(1.0))


assert kernel(np.zeros(4)) == 8.0
print(sum(kernel.stats.cache_hits.values()))
"""


@compiled
def test_kernels_are_kept_on_disk(tmp_path):
    script = tmp_path / "cached.py"
    script.write_text(CACHED)
    command = [sys.executable, "-W", "error", str(script)]
    hits = [subprocess.run(command, capture_output=True, check=True, text=True) for _ in range(2)]
    assert [run.stdout.strip() for run in hits] == ["0", "1"]
