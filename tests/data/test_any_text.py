"""Whatever a file holds, its reader takes it or says what is wrong; what it takes stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data import DataError
from partita.data.constraints import constraints_text, parse_constraints
from partita.data.formats import FORMATS, guess_format, parse_sentences, sentences_text

# What the formats are made of, so that chance finds more than the first error.
PIECES = ["\n", "\n", "\n\n", "\t", " ", "1", "2", "1-2", "1.1", "_", "#", "# text = a", "=", "0.5"]
PIECES += ["-DOCSTART-", "B-NP", "word", "1" + "\t_" * 9 + "\n", "2" + "\tx" * 9 + "\n", "\r", "\\"]
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=2)).map("".join)


@given(texts, st.sampled_from([None, *FORMATS]))
def test_sentences(text, format):
    try:
        document = parse_sentences(text, format=format)
    except DataError:
        return
    written = sentences_text(document, document.format)
    again = parse_sentences(written, format=document.format)
    assert sentences_text(again, document.format) == written
    assert [each.columns for each in again] == [each.columns for each in document]
    if format == "conllu":
        assert written.rstrip("\n") == text.rstrip("\n")


@given(texts)
def test_guesses(text):
    assert guess_format(text) in FORMATS


@given(texts)
def test_constraints(text):
    try:
        constraints = parse_constraints(text)
    except DataError:
        return
    assert parse_constraints(constraints_text(constraints)) == constraints


@pytest.mark.parametrize("text", ["", "\n", " ", "\t\n"])
def test_nothing(text):
    with pytest.raises(DataError):
        parse_sentences(text)
