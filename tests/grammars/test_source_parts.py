"""The parts of a source sentence: D_n(x) is the sum of D(x, y) over all targets y."""

import itertools

import numpy as np
import pytest

from partita.grammars.choices import TargetChoices
from partita.grammars.forest import EmptyForestError
from partita.grammars.source_parts import SourceParts, Topology, split_numbers, splits, targets_of

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
N_TARGET = 4
LONGEST = 4


def example(n):
    """The first n words of a sentence: some words have one translation, some two, one has none."""
    links = [[0, 1], [2], [], [1, 3]][:n]
    insertions = [[0, 3], [3], [], [3, 2], [1]][: n + 1]

    def choices(groups):
        words = np.array(sum(groups, []), dtype=np.int64)
        return TargetChoices(words, np.concatenate([[0], np.cumsum([len(g) for g in groups])]))

    return SourceParts(choices(links), choices(insertions), LONGEST)


def targets():
    for length in range(LONGEST + 1):
        yield from itertools.product(range(N_TARGET), repeat=length)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_all_targets_together_are_the_bounded_forest(n):
    parts = example(n)
    scores = np.random.default_rng(n).normal(size=parts.n_parts)
    bounded = parts.bounded(Topology(n, LONGEST, 3, 2))
    whole = bounded.forest.infer(bounded.edge_scores(scores))
    log_partition, counts, n_reached = -np.inf, np.zeros(parts.n_parts), 0
    for target in targets():
        try:
            pair = parts.pair(np.array(target, dtype=np.int64))
        except EmptyForestError:
            continue
        inference = pair.forest.infer(pair.edge_scores(scores))
        value = inference.log_partition[0]
        if value > -np.inf:
            n_reached += 1
            log_partition = np.logaddexp(log_partition, value)
            share = np.exp(value - whole.log_partition[0])
            counts += share * pair.part_counts(inference.marginals)
    assert n_reached > 2
    np.testing.assert_allclose(whole.log_partition[0], log_partition, **CLOSE)
    np.testing.assert_allclose(bounded.part_counts(whole.marginals), counts, **CLOSE)


def test_a_derivation_of_a_pair_has_its_target():
    parts = example(4)
    for target in ([0, 2, 1], [3, 2, 0, 3], [1, 3]):
        pair = parts.pair(np.array(target))
        derivation = pair.forest.argmax(pair.edge_scores(np.zeros(parts.n_parts))).structures[0]
        assert targets_of(parts, pair, [derivation])[0].tolist() == target


def test_derivations_of_the_bounded_forest_are_read_as_their_pairs_are():
    parts = example(3)
    scores = np.random.default_rng(0).normal(size=parts.n_parts)
    bounded = parts.bounded(Topology(3, LONGEST, 2, 2))
    best = bounded.forest.k_best(bounded.edge_scores(scores), 50)[0]
    targets = targets_of(parts, bounded, [derivation for derivation, _ in best])
    for target, (_, score) in zip(targets, best, strict=True):
        pair = parts.pair(target)
        found = pair.forest.k_best(pair.edge_scores(scores), 1000)[0]
        assert min(abs(score - other) for _, other in found) < 1e-9


def test_splits_are_numbered_one_by_one():
    numbers = split_numbers(5)
    np.testing.assert_array_equal(numbers[splits(5)], np.arange(20))


def test_a_topology_of_another_length_is_refused():
    with pytest.raises(ValueError, match="expected 2 and 4"):
        example(2).bounded(Topology(3, LONGEST, 2, 2))


def test_a_target_that_is_too_long_is_refused():
    with pytest.raises(EmptyForestError, match="at most 4"):
        example(2).pair(np.zeros(5, dtype=np.int64))
