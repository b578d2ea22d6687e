"""Markers: the word that marks the place of each word, spelt out word by word."""

import numpy as np
import pytest

from partita.data.sentences import Sentence
from partita.text.markers import BARRIERS, MARKING, REACH
from partita.text.tree_words import read_tree_words

VALUES = {
    "FORM": ["In", "that", "to", "the", "House"],
    "LEMMA": ["in", "that", "_", "house", "In"],
    "UPOS": ["ADP", "SCONJ", "PART", "VERB", "PUNCT", "NOUN", "NOUN", "NOUN"],
    "FEATS": ["_", "Polarity=Neg", "PronType=Rel", "Case=Nom|PronType=Int", "_"],
}


def markers(sentence):
    last, found = None, []
    for place in range(len(sentence)):
        near = last is not None and place - last[0] <= REACH
        found.append(last[1] if near else "")
        row = {name: sentence.columns[name][place] for name in sentence.columns}
        feats, form = row.get("FEATS", ""), row.get("FORM", row.get("LEMMA"))
        lemma = row.get("LEMMA", form)
        asks = "PronType=Rel" in feats or "PronType=Int" in feats
        is_particle = row["UPOS"] == "PART" and "Neg" not in feats
        if row["UPOS"] in MARKING or is_particle or asks:
            last = place, (form if lemma == "_" else lemma).lower()
        elif row["UPOS"] in BARRIERS:
            last = None
    return found


@pytest.mark.parametrize("names", [["FORM", "UPOS"], ["LEMMA", "UPOS"], list(VALUES)])
def test_markers_are_those_spelt_out(names):
    rng = np.random.default_rng(0)
    sentences = [
        Sentence({name: tuple(rng.choice(VALUES[name], size=n).tolist()) for name in names})
        for n in (1, 2, 30, 3, 60, 12)
    ]
    words = read_tree_words(sentences, names)
    expected = [marker for sentence in sentences for marker in markers(sentence)]
    assert list(words.columns["MARKER"]) == expected
    assert len(set(expected)) > 2
