"""Binary constituency trees: what the conformance suite does not ask."""

import math

import numpy as np
import pytest

import partita as pt
from partita.structures.constituents import ConstituencyTrees
from partita.structures.step_structures import StepStructures


@pytest.mark.parametrize("n_words", [1, 2, 3, 10, 30])
def test_catalan_numbers(n_words):
    """There are C(n-1) binary trees over n words, each with 2 n - 1 labels."""
    n_trees = math.comb(2 * n_words - 2, n_words - 1) // n_words
    plain = pt.ConstituencyTree(np.zeros((n_words, n_words)))
    assert plain.log_partition == pytest.approx(math.log(n_trees), abs=1e-11)
    labelled = pt.ConstituencyTree(np.zeros((n_words, n_words, 3)), labelled=True)
    expected = math.log(n_trees) + (2 * n_words - 1) * math.log(3)
    assert labelled.log_partition == pytest.approx(expected, abs=1e-11)
    assert labelled.marginals.sum() == pytest.approx(2 * n_words - 1, abs=1e-11)


def test_below_the_diagonal_nothing_counts():
    spans = np.random.default_rng(0).normal(size=(5, 5))
    whatever = spans.copy()
    whatever[np.tril_indices(5, -1)] = np.nan
    p, q = pt.ConstituencyTree(spans), pt.ConstituencyTree(whatever)
    np.testing.assert_array_equal(p.marginals, q.marginals)
    assert not np.tril(p.marginals, -1).any()


def test_rows_in_any_order():
    spans = np.random.default_rng(0).normal(size=(4, 4))
    p = pt.ConstituencyTree(spans)
    best = p.argmax
    assert p.score(best[::-1]) == p.score(best) == pytest.approx(p.best_score)
    assert best[0].tolist() == [0, 3]


def test_what_is_no_tree():
    p = pt.ConstituencyTree(np.zeros((3, 3)))
    with pytest.raises(ValueError, match=r"expected \(5, 2\), a row \(first, last\)"):
        p.score([[0, 2], [0, 1], [2, 2]])
    with pytest.raises(ValueError, match="is none"):
        p.score([[0, 2], [0, 1], [1, 2], [0, 0], [2, 2]])
    with pytest.raises(ValueError, match="expected places in an array of shape"):
        p.score([[0, 3], [0, 1], [2, 2], [0, 0], [1, 1]])
    with pytest.raises(ValueError, match="labelled=True"):
        pt.ConstituencyTree(np.zeros((3, 4)))


def test_three_axes_are_a_batch_unless_labelled():
    scores = np.random.default_rng(0).normal(size=(4, 4, 4))
    batch = pt.ConstituencyTree(scores)
    assert batch.log_partition.shape == (4,)
    assert batch.log_partition[2] == pt.ConstituencyTree(scores[2]).log_partition
    assert pt.ConstituencyTree(scores, labelled=True).argmax.shape == (7, 3)


def test_a_span_that_must_not_be():
    spans = np.zeros((3, 3))
    spans[0, 1] = -np.inf
    p = pt.ConstituencyTree(spans)
    assert p.log_partition == 0.0
    assert p.marginals[0, 1] == 0.0
    assert p.marginals[1, 2] == 1.0
    spans[1, 2] = -np.inf
    with pytest.raises(ValueError, match="no "):
        _ = pt.ConstituencyTree(spans).log_partition


@pytest.mark.parametrize("n_labels", [None, 3])
@pytest.mark.parametrize("scale", [1.0, 30.0, 400.0])
def test_both_ways_agree(n_labels, scale):
    """Probabilities in lanes and logarithms on forests, lanes partly filled, tiles of all edges."""
    rng = np.random.default_rng(0)
    for n_sentences in range(1, 10):
        n_words = rng.integers(1, 14, size=n_sentences)
        trees = ConstituencyTrees(n_words, n_labels)
        scores = rng.normal(scale=scale, size=trees.n_parts)
        scores[rng.random(trees.n_parts) < 0.05] -= 2000.0
        trees.clear_unused(scores)
        found, expected = trees.infer(scores), StepStructures.infer(trees, scores)
        np.testing.assert_allclose(found.log_partition, expected.log_partition, rtol=1e-13)
        np.testing.assert_allclose(found.marginals, expected.marginals, rtol=1e-9, atol=1e-13)
        best, truth = trees.argmax(scores), StepStructures.argmax(trees, scores)
        np.testing.assert_allclose(best.scores, truth.scores, rtol=1e-13)
        assert all(map(np.array_equal, best.structures, truth.structures))
        direction = rng.normal(size=trees.n_parts)
        np.testing.assert_allclose(
            trees.covariance_product(scores, found, direction),
            StepStructures.covariance_product(trees, scores, expected, direction),
            rtol=1e-9,
            atol=1e-11,
        )


def test_long_sentences_stand_beside_short_ones():
    rng = np.random.default_rng(1)
    arrays = [rng.normal(scale=s, size=(n, n)) for n, s in [(40, 1), (1, 1), (41, 90), (2, 1)]]
    batch = pt.ConstituencyTree(arrays)
    for index, spans in enumerate(arrays):
        alone = pt.ConstituencyTree(spans)
        assert batch.log_partition[index] == pytest.approx(alone.log_partition, rel=1e-14)
        np.testing.assert_allclose(batch.marginals[index], alone.marginals, rtol=0, atol=1e-13)
        assert alone.marginals.sum() == pytest.approx(2 * len(spans) - 1, abs=1e-10)
