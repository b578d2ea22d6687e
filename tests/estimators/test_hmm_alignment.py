"""Hidden Markov alignments beside linear chains, and learning beside a plain reference."""

import os
import signal
from itertools import product

import numpy as np
import pytest

from partita.estimators.alignment.em import EmCourse, learn_directions
from partita.estimators.alignment.hmm import DirectedHiddenMarkov
from partita.estimators.alignment.jumps import PSEUDO_COUNT, Jumps
from partita.estimators.alignment.model1 import WordTable, train_model1
from partita.estimators.groups import Runs
from partita.text.word_vocabulary import Numbered
from partita.training import heed_interruptions
from small_bitext import numbered


def random_model(rng, n_words=6, reach=3, p0=0.3):
    """A model of any pair of words up to a number."""
    probabilities = rng.dirichlet(np.full(n_words, 0.3), size=n_words)
    table = WordTable(
        np.arange(n_words + 1) * n_words,
        np.tile(np.arange(n_words, dtype=np.int32), n_words),
        probabilities.ravel(),
        np.zeros(n_words),
    )
    return DirectedHiddenMarkov(
        table, Jumps(rng.gamma(1.0, size=2 * reach + 1), rng.gamma(1.0, size=reach + 1)), p0
    )


def random_pairs(rng, sizes, n_words=6):
    sides = []
    for lengths in zip(*sizes, strict=True):
        numbers = rng.integers(1, n_words, size=sum(lengths)).astype(np.int32)
        sides.append(Numbered(numbers, np.cumsum([0, *lengths])))
    return sides


def chain_tags(places, n):
    """An alignment as the tags of its chain."""
    tags, place = [], n
    for i in places:
        place = i if i >= 0 else place
        tags.append(i if i >= 0 else n + place)
    return np.array(tags)


SIZES = [(1, 1), (3, 4), (7, 2), (2, 9), (12, 12), (40, 3), (17, 20)]


@pytest.mark.parametrize("reach", [1, 2, 5, 30])
def test_chains(reach):
    rng = np.random.default_rng(reach)
    model = random_model(rng, reach=reach)
    source, target = random_pairs(rng, SIZES)
    found = model.posteriors(source, target, empty_word=True)
    best = model.best(source, target)
    likelihoods = model.log_likelihood(source, target)
    for k, (n, m) in enumerate(SIZES):
        chain = model.distribution(source[k], target[k])
        unary = chain.marginals.unary
        np.testing.assert_allclose(found[k][1:], unary[:, :n].T, rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(found[k][0], unary[:, n:].sum(axis=1), rtol=1e-9, atol=1e-13)
        np.testing.assert_allclose(likelihoods[k], chain.log_partition, rtol=1e-9)
        # Words are repeated, so several alignments may be the best.
        score = chain.score(chain_tags(best[k], n))
        np.testing.assert_allclose(score, chain.score(chain.argmax), rtol=1e-9)
        assert found[k].shape == (n + 1, m)
        np.testing.assert_array_equal(model.posteriors(source, target)[k], found[k][1:])


def test_every_alignment_of_a_pair():
    """Independent of the chain: all (n + 1)^m alignments, place by place."""
    rng = np.random.default_rng(0)
    model = random_model(rng, reach=2)
    source, target = random_pairs(rng, [(3, 4)])
    words = model.table.matrix(source[0], target[0])
    jumps, reach = model.jumps, model.jumps.reach

    def probability(alignment):
        total, place = 1.0, None
        for j, i in enumerate(alignment):
            total *= words[i + 1, j]
            if i < 0:
                total *= model.null_probability
                continue
            total *= 1 - model.null_probability
            if place is None:
                weights = [jumps.starts[min(to, reach)] for to in range(3)]
            else:
                weights = [
                    jumps.weights[reach + np.clip(to - place, -reach, reach)] for to in range(3)
                ]
            total *= weights[i] / sum(weights)
            place = i
        return total

    everything = {a: probability(a) for a in product(range(-1, 3), repeat=4)}
    evidence = sum(everything.values())
    np.testing.assert_allclose(model.log_likelihood(source, target), np.log(evidence), rtol=1e-9)
    [posteriors] = model.posteriors(source, target, empty_word=True)
    for i, j in product(range(-1, 3), range(4)):
        expected = sum(p for a, p in everything.items() if a[j] == i) / evidence
        np.testing.assert_allclose(posteriors[i + 1, j], expected, rtol=1e-9)
    assert tuple(model.best(source, target)[0]) == max(everything, key=everything.get)


def test_without_an_empty_word_no_word_is_impossible():
    """p0 = 0, and words that only the empty word translates: their place is any."""
    probabilities = np.array([[0.5, 0.5], [0.0, 1.0], [0.0, 0.5]])
    table = WordTable(
        np.arange(4) * 2, np.tile(np.int32([1, 2]), 3), probabilities.ravel(), np.zeros(3)
    )
    model = DirectedHiddenMarkov(table, Jumps(np.array([1.0, 2.0, 3.0]), np.array([2.0, 1.0])), 0)
    source = Numbered(np.int32([1, 2]), np.array([0, 2]))
    target = Numbered(np.int32([1, 2]), np.array([0, 2]))
    chain = model.distribution(source[0], target[0])
    [found] = model.posteriors(source, target, empty_word=True)
    np.testing.assert_allclose(found[1:], chain.marginals.unary[:, :2].T, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found[0], 0.0)
    # First jumps have 2/3 and 1/3, later ones 2/5, 3/5 from word 0 and 1/3, 2/3 from word 1.
    ways = np.array([[2 / 3 * 2 / 5, 2 / 3 * 3 / 5 / 2], [1 / 3 * 1 / 3, 1 / 3 * 2 / 3 / 2]])
    expected = ways.sum(axis=1) / ways.sum()
    np.testing.assert_allclose(found[1:, 0], expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(source, target), np.log(ways.sum()), rtol=1e-12)
    assert model.best(source, target)[0].tolist() == list(
        np.unravel_index(ways.argmax(), ways.shape)
    )


def chain_counts(model, source, target):
    """Expected counts by linear chains: words, jumps by distance, and first jumps."""
    words = np.zeros((model.table.n_source, target.numbers.max() + 1))
    reach = model.jumps.reach
    jumps, starts, departures = np.zeros(2 * reach + 1), np.zeros(reach + 1), {}
    for k in range(len(source)):
        n = len(source[k])
        unary, pairwise = model.distribution(source[k], target[k]).marginals
        for j, f in enumerate(target[k]):
            np.add.at(words[:, f], source[k], unary[j, :n])
            words[0, f] += unary[j, n:].sum()
        for i, p in enumerate(unary[0, :n] + pairwise[2 * n, :n]):
            starts[min(i, reach)] += p
        for k_from, i in product(range(n), range(n)):
            p = pairwise[k_from, i] + pairwise[n + k_from, i]
            jumps[reach + np.clip(i - k_from, -reach, reach)] += p
            departures[n, k_from] = departures.get((n, k_from), 0.0) + p
    return words, jumps, starts, departures


@pytest.mark.parametrize("reach", [3, 12])
def test_expected_counts(reach):
    from partita.kernels.bitext import hmm_steps as hmm_alignment_steps

    rng = np.random.default_rng(1)
    model = random_model(rng, reach=reach)
    # Four places at a time, and tiles of eight and sixteen.
    sizes = [(2, 3), (5, 5), (9, 4), (5, 2), (17, 2), (25, 1)]
    source, target = random_pairs(rng, sizes)
    words, jumps, starts, departures = chain_counts(model, source, target)
    counts = np.zeros(2 * reach + 1), np.zeros((26, 26)), np.zeros(reach + 1)
    cells = model.table.cells(source, target)
    ends = np.cumsum([0, *((n + 1) * m for n, m in sizes)])
    n_source, n_target = np.array(sizes).T
    posteriors = np.empty(len(cells))
    hmm_alignment_steps.infer_pairs(
        cells,
        (ends, n_source + 1, n_target),
        (model.jumps.weights, model.jumps.starts, model.null_probability),
        np.ones(len(sizes)),
        counts,
        posteriors,
        np.empty(len(sizes)),
    )
    found = np.zeros_like(words)
    for k, (n, m) in enumerate(sizes):
        own = posteriors[ends[k] : ends[k + 1]].reshape(n + 1, m)
        for i, e in enumerate([0, *source[k]]):
            np.add.at(found[e], target[k], own[i])
    np.testing.assert_allclose(found, words, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(counts[0] * model.jumps.weights, jumps, rtol=1e-9)
    np.testing.assert_allclose(counts[2], starts, rtol=1e-9)
    for (n, k), value in departures.items():
        np.testing.assert_allclose(counts[1][n, 1 + k], value, rtol=1e-9)
    np.testing.assert_allclose(counts[1][:, 0].sum(), starts.sum(), rtol=1e-9)


def jump_objective(jumps, counts, departures, starts):
    """The expected log-likelihood of jumps, with the prior."""
    total = 0.0
    for weights, numbers in ((jumps.weights, counts), (jumps.starts, starts)):
        shares = weights / weights.sum()
        total += (numbers + PSEUDO_COUNT) @ np.log(shares)
    for n, k in zip(*np.nonzero(departures), strict=True):
        goals = np.arange(n) - (k - 1)
        clipped = np.clip(goals, -jumps.reach, jumps.reach) + jumps.reach
        table = jumps.weights / jumps.weights.sum()
        if k == 0:
            clipped = np.minimum(np.arange(n), jumps.reach)
            table = jumps.starts / jumps.starts.sum()
        total -= departures[n, k] * np.log(table[clipped].sum())
    return total


def test_jumps_are_maximised():
    rng = np.random.default_rng(2)
    jumps = Jumps(rng.gamma(1.0, size=7), rng.gamma(1.0, size=4))
    departures, counts, starts = np.zeros((8, 8)), np.zeros(7), np.zeros(4)
    for n, k in [(7, 0), (7, 1), (7, 4), (7, 7), (3, 0), (3, 2), (1, 0), (1, 1)]:
        for i in range(n):
            value = rng.gamma(1.0)
            departures[n, k] += value
            if k == 0:
                starts[min(i, 3)] += value
            else:
                counts[3 + np.clip(i - k + 1, -3, 3)] += value
    values = [jump_objective(jumps, counts, departures, starts)]
    for _ in range(60):
        jumps = jumps.maximised(counts, departures, starts)
        values.append(jump_objective(jumps, counts, departures, starts))
    assert (np.diff(values) >= -1e-9).all()
    assert values[1] > values[0]
    # No other weights are better.
    for place, step in product(range(7), (1.001, 0.999)):
        weights = jumps.weights.copy()
        weights[place] *= step
        other = Jumps(weights, jumps.starts)
        assert jump_objective(other, counts, departures, starts) < values[-1] + 1e-9


def test_likelihood_never_falls():
    words, source, target = numbered(np.random.default_rng(3), n_pairs=80)
    numbers = (source, target, len(words[0]), len(words[1]))
    _, training = learn_directions(numbers, EmCourse(n_iterations=25, agreement=False))
    assert len(training.history) == training.n_iterations == 30
    seen = [-record.loss for record in training.history[5:]]
    # The jumps' pseudo-counts are not part of it, and cost it next to nothing.
    assert (np.diff(seen) >= -1e-3).all()
    assert seen[-1] > seen[0] + 10


def reference_agreement(words, source, target, n_iterations, alpha):
    """Agreement by linear chains and dense tables."""
    from scipy.special import digamma

    sides = [(source, target), (target, source)]
    models = []
    for (one, two), own, other in zip(sides, words, words[::-1], strict=True):
        table = train_model1(one, two, len(own), len(other), n_iterations=2, alpha=alpha)
        models.append(DirectedHiddenMarkov(table, Jumps.even(2), 0.2))
    for _ in range(n_iterations):
        counts = [
            np.zeros((len(words[0]), len(words[1]))),
            np.zeros((len(words[1]), len(words[0]))),
        ]
        jumps = []
        for model, (one, two) in zip(models, sides, strict=True):
            _, jump_counts, starts, departures = chain_counts(model, one, two)
            dense = np.zeros((10, 10))
            for (n, k), value in departures.items():
                dense[n, 1 + k] = value
            for k in range(len(one)):
                unary = model.distribution(one[k], two[k]).marginals.unary
                n = len(one[k])
                # All but the probability that every word is from the empty word.
                dense[n, 0] += 1 - unary[-1, -1]
            jumps.append(model.jumps.maximised(jump_counts, dense, starts))
        for k in range(len(source)):
            n, m = len(source[k]), len(target[k])
            p = models[0].distribution(source[k], target[k]).marginals.unary[:, :n].T
            q = models[1].distribution(target[k], source[k]).marginals.unary[:, :m]
            for i, j in product(range(n), range(m)):
                counts[0][source[k][i], target[k][j]] += p[i, j] * q[i, j]
                counts[1][target[k][j], source[k][i]] += p[i, j] * q[i, j]
            np.add.at(counts[0][0], target[k], 1 - (p * q).sum(axis=0))
            np.add.at(counts[1][0], source[k], 1 - (p * q).sum(axis=1))
        updated = []
        for model, count, jump in zip(models, counts, jumps, strict=True):
            table = model.table
            rows = np.repeat(np.arange(table.n_source), np.diff(table.offsets))
            values = count[rows, table.targets] + alpha
            totals = np.bincount(rows, values, minlength=table.n_source)
            unseen = table.unseen.copy()
            seen = np.diff(table.offsets) > 0
            unseen[seen] = np.exp(digamma(alpha) - digamma(totals[seen]))
            table = WordTable(
                table.offsets,
                table.targets,
                np.exp(digamma(values) - digamma(totals[rows])),
                unseen,
            )
            updated.append(DirectedHiddenMarkov(table, jump, 0.2))
        models = updated
    return models


def test_agreement(monkeypatch):
    from partita.estimators.alignment import em

    monkeypatch.setattr(em, "BLOCK", 50)
    words, source, target = numbered(np.random.default_rng(4), n_pairs=12)
    course = EmCourse(2, 3, alpha=0.1, reach=2)
    numbers = (source, target, len(words[0]), len(words[1]))
    found, _ = learn_directions(numbers, course)
    expected = reference_agreement(words, source, target, 3, 0.1)
    for one, two in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.jumps.weights, two.jumps.weights, rtol=1e-9)
        np.testing.assert_allclose(one.jumps.starts, two.jumps.starts, rtol=1e-9)
        np.testing.assert_allclose(one.table.probabilities, two.table.probabilities, rtol=1e-8)
        np.testing.assert_allclose(one.table.unseen, two.table.unseen, rtol=1e-9)
    again, _ = learn_directions(numbers, course, runs=Runs(workers=2, progress=False))
    for one, two in zip(found, again, strict=True):
        np.testing.assert_array_equal(one.table.probabilities, two.table.probabilities)
        np.testing.assert_array_equal(one.jumps.weights, two.jumps.weights)


@pytest.mark.parametrize("agreement", [False, True])
@pytest.mark.parametrize("n_iterations", [0, 3])
def test_a_pair_of_weight_two_counts_twice(n_iterations, agreement):
    words, source, target = numbered(np.random.default_rng(6), n_pairs=15)
    course = EmCourse(3, n_iterations, agreement=agreement)
    sizes = len(words[0]), len(words[1])
    twice = np.concatenate([np.arange(15), np.arange(5), np.arange(5)])
    one, _ = learn_directions((source.select(twice), target.select(twice), *sizes), course)
    weights = np.array([3.0] * 5 + [1.0] * 10)
    two, _ = learn_directions((source, target, *sizes), course, weights=weights)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(a.table.probabilities, b.table.probabilities, rtol=1e-9)
        if n_iterations:
            np.testing.assert_allclose(a.jumps.weights, b.jumps.weights, rtol=1e-9)
            np.testing.assert_allclose(a.jumps.starts, b.jumps.starts, rtol=1e-9)


def test_held_out_pairs_choose_the_iteration():
    words, source, target = numbered(np.random.default_rng(7), n_pairs=15)
    numbers = (source, target, len(words[0]), len(words[1]))
    seen = []

    def judge(models):
        seen.append(models)
        return abs(len(seen) - 3)

    runs = Runs(workers=1, progress=False, patience=2)
    models, training = learn_directions(numbers, EmCourse(2, 6), judge=judge, runs=runs)
    # The first one is asked about the models before any iteration.
    assert (training.n_iterations, len(seen)) == (4, 5)
    np.testing.assert_array_equal(models[0].table.probabilities, seen[2][0].table.probabilities)
    assert (models[0].table.probabilities != seen[3][0].table.probabilities).any()
    assert [record.held_out for record in training.history] == [1, 0, 1, 2]
    assert "Stopped early after 4 iterations" in training.reason


@pytest.mark.parametrize("n_seen", [2, 5])
def test_a_run_goes_on_from_its_checkpoint(tmp_path, n_seen):
    """Broken off among the iterations of Model 1, or of the hidden Markov models."""
    words, source, target = numbered(np.random.default_rng(7), n_pairs=15)
    numbers = (source, target, len(words[0]), len(words[1]))
    seen = []

    def judge(models):
        seen.append(models)
        if len(seen) == n_seen:
            os.kill(os.getpid(), signal.SIGINT)
        return -len(seen)

    run = Runs(workers=1, progress=False, checkpoint=tmp_path / "run", log=tmp_path / "log")
    with heed_interruptions():
        _, broken = learn_directions(numbers, EmCourse(3, 4), judge=judge, runs=run)
    assert broken.interrupted
    assert broken.n_iterations < 7
    resumed, training = learn_directions(
        numbers, EmCourse(3, 4), judge=judge, runs=run.set_params(resume=True)
    )
    assert training.n_iterations == 7
    whole, _ = learn_directions(numbers, EmCourse(3, 4))
    for one, two in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(one.table.probabilities, two.table.probabilities)
        np.testing.assert_array_equal(one.jumps.weights, two.jumps.weights)


def test_words_without_translation_say_nothing():
    rng = np.random.default_rng(5)
    model = random_model(rng)
    table = WordTable(np.zeros(7, dtype=np.int64), np.zeros(0, np.int32), np.zeros(0), np.zeros(6))
    blank = DirectedHiddenMarkov(table, model.jumps, 0.3)
    source, target = random_pairs(rng, [(3, 2), (1, 1)])
    for k, posteriors in enumerate(blank.posteriors(source, target, empty_word=True)):
        unary = blank.distribution(source[k], target[k]).marginals.unary
        n = len(source[k])
        np.testing.assert_allclose(posteriors[1:], unary[:, :n].T, rtol=1e-9)
        np.testing.assert_allclose(posteriors.sum(axis=0), 1.0, rtol=1e-9)
    assert [len(places) for places in blank.best(source, target)] == [2, 1]


def test_empty_sentences():
    rng = np.random.default_rng(6)
    model = random_model(rng)
    source, target = random_pairs(rng, [(0, 2), (3, 0), (0, 0), (2, 2)])
    shapes = [array.shape for array in model.posteriors(source, target)]
    assert shapes == [(0, 2), (3, 0), (0, 0), (2, 2)]
    assert model.best(source, target)[0].tolist() == [-1, -1]
    assert model.log_likelihood(source, target)[:3].tolist() == [0, 0, 0]
    sizes = model.table.n_source, model.table.n_source
    models, _ = learn_directions((source, target, *sizes), EmCourse(n_iterations=1))
    for trained in models:
        assert np.isfinite(trained.jumps.weights).all()


def test_answers_do_not_depend_on_the_block(monkeypatch):
    from partita.estimators.alignment import directed

    rng = np.random.default_rng(7)
    model = random_model(rng)
    source, target = random_pairs(rng, SIZES)
    whole = model.posteriors(source, target), model.best(source, target)
    monkeypatch.setattr(directed, "MOST_CELLS", 1)
    parts = model.posteriors(source, target), model.best(source, target)
    for one, two in zip(whole, parts, strict=True):
        for a, b in zip(one, two, strict=True):
            np.testing.assert_array_equal(a, b)


def test_bad_reach():
    with pytest.raises(ValueError, match="reach is 0"):
        Jumps.even(0)


def test_tiny_probabilities():
    rng = np.random.default_rng(8)
    model = random_model(rng)
    table = model.table
    tiny = WordTable(table.offsets, table.targets, 1e-290 * table.probabilities, table.unseen)
    small = DirectedHiddenMarkov(tiny, model.jumps, model.null_probability)
    source, target = random_pairs(rng, SIZES)
    for one, two in zip(
        model.posteriors(source, target), small.posteriors(source, target), strict=True
    ):
        np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(
        model.log_likelihood(source, target) + np.log(1e-290) * target.n_words,
        small.log_likelihood(source, target),
        rtol=1e-9,
    )


@pytest.mark.parametrize("p0", [0.0, 1e-9, 0.999])
def test_extreme_null_probabilities(p0):
    rng = np.random.default_rng(9)
    model = random_model(rng, p0=p0)
    source, target = random_pairs(rng, SIZES)
    for k, posteriors in enumerate(model.posteriors(source, target)):
        unary = model.distribution(source[k], target[k]).marginals.unary
        expected = unary[:, : len(source[k])].T
        np.testing.assert_allclose(posteriors, expected, rtol=1e-9, atol=1e-13)
