"""Tiles of sums: the same numbers as those of NumPy, whatever the processor's registers."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd.eight import EIGHT, load_eight
from partita.kernels.simd.sums import (
    N_COLUMNS,
    REGISTER,
    SIDE,
    add_columns,
    add_square,
    load_columns,
    store_columns,
    store_square,
    zero_columns,
    zero_square,
)

compiled = pytest.mark.skipif(config.DISABLE_JIT, reason="about compiled code")
kernel = njit(nogil=True, error_model="numpy")


@kernel
def columns(messages, table, start, out):
    for row in range(2):
        sums = zero_columns() if row == 0 else load_columns(start, 0)
        for k in range(len(table)):
            sums = add_columns(sums, load_eight(messages, k * EIGHT), table, k * N_COLUMNS)
        store_columns(out, row * N_COLUMNS * EIGHT, sums)


def test_columns_are_a_matrix_product():
    rng = np.random.default_rng(0)
    messages, table = rng.normal(size=(3, EIGHT)), rng.normal(size=(3, N_COLUMNS))
    start, out = rng.normal(size=(N_COLUMNS, EIGHT)), np.empty((2, N_COLUMNS, EIGHT))
    columns(messages, table, start, out)
    np.testing.assert_allclose(out, [table.T @ messages, start + table.T @ messages], atol=1e-14)


@kernel
def square(left, right, out):
    sums = zero_square()
    for k in range(0, left.size, SIDE * EIGHT):
        sums = add_square(sums, left, k, right, k)
    store_square(out, EIGHT, (SIDE + 1) * EIGHT, sums)


def test_squares_are_products_of_pairs():
    left, right = np.random.default_rng(0).normal(size=(2, 3, SIDE, EIGHT))
    out = np.full((SIDE, SIDE + 1, EIGHT), 7.0)
    square(left, right, out)
    expected = np.full_like(out, 7.0)
    sums = np.einsum("kil,kjl->ijl", left, right)
    expected[:, 1:, :REGISTER] = sums[..., :REGISTER]
    np.testing.assert_allclose(out, expected, atol=1e-14)


@compiled
def test_only_doubles_in_order_are_read():
    with pytest.raises(TypingError, match="C-contiguous float64"):
        columns(np.ones((3, EIGHT)), np.ones((N_COLUMNS, 3)).T, np.ones(99), np.ones(999))
