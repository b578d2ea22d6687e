"""Batches of tags and entropies in compiled calls: the bits of the general way."""

from dataclasses import replace

import numpy as np
import pytest

from partita.features.base import JoinedFeatures
from partita.features.chains import tag_features
from partita.features.matrix import FixedScores
from partita.features.pairs import Pairs
from partita.objectives import Entropy, Likelihood, ramp
from partita.objectives.entropies import RenyiEntropy
from partita.objectives.evidence import Evidence
from partita.training.memory_corpus import MemoryCorpus
from partita.training.optimisers import Adam, CorpusProblem
from partita.training.penalties import Penalty
from partita.training.summation import Request
from partita.training.tagged_batches import ENOUGH, TaggedBatch
from partita.training.turns import sum_in_turn
from partita.training.whole_shards import are_enough, are_tagged
from small_corpora import N_ATTRIBUTES, N_TAGS, chain_batches

PAIRS = Pairs(
    np.append(np.arange(0, 2 * N_ATTRIBUTES, 2), 2 * N_ATTRIBUTES),
    np.tile(np.array([0, 2], dtype=np.int32), N_ATTRIBUTES),
    N_TAGS,
)
FEW_PAIRS = Pairs(
    np.array([0, 3, *range(3, 3 + N_ATTRIBUTES - 1)]),
    np.array([0, 1, 2, *[1] * (N_ATTRIBUTES - 2)], dtype=np.int32),
    N_TAGS,
)


def with_pairs(batch, pairs):
    words = batch.features.maps[0].attributes
    return replace(
        batch,
        features=tag_features(batch.structures, words, N_ATTRIBUTES, pairs=pairs),
    )


def with_fixed(batch):
    """The target's parts and half of the others are allowed."""
    chains, (target,) = batch.structures, batch.targets.values()
    rng = np.random.default_rng(1)
    forbidden = np.setdiff1d(np.flatnonzero(rng.random(chains.n_parts) < 0.2), target.parts)
    scores = np.where(np.arange(len(forbidden)) % 2, -np.inf, -0.5)
    hard = FixedScores(chains.n_parts, forbidden, scores)
    return replace(batch, features=JoinedFeatures([*batch.features.maps, hard]))


KINDS = {
    "rows": lambda batch: batch,
    "fixed": with_fixed,
    "pairs in rows": lambda batch: with_pairs(batch, PAIRS),
    "single pairs": lambda batch: with_pairs(batch, FEW_PAIRS),
    "pairs, fixed": lambda batch: with_fixed(with_pairs(batch, PAIRS)),
}


def both_ways(batches, objective, scale=1.0, **options):
    """A corpus and one that goes the general way, and weights."""
    quick = MemoryCorpus(objective, batches, **options)
    slow = MemoryCorpus(objective, batches, n_shards=options.get("n_shards"), n_threads=1)
    slow.__dict__["_quick"] = batches
    return quick, slow, scale * np.random.default_rng(0).normal(size=quick.n_weights)


def is_tagged(corpus):
    return [isinstance(batch, TaggedBatch) for batch in corpus._quick]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_shards", [1, 3, 10, 11])  # ten: whole shards for any of the threads
@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_the_same_bits_as_the_general_way(kind, n_shards, n_threads, monkeypatch):
    monkeypatch.setattr("partita.features.pairs.ENOUGH", 0.5)
    batches = [KINDS[kind](batch) for batch in chain_batches(60, 4)]
    quick, slow, weights = both_ways(
        batches, 0.7 * Likelihood(), n_shards=n_shards, n_threads=n_threads
    )
    assert all(is_tagged(quick))
    loss, gradient = quick.value_and_gradient(weights)
    expected_loss, expected = slow.value_and_gradient(weights)
    assert loss == expected_loss
    np.testing.assert_array_equal(gradient, expected)
    assert np.abs(gradient).max() > 0.1
    assert quick.value(weights) == slow.value(weights) == loss


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("terms", [("Evidence",), ("Evidence", "Entropy")])
@pytest.mark.parametrize(("n_shards", "n_threads"), [(1, 1), (3, 2), (10, 2)])
def test_the_same_bits_with_evidence(kind, terms, n_shards, n_threads, monkeypatch):
    """As expectation-maximisation asks for it."""
    monkeypatch.setattr("partita.features.pairs.ENOUGH", 0.5)
    targets = dict.fromkeys(terms)
    batches = [replace(KINDS[kind](batch), targets=targets) for batch in chain_batches(60, 4)]
    objective = 0.7 * Evidence()
    if "Entropy" in terms:
        objective += 0.3 * Entropy()
    quick, slow, weights = both_ways(batches, objective, n_shards=n_shards, n_threads=n_threads)
    assert all(is_tagged(quick))
    loss, gradient = quick.value_and_gradient(weights)
    expected_loss, expected = slow.value_and_gradient(weights)
    assert loss == expected_loss
    np.testing.assert_array_equal(gradient, expected)
    assert np.abs(gradient).max() > 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("some", [slice(None), slice(0, None, 3)])
@pytest.mark.parametrize(("n_shards", "n_threads"), [(1, 1), (3, 2), (10, 2)])
def test_the_same_bits_with_entropy(kind, some, n_shards, n_threads, monkeypatch):
    """Of all batches; and of batches with tags and of some that have none."""
    monkeypatch.setattr("partita.features.pairs.ENOUGH", 0.5)
    batches = [KINDS[kind](batch) for batch in chain_batches(60, 4)]
    for number in range(len(batches))[some]:
        tags = batches[number].targets if some.step is None else {}
        batches[number] = replace(batches[number], targets={**tags, "Entropy": None})
    objective = 0.7 * Likelihood() + -0.3 * Entropy()
    quick, slow, weights = both_ways(batches, objective, n_shards=n_shards, n_threads=n_threads)
    assert all(is_tagged(quick))
    loss, gradient = quick.value_and_gradient(weights)
    expected_loss, expected = slow.value_and_gradient(weights)
    assert loss == expected_loss
    np.testing.assert_array_equal(gradient, expected)
    assert np.abs(gradient).max() > 0.1
    assert quick.value(weights) == slow.value(weights) == pytest.approx(loss, rel=1e-12)


@pytest.mark.parametrize("switched_off", ["Likelihood", "Entropy"])
def test_a_term_that_is_switched_off_for_some_iterations(switched_off):
    batches = chain_batches(60, 4, terms=("Likelihood", "Entropy"))
    weights_of_terms = {"Likelihood": 1.0, "Entropy": 0.5} | {switched_off: ramp(0.5, over=1)}
    objective = (
        weights_of_terms["Likelihood"] * Likelihood() + weights_of_terms["Entropy"] * Entropy()
    )
    quick, slow, weights = both_ways(batches, objective, n_threads=2)
    assert all(is_tagged(quick))
    for iteration in range(2):
        found = quick.value_and_gradient(weights, iteration)
        expected = slow.value_and_gradient(weights, iteration)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])


@pytest.mark.parametrize("n_shards", [1, 10])
@pytest.mark.parametrize("terms", [("Likelihood",), ("Likelihood", "Entropy")])
def test_what_would_underflow_goes_the_general_way(n_shards, terms):
    batches = chain_batches(60, 4, terms=terms)
    objective = Likelihood() if len(terms) == 1 else Likelihood() + Entropy()
    quick, slow, weights = both_ways(
        batches, objective, scale=1000.0, n_shards=n_shards, n_threads=2
    )
    assert all(is_tagged(quick))
    loss, gradient = quick.value_and_gradient(weights)
    expected_loss, expected = slow.value_and_gradient(weights)
    assert loss == expected_loss
    np.testing.assert_array_equal(gradient, expected)


def test_which_shards_go_whole():
    corpus = MemoryCorpus(Likelihood(), chain_batches(60, 4))
    slopes = {"Likelihood": np.ones(1)}
    request = Request(corpus.terms, np.zeros(corpus.n_weights), slopes)

    assert all(are_enough(*each) for each in [(1, 1), (6, 3), (5, 2), (17, 2)])
    assert not any(are_enough(*each) for each in [(1, 2), (3, 2), (7, 3)])
    assert are_tagged(corpus._quick, request)
    assert not are_tagged(corpus.batches, request)
    assert not are_tagged(corpus._quick, replace(request, slopes=None))


@pytest.mark.parametrize(("n_shards", "n_threads"), [(1, 1), (1, 7), (2, 2), (5, 3)])
def test_turns_give_the_same_bits_for_any_number_of_threads(n_shards, n_threads):
    """Also where nobody helps, where most threads find nothing to do, and for a few shards."""
    corpus = MemoryCorpus(Likelihood(), chain_batches(60, 4), n_shards=n_shards, n_threads=1)
    weights = np.random.default_rng(0).normal(size=corpus.n_weights)
    request = Request(corpus.terms, weights, {"Likelihood": np.ones(1)})
    expected = corpus.sums(weights, ["Likelihood"], request.slopes)
    for _ in range(20):
        found = sum_in_turn(corpus._quick, request, n_shards, n_threads, lambda share: None)
        assert found.statistics == expected.statistics
        np.testing.assert_array_equal(found.gradient, expected.gradient)


@pytest.mark.parametrize("n_shards", [1, 10])
def test_all_shards_are_told_of_and_end_at_an_interruption(n_shards):
    corpus = MemoryCorpus(Likelihood(), chain_batches(60, 4), n_shards=n_shards, n_threads=2)
    shares = []
    corpus.watcher = shares.append
    corpus.value_and_gradient(np.zeros(corpus.n_weights))
    assert sorted(shares) == [k / 15 for k in range(1, 16)]

    def broken(share):
        raise ZeroDivisionError

    corpus.watcher = broken
    with pytest.raises(ZeroDivisionError):
        corpus.value_and_gradient(np.zeros(corpus.n_weights))


@pytest.mark.parametrize("n_shards", [1, 10])
def test_no_structure_is_the_same_error(n_shards):
    batches = chain_batches(60, 4)
    nothing = FixedScores(batches[3].features.n_parts, range(N_TAGS), [-np.inf] * N_TAGS)
    maps = [*batches[3].features.maps, nothing]
    batches[3] = replace(batches[3], features=JoinedFeatures(maps))
    quick, _, weights = both_ways(batches, Likelihood(), n_shards=n_shards, n_threads=2)
    with pytest.raises(ValueError, match="sentence 0 .* has no structure"):
        quick.value_and_gradient(weights)


def test_fixed_scores_in_steps():
    problem, states = None, []
    for n_threads, quick in ((1, False), (1, True), (2, True)):
        batches = [with_fixed(batch) for batch in chain_batches(60, 4)]
        corpus = MemoryCorpus(Likelihood(), batches, n_threads=n_threads)
        assert corpus.chain_batches(0) is not None
        if not quick:
            corpus.__dict__["_chain_batches"] = None
        problem = CorpusProblem(corpus, Penalty(l2=1.0))
        state = Adam(rate=0.5).start(problem, np.zeros(corpus.n_weights))
        for _ in range(2):
            state = Adam(rate=0.5).step(problem, state)
        states.append(state)
    for state in states[1:]:
        assert state.loss == states[0].loss
        np.testing.assert_array_equal(state.weights, states[0].weights)


def test_which_batches_it_is_for(monkeypatch):
    monkeypatch.setattr("partita.features.pairs.ENOUGH", 0.5)
    batches = chain_batches(60, 4)
    weighted = [replace(each, sample_weights=np.ones(4)) for each in batches]
    shared = chain_batches(60, 4, terms=("Likelihood", "Entropy"))
    twice = [replace(each, targets={**each.targets, "Entropy2": None}) for each in shared]
    costly = [replace(each, targets={**each.targets, "RenyiEntropy": None}) for each in shared]
    assert not any(is_tagged(MemoryCorpus(Likelihood(), weighted)))
    assert not any(is_tagged(MemoryCorpus(Likelihood() + Entropy() + Entropy(), twice)))
    third = 0.1 * RenyiEntropy(2.0)
    assert not any(is_tagged(MemoryCorpus(Likelihood() + Entropy() + third, costly)))
    assert not any(is_tagged(MemoryCorpus(Likelihood(), batches[: ENOUGH - 1])))
    unlabelled = chain_batches(60, 4, terms=("Entropy",))
    assert all(is_tagged(MemoryCorpus(Likelihood() + Entropy(), batches + unlabelled)))
    objective = Likelihood() + RenyiEntropy(2.0).named("Entropy")
    mixed = MemoryCorpus(objective, batches + unlabelled)
    assert is_tagged(mixed) == [True] * len(batches) + [False] * len(unlabelled)
    for kind in ("rows", "pairs in rows"):
        both = [KINDS[kind](batch) for batch in unlabelled + batches]
        quick, slow, weights = both_ways(both, objective, n_threads=2)
        found, expected = quick.value_and_gradient(weights), slow.value_and_gradient(weights)
        assert found[0] == expected[0]
        np.testing.assert_array_equal(found[1], expected[1])
