"""Entropies where digits are easily lost: orders close to 1, and scores that are very large."""

import numpy as np
import pytest

import partita as pt
from cases import CASES, flat, like
from hypergraphs import random_edges
from partita.objectives import Entropy, RenyiEntropy
from test_conformance import make_scores

GRID = 2.0**-8
SHIFT = 2.0**40
"""About 1e12: with scores on a grid of 2^-8 sums of several are exact."""
ORDERS = [1 + sign * 10.0**-k for k in range(1, 16) for sign in (1, -1)]


def renyi(truth, alpha):
    """log(sum p^alpha) / (1 - alpha) = log1p(sum p (p^(alpha-1) - 1)) / (1 - alpha), no digit lost.

    Where alpha - 1 has few digits of its own, both sides see the same alpha.
    """
    p = truth.probabilities[truth.probabilities > 0]
    return np.log1p((p * np.expm1((alpha - 1) * np.log(p))).sum()) / (1 - alpha)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.mark.parametrize("kind", ["normal", "ties", "forbidden", "huge"])
def test_orders_close_to_one(case, kind):
    scores = make_scores(case, kind, case.sizes[-1])
    p, truth = case.build(scores), case.oracle(scores)
    for alpha in ORDERS:
        assert p.renyi_entropy(alpha) == pytest.approx(renyi(truth, alpha), abs=1e-9), alpha


@pytest.mark.parametrize("alpha", [1 + 1e-3, 1 - 1e-3, 1 + 1e-9, 1 - 1e-9])
def test_gradients_of_orders_close_to_one(case, alpha):
    """alpha (marginals(alpha s) - marginals(s)) / (1 - alpha), by enumeration without rounding."""
    scores = make_scores(case, "normal", case.sizes[-1])
    p, truth = case.build(scores), case.oracle(scores)
    surprise = -np.log(truth.probabilities)
    # Tempered, p^alpha / sum p^alpha = p (1 + change): the change without the 1.
    powers = np.expm1((1 - alpha) * surprise)
    mean = truth.probabilities @ powers
    change = (powers - mean) / (1 + mean)
    expected = alpha / (1 - alpha) * ((truth.probabilities * change) @ truth.counts)
    _, pullback = RenyiEntropy(alpha)(p, None)
    np.testing.assert_allclose(pullback(np.ones(1)), expected, rtol=0, atol=1e-9)


def rounded(scores):
    return like(scores, np.round(flat(scores) / GRID) * GRID)


def shifted(case, scores, rng):
    """The same distribution with something large in all structures alike, or None."""

    def large(*shape):
        return SHIFT * rng.integers(-1, 2, size=shape)

    if case.name.startswith("chain"):
        unary, pairwise = scores
        tables = large(*pairwise.shape[:-2], 1, 1)
        return unary + large(len(unary), 1), pairwise + tables
    if case.name == "forest":
        heads, tails, root = random_edges(len(scores))
        nodes = large(max(heads) + 1)
        moved = [
            nodes[head] - sum(nodes[t] for t in of) for head, of in zip(heads, tails, strict=True)
        ]
        return scores + np.array(moved)
    if case.name == "own-structure":
        return None
    if case.name.startswith("segments"):
        segments, pairwise = scores
        gains = np.cumsum([SHIFT, *large(len(segments) + 2)])
        moved, more = segments.copy(), large()
        for first in range(len(segments)):
            for end in range(first + 1, min(first + segments.shape[1], len(segments)) + 1):
                moved[first, end - first - 1] += gains[end] - gains[first] - more
        return moved, pairwise + more
    if case.name.startswith("siblings"):
        arcs, siblings = scores
        return arcs + large(1, len(arcs)), siblings + large(1, 1, len(arcs))
    if case.name.startswith("constituents"):
        # Spans of one word, and that of all, are in every tree; and trees have as many others.
        moved, n = scores + large(), len(scores)
        for first, last in [(0, n - 1), *((word, word) for word in range(n))]:
            moved[first, last] += large()
        return moved
    words = scores.shape[1]
    return scores + large(1, words, *[1] * (scores.ndim - 2))


@pytest.mark.parametrize("kind", ["normal", "ties", "forbidden"])
def test_what_all_structures_have_in_common(case, kind):
    rng = np.random.default_rng(0)
    for size in case.sizes:
        scores = rounded(make_scores(case, kind, size))
        moved = shifted(case, scores, rng)
        if moved is None:
            pytest.skip("nothing is known to be in all structures")
        p, q, truth = case.build(scores), case.build(moved), case.oracle(scores)
        assert q.entropy == pytest.approx(truth.entropy, abs=1e-9)
        assert Entropy()(q, None)[0] == pytest.approx([truth.entropy], abs=1e-9)
        for alpha in (0.0, 0.5, 1 + 1e-9, 2.0):
            assert q.renyi_entropy(alpha) == pytest.approx(p.renyi_entropy(alpha), abs=1e-9)
        best = -np.log(truth.probabilities.max())
        assert q.renyi_entropy(np.inf) == pytest.approx(best, abs=1e-9)
        assert q.n_best_entropy(3) == pytest.approx(p.n_best_entropy(3), abs=1e-9)
        np.testing.assert_allclose(
            flat(q.entropy_gradient()), flat(p.entropy_gradient()), rtol=0, atol=1e-9
        )
        other = like(scores, np.round(0.5 * flat(scores) / GRID) * GRID)
        for of in (case.build(other), case.build(shifted(case, other, rng))):
            assert q.cross_entropy(of) == pytest.approx(
                p.cross_entropy(case.build(other)), abs=1e-9
            )
            assert of.kl_divergence(q) == pytest.approx(
                case.build(other).kl_divergence(p), abs=1e-9
            )


def test_the_example_of_the_issue():
    import partita as pt

    p = pt.LinearChain(np.full((3, 2), 1e12), np.zeros((2, 2)))
    assert p.entropy == pytest.approx(np.log(8), abs=1e-12)
    spread = p.span_entropy(0, 2), p.entropy_by_forward_pass()
    assert spread == (pytest.approx(np.log(8), abs=1e-9), pytest.approx(np.log(8), abs=1e-9))


@pytest.mark.parametrize("trees", [pt.ProjectiveTree, pt.SpanningTree])
def test_rounding_leaves_no_less_than_nothing(trees):
    # Scores whose best tree is all but certain, so that the difference is all rounding.
    rng = np.random.default_rng(0)
    for n_words in (2, 3, 5, 6) * 10:
        arcs = 100.0 * rng.normal(size=(n_words + 1, n_words + 1))
        p, q = trees(arcs), trees(arcs + 1e-9 * rng.normal(size=arcs.shape))
        assert p.entropy >= 0
        assert p.kl_divergence(q) >= 0
