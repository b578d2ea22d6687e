"""Sums over a corpus: right, and the same for any number of threads."""

from dataclasses import replace

import numpy as np
import pytest

from partita.objectives import Entropy, GeneralizedExpectation, Likelihood, ramp
from partita.training.batches import Batch, cut
from partita.training.corpora import build_corpus
from partita.training.memory_corpus import MemoryCorpus
from partita.training.summation import Part, Sums, merged, total
from small_corpora import N_WEIGHTS, chain_batches, finite_differences

WEIGHTS = np.random.default_rng(1).normal(size=N_WEIGHTS)
TARGETS = [0.6, 0.3, 0.1]
OBJECTIVES = {
    "likelihood": (Likelihood(), [("Likelihood",)]),
    "likelihood and entropy": (Likelihood() + 0.3 * Entropy(), [("Likelihood", "Entropy")]),
    "own data": (Likelihood() + 0.3 * Entropy(), [("Likelihood",), ("Entropy",)]),
    "expectations": (GeneralizedExpectation(TARGETS), [("GeneralizedExpectation",)]),
    "all": (
        2.0 * Likelihood() + 0.3 * Entropy() + 10.0 * GeneralizedExpectation(TARGETS),
        [("Likelihood",), ("Entropy", "GeneralizedExpectation")],
    ),
}


def corpus_of(name, **options):
    objective, data = OBJECTIVES[name]
    batches = [b for seed, terms in enumerate(data) for b in chain_batches(terms=terms, seed=seed)]
    return MemoryCorpus(objective, batches, **options)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_gradient_is_that_of_the_loss(name):
    corpus = corpus_of(name, n_threads=2)
    loss, gradient = corpus.value_and_gradient(WEIGHTS)
    assert loss == pytest.approx(corpus.value(WEIGHTS), rel=1e-14)
    numeric = finite_differences(corpus.value, WEIGHTS)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("n_shards", [1, 3])
def test_bits_do_not_depend_on_the_number_of_threads(name, n_shards):
    results = [
        corpus_of(name, n_threads=n, n_shards=n_shards).value_and_gradient(WEIGHTS)
        for n in (1, 2, 3, 7)
    ]
    for loss, gradient in results[1:]:
        assert loss == results[0][0]
        assert gradient.tobytes() == results[0][1].tobytes()


def test_batches_add_up():
    whole = chain_batches(n_sentences=12, per_batch=12)
    pieces = [
        MemoryCorpus(Likelihood(), [batch]).value_and_gradient(WEIGHTS)
        for batch in chain_batches(n_sentences=12, per_batch=12) + chain_batches(seed=5)
    ]
    corpus = MemoryCorpus(Likelihood(), whole + chain_batches(seed=5))
    loss, gradient = corpus.value_and_gradient(WEIGHTS)
    assert loss == pytest.approx(sum(piece[0] for piece in pieces), rel=1e-14)
    np.testing.assert_allclose(gradient, sum(piece[1] for piece in pieces), atol=1e-12, rtol=0)


def test_expectations_are_over_the_whole_corpus():
    """The distance is outside the sum: batches of one sentence or of all give the same loss."""
    objective = GeneralizedExpectation(TARGETS)
    one, many = (
        MemoryCorpus(objective, chain_batches(24, size, ("GeneralizedExpectation",)))
        for size in (24, 24)
    )
    split = MemoryCorpus(objective, _split(many.batches[0]))
    loss, gradient = one.value_and_gradient(WEIGHTS)
    other, other_gradient = split.value_and_gradient(WEIGHTS)
    assert other == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(other_gradient, gradient, atol=1e-13, rtol=0)


def _split(batch):
    """The same batch twice, each sentence counted in one of them only."""
    even = (np.arange(batch.structures.n_sentences) % 2).astype(float)
    fields = (batch.distribution, batch.structures, batch.features, batch.targets)
    return [Batch(*fields, sample_weights=weights) for weights in (even, 1.0 - even)]


def test_sample_weights_repeat_sentences():
    batches = chain_batches()
    doubled = [
        Batch(b.distribution, b.structures, b.features, b.targets, np.full(3, 2.0)) for b in batches
    ]
    loss, gradient = MemoryCorpus(Likelihood(), doubled).value_and_gradient(WEIGHTS)
    twice, its_gradient = MemoryCorpus(Likelihood(), batches * 2).value_and_gradient(WEIGHTS)
    assert loss == pytest.approx(twice, rel=1e-14)
    np.testing.assert_allclose(gradient, its_gradient, atol=1e-12, rtol=0)


def test_a_schedule_moves_the_weight_of_a_term():
    objective = Likelihood() + ramp(0.4, over=10) * Entropy()
    corpus = MemoryCorpus(objective, chain_batches(terms=("Likelihood", "Entropy")))
    alone = MemoryCorpus(Likelihood(), chain_batches()).value(WEIGHTS)
    entropy = MemoryCorpus(Entropy(), chain_batches(terms=("Entropy",))).value(WEIGHTS)
    assert corpus.value(WEIGHTS, iteration=0) == pytest.approx(alone)
    loss, _ = corpus.value_and_gradient(WEIGHTS, iteration=5)
    assert loss == pytest.approx(alone + 0.2 * entropy)


class _Breaks(Likelihood):
    def losses(self, p, target):
        raise ZeroDivisionError("on purpose")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_error_in_a_thread_reaches_the_caller(n_threads):
    batches = [
        Batch(b.distribution, b.structures, b.features, {"_Breaks": b.targets["Likelihood"]})
        for b in chain_batches()
    ]
    corpus = MemoryCorpus(_Breaks(), batches, n_threads=n_threads)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        corpus.value_and_gradient(WEIGHTS)


@pytest.mark.parametrize(
    "objective, batches, message",
    [
        (Likelihood(), [], "no batches"),
        (Likelihood() + Entropy(), chain_batches(), "no batch has a target for 'Entropy'"),
        (Likelihood(), chain_batches(terms=("Likelihood", "Entropy")), "terms of the objective"),
        (Likelihood(), chain_batches() + chain_batches(n_attributes=5), "weights; expected one"),
    ],
)
def test_data_that_do_not_fit_the_objective(objective, batches, message):
    with pytest.raises(ValueError, match=message):
        MemoryCorpus(objective, batches)


def test_workers_are_checked():
    with pytest.raises(ValueError, match='"ray:4" for four'):
        build_corpus(Likelihood(), chain_batches(), workers="spark:2")
    corpus = build_corpus(Likelihood(), chain_batches(), workers="2")
    assert corpus.n_threads == 2
    with pytest.raises(ValueError, match="one number for each feature"):
        corpus.value(WEIGHTS[1:])


@pytest.mark.parametrize("n_shards", [1, 2, 5, 8, 13])
def test_the_brackets_of_a_sum_do_not_depend_on_who_adds(n_shards):
    """Any split of the shards into neighbours, each merged first, gives the same bits."""
    numbers = 10.0 ** np.random.default_rng(n_shards).uniform(-9, 9, n_shards)
    parts = [Part(i, 1, Sums({"a": np.array([x])}, None)) for i, x in enumerate(numbers)]
    expected = total(parts).statistics["a"]
    np.testing.assert_allclose(expected, numbers.sum(), rtol=1e-9, atol=1e-12)
    for middle in range(1, n_shards):
        halves = merged(parts[:middle]) + merged(parts[middle:])
        assert total(halves).statistics["a"] == expected
    assert len(merged(parts)) == n_shards.bit_count()


def test_cut():
    assert cut([], most=5) == []
    assert cut([9, 1, 1], most=2) == [range(0, 1), range(1, 3)]


def test_targets_are_given_by_the_names_of_terms():
    """Two terms of one class, each with data of its own."""
    first, second = chain_batches(), chain_batches(seed=3)
    expected = MemoryCorpus(Likelihood(), first).value(WEIGHTS)
    expected += 0.25 * MemoryCorpus(Likelihood(), second).value(WEIGHTS)
    objective = Likelihood().named("news") + 0.25 * Likelihood().named("web")
    named = [
        replace(batch, targets={name: batch.targets["Likelihood"]})
        for name, batches in (("web", second), ("news", first))
        for batch in batches
    ]
    assert MemoryCorpus(objective, named).value(WEIGHTS) == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="no batch has a target for 'news'"):
        MemoryCorpus(objective, first)


@pytest.mark.parametrize(
    ("scores_a_weight", "n_batches", "expected"),
    [(0, 9, 1), (7, 9, 7), (50, 9, 9), (500, 9999, 64), (3200, 9999, 200), (10**6, 9999, 1024)],
)
def test_how_many_shards_there_are(scores_a_weight, n_batches, expected):
    corpus = corpus_of("likelihood")
    corpus.n_parts = scores_a_weight * corpus.n_weights
    corpus.batch_sizes = np.ones(n_batches)
    assert corpus.default_shards() == expected
