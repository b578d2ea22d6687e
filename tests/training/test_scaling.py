"""Weights in units of their own: the same optimum, sooner."""

from dataclasses import replace

import numpy as np
import pytest

from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Counts, Entropy, Likelihood, ramp
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training.batches import Batch
from partita.training.memory_corpus import MemoryCorpus
from partita.training.model_file import ModelFileError
from partita.training.optimisers import LBFGS, OWLQN
from partita.training.optimisers.base import CorpusProblem
from partita.training.optimisers.curvature import Curvature
from partita.training.optimisers.lbfgs import SETTLED
from partita.training.optimisers.scaling import ScaledProblem, find_units, find_units_again
from partita.training.penalties import Penalty
from partita.training.trainer import minimise, train
from small_corpora import N_WEIGHTS, chain_batches, finite_differences

EXACT = {"gradient_tolerance": 1e-11, "loss_tolerance": 0.0}


def uneven_batches(n_batches=20, n_attributes=400, n_tags=5, seed=0):
    """Words as in any text: a few attributes everywhere, most of them rare."""
    rng = np.random.default_rng(seed)
    shares = 1.0 / np.arange(1, n_attributes + 1)
    batches = []
    for _ in range(n_batches):
        chains = Chains(rng.integers(5, 20, 10), n_tags, shared=True)
        n = int(chains.n_words.sum())
        attributes = rng.choice(n_attributes, size=(n, 4), p=shares / shares.sum())
        tags = (attributes.max(axis=1) + (rng.random(n) < 0.1)) % n_tags
        words = Attributes(attributes.ravel().astype(np.int32), 4 * np.arange(n + 1))
        targets = Counts.of(chains, np.split(tags, chains.word_offsets[1:-1]))
        features = tag_features(chains, words, n_attributes)
        batches.append(Batch(LinearChain, chains, features, {"Likelihood": targets}))
    return batches


class CountingCorpus(MemoryCorpus):
    n_passes = 0

    def value_and_gradient(self, weights, iteration=0):
        self.n_passes += 1
        return super().value_and_gradient(weights, iteration)


@pytest.fixture(scope="module")
def corpus():
    return CountingCorpus(Likelihood(), uneven_batches(), n_threads=1)


def passes_until(corpus, optimiser, penalty, loss):
    """How many passes over the data it takes to come below a loss."""
    problem = CorpusProblem(corpus, penalty)
    corpus.n_passes = 0
    state = optimiser.start(problem, np.zeros(corpus.n_weights))
    while state.loss > loss:
        state = optimiser.step(problem, state)
    return corpus.n_passes


def test_units_follow_the_counts(corpus):
    units = find_units(corpus)
    counts = np.zeros(corpus.n_weights)
    for batch in corpus.batches:
        counts += batch.features.gradient(np.ones(batch.features.n_parts))
    np.testing.assert_allclose(corpus.feature_counts(), counts, rtol=1e-12)
    assert (units <= 1.0).all()
    assert (np.diff(units[np.argsort(counts, kind="stable")]) <= 0.0).all()
    assert len(np.unique(units)) > 2


@pytest.mark.parametrize("penalty", [Penalty(l2=1.0), Penalty(l2=0.1, l1=0.5)])
def test_the_gradient_is_that_of_the_loss(penalty):
    corpus = MemoryCorpus(Likelihood(), chain_batches(), n_threads=1)
    scale = np.random.default_rng(0).uniform(size=N_WEIGHTS)
    problem = CorpusProblem(corpus, replace(penalty, scale=scale))
    units = 2.0 ** -(np.arange(N_WEIGHTS).astype(float) ** 0.5)
    scaled = ScaledProblem(problem, units)
    place = np.random.default_rng(1).normal(size=N_WEIGHTS) / units

    def loss(weights):
        return scaled.value_and_gradient(weights, 0)[0]

    found, gradient = scaled.value_and_gradient(place, 0)
    assert found == problem.value_and_gradient(place * units, 0)[0]
    assert scaled.penalty.absolute(place) == pytest.approx(
        problem.penalty.absolute(place * units), rel=1e-14
    )
    np.testing.assert_allclose(gradient, finite_differences(loss, place), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("scale", [None, "some"])
def test_the_same_optimum_with_l2(corpus, scale):
    rng = np.random.default_rng(3)
    penalty = Penalty(l2=0.5, scale=scale and rng.uniform(0.5, 2, corpus.n_weights))
    plain = train(corpus, LBFGS(scaled=False, **EXACT), penalty=penalty)
    scaled = train(corpus, LBFGS(scaled=True, **EXACT), penalty=penalty)
    np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-6, rtol=0)
    assert scaled.loss == pytest.approx(plain.loss, rel=1e-13)
    assert "gradient's norm" in scaled.reason


def test_the_same_optimum_with_l1(corpus):
    penalty = Penalty(l1=2.0, l2=1.0)
    plain = train(corpus, OWLQN(scaled=False, **EXACT), penalty=penalty)
    scaled = train(corpus, OWLQN(scaled=True, **EXACT), penalty=penalty)
    np.testing.assert_allclose(scaled.weights, plain.weights, atol=1e-6, rtol=0)
    assert scaled.loss == pytest.approx(plain.loss, rel=1e-12)
    np.testing.assert_array_equal(scaled.weights == 0.0, plain.weights == 0.0)
    assert 0.2 < (scaled.weights == 0.0).mean() < 0.99


@pytest.mark.parametrize(("kind", "penalty"), [(LBFGS, Penalty(l2=0.1)), (OWLQN, Penalty(l1=0.5))])
def test_fewer_passes(corpus, kind, penalty):
    """To within a thousandth of the optimum."""
    best = train(corpus, kind(scaled=True, **EXACT), penalty=penalty).loss
    n_passes = []
    for scaled in (False, True):
        n_passes.append(passes_until(corpus, kind(scaled=scaled, **EXACT), penalty, 1.001 * best))
    assert n_passes[1] < 0.75 * n_passes[0]


def test_the_norm_is_that_of_the_gradient(corpus):
    penalty = Penalty(l2=1.0)
    result = train(corpus, LBFGS(n_iterations=7, scaled=True), penalty=penalty)
    _, gradient = CorpusProblem(corpus, penalty).value_and_gradient(result.weights, 0)
    assert result.history[-1].gradient_norm == pytest.approx(np.linalg.norm(gradient), rel=1e-12)
    assert np.linalg.norm(find_units(corpus) * gradient) < 0.8 * np.linalg.norm(gradient)


def test_a_run_that_does_not_move_gives_back_what_it_was_given(corpus):
    """To the last digit, though weights were divided by their units."""
    weights = np.random.default_rng(0).normal(size=corpus.n_weights)
    for kind in (LBFGS, OWLQN):
        result = train(corpus, kind(n_iterations=0, scaled=True), weights=weights)
        np.testing.assert_array_equal(result.weights, weights)
        assert not np.shares_memory(result.weights, weights)


def test_a_tolerance_of_the_loss_reaches_the_optimum(corpus):
    """To 1e-8 of it, as other programs' optima are given."""
    best = train(corpus, LBFGS(scaled=True, **EXACT), penalty=Penalty(l2=1.0)).loss
    optimiser = LBFGS(scaled=True, loss_tolerance=1e-9, gradient_tolerance=0.0)
    result = train(corpus, optimiser, penalty=Penalty(l2=1.0))
    assert "loss_tolerance" in result.reason
    assert 0 <= result.loss - best <= 1e-8 * best


def test_a_ramp_moves_the_landscape():
    terms = ("Likelihood", "Entropy")
    objective = Likelihood() + ramp(0.2, over=8) * Entropy()
    corpus = MemoryCorpus(objective, chain_batches(30, 3, terms=terms), n_threads=1)
    plain, scaled = (
        train(corpus, LBFGS(scaled=scaled, **EXACT), penalty=Penalty(l2=1.0))
        for scaled in (False, True)
    )
    assert scaled.n_iterations > 8
    assert scaled.loss == pytest.approx(plain.loss, rel=1e-9)


def test_a_plain_function_has_no_features():
    result = minimise(
        lambda w: (float((w - 3) @ (w - 3)), 2 * (w - 3)), np.zeros(2), LBFGS(scaled=True)
    )
    np.testing.assert_allclose(result.weights, 3.0)


def test_a_checkpoint_knows_whether_weights_were_scaled(corpus, tmp_path):
    path = tmp_path / "checkpoint"
    train(corpus, LBFGS(n_iterations=2, scaled=True), checkpoint=path)
    with pytest.raises(ModelFileError, match="scaled is True there and False here"):
        train(corpus, LBFGS(n_iterations=4, scaled=False), checkpoint=path, resume=True)


def test_units_are_found_again_from_variances(corpus):
    weights = np.random.default_rng(0).normal(size=corpus.n_weights)
    expected = np.zeros(corpus.n_weights)
    for batch in corpus.batches:
        marginals = batch.at(weights).inference.marginals
        parts = np.where(marginals > 2, marginals, np.abs(marginals - marginals**2))
        expected += batch.features.gradient(parts)
    np.testing.assert_allclose(corpus.feature_counts(weights), expected, rtol=1e-12, atol=1e-12)
    before = find_units(corpus)
    units = find_units_again(corpus, weights, before)
    np.testing.assert_allclose(units, (before * (1.0 + expected) ** (-1 / 3)) ** 0.5, rtol=1e-12)
    for n_threads in (2, 3):
        other = MemoryCorpus(Likelihood(), corpus.batches, n_threads=n_threads)
        np.testing.assert_array_equal(find_units_again(other, weights, before), units)


def test_pairs_in_other_units_say_the_same():
    """The direction is that of the same pairs in the other units, scaled there."""
    rng = np.random.default_rng(0)
    steps, noise = rng.normal(size=(2, 4, 30)).astype(np.float32)
    gradient, ratio = rng.normal(size=30), rng.uniform(0.5, 2.0, 30)
    changes = steps * rng.uniform(1.0, 3.0, 30).astype(np.float32) + 0.01 * noise

    def curvature(steps, changes, gradient):
        rows = np.concatenate([steps, changes]).astype(np.float64)
        pairs = tuple(steps.astype(np.float32)), tuple(changes.astype(np.float32))
        return Curvature(6, *pairs, rows @ rows.T, rows @ gradient)

    given = curvature(steps, changes, gradient)
    copy = given.copied()
    found = given.converted((ratio, np.ones(30)), gradient / ratio)
    expected = curvature(steps * ratio, changes / ratio, gradient / ratio)
    np.testing.assert_allclose(found.gram, expected.gram, rtol=1e-5)
    np.testing.assert_allclose(found.along, expected.along, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        found.direction(gradient / ratio)[0],
        expected.direction(gradient / ratio)[0],
        rtol=1e-4,
        atol=1e-5,
    )
    np.testing.assert_array_equal(copy.steps, steps)
    np.testing.assert_array_equal(copy.changes, changes)


def test_a_run_goes_on_from_before_its_units_are_found_again(corpus, tmp_path):
    """Also from a state that another step was made from."""
    penalty, path = Penalty(l2=1.0), tmp_path / "checkpoint"
    whole = train(corpus, LBFGS(n_iterations=SETTLED + 4), penalty=penalty)
    for n_iterations in (SETTLED, SETTLED + 1):
        options = {"penalty": penalty, "checkpoint": path}
        train(corpus, LBFGS(n_iterations=n_iterations), **options)
        resumed = train(corpus, LBFGS(n_iterations=SETTLED + 4), resume=True, **options)
        np.testing.assert_array_equal(resumed.weights, whole.weights)
        path.unlink()
    problem = CorpusProblem(corpus, penalty)
    optimiser = LBFGS()
    state = optimiser.start(problem, np.zeros(corpus.n_weights))
    for _ in range(SETTLED):
        state = optimiser.step(problem, state)
    kept = state.curvature.copied()
    optimiser.step(problem, optimiser.apart(problem, state))
    np.testing.assert_array_equal(state.curvature.rows, kept.rows)


def test_units_found_again_save_passes(corpus, monkeypatch):
    penalty = Penalty(l2=0.1)
    best = train(corpus, LBFGS(**EXACT), penalty=penalty).loss
    n_passes = passes_until(corpus, LBFGS(**EXACT), penalty, 1.001 * best)
    monkeypatch.setattr("partita.training.optimisers.lbfgs.SETTLED", -1)
    assert n_passes < passes_until(corpus, LBFGS(**EXACT), penalty, 1.001 * best)
