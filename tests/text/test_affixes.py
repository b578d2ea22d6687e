"""Ends of many texts are found by a kernel as each by itself is in Python."""

import numpy as np
import pytest

from partita.text import affixes
from partita.text.affixes import Affix, AffixNumbers
from partita.text.views import ViewedTexts, find_view

VIEWS = ["prefix1", "suffix2", "lower", "lower.cut3", "lower.end1", "lower.prefix2", "cut99999999"]
CHARACTERS = list("aAbB-1ä߀İ\n\0\ud800") + ["😀"]


def texts(rng, n_texts):
    """Different texts, whose characters Python stores in one, two or four bytes; "" among them."""
    found = {"": None}
    while len(found) < n_texts:
        found["".join(rng.choice(CHARACTERS, size=rng.integers(0, 6)))] = None
    return list(found)


def numbered(views, words):
    """For each view its values at some words, in the order in which they come."""
    found = {}
    for view in views:
        values = dict.fromkeys(ViewedTexts(words).seen_by(view))
        values.pop(None, None)
        found[view] = {value: number for number, value in enumerate(values)}
    return found


def expected(values, view, words):
    return [values[view].get(find_view(view)(word), -1) for word in words]


@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_by_dictionaries(seed):
    rng = np.random.default_rng(seed)
    words = texts(rng, 400)
    values = numbered(VIEWS, [word for word in words[:150] if "-" not in word])
    found = AffixNumbers(values).of(ViewedTexts(words))
    assert found.keys() == set(VIEWS)
    for view in VIEWS:
        assert found[view].tolist() == [expected(values, view, words)]
        assert -1 in found[view]
        assert len(set(found[view][0])) > 3


def test_no_texts_and_no_values():
    values = numbered(["lower.cut2"], [])
    assert AffixNumbers(values).of(ViewedTexts(["a"]))["lower.cut2"].tolist() == [[-1]]
    assert AffixNumbers(values).of(ViewedTexts([]))["lower.cut2"].shape == (1, 0)
    assert AffixNumbers({}).of(ViewedTexts(["a"])) == {}


def test_what_a_view_may_not_see_is_left_to_others():
    values = numbered(["suffix3.prefix1", "prefix1"], ["abcd"])
    numbers = AffixNumbers(values)
    assert numbers.of(ViewedTexts(["abcd", "ab"])).keys() == {"prefix1"}
    assert numbers.of(ViewedTexts(["abcd", "bcde"])).keys() == {"prefix1", "suffix3.prefix1"}


def test_values_of_the_same_hash_are_left_to_others(monkeypatch):
    # As if all texts of two characters had one hash.
    right = affixes._keys
    monkeypatch.setattr(
        affixes, "_keys", lambda each: np.where([len(text) == 2 for text in each], 0, right(each))
    )
    values = numbered(["cut1", "cut2"], ["ab", "cd"])
    assert AffixNumbers(values).of(ViewedTexts(["ab"])).keys() == {"cut1"}


def test_another_text_of_the_same_hash_is_not_the_value(monkeypatch):
    # The table says that "b" has the hash of "a": its characters are looked at.
    right = affixes._keys
    monkeypatch.setattr(affixes, "_keys", lambda each: right(["b" for _ in each]))
    numbers = AffixNumbers({"cut1": {"a": 0}})
    assert numbers.of(ViewedTexts(["b", "a"]))["cut1"].tolist() == [[-1, -1]]


@pytest.mark.parametrize("view", ["shape", "lower.each", "cut", "cut0", "part2", "xcut2", ""])
def test_what_is_no_affix(view):
    assert Affix.of(view) is None
