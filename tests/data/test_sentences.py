"""Sentences: columns of equal length, and errors that say where."""

import pickle

import numpy as np
import pytest

from partita.data import DataError, Sentence

SENTENCE = Sentence({"FORM": ("a", "b"), "UPOS": ("X", "Y")}, source="dev.conllu", first_line=7)


def test_columns_and_names():
    assert len(SENTENCE) == 2
    assert SENTENCE.names == ("FORM", "UPOS")
    assert Sentence({"0": ["a", "b"]}).column("0") == ("a", "b")  # lists become tuples


def test_a_column_as_an_item():
    sentence = Sentence({"FORM": ("dogs", "bark"), "UPOS": ("NOUN", "VERB")})
    assert sentence["UPOS"] == sentence.column("UPOS") == ("NOUN", "VERB")
    with pytest.raises(DataError, match="no column 'LEMMA'; expected one of 'FORM', 'UPOS'"):
        sentence["LEMMA"]
    with pytest.raises(KeyError, match="no item 0; its items are columns, by name: 'FORM', 'UPOS'"):
        sentence[0]
    # Arrays and series still hold sentences, not what is in them.
    assert np.array([sentence, sentence], dtype=object).shape == (2,)


def test_a_column_that_is_not_there():
    message = r"dev.conllu, line 7: there is no column 'XPOS'; expected one of 'FORM', 'UPOS'\."
    with pytest.raises(DataError, match=message):
        SENTENCE.column("XPOS")


def test_a_column_replaced_or_added():
    assert SENTENCE.replaced("UPOS", ["Y", "Y"]).column("UPOS") == ("Y", "Y")
    assert SENTENCE.replaced("new", ["1", "2"]).names == ("FORM", "UPOS", "new")
    assert SENTENCE.names == ("FORM", "UPOS")
    with pytest.raises(ValueError, match="3 values came for column 'new'; expected 2"):
        SENTENCE.replaced("new", ["1", "2", "3"])


@pytest.mark.parametrize("columns", [{}, {"0": ("a",), "1": ()}])
def test_columns_of_differing_length(columns):
    with pytest.raises(ValueError, match="expected at least one column, and one value per word"):
        Sentence(columns)


def test_lines_count_the_extras():
    sentence = Sentence({"FORM": ("a", "b")}, extras=((1, "1.1"), (2, "2.1")), first_line=3)
    assert [sentence.line(word) for word in range(2)] == [3, 5]
    assert sentence.where(1) == "<memory>, line 5"


def test_errors_can_be_sent_home_by_a_worker():
    error = pickle.loads(pickle.dumps(DataError("my.txt", 3, "found x.")))
    assert (str(error), error.line) == ("my.txt, line 3: found x.", 3)
