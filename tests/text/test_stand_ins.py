"""Default templates of parsers for sentences that lack some columns."""

import pytest

from partita.text.arc_templates import DEFAULT, default_arc_templates, parse_arc_templates
from partita.text.fields import parse_role_field
from partita.text.label_templates import default_label_templates
from partita.text.stand_ins import with_stand_ins
from partita.text.tree_words import read_tree_words, telling_columns

ALL = ("FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "MARKER")


def test_all_columns_need_none():
    assert default_arc_templates(ALL) == parse_arc_templates(DEFAULT)


@pytest.mark.parametrize("columns", [("FORM",), ("FORM", "UPOS"), ("UPOS",), ("FORM", "XPOS")])
def test_templates_look_at_what_is_there(columns):
    for made in (default_arc_templates, default_label_templates):
        found = made(columns)
        assert set().union(*(template.columns for template in found)) == set(columns)
        assert len(set(found)) == len(found)
        assert all(len(set(template.fields)) == len(template.fields) for template in found)


@pytest.mark.parametrize(
    ("text", "columns", "expected"),
    [
        ("head.LEMMA modifier.UPOS[-1]", ("FORM", "UPOS"), "head.FORM.lower modifier.UPOS[-1]"),
        ("head.UPOS[1] head.XPOS", ("FORM",), "head.FORM[1].lower.end2 head.FORM.shape"),
        ("head.UPOS head.XPOS", ("FORM", "XPOS"), "head.XPOS"),
        ("head.XPOS", ("FORM", "UPOS"), None),
        ("head.XPOS[1] head.LEMMA", ("FORM", "UPOS", "FEATS"), "head.FEATS[1] head.FORM.lower"),
        ("head.XPOS head.FEATS", ("LEMMA", "UPOS", "FEATS"), "head.FEATS"),
        ("head.XPOS", ("FORM", "FEATS"), "head.FORM.shape"),
        ("head.UPOS between.UPOS=VERB", ("FORM",), None),
        ("head.FEATS.value:Case", ("FORM",), None),
        ("head.LEMMA", ("UPOS",), None),
    ],
)
def test_what_stands_in(text, columns, expected):
    found = with_stand_ins(tuple(map(parse_role_field, text.split())), columns)
    assert expected == (None if found is None else " ".join(field.text for field in found))


def test_columns_that_say_nothing_are_as_if_they_were_not_there():
    rows = [("dogs", "NOUN", "_", "dog", "Number=Plur"), ("bark", "VERB", "_", "bark", "_")]
    words = read_tree_words([rows, rows])
    # No word marks another, so the column of markers is blank.
    assert set(telling_columns(words)) == {"FORM", "UPOS", "LEMMA", "FEATS"}
    assert telling_columns(read_tree_words([[("_", "_"), ("_", "_")]])) == ("FORM",)
    found = default_arc_templates(telling_columns(words))
    used = set().union(*(template.columns for template in found))
    assert used == {"FORM", "UPOS", "LEMMA", "FEATS"}
