"""Mini-batch updates in lanes, against their formulas in NumPy."""

import sys

import numpy as np
import pytest

from partita.kernels.weights import updates
from partita.training.support import padded

N_WEIGHTS = 45  # five whole blocks and a part of one
TOUCHED = np.array([0, 2, 5])


def shrunk(values, thresholds):
    return np.sign(values) * np.maximum(np.abs(values) - thresholds, 0.0)


def plain(method, gradient, share, update, means_of, weights, squares, means):
    """New weights, squares and means of the touched weights whose gradient is not 0."""
    share = share.astype(np.float64)
    g = update.normaliser * gradient + update.l2 * share * weights
    if method == "sgd":
        rate, step = update.rate, g
    elif method == "adagrad":
        squares = squares + g * g
        rate, step = update.rate / np.sqrt(squares), g
    else:
        means = means_of.momentum * means + (1 - means_of.momentum) * g
        squares = means_of.decay * squares + (1 - means_of.decay) * g * g
        rate, step = update.rate / (np.sqrt(squares) + means_of.floor), means
    return g, shrunk(weights - rate * step, rate * update.l1 * share), squares, means


@pytest.mark.parametrize("l1", [0.0, 0.3])
@pytest.mark.parametrize("has_penalty", [True, False])
@pytest.mark.parametrize("method", ["sgd", "adagrad", "adam"])
def test_lanes_follow_the_formulas(method, has_penalty, l1):
    rng = np.random.default_rng(0)
    share = np.zeros(N_WEIGHTS, dtype=np.float32)
    if has_penalty:
        share += rng.random(N_WEIGHTS).astype(np.float32) + 1.0
    penalty = (0.2, l1) if has_penalty else (0.0, 0.0)
    update = updates.Update(0.5, *penalty, rate=0.1, age=3.0)
    kinds = {"sgd": updates.SGD, "adagrad": updates.ADAGRAD, "adam": updates.ADAM}
    means_of = updates.Method(kinds[method], 0.9, 0.99, 1e-8)
    weights, drift, means, gradient = rng.normal(size=(4, N_WEIGHTS))
    squares = rng.random(N_WEIGHTS)
    gradient[rng.random(N_WEIGHTS) < 0.3] = 0.0
    visited = np.isin(np.arange(N_WEIGHTS) // updates.WIDTH, TOUCHED) & (gradient != 0.0)
    g, *expected = plain(method, gradient, share, update, means_of, weights, squares, means)
    expected = [
        np.where(visited, new, old)
        for new, old in zip(expected, (weights, squares, means), strict=True)
    ]

    arrays = [padded(vector) for vector in (weights, drift, squares, means)]
    cleared, given = padded(gradient), np.zeros(0, dtype=np.float32)
    if has_penalty:
        given = padded(share).astype(np.float32)
    n_used = {"sgd": 2, "adagrad": 3, "adam": 4}[method]
    vectors = updates.Vectors(*arrays[:n_used], *[np.zeros(0)] * (4 - n_used))
    held = [sys.getrefcount(array) for array in (cleared, *arrays)]
    found = updates.move(TOUCHED, cleared, given, update, means_of, vectors)
    # A reference that is lost in compiled code would keep a vector for ever.
    assert [sys.getrefcount(array) for array in (cleared, *arrays)] == held

    np.testing.assert_allclose(found, (g[visited] ** 2).sum(), rtol=1e-14)
    results = [array[:N_WEIGHTS] for array in (arrays[0], arrays[2], arrays[3])]
    for result, wanted in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, wanted, rtol=1e-14, atol=1e-15)
    moved = drift + 3.0 * (expected[0] - weights)
    np.testing.assert_allclose(arrays[1][:N_WEIGHTS], moved, rtol=1e-13, atol=1e-15)
    still = ~np.isin(np.arange(N_WEIGHTS) // updates.WIDTH, TOUCHED)
    np.testing.assert_array_equal(cleared[:N_WEIGHTS], np.where(still, gradient, 0.0))


@pytest.mark.parametrize("method", [updates.SGD, updates.ADAGRAD, updates.ADAM])
def test_all_blocks_are_those_whose_gradient_is_not_zero(method):
    rng = np.random.default_rng(2)
    arrays = [padded(vector) for vector in rng.random((4, N_WEIGHTS))]
    gradient = np.zeros(N_WEIGHTS)
    # Squares of so small a number are 0, and it is none.
    gradient[[3, 17, 44]] = 1.0, 1e-200, -1.0
    update, rest = updates.Update(1.0, 0.0, 0.0, 0.1, 0.0), updates.Method(method, 0.9, 0.9, 0.1)
    both = []
    for move in (
        lambda *rest: updates.move(TOUCHED, *rest),
        lambda *rest: updates.move_all(0, 3, *rest) + updates.move_all(3, 6, *rest),
    ):
        vectors = updates.Vectors(*(array.copy() for array in arrays))
        cleared, share = padded(gradient), np.zeros(0, dtype=np.float32)
        both.append((move(cleared, share, update, rest, vectors), *vectors))
        assert not cleared.any()
    for left, right in zip(*both, strict=True):
        np.testing.assert_array_equal(left, right)


def test_marks_are_where_a_gradient_is():
    gradient = np.zeros(N_WEIGHTS)
    gradient[[2, 17, 44]] = 1.0, 1e-200, -1.0
    marked, visits = padded(gradient), np.ones(N_WEIGHTS, dtype=np.uint32)
    touched = np.zeros(6, dtype=np.bool_)
    updates.mark(marked, visits, touched)
    assert np.flatnonzero(touched).tolist() == [0, 2, 5]
    np.testing.assert_array_equal(visits, 1 + (gradient != 0.0))
    assert not marked.any()


def test_bits_are_blocks():
    is_set = np.random.default_rng(1).random(100) < 0.4
    blocks = np.empty(112, dtype=np.int64)
    n = updates.unpack(np.packbits(is_set), *updates.byte_places(), blocks)
    np.testing.assert_array_equal(blocks[:n], np.flatnonzero(is_set))
