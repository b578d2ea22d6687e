"""Classes of words and the lexicon, from text to taggers and segmenters, files and commands."""

import numpy as np
import pytest

from partita import HiddenMarkovTagger, Segmenter, Tagger, samples
from partita.data import read_sentences
from partita.data.errors import DataError
from partita.data.files import SentenceFiles
from partita.data.word_classes import read_word_classes
from partita.estimators.base import NotFittedError
from partita.estimators.tagging.hidden_markov_runs import class_tags
from partita.estimators.tagging.word_classes import WordClasses
from small_tagging import as_dicts, chunked, sentences

WORDS, TAGS = sentences(60)
CLASSES = {"dog": "00", "cat": "00", "fox": "00", "sees": "01", "hears": "01", "the": "1"}


def test_words_of_a_kind_are_in_a_class(tmp_path):
    text, _ = sentences(500)
    found = WordClasses(n_classes=5).fit(text)
    assert found.classes_["dog"] == found.classes_["cat"] == found.classes_["house"]
    assert found.classes_["sees"] == found.classes_["likes"] != found.classes_["dog"]
    assert "Green" not in found.classes_
    assert found.counts_["the"] == sum(row.count("the") for row in text)
    assert np.diff(found.gains_).min() >= 0
    found.save(tmp_path / "classes.tsv")
    assert WordClasses.load(tmp_path / "classes.tsv") == found.classes_
    other = WordClasses(n_classes=4, start="random", lower=False).fit(text)
    assert "Green" in other.classes_


def test_mistakes(tmp_path):
    with pytest.raises(NotFittedError, match="learnt nothing yet"):
        WordClasses().save(tmp_path / "classes.tsv")
    with pytest.raises(ValueError, match="no words to learn from"):
        WordClasses().fit([])
    with pytest.raises(ValueError, match="start is 'often'"):
        WordClasses(start="often").fit(WORDS)
    (tmp_path / "wrong.tsv").write_text("01\tdogs\t3\n\ndogs 01\n")
    with pytest.raises(
        DataError, match="wrong.tsv, line 3: found 'dogs 01'; expected a class, a tab"
    ):
        read_word_classes(tmp_path / "wrong.tsv")
    for option in ({"classes": CLASSES}, {"lexicon": True}):
        with pytest.raises(ValueError, match="words that bring features"):
            Tagger(**option).fit(as_dicts(WORDS), TAGS)


@pytest.mark.parametrize("options", [{"classes": CLASSES}, {"lexicon": True}])
def test_a_tagger_and_its_file(options, tmp_path):
    tagger = Tagger(max_iterations=20, **options).fit(WORDS, TAGS)
    name = "CLASS" if "classes" in options else "LEXICON"
    features = tagger.weight_table().columns["feature"]
    assert f"{name}[0]={'00' if name == 'CLASS' else 'NOUN'}" in features
    assert tagger.columns_ == ("FORM",)
    tagger.save(tmp_path / "tagger.model")
    again = Tagger.load(tmp_path / "tagger.model")
    new = [["the", "fox", "hears", "the", "Cat"]]
    assert np.array_equal(again.predict_marginals(new)[0], tagger.predict_marginals(new)[0])
    assert again.predict(new) == [["DET", "NOUN", "VERB", "DET", "NOUN"]]


def test_a_class_tells_of_words_that_training_did_not_see():
    tagger = Tagger(features="CLASS[0]\nCLASS[-1]", classes=CLASSES).fit(WORDS, TAGS)
    assert tagger.predict([["the", "fox", "hears"]]) == [["DET", "NOUN", "VERB"]]
    learnt = WordClasses(n_classes=5).fit([*WORDS, ["the", "fox", "sees"]])
    by_object, by_name = (
        Tagger(features="CLASS[0]", classes=given).fit(WORDS, TAGS).predict_marginals(WORDS[:5])
        for given in (learnt, learnt.classes_)
    )
    assert all(np.array_equal(one, other) for one, other in zip(by_object, by_name, strict=True))


def test_unlabelled_sentences_see_the_lexicon_of_the_labelled():
    few = Tagger(lexicon=True, max_iterations=10).fit(WORDS[:30], TAGS[:30])
    more = Tagger(lexicon=True, max_iterations=10, entropy_weight=0.0).fit(
        WORDS[:30], TAGS[:30], unlabelled=WORDS[30:]
    )
    assert np.array_equal(few.weights_, more.weights_)
    assert few.predict(WORDS) == more.predict(WORDS)


def test_segmenters_have_them_too(tmp_path):
    tokens, tags = chunked(40)
    segmenter = Segmenter(classes=CLASSES, lexicon=True, max_iterations=10).fit(tokens, tags)
    assert segmenter.columns_ == ("0", "1")
    segmenter.save(tmp_path / "segmenter.model")
    again = Segmenter.load(tmp_path / "segmenter.model")
    assert again.predict(tokens) == segmenter.predict(tokens) == tags


def test_files_have_classes_and_the_lexicon():
    path = samples.path("treebank-dev.conllu")
    text = read_sentences(path)
    classes = WordClasses(n_classes=10).fit(text)
    options = {"tag_column": "UPOS", "max_iterations": 3, "classes": classes, "lexicon": True}
    in_memory = Tagger(**options).fit(text)
    from_files = Tagger(**options).fit(SentenceFiles(path))
    assert from_files.weights_.tobytes() == in_memory.weights_.tobytes()
    assert from_files.predict(text) == in_memory.predict(text)


@pytest.mark.parametrize("options", [{"alpha": 0.1}, {"features": "usual", "l2": 1.0}])
def test_hidden_markov_models_start_from_classes(options, tmp_path):
    text, gold = sentences(200)
    found = {}
    for start in ("chance", "classes"):
        given = {"n_tags": 4, "start": start, "max_iterations": 3, "seed": 2, **options}
        tagger = HiddenMarkovTagger(min_count=1, **given).fit(text)
        found[start] = tagger.log_likelihood(text).sum()
        again = HiddenMarkovTagger(min_count=1, **given, checkpoint=tmp_path / start).fit(text)
        assert again.predict(text) == tagger.predict(text)
    # Three iterations from classes are far ahead of three from chance.
    assert found["classes"] > found["chance"] + 50
    # Where a tag is known, classes are not asked.
    labels = [[*row[:1], *["?"] * (len(row) - 1)] for row in gold]
    known = {"n_tags": 5, "max_iterations": 2, **options}
    one, other = (
        HiddenMarkovTagger(start=start, **known).fit(text, labels).log_emissions_
        for start in ("chance", "classes")
    )
    assert np.array_equal(one, other)


def test_emissions_see_classes():
    text, _ = sentences(50)
    given = {"n_tags": 2, "features": ["suffix9"], "max_iterations": 5, "min_count": 1, "l2": 1.0}
    plain = HiddenMarkovTagger(**given).fit(text)
    classes = HiddenMarkovTagger(**given, classes=CLASSES).fit(text)
    assert not np.allclose(plain.log_emissions_, classes.log_emissions_)
    learnt = WordClasses(n_classes=3).fit(text)
    tables = [
        HiddenMarkovTagger(**given, classes=each).fit(text).log_emissions_
        for each in (learnt, learnt.classes_)
    ]
    assert np.array_equal(*tables)
    with pytest.raises(ValueError, match="changes nothing without features"):
        HiddenMarkovTagger(n_tags=2, classes=CLASSES).fit(text)


def test_a_missing_word_has_no_class():
    rng = np.random.default_rng(0)
    tags = class_tags(["the", None, "dog", "The"], np.array([2, 2]), 2, rng)
    assert tags[1] == -1
    assert tags[0] == tags[3]
    assert set(tags.tolist()) <= {-1, 0, 1}
    found = HiddenMarkovTagger(n_tags=2, start="classes").fit([["a", None, "b"], ["a", "b"]] * 3)
    assert found.predict([["a", "b"]])
