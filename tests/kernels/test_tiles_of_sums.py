"""Tiles of sums: the same numbers as those of NumPy, whatever the processor's registers."""

import numpy as np
import pytest
from numba import config, njit
from numba.core.errors import TypingError

from partita.kernels.simd.eight import EIGHT, load_eight
from partita.kernels.simd.sums import (
    N_COLUMNS,
    N_MOVING_COLUMNS,
    REGISTER,
    SIDE,
    SMALL_SIDE,
    add_columns,
    add_square,
    add_squares,
    load_columns,
    store_columns,
    store_square,
    store_squares,
    zero_columns,
    zero_moving_columns,
    zero_square,
    zero_squares,
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
def moving_columns(messages, moving, table, out):
    sums, moving_sums = zero_moving_columns(), zero_moving_columns()
    for k in range(len(table)):
        sums = add_columns(sums, load_eight(messages, k * EIGHT), table, k * N_MOVING_COLUMNS)
        moved = load_eight(moving, k * EIGHT)
        moving_sums = add_columns(moving_sums, moved, table, k * N_MOVING_COLUMNS)
    store_columns(out, 0, sums)
    store_columns(out, N_MOVING_COLUMNS * EIGHT, moving_sums)


def test_two_rows_of_columns_are_matrix_products():
    rng = np.random.default_rng(0)
    messages, moving = rng.normal(size=(2, 3, EIGHT))
    table, out = rng.normal(size=(3, N_MOVING_COLUMNS)), np.empty((2, N_MOVING_COLUMNS, EIGHT))
    moving_columns(messages, moving, table, out)
    np.testing.assert_allclose(out, [table.T @ messages, table.T @ moving], atol=1e-14)


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


@kernel
def both_squares(left, right, moved_left, moved_right, out, moved):
    sums = zero_squares()
    for k in range(0, left.size, SMALL_SIDE * EIGHT):
        sums = add_squares(sums, left, k, right, k, moved_left, k, moved_right, k)
    store_squares(out, moved, EIGHT, (SMALL_SIDE + 1) * EIGHT, sums)


def test_two_squares_are_products_of_pairs_and_their_derivative():
    given = np.random.default_rng(0).normal(size=(4, 3, SMALL_SIDE, EIGHT))
    left, right, moved_left, moved_right = given
    out, moved = np.full((2, SMALL_SIDE, SMALL_SIDE + 1, EIGHT), 7.0)
    both_squares(left, right, moved_left, moved_right, out, moved)
    pairs = "kil,kjl->ijl"
    sums = np.einsum(pairs, left, right)
    moving = np.einsum(pairs, moved_left, right) + np.einsum(pairs, left, moved_right)
    for found, wanted in ((out, sums), (moved, moving)):
        expected = np.full_like(found, 7.0)
        expected[:, 1:, :REGISTER] = wanted[..., :REGISTER]
        np.testing.assert_allclose(found, expected, atol=1e-14)


@compiled
def test_only_doubles_in_order_are_read():
    with pytest.raises(TypingError, match="C-contiguous float64"):
        columns(np.ones((3, EIGHT)), np.ones((N_COLUMNS, 3)).T, np.ones(99), np.ones(999))
