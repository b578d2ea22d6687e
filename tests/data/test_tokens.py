"""Words of running text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data.tokens import tokenise


@pytest.mark.parametrize(
    "text",
    [
        "She saw that duck , didn't she ?",
        "I live in the U.S. now , e.g. here .",
        "wait ... what ? !! ok :) 10:30 a.m. , 1,000.5 %",
        "word(s) ( see below ) [ 1 ] , AT&T's C++ and/or rock -- roll",
        "l'homme d'état . „ Guten Tag “ , sagte er .",
        "he 's n't -LRB- x -RRB- me@x.org",
    ],
)
def test_what_is_split_stays_split(text):
    assert tokenise(text) == text.split()


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs"]), min_size=1)))
def test_nothing_is_lost_and_no_word_is_empty(chunks):
    words = tokenise(" ".join(chunks))
    assert all(words)
    assert "".join(words) == "".join(chunks)


def test_the_end_of_a_sentence_that_ends_in_an_abbreviation():
    assert tokenise("He came at 5 p.m. (or so he said, etc.).") == (
        ["He", "came", "at", "5", "p.m.", "(", "or", "so", "he", "said", ",", "etc.", ")", "."]
    )
