"""Hidden Markov models with features, and by contrast: against enumeration, and what they learn."""

import itertools

import numpy as np
import pytest

from partita import HiddenMarkovTagger
from partita.estimators.tagging.emission_features import EmissionFeatures
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel
from partita.estimators.tagging.neighbourhoods import contrast_batches
from partita.estimators.tagging.tags import TagSet
from partita.objectives import (
    EvidenceContrast,
    deletions,
    deletions_and_transpositions,
    subsequence_deletions,
    transpositions,
)
from partita.objectives.evidence import Evidence
from partita.text.word_symbols import WordSymbols
from partita.training import Adam, build_corpus, train
from partita.training.log_linear_corpus import LogLinearCorpus

TAGS = ("A", "B", "C")
VOCABULARY = ["walked", "talked", "the", "sea"]
DICTIONARY = {"the": ["A"], "sea": ["B", "C"]}
SENTENCES = [["the", "sea", "the"], ["talked"], ["sea", "walked", "walked"]]
LABELS = [["?", "B", "?"], ["?"], ["?", "A", "C"]]


COUNTS = {"walked": 2, "talked": 1, "the": 2, "sea": 2}


@pytest.fixture
def features():
    model = HiddenMarkovModel(TagSet(TAGS), WordSymbols(VOCABULARY, []), DICTIONARY)
    return EmissionFeatures(model, ["suffix2", "capital"])


@pytest.fixture
def by_frequency(features):
    options = {"counts": COUNTS, "own_count": 2, "by_frequency": True}
    return EmissionFeatures(features.model, ["suffix2", "capital"], **options)


@pytest.fixture(params=["features", "by_frequency"])
def either(request):
    return request.getfixturevalue(request.param)


def table_by_hand(features, weights):
    """Scores of emissions, transitions and start from the names of the features."""
    words, transitions, start = np.split(weights, [-12, -3])
    words = dict(zip(features.names, words.reshape(-1, 3), strict=True))
    base = np.log([COUNTS[word] if features.base.any() else 1 for word in VOCABULARY])
    emissions = {
        word: log_count + words.get(word, np.zeros(3)) + words.get(f"suffix2={word[-2:]}", 0.0)
        for word, log_count in zip(VOCABULARY, base, strict=True)
    }
    return emissions, transitions.reshape(3, 3), start


def possible(words, labels):
    """All tags that the dictionary and the labels allow."""
    choices = []
    for word, label in zip(words, labels, strict=True):
        tags = DICTIONARY.get(word, TAGS)
        choices.append([TAGS.index(tag) for tag in tags if label in ("?", tag)])
    return itertools.product(*choices)


def log_sum(table, words, labels):
    """Log sum over tags of exp(score)."""
    emissions, transitions, start = table
    return np.logaddexp.reduce(
        [
            start[tags[0]]
            + sum(transitions[pair] for pair in itertools.pairwise(tags))
            + sum(emissions[word][tag] for word, tag in zip(words, tags, strict=True))
            for tags in possible(words, labels)
        ]
    )


def of_length(words):
    return itertools.product(VOCABULARY, repeat=len(words))


def dynasearch(words):
    """Pairs that do not overlap, exchanged in all ways."""
    if len(words) < 2:
        return {tuple(words)}
    kept = {(words[0], *rest) for rest in dynasearch(words[1:])}
    return kept | {(words[1], words[0], *rest) for rest in dynasearch(words[2:])}


LISTS = {
    "del1": deletions,
    "trans1": transpositions,
    "delortrans1": deletions_and_transpositions,
    "del1subseq": subsequence_deletions,
    "dynasearch": dynasearch,
    "length": of_length,
}


@pytest.mark.parametrize("neighbourhood", LISTS)
@pytest.mark.parametrize("weighted", [False, True])
def test_contrast_by_enumeration(features, neighbourhood, weighted):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=features.n_weights)
    table = table_by_hand(features, weights)
    counted = np.array([1.0, 0.5, 2.0]) if weighted else np.ones(3)
    expected = 0.0
    for words, labels, weight in zip(SENTENCES, LABELS, counted, strict=True):
        near = [log_sum(table, each, "?" * len(each)) for each in LISTS[neighbourhood](words)]
        expected += weight * (np.logaddexp.reduce(near) - log_sum(table, words, labels))
    rows = features.model.rows(SENTENCES, LABELS)
    batches = contrast_batches(features, rows, neighbourhood, counted if weighted else None)
    corpus = build_corpus(EvidenceContrast(), batches)
    loss, gradient = corpus.value_and_gradient(weights)
    assert loss == pytest.approx(expected, abs=1e-9)
    direction = rng.normal(size=weights.shape)
    slope = corpus.value(weights + 1e-5 * direction) - corpus.value(weights - 1e-5 * direction)
    assert gradient @ direction == pytest.approx(slope / 2e-5, abs=1e-6)


def test_features_by_enumeration(either):
    rng = np.random.default_rng(1)
    weights = rng.normal(size=either.n_weights)
    emissions, transitions, start = table_by_hand(either, weights)
    rows = np.array([emissions[word] for word in VOCABULARY])
    rows[2, 1:], rows[3, 0] = -np.inf, -np.inf
    rows -= np.logaddexp.reduce(rows, axis=0)
    table = (
        dict(zip(VOCABULARY, rows, strict=True)),
        transitions - np.logaddexp.reduce(transitions, axis=1, keepdims=True),
        start - np.logaddexp.reduce(start),
    )
    pairs = zip(SENTENCES, LABELS, strict=True)
    expected = -sum(log_sum(table, words, labels) for words, labels in pairs)
    pieces = either.model.pieces(either.model.rows(SENTENCES, LABELS))
    batches = [piece.batch({"Evidence": None}, None) for piece in pieces]
    corpus = LogLinearCorpus(build_corpus(Evidence(), batches), either.log_linear)
    loss, gradient = corpus.value_and_gradient(weights)
    assert loss == pytest.approx(expected, abs=1e-9)
    direction = rng.normal(size=weights.shape)
    slope = corpus.value(weights + 1e-5 * direction) - corpus.value(weights - 1e-5 * direction)
    assert gradient @ direction == pytest.approx(slope / 2e-5, abs=1e-6)


def test_tables_are_those_of_the_features(either):
    weights = np.random.default_rng(2).normal(size=either.n_weights)
    model = either.model
    own = either.weights_of(model, weights, normalised=True)
    np.testing.assert_allclose(own, either.log_linear.log_probabilities(weights), atol=1e-12)
    # Rare words become a class, which has what they have together.
    small = HiddenMarkovModel(model.tags, WordSymbols(["the", "sea"], ["lower-ed"]), {})
    start, transitions, emissions = small.layout.split(
        either.weights_of(small, weights, normalised=False)
    )
    table = table_by_hand(either, weights)
    np.testing.assert_allclose(start, table[2])
    np.testing.assert_allclose(transitions, table[1])
    np.testing.assert_allclose(emissions[0], table[0]["the"])
    both = np.logaddexp(table[0]["walked"], table[0]["talked"])
    np.testing.assert_allclose(emissions[2], both)


def test_rare_words_have_no_weight_of_their_own(features, by_frequency):
    assert features.names == [*VOCABULARY, "suffix2=ed"]
    assert by_frequency.names == ["walked", "the", "sea", "suffix2=ed"]
    # Without weights tags have the words that they may have as often as the text does.
    found = by_frequency.log_linear.log_probabilities(np.zeros(by_frequency.n_weights))
    _, _, emissions = by_frequency.model.layout.split(np.exp(found))
    expected = np.array([[2, 2, 2], [1, 1, 1], [2, 0, 0], [0, 2, 2]]) / 5
    np.testing.assert_allclose(emissions, expected, atol=1e-12)


def test_words_in_capitals_that_are_as_often_in_lower_case():
    words = ["The", "the", "Sea", "sea", "Amsterdam"]
    model = HiddenMarkovModel(TagSet(["A"]), WordSymbols(words, []), {})
    counts = dict(zip(words, [3, 3, 4, 3, 1], strict=True))
    features = EmissionFeatures(
        model, ["capital", "lower.suffix1"], counts=counts, fold_case=True, own_count=5
    )
    # "The" is "the", six times in all, but "Sea" is more often in capitals.
    shared = ["lower.suffix1=e", "capital=first", "lower.suffix1=a"]
    assert features.names == ["the", *shared]
    assert [features.words[i : i + 1].ids.tolist() for i in range(5)] == [
        [0, 1],
        [0, 1],
        [2, 3],
        [3],
        [2],
    ]


# Words in -s and words in -ed take turns; "dogs" and "barked" are in the dictionary.
FRAMES = [["dogs", "walked"], ["cats", "talked"], ["cows", "barked"], ["birds", "walked", "cats"]]
SMALL = {"dogs": ["N"], "barked": ["V"], "walked": ["N", "V"], "cats": ["N", "V"]}


@pytest.mark.parametrize(
    "options",
    [
        {"features": "usual"},
        {"features": ["suffix1"], "min_count": 1},
        {"features": "usual", "base": "frequency", "fold_case": True, "own_count": 3},
        {"features": "usual", "neighbourhood": "trans1"},
        {"neighbourhood": "length"},
    ],
)
def test_questions_and_files(options, tmp_path):
    tagger = HiddenMarkovTagger(dictionary=SMALL, l2=0.1, seed=1, **options).fit(FRAMES * 3)
    assert set(tagger.tags_) == {"N", "V"}
    p = tagger.distribution(FRAMES[0])
    np.testing.assert_allclose(np.sum(tagger.predict_marginals(FRAMES[:1])[0], axis=1), 1.0)
    assert np.isfinite(p.log_partition)
    tagger.save(tmp_path / "model")
    again = HiddenMarkovTagger.load(tmp_path / "model")
    assert again.predict(FRAMES) == tagger.predict(FRAMES)
    assert again.features == options.get("features")
    assert "V" in str(tagger.inspect())
    if "neighbourhood" in options:
        with pytest.raises(ValueError, match="no probabilities"):
            tagger.log_likelihood(FRAMES)
    else:
        np.testing.assert_allclose(np.exp(tagger.log_emissions_).sum(axis=0), 1.0)
        assert tagger.log_likelihood(FRAMES[:1])[0] == pytest.approx(p.log_partition)


def test_words_share_what_they_know():
    tagger = HiddenMarkovTagger(dictionary=SMALL, features=["suffix1"], l2=0.1).fit(FRAMES * 3)
    # Nothing but its ending says what "cows" is.
    assert tagger.predict([["birds", "talked"], ["cows"]]) == [["N", "V"], ["N"]]


def test_labels_and_sentences_without():
    options = {"features": "usual", "l2": 0.1}
    labelled = HiddenMarkovTagger(**options).fit(FRAMES[:2], [["N", "V"]] * 2)
    assert labelled.predict([["birds", "barked"]]) == [["N", "V"]]
    for more in ({}, {"neighbourhood": "del1"}):
        both = HiddenMarkovTagger(**options, **more).fit(
            FRAMES[:2], [["N", "V"]] * 2, unlabelled=FRAMES[2:], held_out=(FRAMES[:1], [["N", "V"]])
        )
        assert both.predict([["birds", "barked"]]) == [["N", "V"]]


def test_what_makes_no_sense():
    first = HiddenMarkovTagger(n_tags=2).fit(FRAMES)
    with pytest.raises(ValueError, match="warm_start came beside"):
        HiddenMarkovTagger(n_tags=2, features="usual", warm_start=first).fit(FRAMES)
    with pytest.raises(ValueError, match="there is no view 'sufix3'"):
        HiddenMarkovTagger(n_tags=2, features=["sufix3"]).fit(FRAMES)
    with pytest.raises(ValueError, match="'usual', a list of names"):
        HiddenMarkovTagger(n_tags=2, features="suffix3").fit(FRAMES)
    with pytest.raises(ValueError, match="base is 'frequency', which changes nothing without feat"):
        HiddenMarkovTagger(n_tags=2, base="frequency").fit(FRAMES)
    with pytest.raises(ValueError, match="beside a neighbourhood"):
        HiddenMarkovTagger(
            n_tags=2, base="frequency", features="usual", neighbourhood="trans1"
        ).fit(FRAMES)
    for options in ({"own_count": 5}, {"fold_case": True}):
        with pytest.raises(ValueError, match="which changes nothing without features"):
            HiddenMarkovTagger(n_tags=2, **options).fit(FRAMES)
    table = EmissionFeatures(
        HiddenMarkovModel(TagSet(["A"]), WordSymbols(["a"], []), {}), []
    ).log_linear
    rows = first.model_.encode(FRAMES)
    batches = [piece.batch({"Evidence": None}, None) for piece in first.model_.pieces(rows)]
    with pytest.raises(ValueError, match="a log-probability for each weight"):
        LogLinearCorpus(build_corpus(Evidence(), batches), table)


def test_mini_batches_of_a_log_linear_table(features):
    pieces = features.model.pieces(features.model.rows(SENTENCES, LABELS))
    batches = [piece.batch({"Evidence": None}, None) for piece in pieces]
    with LogLinearCorpus(build_corpus(Evidence(), batches), features.log_linear) as corpus:
        first = corpus.value(np.zeros(features.n_weights))
        result = train(corpus, Adam(n_iterations=30))
        assert corpus.value(result.weights) < first - 1.0
