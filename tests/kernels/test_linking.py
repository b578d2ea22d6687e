"""Steps: compiled with the kernels that call them, and once for all constants."""

import numba
import numpy as np
import pytest

from partita.kernels.jit import inlined, is_known, kernel, linked, step

NOTHING = -1


@inlined
def checked(place):
    if place > 10:
        raise ValueError("too far")
    return place


@step
def put(row, place, value=7):
    row[checked(place)] = value
    return place + 1


@inlined
def signed(value, is_negative):
    return -value if is_negative else value


@kernel
def both_signs(value, is_negative):
    return signed(value, True) + 2 * signed(value, False) + 4 * signed(value, is_negative)


@kernel
def fill(row, more):
    place = put(row, 0, NOTHING)
    place = put(row, place, value=2)
    place = put(row, place, place)
    place = put(row, place)
    return put(row, place + more, row[0])


@pytest.mark.parametrize("dtype", [np.float64, np.int64, np.int32])
def test_a_kernel_runs_its_steps(dtype):
    row = np.zeros(6, dtype=dtype)
    assert fill(row, 0) == 5
    np.testing.assert_array_equal(row, [-1, 2, 2, 7, -1, 0])


def test_constants_are_whole_numbers_like_others():
    if not hasattr(fill, "py_func") or not is_known:
        pytest.skip("nothing is compiled, or by a Numba that is not known")
    # Not from the cache.
    numba.njit(fill.py_func)(np.zeros(6, dtype=np.int64), 0)
    own = [kinds for kinds in put.signatures if str(kinds[0].dtype) == "int64"]
    # With a value and without.
    assert len(own) == 2


def test_true_and_false_are_alike_to_what_is_put_into_its_callers():
    assert both_signs(1.0, True) == -3.0
    assert both_signs(1.0, False) == 5.0
    if not hasattr(both_signs, "py_func") or not is_known:
        pytest.skip("nothing is compiled, or by a Numba that is not known")
    numba.njit(both_signs.py_func)(1.0, True)
    assert len(signed.signatures) == 1


def test_a_kernel_that_is_linked_computes_the_same():
    as_step = linked(both_signs)
    sums = numba.njit(lambda value: as_step(value, True))(1.0)
    assert sums == both_signs(1.0, True)
    assert as_step is both_signs or as_step.py_func is both_signs.py_func


def test_an_error_of_a_step_is_that_of_its_kernel():
    with pytest.raises(ValueError, match="too far"):
        fill(np.zeros(20, dtype=np.int64), 15)
