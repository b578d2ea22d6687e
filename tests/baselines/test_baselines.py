"""The papers' formulas against enumeration, and against the library where they are its rivals."""

import numpy as np
import pytest

from cases import all_chains, flat
from hypergraphs import all_derivations, edge_counts, random_edges
from oracle import Oracle
from partita.baselines import chains, forests, spanning_trees
from partita.baselines.semirings import Log
from spanning import all_spanning_trees


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n_words", [1, 2, 4])
def test_chains_by_enumeration(shared, n_words):
    rng = np.random.default_rng(n_words)
    unary = rng.normal(size=(n_words, 3))
    pairwise = rng.normal(size=(3, 3) if shared else (n_words - 1, 3, 3))
    structures, counts = all_chains((unary, pairwise))
    truth = Oracle(structures, np.array(counts), flat((unary, pairwise)))
    expected = -truth.covariance @ truth.scores
    quadratic = chains.entropy_gradient_by_quadratic_expectations(unary, pairwise)
    np.testing.assert_allclose(flat(quadratic), expected, rtol=0, atol=1e-9)
    differences = chains.entropy_gradient_by_differences(unary, pairwise)
    np.testing.assert_allclose(flat(differences), expected, rtol=0, atol=1e-7)


def trees(n_words, single_root):
    rng = np.random.default_rng(n_words)
    arcs, direction = rng.normal(size=(2, n_words + 1, n_words + 1))
    return arcs, direction, Oracle(*all_spanning_trees(arcs.shape, single_root), arcs.ravel())


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_spanning_trees_by_enumeration(n_words, single_root):
    arcs, direction, truth = trees(n_words, single_root)
    pairs = spanning_trees.pair_marginals_by_clamping(arcs, single_root)
    expected = truth.counts.T @ (truth.probabilities[:, None] * truth.counts)
    np.testing.assert_allclose(pairs.reshape(expected.shape), expected, rtol=0, atol=1e-9)
    product = spanning_trees.product_by_clamping(arcs, direction, single_root)
    expected = truth.covariance @ direction.ravel()
    np.testing.assert_allclose(product.ravel(), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_words", [1, 2, 3, 4])
def test_pairs_of_arcs_by_enumeration(n_words):
    arcs, direction, truth = trees(n_words, single_root=False)
    product = spanning_trees.product_by_pairs_of_arcs(arcs, direction)
    expected = truth.covariance @ direction.ravel()
    np.testing.assert_allclose(product.ravel(), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n_edges", [5, 8, 15, 17])
def test_forests_as_in_the_slides(n_edges):
    heads, tails, root = random_edges(n_edges)
    rng = np.random.default_rng(0)
    scores, direction = rng.normal(size=(2, n_edges))
    derivations = all_derivations(heads, tails, root)
    truth = Oracle(derivations, np.array(edge_counts(derivations, n_edges)), scores)
    forest = forests.PlainForest(heads, tails, root)
    inner = forests.inside(forest, scores.tolist(), Log())
    outer = forests.outside(forest, scores.tolist(), Log(), inner)
    assert inner[root] == pytest.approx(truth.log_partition, abs=1e-12)
    found = forests.marginals(forest, scores.tolist(), inner, outer)
    np.testing.assert_allclose(found, truth.marginals, rtol=0, atol=1e-9)
    product = forests.covariance_product(forest, scores.tolist(), direction.tolist())
    np.testing.assert_allclose(product, truth.covariance @ direction, rtol=0, atol=1e-9)
    best = sorted(truth.totals, reverse=True)
    for k in (1, 3, len(best) + 1):
        np.testing.assert_allclose(
            forests.k_best(forest, scores.tolist(), k), best[:k], rtol=0, atol=1e-9
        )


def test_a_cycle_is_an_error():
    with pytest.raises(ValueError, match="cycle"):
        _ = forests.PlainForest([0, 1], [(1,), (0,)], root=0).order
