import itertools

import numpy as np
import pytest

import partita as pt
from partita.estimators.base import NotFittedError
from partita.estimators.tagging.hidden_markov_layout import HiddenMarkovLayout, SymbolRows
from partita.objectives.evidence import Evidence
from partita.text.word_symbols import WordSymbols, word_classes
from partita.training import ModelFileError, build_corpus

WORDS = [["a", "b", "a"], ["c"], ["b", "b"], ["a", None, "c", "b"]]


def random_tagger(rng, n_tags=3, words=("a", "b", "c")):
    """A model with random probabilities, and the probabilities."""
    tags = [f"T{i}" for i in range(n_tags)]
    tagger = pt.HiddenMarkovTagger(min_count=1).fit(
        [list(words)] * n_tags, [[tag] * len(words) for tag in tags]
    )
    start = rng.dirichlet(np.ones(n_tags))
    transitions = rng.dirichlet(np.ones(n_tags), size=n_tags)
    emissions = rng.dirichlet(np.ones(len(words)), size=n_tags).T
    tagger.log_start_ = np.log(start)
    tagger.log_transitions_ = np.log(transitions)
    tagger.log_emissions_ = np.log(emissions)
    return tagger, (start, transitions, emissions)


def joint(parameters, words, tags, order="abc"):
    """p(words, tags), straight from the definition."""
    start, transitions, emissions = parameters
    p = start[tags[0]]
    for left, right in itertools.pairwise(tags):
        p *= transitions[left, right]
    for word, tag in zip(words, tags, strict=True):
        p *= 1.0 if word is None else emissions[order.index(word), tag]
    return p


def enumerated(parameters, words):
    sequences = list(itertools.product(range(len(parameters[0])), repeat=len(words)))
    return sequences, np.array([joint(parameters, words, tags) for tags in sequences])


def test_every_answer_against_enumeration():
    tagger, parameters = random_tagger(np.random.default_rng(0))
    marginals = tagger.predict_marginals(WORDS)
    best, predicted = tagger.k_best(WORDS, 4), tagger.predict(WORDS)
    likelihoods, entropies = tagger.log_likelihood(WORDS), tagger.entropy(WORDS)
    for index, words in enumerate(WORDS):
        sequences, p = enumerated(parameters, words)
        assert likelihoods[index] == pytest.approx(np.log(p.sum()), abs=1e-12)
        q = p / p.sum()
        assert entropies[index] == pytest.approx(-(q * np.log(q)).sum(), abs=1e-12)
        expected = np.zeros((len(words), 3))
        for tags, share in zip(sequences, q, strict=True):
            expected[np.arange(len(words)), tags] += share
        np.testing.assert_allclose(marginals[index], expected, atol=1e-12, rtol=0)
        order = np.argsort(-p)[:4]
        assert [tags for tags, _ in best[index]] == [
            [f"T{tag}" for tag in sequences[i]] for i in order
        ]
        np.testing.assert_allclose(
            [score for _, score in best[index]], np.log(q[order]), rtol=1e-9, atol=1e-12
        )
        assert predicted[index] == best[index][0][0]


def test_expected_counts_against_enumeration():
    tagger, parameters = random_tagger(np.random.default_rng(1))
    layout = tagger.model_.layout
    pieces = tagger.model_.pieces(tagger.model_.encode(WORDS))
    batches = [piece.batch({"Evidence": None}, None) for piece in pieces]
    corpus = build_corpus(Evidence(), batches, workers=1)
    weights = layout.weights(tagger.log_start_, tagger.log_transitions_, tagger.log_emissions_)
    loss, gradient = corpus.value_and_gradient(weights)
    start, transitions, emissions = np.zeros(3), np.zeros((3, 3)), np.zeros((3, 3))
    total = 0.0
    for words in WORDS:
        sequences, p = enumerated(parameters, words)
        total -= np.log(p.sum())
        for tags, share in zip(sequences, p / p.sum(), strict=True):
            start[tags[0]] += share
            for left, right in itertools.pairwise(tags):
                transitions[left, right] += share
            for word, tag in zip(words, tags, strict=True):
                if word is not None:
                    emissions["abc".index(word), tag] += share
    assert loss == pytest.approx(total, rel=1e-12)
    for found, expected in zip(
        layout.split(-gradient), (start, transitions, emissions), strict=True
    ):
        np.testing.assert_allclose(found, expected, atol=1e-12, rtol=0)


def test_supervised_counts_by_hand():
    tagger = pt.HiddenMarkovTagger(alpha=0.0, min_count=1).fit(
        [["the", "dog", "barks"], ["dog", "the"]], [["D", "N", "V"], ["N", "D"]]
    )
    assert tagger.tags_ == ("D", "N", "V")
    np.testing.assert_allclose(np.exp(tagger.log_start_), [0.5, 0.5, 0.0], rtol=1e-9, atol=1e-12)
    # V never comes before another tag, so nothing is known of what follows it.
    expected = [[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(np.exp(tagger.log_transitions_), expected, rtol=1e-9, atol=1e-12)
    emissions = dict(zip(tagger.symbols_.words, np.exp(tagger.log_emissions_), strict=True))
    np.testing.assert_allclose(emissions["the"], [1.0, 0.0, 0.0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(emissions["barks"], [0.0, 0.0, 1.0], rtol=1e-9, atol=1e-12)


def test_smoothing_adds_alpha_to_every_count():
    tagger = pt.HiddenMarkovTagger(alpha=0.5, min_count=1).fit([["a", "b"]], [["X", "Y"]])
    np.testing.assert_allclose(np.exp(tagger.log_start_), [0.75, 0.25], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        np.exp(tagger.log_transitions_), [[0.25, 0.75], [0.5, 0.5]], rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(
        np.exp(tagger.log_emissions_), [[0.75, 0.25], [0.25, 0.75]], rtol=1e-9, atol=1e-12
    )


def sentences_of(rng, size=60):
    return [[str(word) for word in rng.integers(5, size=rng.integers(1, 9))] for _ in range(size)]


@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_likelihood_never_falls(alpha):
    words = sentences_of(np.random.default_rng(2))
    tagger = pt.HiddenMarkovTagger(n_tags=3, alpha=alpha, n_restarts=3, max_iterations=40).fit(
        words
    )
    assert len(tagger.histories_) == len(tagger.reasons_) == 3
    for history in tagger.histories_:
        assert len(history) > 1
        assert (np.diff(history) >= -1e-9 * abs(history[0])).all()
    if alpha == 0.0:
        # Without a prior the history is the log-likelihood itself, and the best start is kept.
        best = max(history[-1] for history in tagger.histories_)
        assert tagger.log_likelihood(words).sum() == pytest.approx(best, rel=1e-12)


def test_likelihood_against_hmmlearn():
    hmm = pytest.importorskip("hmmlearn.hmm")
    words = [row for row in sentences_of(np.random.default_rng(3)) if len(row) > 1]
    tagger = pt.HiddenMarkovTagger(n_tags=3, alpha=0.0, min_count=1, max_iterations=5).fit(words)
    other = hmm.CategoricalHMM(3, n_iter=0, init_params="", params="")
    other.startprob_ = np.exp(tagger.log_start_)
    other.transmat_ = np.exp(tagger.log_transitions_)
    other.emissionprob_ = np.exp(tagger.log_emissions_).T
    order = {word: i for i, word in enumerate(tagger.symbols_.words)}
    numbers = np.array([[order[word]] for row in words for word in row])
    expected = other.score(numbers, [len(row) for row in words])
    assert tagger.log_likelihood(words).sum() == pytest.approx(expected, rel=1e-10)


def test_induction_finds_two_kinds_of_words():
    rng = np.random.default_rng(4)
    words = [[rng.choice(["p", "q"]), rng.choice(["r", "s"])] * 3 for _ in range(50)]
    tagger = pt.HiddenMarkovTagger(n_tags=2, n_restarts=3).fit(
        [[str(w) for w in row] for row in words]
    )
    (tags,) = tagger.predict([["p", "r", "q", "s"]])
    assert tags[0] == tags[2] != tags[1] == tags[3]
    assert set(tagger.tags_) == {"T0", "T1"}


def test_the_dictionary_is_respected():
    words = sentences_of(np.random.default_rng(5))
    dictionary = {"0": ["N"], "1": ["V", "N"], "never": ["V"]}
    tagger = pt.HiddenMarkovTagger(dictionary=dictionary, n_tags=3, max_iterations=20).fit(words)
    assert tagger.tags_ == ("N", "V", "T0")
    marginals = tagger.predict_marginals([*words, ["never", "0", "1"]]).named()
    for sentence, rows in zip([*words, ["never", "0", "1"]], marginals, strict=True):
        for word, row in zip(sentence, rows, strict=True):
            for tag, p in row.items():
                if tag not in dictionary.get(word, tagger.tags_):
                    assert p == 0.0
    # No probability is wasted on what is forbidden.
    np.testing.assert_allclose(
        np.exp(tagger.log_emissions_).sum(axis=0), 1.0, rtol=1e-9, atol=1e-12
    )


def test_labels_and_words_without_labels():
    labelled = [["a", "b"], ["b", "a"]], [["X", "Y"], ["Y", "X"]]
    tagger = pt.HiddenMarkovTagger(min_count=1).fit(*labelled, unlabelled=[["a", "c"], ["c", "a"]])
    assert tagger.predict([["c", "a", "b"]]) == [["Y", "X", "Y"]]
    assert (np.diff(tagger.histories_[0]) >= -1e-9).all()


def test_unlabelled_words_start_from_the_model_of_the_labels():
    rng = np.random.default_rng(9)
    words = [[f"d{rng.integers(3)}", f"n{rng.integers(9)}ing", f"v{c}s"] for c in "abcdefgh"]
    tags = [["D", "N", "V"]] * 8
    labelled, unlabelled = words[:4], words[4:]
    tagger = pt.HiddenMarkovTagger(unlabelled_weight=0.5, max_iterations=3)
    tagger.fit(labelled, tags[:4], unlabelled=unlabelled)
    assert tagger.score(words, tags) == 1.0
    assert (np.diff(tagger.histories_[0]) >= -1e-9).all()
    with pytest.raises(ValueError, match="unlabelled_weight is 0"):
        pt.HiddenMarkovTagger(n_tags=2, unlabelled_weight=0).fit(words)


def test_partial_labels_are_kept():
    words = [["a", "b", "c"]] * 3
    tagger = pt.HiddenMarkovTagger(alpha=0.1, min_count=1).fit(
        words, [["X", "?", "Y"], [None, "X", "?"], None]
    )
    (tags,) = tagger.predict([["a", "b", "c"]], fixed=[["Y", "?", "?"]])
    assert tags[0] == "Y"
    joint = tagger.log_prob([["a", "b"]] * 4, list(itertools.product("XY", repeat=2)))
    assert np.exp(joint).sum() == pytest.approx(1.0)
    partial = tagger.log_prob([["a", "b"]], [["X", "?"]])
    assert partial[0] == pytest.approx(np.log(np.exp(joint[:2]).sum()))


def test_a_missing_word_is_summed_out():
    tagger, _ = random_tagger(np.random.default_rng(6))
    missing = tagger.log_likelihood([["a", None, "b"]])
    summed = np.exp(tagger.log_likelihood([["a", word, "b"] for word in "abc"])).sum()
    assert np.exp(missing[0]) == pytest.approx(summed, rel=1e-12)
    # A word that training never saw is as good as missing where no class takes it in.
    assert tagger.log_likelihood([["a", "zzz", "b"]])[0] == missing[0]


def test_unknown_words_by_their_class():
    words = [[f"walk{c}ing", f"x{c}tion"] for c in "abcdefghijklmno"]
    tagger = pt.HiddenMarkovTagger().fit(words, [["V", "N"]] * len(words))
    assert tagger.predict([["singing"], ["nation"]]) == [["V"], ["N"]]


def test_word_symbols():
    counted = ["the"] * 3 + [f"{c}ing" for c in "bcdfghklmn"] + ["1999", "the", "U.S."]
    symbols = WordSymbols.learn(counted, min_count=2)
    assert symbols.words == ("the",)
    assert symbols.classes == ("digit", "lower-ng", "upper")
    assert [symbols.name(i) for i in symbols.numbers(["the", "king", "2,000", "NATO"])] == [
        "the",
        "<lower-ng>",
        "<digit>",
        "<upper>",
    ]
    assert symbols.numbers(["Paris", None]).tolist() == [-1, -1]
    assert word_classes("a") == ["lower"]


def test_saved_and_loaded_to_the_last_bit(tmp_path):
    words = sentences_of(np.random.default_rng(7))
    tagger = pt.HiddenMarkovTagger(n_tags=3, dictionary={"0": ("A",)}, max_iterations=5).fit(words)
    tagger.save(tmp_path / "model")
    loaded = pt.HiddenMarkovTagger.load(tmp_path / "model")
    assert loaded.tags_ == tagger.tags_
    for name in ("log_start_", "log_transitions_", "log_emissions_"):
        assert (getattr(loaded, name) == getattr(tagger, name)).all()
    unseen = [["0", "what", "3"], ["4"]]
    assert loaded.predict(unseen) == tagger.predict(unseen)
    assert (loaded.log_likelihood(words) == tagger.log_likelihood(words)).all()
    assert loaded.get_params()["n_tags"] == 3
    (tmp_path / "other").write_text("word tag\n")
    with pytest.raises(ModelFileError, match="no model of Partita's.*Expected a file that"):
        pt.HiddenMarkovTagger.load(tmp_path / "other")


def test_same_seed_same_model_for_any_number_of_threads():
    words = sentences_of(np.random.default_rng(8), size=200)
    one, two, other = (
        pt.HiddenMarkovTagger(n_tags=3, seed=seed, workers=n, max_iterations=10, n_restarts=2).fit(
            words
        )
        for seed, n in ((1, 1), (1, 2), (2, 1))
    )
    assert (one.log_emissions_ == two.log_emissions_).all()
    assert not (one.log_emissions_ == other.log_emissions_).all()


def test_arguments_are_kept_and_copied():
    dictionary = {"a": ["X"]}
    tagger = pt.HiddenMarkovTagger(n_tags=2, alpha=0.5, dictionary=dictionary)
    assert tagger.get_params()["dictionary"] is dictionary
    copy = pt.HiddenMarkovTagger(**tagger.get_params())
    assert copy.set_params(alpha=1.0).alpha == 1.0
    assert repr(tagger) == "HiddenMarkovTagger(n_tags=2, alpha=0.5, dictionary={'a': ['X']})"
    with pytest.raises(ValueError, match="no option 'beta'; it has n_tags, alpha"):
        tagger.set_params(beta=1)


def test_cloned_by_scikit_learn():
    base = pytest.importorskip("sklearn.base")
    tagger = pt.HiddenMarkovTagger(n_tags=2, alpha=0.5).fit([["a", "b"]])
    copy = base.clone(tagger)
    assert copy.get_params() == tagger.get_params()
    assert not hasattr(copy, "model_")


def test_empty_sentences():
    tagger = pt.HiddenMarkovTagger().fit([[], ["a"], []], [[], ["X"], []])
    assert tagger.predict([[], ["a"], []]) == [[], ["X"], []]
    assert tagger.entropy([[], ["a"]]).tolist() == [0.0, 0.0]
    assert tagger.predict([]) == []
    assert tagger.score([[], ["a"]], [[], ["X"]]) == 1.0


@pytest.mark.parametrize(
    "arguments, sentences, tags, message",
    [
        ({}, [["a"]], None, "say how many tags there are: n_tags"),
        ({"n_tags": 1}, [["a", "b"]], [["X", "Y"]], "name 2 tags"),
        ({}, ["the dog"], [["X"]], "Split it into words, or"),
        ({}, [["a", "b"]], [["X"]], "has 2 words and 1 tags"),
        ({}, [["a"]], [["X"], ["Y"]], "1 sentences came with tags for 2"),
        ({}, [[]], [[]], "no words to learn from"),
        ({"alpha": -1.0}, [["a"]], [["X"]], "alpha is -1.0"),
        ({"n_restarts": 0}, [["a"]], [["X"]], "n_restarts is 0"),
        ({"dictionary": {"a": "X"}}, [["a"]], [["X"]], "lists of at least one tag"),
        ({"dictionary": {"a": ["Y"]}}, [["a"]], [["X"]], "which the dictionary does not"),
    ],
)
def test_what_cannot_be(arguments, sentences, tags, message):
    with pytest.raises(ValueError, match=message):
        pt.HiddenMarkovTagger(**arguments).fit(sentences, tags)


def test_questions_that_cannot_be_answered():
    with pytest.raises(NotFittedError, match="call fit, or load"):
        pt.HiddenMarkovTagger().predict([["a"]])
    tagger = pt.HiddenMarkovTagger().fit([["a"]], [["X"]])
    with pytest.raises(ValueError, match="the tag 'Z', which the model does not know; it knows X"):
        tagger.predict([["a"]], fixed=[["Z"]])
    assert [p.structures.n_sentences for p in tagger.distributions([["a"], []])] == [1]


def test_without_smoothing_the_unseen_is_impossible():
    tagger = pt.HiddenMarkovTagger(alpha=0.0, min_count=1).fit([["a", "b"]], [["X", "Y"]])
    assert tagger.log_likelihood([["a", "b"], ["b", "a"]]).tolist() == [0.0, -np.inf]
    assert tagger.log_prob([["a", "b"]], [["Y", "?"]]).tolist() == [-np.inf]
    with pytest.raises(ValueError, match="sentence 2 .* no possible sequence .* alpha above 0"):
        tagger.predict([["a"], [], ["b", "a"]])


def test_layout_counts_start_and_transitions_apart():
    layout = HiddenMarkovLayout(2, np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool))
    words = SymbolRows(np.array([2, 1]), np.array([0, 1, -1]), np.full((3, 2), -1))
    start, transitions, emissions = layout.split(layout.counts(words, np.array([0, 1, 1])))
    assert start.tolist() == [1.0, 1.0]
    assert transitions.tolist() == [[0.0, 1.0], [0.0, 0.0]]
    assert emissions.tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("n_tags", [0, -1, 10_001, 10**20])
def test_a_number_of_tags_that_no_memory_holds_is_refused(n_tags):
    with pytest.raises(
        ValueError, match=f"n_tags is {n_tags}; expected a whole number, 1 to 10000"
    ):
        pt.HiddenMarkovTagger(n_tags=n_tags).fit([["a", "b"]])
