"""Sentences in all forms that users have: what is read, and what the errors say."""

import numpy as np
import pytest
from scipy import sparse

from partita import DependencyParser, HiddenMarkovTagger, Tagger
from partita.data.errors import DataError
from partita.data.sentences import Sentence
from partita.text.columns import Column
from partita.text.sentences import column_names, listed, read_tokens
from partita.text.tree_words import read_tree_words
from partita.text.words import default_columns, read_words

WORDS = [["the", "dog", "barks"], ["the", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"]]


def frames(**columns):
    """A data frame for each sentence."""
    pandas = pytest.importorskip("pandas")
    rows = zip(*columns.values(), strict=True)
    return [pandas.DataFrame(dict(zip(columns, row, strict=True))) for row in rows]


def lists(words):
    return {name: list(column) for name, column in words.columns.items()}


def test_columns_hold_each_value_once():
    column = Column.of(iter(["b", "a", "b", "b"]))
    assert column.values == ("b", "a")
    assert column.counts.tolist() == [3, 1]
    assert (column[1], column[1:3], len(column), list(column)) == ("a", ["a", "b"], 4, list("babb"))
    assert len(Column.of([])) == 0


def test_lists_arrays_and_generators_are_the_same():
    expected = lists(read_words(WORDS))
    for given in (
        [tuple(each) for each in WORDS],
        [np.array(each) for each in WORDS],
        [np.array(each, dtype=object) for each in WORDS],
        np.array(WORDS),
        (iter(each) for each in WORDS),
        (each for each in WORDS),
    ):
        assert lists(read_words(given)) == expected


def test_tables_of_text_are_columns():
    pairs = [list(zip(*each, strict=True)) for each in zip(WORDS, TAGS, strict=True)]
    expected = lists(read_words(pairs))
    assert list(expected) == ["0", "1"]
    assert lists(read_words([np.array(each) for each in pairs])) == expected
    named = read_words(pairs, ("form", "tag"))
    assert lists(named) == dict(zip(("form", "tag"), expected.values(), strict=True))


def test_sentences_and_data_frames_are_the_same():
    given = [Sentence({"form": w, "tag": t}) for w, t in zip(WORDS, TAGS, strict=True)]
    made = frames(form=WORDS, tag=TAGS)
    assert column_names(given) == column_names(made) == ("form", "tag")
    assert lists(read_words(made)) == lists(read_words(given))
    assert lists(read_words(made, ["tag"])) == lists(read_words(given, ["tag"]))
    assert read_tokens(made, "tag") == read_tokens(given, "tag") == TAGS
    assert read_tokens(made) == WORDS
    with pytest.raises(DataError, match="there is no column 'XPOS'; expected one of 'form', 'tag'"):
        read_words(made, ["XPOS"])


def test_conllu_has_its_words():
    made = frames(ID=[["1", "2", "3"]] * 2, FORM=WORDS, UPOS=TAGS)
    assert list(read_words(made).columns) == ["FORM"]
    assert default_columns(["0", "1", "2"], "2") == ("0", "1")


def test_matrices_dense_and_sparse():
    dense = [np.array([[1.0, 0.0, 2.5], [0.0, 0.0, 0.0]]), np.array([[0, 3, 0]])]
    words = read_words(dense)
    assert words.form == "matrix"
    assert words.n_words.tolist() == [2, 1]
    assert words.matrix.toarray().tolist() == [[1.0, 0.0, 2.5], [0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    for kind in (sparse.csr_array, sparse.coo_matrix, sparse.csc_array):
        again = read_words(map(kind, dense))
        assert (again.matrix != words.matrix).nnz == 0
        assert again.n_words.tolist() == [2, 1]
    assert [len(each) for each in listed(map(sparse.csr_array, dense))] == [2, 1]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("the dog", "a single str came; expected a list of sentences"),
        ({"the": 1}, "a single dict came"),
        (Sentence({"FORM": ("a",)}), "a single Sentence came"),
        (["the dog"], "sentence 0 is the text 'the dog'; expected a list of tokens"),
        ([["a"], {"word": "b"}], "sentence 1 is a dict; expected a list of tokens"),
        ([["a"], {"b"}], "sentence 1 is a set"),
        ([["a"], 3], "sentence 1 is a int; expected a list of tokens, an array"),
        ([["a", None]], "the tokens are of the types NoneType, str; expected one kind"),
        ([np.array([1, 2])], r"array of numbers of shape \(2,\); expected \(n_words, n_features\)"),
        ([np.eye(2), np.eye(3)], "has 3 features, and the first has 2"),
        ([np.array([[np.nan]])], "infinite or not a number"),
        ([np.eye(2), ["a"]], "is a list of tokens, and the first is a matrix of numbers"),
        ([["a"], Sentence({"FORM": ("a",)})], "the sentence is a sentence with named columns, and"),
        ([[("a", "b")], [("a",)]], r"sentence 1 .* has a token of 1 columns, and the first token"),
        ([[("a", 3)]], "sentence 0 .* has a word whose 1 is 3; expected text"),
        ([[("a", [])]], "the column '1' holds lists or the like"),
    ],
)
def test_errors_say_what_came(given, message):
    with pytest.raises(ValueError, match=message):
        read_words(given)


def test_errors_of_data_frames():
    made = frames(form=WORDS, length=[[3, 3, 5], [3, 3, 6]])
    with pytest.raises(ValueError, match="sentence 0 .* has a word whose length is 3; exp"):
        read_words(made)
    with pytest.raises(ValueError, match="a single DataFrame came"):
        read_words(made[0])
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"sentence": [0, 0, 1], "form": ["the", "dog", "yes"]})
    groups = table.groupby("sentence")
    with pytest.raises(ValueError, match="a DataFrameGroupBy came, whose .* Take the frames alone"):
        read_words(groups)
    taken = [frame for _, frame in groups]
    assert lists(read_words(taken, ["form"])) == {"form": ["the", "dog", "yes"]}


def test_columns_that_a_model_asks_for():
    assert lists(read_words([["a"]], ["form"])) == {"form": ["a"]}
    with pytest.raises(ValueError, match="plain tokens came, which are one column; expected 2"):
        read_words([["a"]], ["form", "tag"])
    with pytest.raises(ValueError, match="the tokens have 2 columns; expected 1: form"):
        read_words([[("a", "b")]], ["form"])
    assert list(read_words([[], []], ["form", "tag"]).columns) == ["form", "tag"]


def test_words_of_trees():
    assert lists(read_tree_words(WORDS)) == {"FORM": [word for each in WORDS for word in each]}
    pairs = [list(map(list, zip(*each, strict=True))) for each in zip(WORDS, TAGS, strict=True)]
    assert list(read_tree_words(pairs).columns) == ["FORM", "UPOS", "MARKER"]
    mixed = [pairs[0], Sentence({"FORM": ("a",), "UPOS": ("X",), "XPOS": ("Y",)})]
    assert list(read_tree_words(mixed).columns) == ["FORM", "UPOS", "MARKER"]
    assert list(read_tree_words(frames(FORM=WORDS, UPOS=TAGS)).columns)[:2] == ["FORM", "UPOS"]
    with pytest.raises(ValueError, match=r"sentence 0 .* has no words; leave it out"):
        read_tree_words([[]])
    with pytest.raises(ValueError, match="words with features came; expected plain words, or tup"):
        read_tree_words([[{"form": "a"}]])
    with pytest.raises(ValueError, match="the sentence has no column LEMMA; expected FORM, LEMMA"):
        read_tree_words(mixed[1:], ("FORM", "LEMMA"))
    with pytest.raises(ValueError, match="the tokens have 6 columns; expected 5: FORM, UPOS"):
        read_tree_words([[tuple("abcdef")]])


def test_missing_words():
    assert read_tokens([["a", None]], may_miss=True) == [["a", None]]
    with pytest.raises(ValueError, match="sentence 7 .* word 1 is None; expected a list"):
        read_tokens([["a", None]], first=7)
    with pytest.raises(ValueError, match="word 1 is 3; .* None for one that is missing"):
        read_tokens([["a", 3]], may_miss=True)


@pytest.mark.parametrize("estimator", [Tagger, HiddenMarkovTagger])
def test_taggers_take_all_forms(estimator):
    expected = estimator(progress=False, workers=1).fit(WORDS, TAGS).predict(WORDS)
    for given in (frames(FORM=WORDS, UPOS=TAGS), [np.array(each) for each in WORDS]):
        assert estimator(progress=False, workers=1).fit(given, TAGS).predict(given) == expected
    with_tags = estimator(progress=False, workers=1, tag_column="UPOS")
    assert with_tags.fit(frames(FORM=WORDS, UPOS=TAGS)).predict(WORDS) == expected
    made = estimator(progress=False, workers=1).fit((each for each in WORDS), TAGS)
    assert made.predict(iter(WORDS)) == expected


def test_parsers_take_all_forms():
    heads = [[2, 3, 0]] * 2
    options = {"n_bits": 12, "workers": 1, "progress": False, "labels": False}
    for given in (frames(FORM=WORDS, UPOS=TAGS), [np.array(each) for each in WORDS], WORDS):
        parser = DependencyParser(**options).fit(given, heads)
        assert [found.tolist() for found, _ in parser.predict(given)] == heads
