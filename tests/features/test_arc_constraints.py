"""Rules about arcs, counted arc by arc in plain Python."""

import numpy as np
import pytest

from partita.data.arc_rule import ArcPattern, ArcRule
from partita.data.arc_rules import parse_arc_rules
from partita.features.arc_constraints import (
    arc_constraints,
    known_words,
    rule_conditions,
    rule_targets,
)
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees
from partita.text.words import read_words

TAGS = [["DET", "NOUN", "VERB", "NOUN"], ["VERB"], ["NOUN", "NOUN"]]
RULES = [
    ArcRule.of("VERB", "NOUN", "left", 0.3),
    ArcRule.of("VERB", "NOUN", "right", 0.3, "at least"),
    ArcRule.of("ROOT", "VERB", "any", 0.6),
    ArcRule.of("NOUN", "*", "any", 0.5, "at most"),
    ArcRule.of("*", "NOUN", "right", 0.5),
    ArcRule.of("ADJ", "NOUN", "any", 0.5),
    ArcRule.of("NOUN", "ADJ", "any", 0.5),
    ArcRule((ArcPattern("ROOT", "VERB"), ArcPattern("NOUN", "DET"), ArcPattern("NOUN", "*")), 0.8),
    ArcRule((ArcPattern("ROOT", "NOUN"), ArcPattern("NOUN", "NOUN", "left")), 0.8, among="NOUN"),
    ArcRule((ArcPattern("NOUN", "*", "any", 0, 1), ArcPattern("*", "NOUN", "left", 1)), 0.8),
    ArcRule((ArcPattern("*", "*", "right", 1, 2), ArcPattern("ROOT", "VERB")), 0.8),
]


def fits(pattern, names, head, modifier):
    """Whether an arc fits; a word has a set of names."""
    is_head = pattern.head in ({"ROOT"} if head == 0 else {"*", *names[head - 1]})
    if not is_head or pattern.modifier not in {"*", *names[modifier - 1]}:
        return False
    if head and not pattern.beyond < abs(head - modifier) <= (pattern.within or 100):
        return False
    return pattern.side == "any" or pattern.side == ("left" if head < modifier else "right")


def check_arc_by_arc(trees, given, names, rules):
    """Constraints of what is given, against arcs between words with sets of names."""
    features, occurrences = arc_constraints(trees, given, rules)
    for index, rule in enumerate(rules):
        matrices = trees.split(features.toarray()[index])
        for sentence, (words, matrix) in enumerate(zip(names, matrices, strict=True)):
            expected = np.zeros_like(matrix)
            for modifier in range(1, len(words) + 1):
                for head in range(len(words) + 1):
                    if head != modifier:
                        matches = (fits(each, words, head, modifier) for each in rule.patterns)
                        expected[head, modifier] = any(matches)
            np.testing.assert_array_equal(matrix, expected)
            n_words = sum(rule.among in {"*", *word} for word in words)
            assert occurrences.toarray()[index, sentence] == n_words


@pytest.mark.parametrize("kind", [SpanningTrees, ProjectiveTrees])
@pytest.mark.parametrize("n_labels", [None, 2])
def test_arc_by_arc(kind, n_labels):
    names = [[{tag} for tag in each] for each in TAGS]
    check_arc_by_arc(kind([4, 1, 2], n_labels), TAGS, names, RULES)


def test_targets_and_bounds():
    targets, bounds = rule_targets(RULES)
    assert targets.tolist() == [rule.target for rule in RULES]
    assert bounds.tolist() == [0, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0]


def test_tags_that_do_not_fit():
    with pytest.raises(ValueError, match="a tag for each word"):
        arc_constraints(SpanningTrees([4]), [["NOUN"]], RULES)


CONDITIONED = """
FORM.lower.suffix1=s <- VERB left 0.3
UPOS=NOUN <- FORM=the 0.1
NOUN <- UPOS[-1]=DET 0.2
DET <- UPOS=NOUN right at least 0.9
FORM=dog <- * left 0.2
0.5 of FORM=dog:
    FORM=dog <- NOUN
"""


def test_rules_name_words_by_conditions():
    forms = [["the", "dog", "sees", "Cats"], ["see"], ["dog", "cats"]]
    rules = parse_arc_rules(CONDITIONED)
    pairs = [list(zip(*each, strict=True)) for each in zip(forms, TAGS, strict=True)]
    found = known_words(
        read_words(pairs, ("FORM", "UPOS")), rule_conditions(rules, ("FORM", "UPOS"))
    )
    noun = {"NOUN", "UPOS=NOUN"}
    names = [
        [
            {"DET", "FORM=the"},
            noun | {"UPOS[-1]=DET", "FORM=dog"},
            {"VERB", "FORM.lower.suffix1=s"},
            noun | {"FORM.lower.suffix1=s"},
        ],
        [{"VERB"}],
        [noun | {"FORM=dog"}, noun | {"FORM.lower.suffix1=s"}],
    ]
    assert found == names
    check_arc_by_arc(SpanningTrees([4, 1, 2]), found, names, rules)


def test_a_tag_may_have_an_equals_sign():
    [rule] = parse_arc_rules("N=sg <- V 0.3\n")
    found = rule_conditions([rule], ("FORM", "UPOS"))
    assert [each.text for each in found.values()] == ["UPOS=V", "UPOS=N=sg"]
