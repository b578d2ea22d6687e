"""Log-linear tables: normalised, differentiable; and a hidden Markov model with features."""

import itertools

import numpy as np
import pytest

import partita as pt
from partita.features import (
    Attributes,
    FixedScores,
    JoinedFeatures,
    LogLinear,
    MatrixFeatures,
    RowFeatures,
    markov_contexts,
    tag_features,
)
from partita.objectives.evidence import Evidence
from partita.structures.chains import Chains
from partita.training import Batch, ExpectationMaximisation, Penalty, build_corpus, minimise, train
from partita.training.log_linear_em import LogLinearMaximiser
from partita.training.optimisers import LBFGS

CONTEXTS = np.array([0, 2, 0, 1, 2, 2, -1, 1, 4])


def table(seed=0, forbidden=False, n_weights=4):
    rng = np.random.default_rng(seed)
    features = MatrixFeatures(rng.normal(size=(len(CONTEXTS), n_weights)))
    if forbidden:
        hard = FixedScores(len(CONTEXTS), [0, 8], [-np.inf, -np.inf])
        features = JoinedFeatures([features, hard])
    return LogLinear(features, CONTEXTS), rng


@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("forbidden", [False, True])
def test_each_context_sums_to_one(forbidden, scale):
    model, rng = table(forbidden=forbidden)
    weights = scale * rng.normal(size=model.n_weights)
    logs = model.log_probabilities(weights)
    scores = model.features.scores(weights)
    for context in (0, 1, 2, 4):
        members = context == CONTEXTS
        if np.all(scores[members] == -np.inf):
            assert (logs[members] == -np.inf).all()
            continue
        expected = scores[members] - np.logaddexp.reduce(scores[members])
        np.testing.assert_allclose(logs[members], expected, atol=1e-9)
    assert logs[6] == 0.0
    fixed = LogLinear(model.features, CONTEXTS, fixed=np.full(len(CONTEXTS), -np.inf))
    assert fixed.log_probabilities(weights)[6] == -np.inf


def differences(function, weights, step=1e-5):
    found = []
    for index in range(len(weights)):
        moved = np.zeros_like(weights)
        moved[index] = step
        found.append((function(weights + moved) - function(weights - moved)) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("forbidden", [False, True])
def test_gradients(forbidden):
    model, rng = table(1, forbidden)
    weights, slopes = rng.normal(size=model.n_weights), rng.normal(size=len(CONTEXTS))
    slopes[[0, 8]] = 0.0 if forbidden else slopes[[0, 8]]
    used = slopes != 0

    def value(at):
        return slopes[used] @ model.log_probabilities(at)[used]

    found = model.gradient(model.log_probabilities(weights), slopes)
    np.testing.assert_allclose(found, differences(value, weights), atol=1e-7)
    counts = np.abs(slopes)
    loss, gradient = model.loss(counts)(weights)
    own = used & (CONTEXTS >= 0)
    assert loss == pytest.approx(-(counts[own] @ model.log_probabilities(weights)[own]))
    np.testing.assert_allclose(
        gradient, differences(lambda at: model.loss(counts)(at)[0], weights), atol=1e-6
    )


def test_a_feature_for_each_outcome_gives_shares_of_counts():
    model = LogLinear(MatrixFeatures(np.eye(5)), [0, 0, 1, 1, 1])
    counts = np.array([3.0, 1.0, 2.0, 2.0, 4.0])
    exact = LBFGS(gradient_tolerance=1e-10, loss_tolerance=0.0)
    found = minimise(model.loss(counts), np.zeros(5), exact).weights
    expected = [0.75, 0.25, 0.25, 0.25, 0.5]
    np.testing.assert_allclose(np.exp(model.log_probabilities(found)), expected, atol=1e-6)


# A hidden Markov model over 4 words and 2 tags, whose words share attributes.
N_WORDS, N_TAGS = 4, 2
WORD_ATTRIBUTES = Attributes.from_lists([[0, 4], [1, 4], [2, 5], [3, 5]])
SENTENCES = [[0, 2, 1], [3], [2, 2, 0, 1], [1, 3]]


def features_of_table():
    """Emissions by attributes of words; start and transitions with a weight each."""
    n = N_WORDS * N_TAGS + N_TAGS + N_TAGS**2
    words = RowFeatures(WORD_ATTRIBUTES, np.arange(N_WORDS) * N_TAGS, N_TAGS, 6, n)
    rest = np.zeros((n, n - N_WORDS * N_TAGS))
    rest[N_WORDS * N_TAGS :] = np.eye(n - N_WORDS * N_TAGS)
    return JoinedFeatures([words, MatrixFeatures(rest)])


def hidden_markov_corpus():
    """The plain model: its weights are log-probabilities, emissions, start, transitions."""
    chains = Chains([len(words) for words in SENTENCES], N_TAGS, shared=True)
    rows = [[w, N_WORDS] if i == 0 else [w] for words in SENTENCES for i, w in enumerate(words)]
    features = tag_features(chains, Attributes.from_lists(rows), N_WORDS + 1)
    batch = Batch(pt.LinearChain, chains, features, {"Evidence": None})
    return build_corpus(Evidence(), [batch])


def log_likelihood(probabilities):
    """By enumeration, from a table of probabilities."""
    emissions = probabilities[: N_WORDS * N_TAGS].reshape(N_WORDS, N_TAGS)
    start = probabilities[N_WORDS * N_TAGS : (N_WORDS + 1) * N_TAGS]
    transitions = probabilities[(N_WORDS + 1) * N_TAGS :].reshape(N_TAGS, N_TAGS)
    total = 0.0
    for words in SENTENCES:
        paths = itertools.product(range(N_TAGS), repeat=len(words))
        total += np.log(
            sum(
                start[tags[0]]
                * np.prod([transitions[a, b] for a, b in itertools.pairwise(tags)])
                * np.prod([emissions[w, tag] for w, tag in zip(words, tags, strict=True)])
                for tags in paths
            )
        )
    return total


@pytest.fixture
def model():
    return LogLinear(features_of_table(), markov_contexts(N_WORDS, N_TAGS))


def test_a_hidden_markov_model_with_features_by_its_gradient(model):
    corpus = hidden_markov_corpus()
    weights = np.random.default_rng(2).normal(size=model.n_weights)
    logs = model.log_probabilities(weights)
    loss, slopes = corpus.value_and_gradient(logs)
    assert loss == pytest.approx(-log_likelihood(np.exp(logs)), abs=1e-9)
    found = model.gradient(logs, slopes)

    def value(at):
        return -log_likelihood(np.exp(model.log_probabilities(at)))

    np.testing.assert_allclose(found, differences(value, weights), atol=1e-7)


def direct(model, corpus, weights, penalty):
    def function(at):
        logs = model.log_probabilities(at)
        loss, slopes = corpus.value_and_gradient(logs)
        return loss, model.gradient(logs, slopes)

    exact = LBFGS(gradient_tolerance=1e-9, loss_tolerance=0.0)
    return minimise(function, weights, exact, penalty=penalty)


def test_em_and_the_direct_gradient_reach_the_same_optimum(model):
    corpus, penalty = hidden_markov_corpus(), Penalty(l2=0.5)
    weights = np.random.default_rng(3).normal(size=model.n_weights)
    maximiser = LogLinearMaximiser(model, weights, penalty=penalty)
    em = ExpectationMaximisation(maximiser, maximiser.log_prior, 300, 1e-12)
    result = train(corpus, em, weights=model.log_probabilities(weights))
    losses = [record.loss for record in result.history]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0] - 0.1
    np.testing.assert_array_equal(result.weights, model.log_probabilities(maximiser.weights))
    # From there the gradient finds nothing better.
    found = direct(model, corpus, maximiser.weights, penalty)
    assert found.loss == pytest.approx(result.loss, abs=1e-5)


@pytest.mark.parametrize("contexts", [[0, 1], [0.0] * 9, [-2] * 9])
def test_contexts_that_are_none(contexts):
    with pytest.raises(ValueError, match="contexts"):
        LogLinear(MatrixFeatures(np.ones((9, 1))), contexts)
