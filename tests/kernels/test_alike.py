"""One text for a number, four lanes and eight: the numbers of NumPy, to the last bit."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.jit import borrowing
from partita.kernels.simd.alike import all_like, load_like, store_like
from partita.kernels.simd.eight import load_eight
from partita.kernels.simd.lanes import load, select, square_root

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="about compiled code")
kernel = njit(nogil=True, error_model="numpy")


@borrowing
def text(value, array, index, out):
    """What is the same for all three."""
    other = load_like(value, array, index)
    store_like(out, index, select(value > other, square_root(value), -other))
    store_like(out, index + 8, all_like(value, 2.5) * other)


@kernel
def one(array, out):
    text(array[1], array, 9, out)


@kernel
def four(array, out):
    text(load(array, 1), array, 9, out)


@kernel
def eight(array, out):
    text(load_eight(array, 1), array, 9, out)


@pytest.mark.parametrize(("function", "n_lanes"), [(one, 1), (four, 4), (eight, 8)])
def test_one_text_for_all(function, n_lanes):
    array, out = np.random.default_rng(0).random(17), np.zeros(25)
    function(array, out)
    value, other = array[1 : 1 + n_lanes], array[9 : 9 + n_lanes]
    expected = np.zeros(25)
    expected[9 : 9 + n_lanes] = np.where(value > other, np.sqrt(value), -other)
    expected[17 : 17 + n_lanes] = 2.5 * other
    np.testing.assert_array_equal(out, expected)


@compiled
@pytest.mark.parametrize("array", [np.zeros(9, np.float32), np.zeros((9, 9)).T, np.zeros(18)[::2]])
def test_other_arrays_are_refused(array):
    @kernel
    def loaded(array):
        return load_like(1.0, array, 0)

    @kernel
    def stored(array):
        store_like(array, 0, 1.0)

    for function in (loaded, stored):
        with pytest.raises(TypingError, match="contiguous float64"):
            function(array)
