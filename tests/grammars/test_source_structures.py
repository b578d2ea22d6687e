"""Rules by place: the fast sums of D(x, y) and D_n(x) against the forests of the same parts."""

import itertools

import numpy as np
import pytest

from partita.grammars import source_structures
from partita.grammars.choices import TargetChoices
from partita.grammars.forest import EmptyForestError
from partita.grammars.source_parts import SourceParts
from partita.grammars.source_structures import SourcePairs, SourceTargets

N_TARGET = 4


def choices(groups):
    words = np.array(sum(groups, []), dtype=np.int64)
    return TargetChoices(words, np.concatenate([[0], np.cumsum([len(group) for group in groups])]))


def example(n, longest, seed=0):
    """n words with up to three translations, up to two insertions at each boundary."""
    rng = np.random.default_rng([n, longest, seed])

    def group(most):
        return rng.permutation(N_TARGET)[: rng.integers(0, most + 1)].tolist()

    links, insertions = [group(3) for _ in range(n)], [group(2) for _ in range(n + 1)]
    return SourceParts(choices(links), choices(insertions), longest)


def random_scores(parts, seed, spread=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    scores = spread * rng.normal(size=parts.n_parts)
    scores[rng.random(parts.n_parts) < forbidden] = -np.inf
    return scores


def by_forest(tied, scores):
    inference = tied.forest.infer(tied.edge_scores(scores))
    return inference.log_partition[0], tied.part_counts(inference.marginals)


def random_targets(rng, longest, size):
    return [rng.integers(0, N_TARGET, rng.integers(0, longest + 1)) for _ in range(size)]


@pytest.mark.parametrize("spread, forbidden", [(1.0, 0.0), (1.0, 0.3), (50.0, 0.1), (1000.0, 0.1)])
@pytest.mark.parametrize("n, longest", [(1, 1), (1, 4), (2, 3), (3, 5), (4, 4), (6, 7), (3, 14)])
def test_pairs(n, longest, spread, forbidden):
    rng = np.random.default_rng(n)
    n_reached = 0
    for seed in range(4):
        source = example(n, longest, seed)
        targets = random_targets(rng, longest + 1, 12)
        pairs = SourcePairs([source] * len(targets), targets)
        scores = random_scores(source, seed, spread, forbidden)
        found = pairs.infer(np.tile(scores, len(targets)))
        marginals = found.marginals.reshape(len(targets), -1)
        n_ways = np.array(pairs.count(np.tile(scores, len(targets)) > -np.inf))
        np.testing.assert_array_equal(n_ways > 0, found.log_partition > -np.inf)
        for target, total, counts in zip(targets, found.log_partition, marginals, strict=True):
            try:
                expected, wanted = by_forest(source.pair(target), scores)
            except EmptyForestError:
                assert total == -np.inf
                assert not counts.any()
                continue
            n_reached += expected > -np.inf
            np.testing.assert_allclose(total, expected, rtol=1e-12, atol=1e-9)
            if expected > -np.inf:
                np.testing.assert_allclose(counts, wanted, rtol=0, atol=1e-9)
                assert not counts[scores == -np.inf].any()
    assert n_reached > 0 or forbidden


@pytest.mark.parametrize("spread, forbidden", [(1.0, 0.0), (1.0, 0.3), (50.0, 0.1), (1000.0, 0.1)])
@pytest.mark.parametrize("n, longest", [(1, 1), (1, 4), (2, 0), (2, 3), (3, 5), (5, 4), (7, 9)])
def test_all_targets(n, longest, spread, forbidden):
    sources = [example(n, longest, seed) for seed in range(4)]
    targets = SourceTargets(sources)
    scores = [random_scores(each, seed, spread, forbidden) for seed, each in enumerate(sources)]
    found = targets.infer(np.concatenate(scores))
    marginals = np.split(found.marginals, targets.part_offsets[1:-1])
    for index, source in enumerate(sources):
        total, counts = by_forest(targets._forest(source), scores[index])
        np.testing.assert_allclose(found.log_partition[index], total, rtol=1e-12, atol=1e-9)
        if total > -np.inf:
            np.testing.assert_allclose(marginals[index], counts, rtol=0, atol=1e-9)
        else:
            assert not marginals[index].any()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_all_targets_are_the_sum_of_the_pairs(n):
    source = example(n, 3, seed=1)
    scores = random_scores(source, seed=n)
    every = [
        np.array(words, dtype=np.int64)
        for length in range(4)
        for words in itertools.product(range(N_TARGET), repeat=length)
    ]
    pairs = SourcePairs([source] * len(every), every).infer(np.tile(scores, len(every)))
    whole = SourceTargets([source]).infer(scores)
    shares = np.exp(pairs.log_partition - whole.log_partition[0])
    assert shares.sum() == pytest.approx(1.0, abs=1e-10)
    counts = shares @ pairs.marginals.reshape(len(every), -1)
    np.testing.assert_allclose(counts, whole.marginals, rtol=0, atol=1e-10)


def n_on_forests(structures, spread, monkeypatch, n_tried=20):
    """How many of some random scores need the forest, since weights would underflow."""
    asked = []
    name = "_by_forest" if isinstance(structures, SourcePairs) else "_forest"
    real = getattr(type(structures), name)

    def spy(*arguments):
        asked.append(1)
        return real(*arguments)

    kind = spy if name == "_by_forest" else staticmethod(spy)
    with monkeypatch.context() as patch:
        patch.setattr(type(structures), name, kind)
        for seed in range(n_tried):
            structures.infer(random_scores(structures.sources[0], seed, spread))
    return len(asked)


def test_most_scores_take_the_fast_way_and_some_cannot(monkeypatch):
    source = example(6, 7, seed=1)
    target = np.array([2, 3, 1, 0, 2])
    for structures in (SourcePairs([source], [target]), SourceTargets([source])):
        assert n_on_forests(structures, 1.0, monkeypatch) == 0
        assert 0 < n_on_forests(structures, 100.0, monkeypatch) < 20


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_moderate_scores_take_the_fast_way_whatever_the_length(n, monkeypatch):
    """Forests would hide what goes wrong: numbers in the wrong place are none, and no sums."""
    source = example(n, n + 1, seed=1)
    for structures in (SourcePairs([source], [np.arange(n)]), SourceTargets([source])):
        assert n_on_forests(structures, 1.0, monkeypatch, n_tried=3) == 0


def test_a_batch_is_its_sentences():
    sources = [example(n, 4, seed=2) for n in (1, 3, 2)]
    targets = [np.array([0]), np.array([1, 2, 3]), np.array([], dtype=np.int64)]
    scores = [random_scores(each, seed=index) for index, each in enumerate(sources)]
    for together, alone in (
        (SourcePairs(sources, targets), lambda k: SourcePairs([sources[k]], [targets[k]])),
        (SourceTargets(sources), lambda k: SourceTargets([sources[k]])),
    ):
        found = together.infer(np.concatenate(scores))
        parts = np.split(found.marginals, together.part_offsets[1:-1])
        for k in range(3):
            own = alone(k).infer(scores[k])
            assert own.log_partition[0] == found.log_partition[k]
            np.testing.assert_array_equal(own.marginals, parts[k])
        assert len(together.is_choice()) == together.n_parts
        assert together.is_same_set(together)
        assert not together.is_same_set(type(together)(*_other(together, sources[::-1])))
        assert "target" in together.why_empty(np.concatenate(scores), 1)


def _other(structures, sources):
    return (sources, structures.targets[::-1]) if hasattr(structures, "targets") else (sources,)


def test_other_questions_are_asked_of_the_forests():
    source = example(3, 3, seed=1)
    scores = random_scores(source, seed=0)
    targets = SourceTargets([source])
    best = targets.argmax(scores)
    assert targets.counts(best.structures) @ scores == pytest.approx(best.scores[0], abs=1e-9)
    assert targets.k_best(scores, 2)[0][0][1] == pytest.approx(best.scores[0], abs=1e-9)
    inference = targets.infer(scores)
    direction = np.random.default_rng(0).normal(size=len(scores))
    moved = [targets.infer(scores + sign * 1e-5 * direction).marginals for sign in (1, -1)]
    np.testing.assert_allclose(
        targets.covariance_product(scores, inference, direction),
        (moved[0] - moved[1]) / 2e-5,
        rtol=0,
        atol=1e-8,
    )
    assert len(targets.sample(scores, inference, 3, np.random.default_rng(0))[0]) == 3
    everything = np.isfinite(scores)
    n_ways = len(targets.k_best(np.zeros(len(scores)), 10**6)[0])
    assert targets.count(everything) == [n_ways]
    pairs = SourcePairs([source] * 3, [[], [0], [1, 0]])
    assert [len(each) for each in pairs.k_best(np.zeros(pairs.n_parts), 10**6)] == pairs.count(
        np.ones(pairs.n_parts, dtype=bool)
    )
    assert targets.max_marginals(scores).max() == pytest.approx(best.scores[0], abs=1e-9)


@pytest.mark.parametrize("most_counted", [200, 0])
def test_which_targets_have_a_derivation(most_counted, monkeypatch):
    """As whole numbers count them; long pairs are asked of forests."""
    monkeypatch.setattr(source_structures, "MOST_COUNTED", most_counted)
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        targets = random_targets(rng, n + 2, 40)
        pairs = SourcePairs([example(n, n + 1, n)] * len(targets), targets)
        n_ways = np.array(pairs.count(np.ones(pairs.n_parts, dtype=np.bool_)))
        is_short = pairs.n_target <= n + 1
        np.testing.assert_array_equal(pairs.have_derivations(), is_short & (n_ways > 0))
        assert 0 < pairs.have_derivations().sum() < len(targets)
