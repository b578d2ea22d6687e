"""Alignments of pairs as structures, against all derivations of the normal form."""

import numpy as np
import pytest

from enumerate_itg import forest_trees, leaves, rule_counts
from oracle import Oracle
from partita.distribution.parts import PartDistribution
from partita.grammars.alignments import PairAlignments
from partita.grammars.itg import pair_forest

SIZES = [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (3, 3), (4, 3)]


def every_alignment(n, m):
    """Alignments as target places, and their part counts."""
    trees = forest_trees(pair_forest(np.ones((n, m)), np.ones(n), np.ones(m), normal_form=True))
    alignments = []
    for tree in trees:
        places = np.full(n, -1)
        for leaf in leaves(tree):
            if leaf[0] == "link":
                places[leaf[1]] = leaf[2]
        alignments.append(places)
    return alignments, np.array([rule_counts(tree, n, m) for tree in trees])


def problem(n, m, forbidden, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n * m + n + m + 2)
    scores[: n * m][rng.random(n * m) < forbidden] = -np.inf
    alignments, counts = every_alignment(n, m)
    p = PartDistribution(PairAlignments([n], [m]), [scores])
    return p, Oracle(alignments, counts, scores), rng


@pytest.mark.parametrize("n, m", SIZES)
@pytest.mark.parametrize("forbidden", [0.0, 0.3])
def test_every_question_to_a_pair(n, m, forbidden):
    p, oracle, rng = problem(n, m, forbidden)
    close = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(p.log_partition, [oracle.log_partition], **close)
    np.testing.assert_allclose(p.marginals[0], oracle.marginals, **close)
    np.testing.assert_allclose(p.entropy, [oracle.entropy], **close)
    np.testing.assert_allclose(p.max_marginals[0], oracle.max_marginals, **close)
    direction = rng.normal(size=len(p.scores))
    product = oracle.covariance @ direction
    np.testing.assert_allclose(p.covariance_product([direction])[0], product, **close)
    assert p.count == [len(p.k_best(10**4)[0])]
    best = max(score for _, score in p.k_best(10**4)[0])
    assert p.best.scores[0] == pytest.approx(best, abs=1e-9)
    assert p.score(p.argmax)[0] == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("n, m", SIZES)
def test_counts_of_every_alignment(n, m):
    alignments, counts = every_alignment(n, m)
    pairs = PairAlignments([n] * len(alignments), [m] * len(alignments))
    np.testing.assert_array_equal(pairs.counts(alignments), counts.ravel())


def test_all_of_them_in_order_and_samples():
    p, oracle, rng = problem(3, 3, forbidden=0.2)
    found = p.k_best(1000)[0]
    scores = [score for _, score in found]
    assert len(found) == np.isfinite(oracle.totals).sum()
    assert scores == sorted(scores, reverse=True)
    for places, score in found:
        assert p.score([places])[0] == pytest.approx(score, abs=1e-9)
    samples = p.sample(4000, rng)[0]
    shares = np.array([[(samples[:, i] == k).mean() for k in range(3)] for i in range(3)])
    np.testing.assert_allclose(shares, p.marginals[0][:9].reshape(3, 3), rtol=0, atol=0.05)


def test_best_of_large_scores_is_what_the_forest_finds():
    rng = np.random.default_rng(1)
    for n, m in ((6, 5), (4, 7)):
        pairs = PairAlignments([n], [m])
        scores = 100.0 * rng.normal(size=pairs.n_parts)
        (places,), best = pairs.argmax(scores)
        assert best[0] == pytest.approx(pairs.k_best(scores, 1)[0][0][1], rel=1e-12)
        assert pairs.counts([places]) @ scores == pytest.approx(best[0], rel=1e-12)


def test_alignments_that_are_none():
    pairs = PairAlignments([4], [4])
    with pytest.raises(ValueError, match="crosses in a way that no ITG derives"):
        pairs.counts([np.array([1, 3, 0, 2])])
    with pytest.raises(ValueError, match="each at most once"):
        pairs.counts([np.array([1, 1, -1, -1])])
    with pytest.raises(ValueError, match="shape"):
        pairs.counts([np.array([1, 2])])
    scores = np.zeros(pairs.n_parts)
    scores[[0, 1, 2, 3, 16]] = -np.inf  # links and deletion of word 0
    with pytest.raises(ValueError, match="source word 0 can be neither linked nor left"):
        PartDistribution(pairs, [scores]).log_partition  # noqa: B018


def test_steps_of_a_markov_chain():
    """Many steps from the deletion of all words sample p; a forbidden alignment stays."""
    p, oracle, rng = problem(2, 2, forbidden=0.0)
    after = np.array([p.structures.resampled(p.scores, [[-1, -1]], 40, rng)[0] for _ in range(600)])
    counts = PairAlignments([2] * 600, [2] * 600).counts(after).reshape(600, -1).mean(axis=0)
    deviation = np.sqrt(np.diag(oracle.covariance) / 600)
    assert (np.abs(counts - oracle.marginals) <= 5 * deviation + 1e-9).all()
    scores = p.scores.copy()
    scores[0] = -np.inf  # the link of the first words
    np.testing.assert_array_equal(p.structures.resampled(scores, [[0, 1]], 3, rng), [[0, 1]])
