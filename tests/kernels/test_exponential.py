import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding
from numba import config, njit

from partita.kernels.simd.exponential import LOWEST, exponential, fma

LARGEST = 709.78
HAS_AVX2 = {"avx2", "fma"} <= {k for k, on in binding.get_host_cpu_features().items() if on}
IS_FUSED = HAS_AVX2 and not config.DISABLE_JIT and config.CPU_NAME is None


@njit(nogil=True, error_model="numpy")
def exponentials(x, shift, out):
    for i in range(x.size):
        out[i] = exponential(x[i] - shift)


def of(*x):
    out = np.empty(len(x))
    exponentials(np.array(x, dtype=np.float64), 0.0, out)
    return out


def errors(x):
    """Distance to e^x in units in the last place; np.longdouble has eleven more bits."""
    exact = np.exp(x.astype(np.longdouble))
    return np.abs((of(*x) - exact) / np.spacing(exact.astype(np.float64)))


@pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="needs an extended long double")
@pytest.mark.parametrize("lowest, largest", [(LOWEST, LARGEST), (-40.0, 0.0), (-0.4, 0.4)])
def test_error_in_units_in_the_last_place(lowest, largest):
    x = np.random.default_rng(0).uniform(lowest, largest, 2_000)
    assert errors(x).max() < (0.9 if IS_FUSED else 1.2)


@settings(deadline=None)
@given(st.floats(LOWEST, LARGEST))
def test_agrees_with_the_library(x):
    assert of(x)[0] == pytest.approx(math.exp(x), rel=4e-16, abs=0.0)


@settings(deadline=None)
@given(st.floats(max_value=LOWEST, exclude_max=True))
def test_is_exactly_zero_below_the_normal_numbers(x):
    assert of(x)[0] == 0.0


def test_special_arguments():
    assert of(0.0, -0.0, -math.inf).tolist() == [1.0, 1.0, 0.0]
    assert math.isnan(of(math.nan)[0])
    assert of(LOWEST)[0] >= np.finfo(np.float64).tiny
    assert math.isfinite(of(LARGEST)[0])


def test_plain_python_runs_the_same_recipe():
    assert exponential(1.0) == pytest.approx(math.e, rel=4e-16, abs=0.0)
    assert exponential(np.array([0.0, -math.inf])).tolist() == [1.0, 0.0]


def test_multiply_add():
    @njit
    def of_numbers(a, b, c):
        return fma(a, b, c)

    assert of_numbers(2.0, 3.0, 4) == 10.0


@pytest.mark.skipif(not IS_FUSED, reason="reads code compiled for AVX2")
def test_a_plain_loop_is_vectorised():
    of(0.0)
    (assembly,) = exponentials.inspect_asm().values()
    assert re.search(r"vfn?madd\w+pd\s.*%[yz]mm", assembly)
