"""Convolutions over target lengths against the forests D_n(x)."""

import numpy as np
import pytest

from partita.distribution.hypergraph import HypergraphDistribution
from partita.grammars.forest import EmptyForestError
from partita.grammars.itg import bounded_forest
from partita.grammars.lengths import infer_lengths
from partita.grammars.parts import RuleScores


def random_scores(n, seed, spread=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    parts = spread * rng.normal(size=2 * n + 3)
    parts[: 2 * n + 1][rng.random(2 * n + 1) < forbidden] = -np.inf
    return RuleScores.from_flat(parts, (n,), n)


def by_forest(scores, longest):
    n = len(scores.deletions)
    can_insert = scores.insertions[0] > -np.inf
    choices = [[-1]] * n
    forest = bounded_forest(
        choices, scores.deletions > -np.inf, can_insert, longest, normal_form=True
    )
    p = HypergraphDistribution(forest.hypergraph, forest.edge_scores(scores))
    return p.log_partition, forest.rule_counts(p.marginals).flat()


SIZES = [(0, 1), (0, 3), (1, 0), (4, 0), (1, 1), (1, 4), (3, 1), (2, 2), (3, 5), (5, 3), (6, 8)]


@pytest.mark.parametrize("n, longest", SIZES)
@pytest.mark.parametrize("spread", [1.0, 30.0, 1000.0])
def test_against_the_forest(n, longest, spread):
    sentences, expected = [], []
    for seed, forbidden in enumerate((0.0, 0.0, 0.2, 0.5)):
        scores = random_scores(n, seed, spread, forbidden)
        try:
            expected.append(by_forest(scores, longest))
        except (EmptyForestError, ValueError):
            expected.append((-np.inf, np.zeros(2 * n + 3)))
        sentences.append(scores.flat())
    sizes = np.full(len(sentences), n), np.full(len(sentences), longest)
    totals, counts = infer_lengths(np.concatenate(sentences), *sizes)
    np.testing.assert_allclose(totals, [total for total, _ in expected], rtol=1e-12, atol=1e-9)
    wanted = np.concatenate([count for _, count in expected])
    np.testing.assert_allclose(counts, wanted, rtol=0, atol=1e-9)


def test_it_is_the_gradient():
    parts, sizes = random_scores(4, seed=3).flat(), (np.array([4]), np.array([5]))
    _, counts = infer_lengths(parts, *sizes)
    for part in range(len(parts)):
        step = np.zeros_like(parts)
        step[part] = 1e-5
        above, below = (infer_lengths(parts + sign * step, *sizes)[0][0] for sign in (1, -1))
        assert counts[part] == pytest.approx((above - below) / 2e-5, abs=1e-8)
