"""Conditions on words: the fields of templates, and what constraints make of them."""

import pytest

from partita import DependencyParser, Tagger
from partita.data.arc_rules import parse_arc_rules
from partita.data.constraints import ExpectationConstraint
from partita.text.conditions import holding, parse_condition
from partita.text.words import read_words

WORDS = [["walking", "The", "dog"], ["the", "dogs"]]


def rows(texts, words=WORDS):
    found = holding([parse_condition(text) for text in texts], read_words(words))
    ends = found.offsets.tolist()
    return [
        sorted(found.ids[start:end].tolist())
        for start, end in zip(ends[:-1], ends[1:], strict=True)
    ]


def test_what_holds():
    texts = ["FORM.lower=the", "FORM[-1].lower=the", "FORM.suffix3=ing", "FORM=The", "FORM=no"]
    assert rows(texts) == [[2], [0, 3], [1], [0], [1]]
    assert rows(["FORM[-1]=_B-1"]) == [[0], [], [], [0], []]


def test_one_of_several_things():
    words = [[("a", "Case=Nom|Number=Sing")], [("b", "_")]]
    found = holding([parse_condition("1.each=Case=Nom")], read_words(words))
    assert found.offsets.tolist() == [0, 1, 1]


def test_what_is_none():
    assert parse_condition("the dog") is None
    assert parse_condition("FORM") is None
    with pytest.raises(ValueError, match="there is no view 'upper'"):
        parse_condition("FORM.upper=A")
    with pytest.raises(ValueError, match="the condition FORM=a came twice"):
        rows(["FORM=a", "FORM[0]=a"])


def test_constraints_at_other_places():
    """Words behind "the" are nouns, which nothing else says."""
    constraints = [
        ExpectationConstraint("FORM[-1].lower=the", {"N": 1.0}),
        ExpectationConstraint("w=the", {"D": 1.0}),
    ]
    tagger = Tagger(constraints=constraints, progress=False, workers=1).fit(WORDS)
    tags = tagger.predict(WORDS)
    assert (tags[0][1:], tags[1]) == (["D", "N"], ["D", "N"])
    wrong = [ExpectationConstraint("UPOS=DET", {"D": 1.0}, "file.txt", 3)]
    with pytest.raises(ValueError, match="file.txt, line 3: .* about no known feature"):
        Tagger(constraints=wrong, progress=False, workers=1).fit(WORDS)


def test_rules_of_a_parser_on_plain_words():
    rules = parse_arc_rules("FORM.lower=the <- * right 1.0\nFORM.prefix3=dog <- ROOT 1.0\n")
    parser = DependencyParser(
        rules=rules, features="head.FORM modifier.FORM.lower", n_bits=10, min_count=1, labels=False,
        progress=False, workers=1,
    )  # fmt: skip
    found = [heads.tolist() for heads, _ in parser.fit(WORDS).predict(WORDS)]
    assert found[1] == [2, 0]
    assert found[0][1:] == [3, 0]
