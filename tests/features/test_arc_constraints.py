"""Rules about arcs, counted arc by arc in plain Python."""

import numpy as np
import pytest

from partita.data.arc_rules import ArcPattern, ArcRule
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees

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
]


def fits(pattern, tags, head, modifier):
    found = "ROOT" if head == 0 else tags[head - 1]
    if pattern.head != found and not (pattern.head == "*" and head > 0):
        return False
    if pattern.modifier not in ("*", tags[modifier - 1]):
        return False
    return pattern.side == "any" or pattern.side == ("left" if head < modifier else "right")


@pytest.mark.parametrize("kind", [SpanningTrees, ProjectiveTrees])
@pytest.mark.parametrize("n_labels", [None, 2])
def test_arc_by_arc(kind, n_labels):
    trees = kind([4, 1, 2], n_labels)
    features, occurrences = arc_constraints(trees, TAGS, RULES)
    for index, rule in enumerate(RULES):
        matrices = trees.split(features.toarray()[index])
        for sentence, (tags, matrix) in enumerate(zip(TAGS, matrices, strict=True)):
            expected = np.zeros_like(matrix)
            for modifier in range(1, len(tags) + 1):
                for head in range(len(tags) + 1):
                    if head != modifier:
                        matches = (fits(each, tags, head, modifier) for each in rule.patterns)
                        expected[head, modifier] = any(matches)
            np.testing.assert_array_equal(matrix, expected)
            n_words = sum(rule.among in ("*", tag) for tag in tags)
            assert occurrences.toarray()[index, sentence] == n_words


def test_targets_and_bounds():
    targets, bounds = rule_targets(RULES)
    assert targets.tolist() == [rule.target for rule in RULES]
    assert bounds.tolist() == [0, 1, 0, -1, 0, 0, 0, 0, 0]


def test_tags_that_do_not_fit():
    with pytest.raises(ValueError, match="a tag for each word"):
        arc_constraints(SpanningTrees([4]), [["NOUN"]], RULES)
