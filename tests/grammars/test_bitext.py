"""Matrix products against the forests, the listed derivations and the recursion in logarithms."""

import numpy as np
import pytest

from enumerate_itg import alignment, forest_trees, n_alignments, total_and_counts
from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars.bitext import infer_flat, infer_pairs, log_partitions
from partita.grammars.forest import EmptyForestError
from partita.grammars.itg import pair_forest
from partita.grammars.parts import RuleScores
from partita.kernels.bitext import itg_log, itg_outside

SIZES = [(0, 1), (0, 3), (1, 0), (4, 0), (1, 1), (1, 4), (3, 1), (2, 2), (3, 4), (5, 3)]
SIZES += [(3, 6), (4, 9), (2, 13)]  # wide tiles, and narrow ones beside them
LARGE = [pytest.param(n, m, marks=pytest.mark.slow) for n, m in [(8, 8), (9, 6), (4, 13)]]


def random_scores(n, m, seed, spread=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    parts = spread * rng.normal(size=n * m + n + m + 2)
    parts[:-2][rng.random(n * m + n + m) < forbidden] = -np.inf
    return RuleScores.from_flat(parts, (n, m), n)


def by_forest(scores):
    allowed = [array > -np.inf for array in scores[:3]]
    forest = pair_forest(*allowed, normal_form=True)
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(scores))
    return p.log_partition, forest.rule_counts(p.marginals).flat()


@pytest.mark.parametrize("n, m", [(1, 2), (2, 2), (3, 1), (2, 3)])
def test_against_all_derivations(n, m):
    scores = random_scores(n, m, seed=n + 10 * m)
    everything = np.ones((n, m)), np.ones(n), np.ones(m)
    trees = forest_trees(pair_forest(*everything, normal_form=True))
    assert len(set(map(alignment, trees))) == n_alignments(n, m)
    total, counts = total_and_counts(trees, scores.flat(), n, m)
    found = infer_pairs([scores])
    np.testing.assert_allclose(found.log_partition, [total], rtol=0, atol=1e-11)
    np.testing.assert_allclose(found.counts[0].flat(), counts, rtol=0, atol=1e-11)


@pytest.mark.parametrize("n, m", [*SIZES, *LARGE])
def test_against_the_forest(n, m):
    for seed, forbidden in enumerate((0.0, 0.2, 0.5)):
        scores = random_scores(n, m, seed, forbidden=forbidden)
        try:
            total, counts = by_forest(scores)
        except EmptyForestError:
            with pytest.raises(EmptyForestError, match="pair 0"):
                infer_pairs([scores])
            continue
        found = infer_pairs([scores])
        assert found.log_partition[0] == pytest.approx(total, abs=1e-10)
        np.testing.assert_allclose(found.counts[0].flat(), counts, rtol=0, atol=1e-10)
        assert (found.counts[0].flat()[scores.flat() == -np.inf] == 0.0).all()
        np.testing.assert_allclose(log_partitions([scores]), [total], rtol=0, atol=1e-10)


@pytest.mark.parametrize("n, m", [(1, 1), (3, 3), (4, 2), (5, 5)])
@pytest.mark.parametrize("spread", [100.0, 1000.0])
def test_extreme_scores(n, m, spread):
    for seed in range(4):
        scores = random_scores(n, m, seed, spread=spread, forbidden=0.1)
        try:
            total, counts = by_forest(scores)
        except EmptyForestError:
            continue
        found = infer_pairs([scores])
        assert found.log_partition[0] == pytest.approx(total, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(found.counts[0].flat(), counts, rtol=0, atol=1e-9)


def test_extreme_scores_reach_the_safe_recursion():
    n, m = 5, 5
    n_safe = 0
    for seed in range(20):
        parts = random_scores(n, m, seed, spread=1000.0).flat()
        total, safe = np.empty(1), np.empty(1, dtype=np.bool_)
        sizes = np.array([n]), np.array([m])
        itg_outside.infer(parts, np.array([0, len(parts)]), *sizes, None, total, None, safe)
        expected, _ = by_forest(RuleScores.from_flat(parts, (n, m), n))
        if safe[0]:
            n_safe += 1
            assert total[0] == pytest.approx(expected, rel=1e-12)
    assert 0 < n_safe < 20


def test_scores_of_a_thousand_both_ways():
    scores = RuleScores(
        np.array([[1000.0, -1000.0], [-1000.0, 1000.0]]),
        np.array([-1000.0, 1000.0]),
        np.array([1000.0, -1000.0]),
        -1000.0,
        1000.0,
    )
    total, counts = by_forest(scores)
    found = infer_pairs([scores])
    assert found.log_partition[0] == pytest.approx(total, rel=1e-14)
    np.testing.assert_allclose(found.counts[0].flat(), counts, rtol=0, atol=1e-10)


@pytest.mark.parametrize("n, m", SIZES)
def test_the_safe_recursion_agrees_with_the_fast_one(n, m):
    parts = random_scores(n, m, seed=7).flat()
    sizes = np.array([n]), np.array([m])
    total, counts = infer_flat(parts, *sizes)
    safe_total, safe_counts = np.empty(1), np.empty(len(parts))
    itg_log.marginals(
        parts,
        np.array([0, len(parts)]),
        *sizes,
        np.zeros(1, dtype=np.int64),
        safe_total,
        safe_counts,
    )
    np.testing.assert_allclose(total, safe_total, rtol=0, atol=1e-12)
    np.testing.assert_allclose(counts, safe_counts, rtol=0, atol=1e-12)


def test_a_batch_is_its_pairs():
    # Pairs use the same memory one after the other, also behind one that underflows.
    extreme = random_scores(3, 3, seed=1, spread=1000.0)
    pairs = [extreme, *(random_scores(n, m, seed=n * m) for n, m in SIZES), extreme]
    together = infer_pairs(pairs)
    for pair, total, counts in zip(pairs, together.log_partition, together.counts, strict=True):
        alone = infer_pairs([pair])
        assert total == alone.log_partition[0]
        np.testing.assert_array_equal(counts.flat(), alone.counts[0].flat())
        n_terminals = counts.links.sum() + counts.deletions.sum() + counts.insertions.sum()
        assert counts.straight + counts.inverted == pytest.approx(n_terminals - 1, abs=1e-11)
        np.testing.assert_allclose(
            counts.links.sum(axis=1) + counts.deletions, 1.0, atol=1e-11, rtol=0
        )
        np.testing.assert_allclose(
            counts.links.sum(axis=0) + counts.insertions, 1.0, atol=1e-11, rtol=0
        )
    assert len(infer_pairs([]).counts) == 0


def test_one_binary_rule_alone():
    for rules in ((0.0, -np.inf), (-np.inf, 0.0), (-np.inf, -np.inf)):
        scores = random_scores(2, 2, seed=3)._replace(straight=rules[0], inverted=rules[1])
        if max(rules) == -np.inf:
            with pytest.raises(EmptyForestError):
                infer_pairs([scores])
            continue
        total, counts = by_forest(scores)
        found = infer_pairs([scores])
        assert found.log_partition[0] == pytest.approx(total, abs=1e-11)
        np.testing.assert_allclose(found.counts[0].flat(), counts, rtol=0, atol=1e-11)


def test_wrong_scores_say_where():
    good = random_scores(2, 3, seed=0)
    with pytest.raises(ValueError, match=r"links of pair 1 has shape \(2, 3\).*expected"):
        infer_pairs([good, good._replace(deletions=np.zeros(3))])
    with pytest.raises(ValueError, match=r"insertions of pair 0\[1\] is nan"):
        infer_pairs([good._replace(insertions=np.array([0.0, np.nan, 0.0]))])
    with pytest.raises(ValueError, match="both sentences of pair 0 are empty"):
        infer_pairs([RuleScores(np.zeros((0, 0)), np.zeros(0), np.zeros(0), 0.0, 0.0)])
