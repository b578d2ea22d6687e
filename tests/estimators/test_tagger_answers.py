"""What a trained tagger can be asked, against enumeration of all tag sequences."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from partita import Tagger
from partita.data import Sentence
from partita.training.model_file import ModelFileError, write_model
from small_tagging import as_dicts, chunked, sentences

WORDS, TAGS = sentences(40)
SENTENCE = ["a", "round", "walk"]


@pytest.fixture(scope="module")
def tagger():
    return Tagger().fit(WORDS, TAGS)


@pytest.fixture(scope="module")
def enumerated(tagger):
    """Every tag sequence of the sentence, with its probability."""
    sequences = list(product(tagger.tags_, repeat=len(SENTENCE)))
    log_probs = tagger.log_prob([SENTENCE] * len(sequences), sequences)
    return dict(zip(sequences, np.exp(log_probs), strict=True))


def test_probabilities_by_enumeration(tagger, enumerated):
    assert sum(enumerated.values()) == pytest.approx(1.0, abs=1e-12)
    marginals = tagger.predict_marginals([SENTENCE]).named()[0]
    for word, row in enumerate(marginals):
        for tag, probability in row.items():
            total = sum(p for tags, p in enumerated.items() if tags[word] == tag)
            assert probability == pytest.approx(total, abs=1e-12)
    array = tagger.predict_marginals([SENTENCE])[0]
    assert array.shape == (3, 4)
    partial = tagger.log_prob([SENTENCE], [["?", "NOUN", "?"]])[0]
    assert np.exp(partial) == pytest.approx(marginals[1]["NOUN"], abs=1e-12)


def test_best_sequences_by_enumeration(tagger, enumerated):
    ranked = sorted(enumerated, key=enumerated.get, reverse=True)
    found = tagger.k_best([SENTENCE], 5)[0]
    assert [tuple(tags) for tags, _ in found] == ranked[:5]
    assert np.exp([score for _, score in found]) == pytest.approx(
        [enumerated[tags] for tags in ranked[:5]]
    )
    assert tagger.predict([SENTENCE]) == [list(ranked[0])]
    fixed = next(tags for tags in ranked if tags[1] == "VERB")
    assert tagger.predict([SENTENCE], fixed=[["?", "VERB", None]]) == [list(fixed)]
    rows = tagger.predict_marginals([SENTENCE]).named()[0]
    assert tagger.predict([SENTENCE], decoder="risk") == [[max(row, key=row.get) for row in rows]]


def test_entropies_by_enumeration(tagger, enumerated):
    p = np.array(list(enumerated.values()))
    assert tagger.entropy([SENTENCE])[0] == pytest.approx(-(p @ np.log(p)), abs=1e-10)
    pairs = {}
    for tags, probability in enumerated.items():
        pairs[tags[1:]] = pairs.get(tags[1:], 0.0) + probability
    q = np.array(list(pairs.values()))
    assert tagger.span_entropy([SENTENCE], 1, 2)[0] == pytest.approx(-(q @ np.log(q)), abs=1e-10)
    spans = tagger.most_uncertain_span([SENTENCE, ["a"]], 2)
    assert spans[0].entropy == pytest.approx(
        max(tagger.span_entropy([SENTENCE], i, i + 1)[0] for i in (0, 1))
    )
    assert spans[1] is None
    assert tagger.distribution(SENTENCE).entropy == pytest.approx(tagger.entropy([SENTENCE])[0])


def test_many_sentences_are_answered_as_one_by_one(tagger):
    words, _ = sentences(300, seed=5)
    words[17] = []
    together = tagger.predict(words)
    assert together[17] == []
    assert together[::30] == [tagger.predict([sentence])[0] for sentence in words[::30]]
    assert tagger.entropy(words)[17] == 0.0
    assert tagger.predict_marginals(words)[17].shape == (0, 4)
    assert tagger.k_best(words, 2)[17] == [([], 0.0)]
    assert tagger.predict([]) == []


@pytest.mark.parametrize(
    "features", [None, "U0:%x[0,0]\nU1:%x[0,0]/%x[1,0]\nB0:%x[0,0]\nB"], ids=["default", "B"]
)
def test_explanations_sum_to_the_difference_of_scores(features):
    found = Tagger(features=features).fit(WORDS, TAGS)
    for word in range(len(SENTENCE)):
        explanation = found.explain(SENTENCE, word)
        scores = [
            found.log_prob([SENTENCE], [tags])[0]
            for tags in (explanation.tags, explanation.other_tags)
        ]
        assert explanation.difference == pytest.approx(scores[0] - scores[1], abs=1e-10)
        decision = explanation.decision
        assert explanation.tags[word] == decision.answer
        assert explanation.other_tags[word] == decision.rival != decision.answer
        named = found.predict_marginals([SENTENCE]).named()
        assert decision.probability == named[0][word][decision.answer]
        assert decision.answer in str(explanation)
        assert decision.rival in explanation._repr_html_()
    with pytest.raises(ValueError, match="word is 3; expected 0 to 2"):
        found.explain(SENTENCE, 3)


def test_explanations_of_dictionaries():
    found = Tagger().fit(as_dicts(WORDS), TAGS)
    (sentence,) = as_dicts([SENTENCE])
    explanation = found.explain(sentence, 1)
    scores = [
        found.log_prob([sentence], [tags])[0] for tags in (explanation.tags, explanation.other_tags)
    ]
    assert explanation.difference == pytest.approx(scores[0] - scores[1], abs=1e-10)


def test_inspection(tagger):
    inspection = tagger.inspect(2)
    assert set(inspection.features) == set(tagger.tags_)
    assert all(len(found) <= 2 for found in inspection.features.values())
    tags = list(tagger.tags_)
    assert inspection.transitions.argmax(axis=1)[tags.index("VERB")] == tags.index("DET")
    text = str(inspection)
    assert "from \\ to" in text
    assert inspection.features["DET"][0].feature in text


@pytest.mark.parametrize("kind", ["words", "dictionaries", "columns", "scheme", "numbers"])
def test_saved_and_loaded_to_the_last_bit(kind, tmp_path):
    words, tags = chunked(20) if kind in ("columns", "scheme") else (WORDS, TAGS)
    options = {"scheme": "IOB2", "class_weights": {"B-NP": 2.0}} if kind == "scheme" else {}
    if kind == "numbers":
        options = {"features": "U0:%x[0,0]\nU1:%x[0,0]/%x[1,0]\nB0:%x[0,0]\nB"}
    if kind == "dictionaries":
        words = as_dicts(words)
    tagger = Tagger(max_iterations=5, min_count=2, **options).fit(words, tags)
    tagger.save(tmp_path / "model")
    loaded = Tagger.load(tmp_path / "model")
    assert loaded.tags_ == tagger.tags_
    assert np.array_equal(loaded.weights_, tagger.weights_)
    for old, new in zip(
        tagger.predict_marginals(words),
        loaded.predict_marginals(words),
        strict=True,
    ):
        assert np.array_equal(old, new)
    assert str(loaded.inspect()) == str(tagger.inspect())
    assert loaded.max_iterations == 5
    again = loaded.fit(words, tags)
    assert np.array_equal(again.weights_, tagger.weights_)


def test_what_cannot_be_answered(tagger, tmp_path):
    with pytest.raises(ValueError, match=r"sentence 0 .* the tag 'X', which the model does not"):
        tagger.log_prob([["a"]], [["X"]])
    assert tagger.score([["a", "dog"]], [["DET", "X"]]) == 0.5
    with pytest.raises(ValueError, match="learnt nothing yet"):
        Tagger().predict([["a"]])
    with pytest.raises(ValueError, match="learnt nothing yet"):
        Tagger().save(tmp_path / "model")
    with pytest.raises(ValueError, match="decoder is 'x'"):
        tagger.predict([["a"]], decoder="x")
    with pytest.raises(ValueError, match="no tags came"):
        tagger.score([["a"]])
    with pytest.raises(ValueError, match="no word has a known tag to compare with"):
        tagger.score([["a"]], [["?"]])
    write_model(tmp_path / "other", {"kind": "model", "estimator": "parser"}, {})
    with pytest.raises(ModelFileError, match="'parser'; expected 'tagger'"):
        Tagger.load(tmp_path / "other")


def test_fixed_tags_that_break_the_scheme_name_their_sentence():
    words, tags = chunked(20)
    tagger = Tagger(scheme="IOB2", max_iterations=5, progress=False).fit(words, tags)
    many = words * 300  # several batches
    fixed = [["?"] * len(sentence) for sentence in many]
    fixed[5990] = ["I-NP"] + ["?"] * (len(many[5990]) - 1)
    with pytest.raises(ValueError, match=r"sentence 5990 .* no possible sequence .* scheme IOB2"):
        tagger.predict(many, fixed=fixed)


def test_sentences_and_tags_in_any_container(tagger):
    right = tagger.score(WORDS, TAGS)
    log_probs = tagger.log_prob(WORDS, TAGS)
    words, tags = (np.empty(len(WORDS), dtype=object) for _ in range(2))
    words[:], tags[:] = WORDS, TAGS
    for given in ((words, tags), (tuple(WORDS), tuple(map(np.array, TAGS)))):
        np.testing.assert_array_equal(Tagger().fit(*given).weights_, tagger.weights_)
        assert tagger.score(*given) == right
        np.testing.assert_array_equal(tagger.log_prob(*given), log_probs)
    found = Tagger().fit(iter(WORDS), map(iter, TAGS))
    np.testing.assert_array_equal(found.weights_, tagger.weights_)
    assert tagger.score(iter(WORDS), iter(TAGS)) == right
    assert tagger.predict(WORDS[:1], fixed=iter([TAGS[0]])) == TAGS[:1]
    with pytest.raises(ValueError, match="40 sentences came with tags for 0"):
        Tagger().fit(WORDS, [])


def test_series_whose_numbers_do_not_begin_at_zero(tagger):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"words": WORDS, "tags": TAGS}, index=range(7, 7 + len(WORDS)))
    found = Tagger().fit(table["words"], table["tags"])
    np.testing.assert_array_equal(found.weights_, tagger.weights_)
    assert found.score(table["words"], table["tags"]) == tagger.score(WORDS, TAGS)


def test_held_out_sentences_with_their_own_tags():
    pairs = zip(WORDS, TAGS, strict=True)
    train = [Sentence({"FORM": tuple(a), "UPOS": tuple(b)}) for a, b in pairs]
    weights = [
        Tagger(tag_column="UPOS").fit(train, held_out=held_out).weights_
        for held_out in (train[:2], (train[:2], None), (WORDS[:2], TAGS[:2]), [WORDS[:2], TAGS[:2]])
    ]
    for each in weights[1:]:
        np.testing.assert_array_equal(each, weights[0])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (Path("train.conllu"), "a single .*Path came; .* partita.data.read_sentences"),
        ("the dog", "a single str came"),
        (3, "the type int came; expected a list of sentences"),
        (["the", "dog"], "if this is one sentence, put it into a list of one"),
    ],
)
def test_what_is_no_list_of_sentences(given, message, tagger):
    with pytest.raises(ValueError, match=message):
        Tagger().fit(given, TAGS)
    with pytest.raises(ValueError, match=message):
        tagger.predict(given)


def test_one_sentence_is_asked_for(tagger):
    with pytest.raises(ValueError, match="one sentence only where a single one is asked for"):
        tagger.distribution(WORDS[:2])
