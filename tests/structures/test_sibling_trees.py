"""Second-order trees: the fast kernels and the forest agree; what is asked of trees only."""

import numpy as np
import pytest

import partita as pt
from cases import IS_COMPILED
from partita.structures.sibling_forests import sibling_places
from partita.structures.sibling_trees import SiblingTrees
from projective import all_sibling_trees


def scores_of(n_words, rng, spread=1.0):
    """Arcs and siblings of one sentence."""
    shape = (n_words + 1,) * 3
    return spread * rng.normal(size=shape[:2]), spread * rng.normal(size=shape)


def batch_of(lengths, spread=1.0, *, single_root=False, share_forbidden=0.0):
    rng = np.random.default_rng(len(lengths))
    scores = [scores_of(n, rng, spread) for n in lengths]
    for arcs, siblings in scores:
        siblings[rng.random(siblings.shape) < share_forbidden] = -np.inf
        # The chain of words, each on the one before, stays allowed.
        words = np.arange(len(arcs) - 1)
        siblings[words, words, words + 1] = 0.0
    return pt.SiblingTree(*map(list, zip(*scores, strict=True)), single_root=single_root)


def by_forest(p):
    """Log-partition, folded marginals and the forests themselves."""
    trees = p.structures
    everyone = np.arange(trees.n_sentences)
    forests = trees._forests(everyone)
    inference = forests.infer(trees._folded(p.scores, everyone))
    marginals = np.empty(trees.n_parts)
    trees._unfold(inference.marginals, everyone, marginals)
    return forests, inference, marginals


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("share_forbidden", [0.0, 0.5])
def test_the_fast_kernels_and_the_forest_agree(single_root, share_forbidden):
    lengths = [1, 2, 3, 4, 5, 6, 7, 9, 12, 17, 18] if IS_COMPILED else [1, 2, 3, 4, 6]
    p = batch_of(lengths, single_root=single_root, share_forbidden=share_forbidden)
    trees, everyone = p.structures, np.arange(len(lengths))
    forests, inference, marginals = by_forest(p)
    assert p.inference.state[1].size == 0
    np.testing.assert_allclose(p.log_partition, inference.log_partition, rtol=1e-12)
    np.testing.assert_allclose(p.inference.marginals, marginals, atol=1e-12)
    assert ((p.inference.marginals == 0) == (marginals == 0)).all()
    direction = np.random.default_rng(1).normal(size=trees.n_parts)
    product = np.empty(trees.n_parts)
    found = forests.covariance_product(None, inference, trees._folded(direction, everyone, 0.0))
    trees._unfold(found, everyone, product)
    np.testing.assert_allclose(p.flat_covariance_product(direction), product, atol=1e-11)
    best = forests.argmax(trees._folded(p.scores, everyone))
    np.testing.assert_allclose(p.best.scores, best.scores, rtol=1e-12)
    for mine, theirs in zip(p.argmax, best.structures, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("spread", [100.0, 1000.0])
def test_sentences_that_underflow_are_done_in_logarithms(spread):
    p = batch_of([3, 20, 30, 31] if IS_COMPILED else [3, 9, 11], spread)
    assert p.inference.state[1].size > 0
    _, inference, marginals = by_forest(p)
    np.testing.assert_allclose(p.log_partition, inference.log_partition, rtol=1e-12)
    np.testing.assert_allclose(p.inference.marginals, marginals, atol=1e-9)
    arcs, siblings = p.structures.split_arrays(p.inference.marginals)
    for arc, sibling in zip(arcs, siblings, strict=True):
        np.testing.assert_allclose(arc.sum(axis=0)[1:], 1.0, atol=1e-12)
        np.testing.assert_allclose(sibling.sum(axis=1), arc, atol=1e-12)


def test_without_sibling_scores_they_are_the_trees_of_the_first_order():
    rng = np.random.default_rng(0)
    arcs = rng.normal(size=(12, 12))
    first, second = pt.ProjectiveTree(arcs), pt.SiblingTree(arcs, np.zeros((12,) * 3))
    assert second.log_partition == pytest.approx(first.log_partition, rel=1e-13)
    np.testing.assert_allclose(second.marginals.arcs, first.marginals, atol=1e-13)
    np.testing.assert_array_equal(second.argmax, first.argmax)
    assert second.entropy == pytest.approx(first.entropy, rel=1e-12)


@pytest.mark.parametrize("single_root", [False, True])
def test_pair_marginals_by_enumeration(single_root):
    rng = np.random.default_rng(2)
    scores = scores_of(4, rng)
    p = pt.SiblingTree(*scores, single_root=single_root)
    _, counts = all_sibling_trees(4, single_root)
    totals = counts @ np.concatenate([array.ravel() for array in scores])
    weights = np.exp(totals - totals.max())
    arcs = counts[:, :25]
    expected = (arcs.T * (weights / weights.sum())) @ arcs
    np.testing.assert_allclose(p.pair_marginals().reshape(25, 25), expected, atol=1e-12)


def test_cells_that_belong_to_no_tree_may_hold_anything():
    rng = np.random.default_rng(3)
    arcs, siblings = scores_of(4, rng)
    _, counts = all_sibling_trees(4, True)
    is_used = counts.any(axis=0)
    strange = [np.where(used, array.ravel(), np.nan).reshape(array.shape)
               for array, used in ((arcs, is_used[:25]), (siblings, is_used[25:]))]  # fmt: skip
    p, q = (pt.SiblingTree(*given, single_root=True) for given in ((arcs, siblings), strange))
    assert p.log_partition == q.log_partition
    np.testing.assert_array_equal(p.marginals.siblings, q.marginals.siblings)
    assert (q.max_marginals.siblings.ravel()[~is_used[25:]] == -np.inf).all()


def test_inner_siblings_look_towards_the_head():
    rows = sibling_places(np.array([3, 3, 0, 3, 4, 3]))
    np.testing.assert_array_equal(rows[:, 1], [2, 3, 0, 3, 4, 4])


def test_heads_that_are_no_tree_of_the_set():
    p = pt.SiblingTree(np.zeros((5, 5)), np.zeros((5, 5, 5)), single_root=True)
    with pytest.raises(ValueError, match="not projective"):
        p.score([3, 4, 0, 3])
    with pytest.raises(ValueError, match="all hang on the root"):
        p.log_prob([0, 0, 2, 2])
    arcs = np.zeros((5, 5))
    arcs[:, 2] = -np.inf
    with pytest.raises(ValueError, match="no arc reaches word 2"):
        _ = pt.SiblingTree(arcs, np.zeros((5, 5, 5))).log_partition


def test_a_markov_chain_on_trees_keeps_the_distribution():
    p = pt.SiblingTree(*scores_of(3, np.random.default_rng(4)))
    structures, _ = all_sibling_trees(3, False)
    trees = SiblingTrees(np.full(4000, 3))
    rng = np.random.default_rng(5)
    scores = np.tile(p.scores, 4000)
    found = np.stack(trees.resampled(scores, list(p.sample(4000, rng)), 3, rng))
    shares = [(found == heads).all(axis=1).mean() for heads in structures]
    np.testing.assert_allclose(shares, np.exp([p.log_prob(h) for h in structures]), atol=0.035)
