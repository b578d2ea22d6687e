"""Rules about arcs: three formats in, the text back out, and every mistake with its line."""

import pytest

from partita.data import DataError
from partita.data.arc_rule import ArcPattern, ArcRule, measured_arc_rules
from partita.data.arc_rules import arc_rules_text, parse_arc_rules, read_arc_rules, write_arc_rules

TEXT = """# what we know of English
NOUN <- VERB left 0.3
DET <- NOUN right at least 0.8

VERB <- ROOT   0.6
* <- PUNCT at most 0.01
at least 0.8 of arcs:
    VERB <- ROOT
\tNOUN <- VERB
0.7 of NOUN:
    NOUN <- VERB
    # a comment inside
    NOUN <- NOUN left
ADJ <- NOUN any 0.5
PROPN <- PROPN left within 1 at least 0.1
at most 0.2 of NOUN:
    NOUN <- NOUN beyond 2 within 4
"""


def test_the_text_format():
    rules = parse_arc_rules(TEXT, "my.rules")
    assert rules == [
        ArcRule.of("VERB", "NOUN", "left", 0.3),
        ArcRule.of("NOUN", "DET", "right", 0.8, "at least"),
        ArcRule.of("ROOT", "VERB", "any", 0.6),
        ArcRule.of("PUNCT", "*", "any", 0.01, "at most"),
        ArcRule((ArcPattern("ROOT", "VERB"), ArcPattern("VERB", "NOUN")), 0.8, "at least"),
        ArcRule(
            (ArcPattern("VERB", "NOUN"), ArcPattern("NOUN", "NOUN", "left")), 0.7, among="NOUN"
        ),
        ArcRule.of("NOUN", "ADJ", "any", 0.5),
        ArcRule((ArcPattern("PROPN", "PROPN", "left", within=1),), 0.1, "at least", "PROPN"),
        ArcRule((ArcPattern("NOUN", "NOUN", "any", 2, 4),), 0.2, "at most", "NOUN"),
    ]
    assert [rule.line for rule in rules] == [2, 3, 5, 6, 7, 10, 14, 15, 16]
    assert {rule.source for rule in rules} == {"my.rules"}
    assert rules[4].name == "one of 2 rules, of arcs"


def test_there_and_back(tmp_path):
    rules = parse_arc_rules(TEXT)
    assert parse_arc_rules(arc_rules_text(rules)) == rules
    odd = [ArcRule.of("VERB", "NOUN", "left", 1 / 3), ArcRule((ArcPattern("A", "B"),), 0.1)]
    write_arc_rules(tmp_path / "rules.gz", odd)
    assert read_arc_rules(tmp_path / "rules.gz") == odd


def test_a_table_of_heads_and_dependents(tmp_path):
    (tmp_path / "universal.tsv").write_bytes(b"# head\tdependent\r\nROOT\tVERB\r\nNOUN\tADJ\r\n")
    [rule] = read_arc_rules(tmp_path / "universal.tsv", share=0.75)
    patterns = (ArcPattern("ROOT", "VERB"), ArcPattern("NOUN", "ADJ"))
    assert rule == ArcRule(patterns, 0.75, "at least")


def test_a_table_of_measured_probabilities():
    rules = parse_arc_rules(
        "# child parent\nVERB\tROOT\t-\t9\t0.6\nDET\tNOUN\tR\t5\t0.9\nNOUN\tVERB\tL\t3\t0.2"
    )
    assert rules == [
        ArcRule.of("ROOT", "VERB", "any", 0.6),
        ArcRule.of("NOUN", "DET", "right", 0.9),
        ArcRule.of("VERB", "NOUN", "left", 0.2),
    ]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "there are no rules"),
        ("NOUN VERB 0.3", 1, "expected a rule such as 'NOUN <- VERB left 0.3'"),
        ("NOUN <- VERB left", 1, "expected a rule such as"),
        ("NOUN <- VERB upwards 0.3", 1, "expected a rule such as"),
        ("NOUN <- VERB left 1.3", 1, "found the target '1.3'; expected a number from 0 to 1"),
        ("NOUN <- VERB left nan", 1, "found the target 'nan'"),
        ("# x\nNOUN <- ROOT left 0.3", 2, "the root came with the side 'left'"),
        ("VERB <- ROOT within 2 0.3", 1, "the root came with a distance"),
        ("NOUN <- VERB beyond 2 within 2 0.3", 1, "beyond 2 and within 2 came"),
        ("NOUN <- VERB within 0.3", 1, "expected a rule such as"),
        ("ROOT <- NOUN 0.3", 1, "the root came as a modifier"),
        ("  NOUN <- VERB", 1, "indented, but no line such as"),
        ("at least 0.8 of arcs:\nNOUN <- VERB 0.3", 1, "this group has no rules"),
        ("at least 0.8 of arcs:", 1, "this group has no rules"),
        ("at least 0.8 of arcs:\n  NOUN <- VERB 0.3", 2, "a rule without a number"),
        ("at least many of arcs:\n  NOUN <- VERB", 1, "found the target 'many'"),
        ("at least 0.8 of NOUN:\n  ADJ <- VERB", 1, "in a group of NOUN"),
        ("A <- B 0.3\nA <- B 0.4", 2, "a second target for 'A <- B', after the one in line 1"),
        ("A <- B 0.3\nA <- C left 0.4\nA <- ROOT at least 0.4", 3, "sum to 1.1; expected 1 at"),
        ("A\tB\tC", 1, "found 3 columns"),
        ("A\tB\nA\tB\tL\t1\t0.5", 2, "found 5 columns"),
        ("A\tB\tX\t1\t0.5", 1, "found the side 'X'"),
        ("A\tROOT\tL\t1\t0.5", 1, "found the side 'L' of the head 'ROOT'"),
        ("A\tB\tL\t1\thalf", 1, "found the target 'half'"),
        ("A\t\n", 1, "expected a rule such as"),
        ("A\tB\n\tA", 2, "the tag '' came"),
    ],
)
def test_mistakes(text, line, message):
    with pytest.raises(DataError) as error:
        parse_arc_rules(text, "my.rules")
    assert message in str(error.value)
    assert (error.value.source, error.value.line) == ("my.rules", line)


def test_an_interval_is_no_repeat():
    assert len(parse_arc_rules("A <- B at least 0.3\nA <- B at most 0.5")) == 2


def test_sides_that_overlap_are_not_added():
    assert len(parse_arc_rules("A <- B 0.7\nA <- B left 0.6\nA <- C 0.3")) == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda: ArcRule((), 0.5),
        lambda: ArcRule.of("A", "B", "left", 1.5),
        lambda: ArcRule.of("A", "B", "left", 0.5, "around"),
        lambda: ArcRule.of("A", "B C", "left", 0.5),
        lambda: ArcRule.of("A", "B", "up", 0.5),
        lambda: measured_arc_rules([["A"]], []),
    ],
)
def test_mistakes_of_callers(make):
    with pytest.raises(ValueError, match="expected"):
        make()


def test_measuring():
    tags = [["DET", "NOUN", "VERB", "NOUN"], ["VERB", "NOUN"]]
    heads = [[2, 3, 0, 3], [0, -1]]
    assert measured_arc_rules(tags, heads) == [
        ArcRule.of("ROOT", "VERB", "any", 1.0),
        ArcRule.of("NOUN", "DET", "right", 1.0),
        ArcRule.of("VERB", "NOUN", "left", 0.5),
        ArcRule.of("VERB", "NOUN", "right", 0.5),
    ]
    assert len(measured_arc_rules(tags, heads, n_rules=2)) == 2
    assert len(measured_arc_rules(tags, heads, min_count=2)) == 1
