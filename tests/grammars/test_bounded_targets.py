"""All translations of a sentence as structures: sums over choices against an edge for each."""

import numpy as np
import pytest

from partita.grammars.alignments import PairAlignments
from partita.grammars.choices import TargetChoices
from partita.grammars.targets import BoundedTargets
from partita.structures.joined import JoinedStructures

CHOICES = [
    TargetChoices(np.array([7, 8, 9]), np.array([0, 2, 3])),
    TargetChoices(np.array([4, 5, 6, 7]), np.array([0, 1, 1, 4])),  # a word without translations
    TargetChoices(np.array([3]), np.array([0, 1])),
]


def scored(seed=0):
    targets = BoundedTargets(CHOICES, [3, 4, 2])
    return targets, np.random.default_rng(seed).normal(size=targets.n_parts)


def test_sums_are_those_of_the_hypergraph():
    targets, scores = scored()
    scores[4] = -np.inf
    found, forest = targets.infer(scores), targets.forests.infer(scores)
    np.testing.assert_allclose(found.log_partition, forest.log_partition, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.marginals, forest.marginals, rtol=0, atol=1e-9)


def test_derivations_are_counted_in_whole_numbers():
    targets, _ = scored()
    allowed = np.ones(targets.n_parts, dtype=bool)
    found = targets.k_best(np.zeros(targets.n_parts), 10**6)
    assert targets.count(allowed) == [len(each) for each in found]
    many = BoundedTargets([TargetChoices(np.arange(240), np.arange(0, 241, 20))], [13])
    (n_ways,) = many.count(np.ones(many.n_parts, dtype=bool))
    assert n_ways > 2**60
    assert n_ways % 2**20  # a float of this size is a multiple of that


def test_marginals_are_the_gradient():
    targets, scores = scored(1)
    marginals = targets.infer(scores).marginals
    for part in range(targets.n_parts):
        step = np.zeros(targets.n_parts)
        step[part] = 1e-5
        above, below = (targets.infer(scores + sign * step).log_partition for sign in (1, -1))
        assert marginals[part] == pytest.approx((above - below).sum() / 2e-5, abs=1e-8)


def test_joined_members_answer_as_they_do_alone():
    targets, scores = scored(2)
    pairs = PairAlignments([2, 1], [2, 3])
    joined = JoinedStructures([pairs, targets])
    rng = np.random.default_rng(3)
    both = np.concatenate([rng.normal(size=pairs.n_parts), scores])
    inference, direction = joined.infer(both), rng.normal(size=joined.n_parts)
    split = [(pairs, slice(0, pairs.n_parts)), (targets, slice(pairs.n_parts, None))]
    alone = [member.infer(both[block]) for member, block in split]
    totals = np.concatenate([each.log_partition for each in alone])
    np.testing.assert_array_equal(inference.log_partition, totals)
    products = [
        member.covariance_product(both[block], known, direction[block])
        for (member, block), known in zip(split, alone, strict=True)
    ]
    np.testing.assert_array_equal(
        joined.covariance_product(both, inference, direction), np.concatenate(products)
    )
    best = joined.argmax(both)
    assert joined.counts(best.structures) @ both == pytest.approx(best.scores.sum(), abs=1e-9)
    k_best = joined.k_best(both, 1)
    np.testing.assert_allclose([each[0][1] for each in k_best], best.scores, rtol=0, atol=1e-9)
    assert len(joined.sample(both, inference, 2, rng)) == joined.n_sentences == 5
    assert len(joined.max_marginals(both)) == len(joined.is_choice()) == joined.n_parts
    assert "target words" in joined.why_empty(both, 2)
    assert joined.is_same_set(JoinedStructures([PairAlignments([2, 1], [2, 3]), targets]))


def test_steps_of_a_markov_chain():
    targets, scores = scored(4)
    rng = np.random.default_rng(5)
    start = targets.argmax(scores).structures
    mean = np.zeros(targets.n_parts)
    for _ in range(400):
        mean += targets.counts(targets.resampled(scores, start, 60, rng)) / 400
    expected = targets.infer(scores)
    variance = np.concatenate([np.diag(c) for c in targets.covariance(scores, expected)])
    assert (np.abs(mean - expected.marginals) <= 5 * np.sqrt(variance / 400) + 1e-9).all()
    joined = JoinedStructures([targets, targets])
    both = joined.resampled(np.tile(scores, 2), [*start, *start], 1, rng)
    assert joined.counts(both).shape == (2 * targets.n_parts,)
