"""Expectation constraints in MALLET's format."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data import DataError, ExpectationConstraint, read_constraints, write_constraints
from partita.data.constraints import constraints_text, parse_constraints


def test_what_a_line_says():
    [first, second] = parse_constraints("w== A=B=0.25  C=0.75\n\nw=x\tA=1e0\n", "my")
    assert (first.feature, first.targets) == ("w==", {"A=B": 0.25, "C": 0.75})
    assert (second.feature, second.targets, second.line) == ("w=x", {"A": 1.0}, 3)


def test_rounded_numbers_are_kept_and_normalised_on_demand():
    [constraint] = parse_constraints("w=x A=0.333 B=0.333 C=0.333")
    assert constraint.targets["A"] == 0.333
    assert sum(constraint.distribution.values()) == pytest.approx(1, abs=1e-15)


names = st.text(st.characters(exclude_characters=" \t\n\r", exclude_categories=["Cs"]), min_size=1)


@given(st.dictionaries(names, st.tuples(names, names, st.floats(0, 1)), min_size=1))
def test_the_same_numbers_back(given_targets):
    constraints = [
        ExpectationConstraint(feature, {a: share, b: 1 - share})
        for feature, (a, b, share) in given_targets.items()
        if a != b
    ]
    assert parse_constraints(constraints_text(constraints)) == constraints


def test_files(tmp_path):
    constraints = [ExpectationConstraint("w=x", {"A": 0.1, "B": 0.9})]
    write_constraints(tmp_path / "my.gz", constraints)
    assert read_constraints(tmp_path / "my.gz") == constraints


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("w=x A=1\nw=y A=0.5 B=0.4\n", "my, line 2: the probabilities of 'w=y' sum to 0.9"),
        ("w=x A=one\n", "my, line 1: found 'A=one'; expected tag=probability"),
        ("w=x A=nan\n", "found 'A=nan'"),
        ("w=x A=1.5 B=-0.5\n", "found 'A=1.5'; expected tag=probability, with a number from 0"),
        ("w=x A\n", "found 'A'; expected tag=probability"),
        ("w=x A=0.2,0.4\n", "found 'A=0.2,0.4'"),
        ("w=x\n", "my, line 1: found the feature 'w=x' without tags"),
        ("w=x A=0.5 A=0.5\n", "the tag 'A' came twice"),
        (
            "w=x A=1\n\nw=x B=1\n",
            "my, line 3: a second constraint on 'w=x', after the one in line 1",
        ),
    ],
)
def test_mistakes_in_the_file(text, message):
    with pytest.raises(DataError, match=message):
        parse_constraints(text, "my")


def test_what_cannot_be_written():
    with pytest.raises(ValueError, match="contains a blank, which the format cannot hold"):
        constraints_text([ExpectationConstraint("w=a b", {"A": 1.0})])
