"""Templates of arcs and of their labels: what can be written, and what the errors say."""

import pytest

from partita.data.errors import DataError
from partita.text import label_templates
from partita.text.arc_templates import (
    DEFAULT,
    ArcTemplate,
    columns_of,
    default_arc_templates,
    parse_arc_templates,
    read_arc_templates,
    set_between,
)
from partita.text.fields import Field, RoleField, Template
from partita.text.label_templates import parse_label_templates
from partita.text.tree_words import NAMES


def test_default_templates_read_back():
    templates = parse_arc_templates(DEFAULT)
    assert parse_arc_templates("\n".join(template.text for template in templates)) == templates
    assert {template.kind for template in templates} == {"pair", "count", "set", "head", "modifier"}
    labels = parse_label_templates(label_templates.DEFAULT)
    assert parse_label_templates("\n".join(template.text for template in labels)) == labels


def test_fields_are_those_of_taggers():
    [template] = parse_arc_templates("head.FORM[-1].lower.suffix3 modifier.FEATS.value:Case")
    assert template.fields == (
        RoleField("head", Field("FORM", -1, "lower.suffix3")),
        RoleField("modifier", Field("FEATS", 0, "value:Case")),
    )


def test_comments_and_files(tmp_path):
    path = tmp_path / "arcs.txt"
    path.write_text("# words\nhead.FORM modifier.FORM  # both\n\nhead.UPOS\n")
    assert [template.text for template in read_arc_templates(path)] == [
        "head.FORM modifier.FORM",
        "head.UPOS",
    ]
    templates = read_arc_templates(path)
    assert read_arc_templates(templates) == templates
    with pytest.raises(ValueError, match="holds a Template; expected ArcTemplate objects"):
        read_arc_templates([Template(())])


def test_columns_that_templates_need():
    templates = parse_arc_templates("head.MARKER modifier.XPOS\nhead.FEATS.each")
    assert columns_of(templates, NAMES) == ("FORM", "UPOS", "XPOS", "FEATS")
    found = default_arc_templates(("FORM", "UPOS"))
    assert found
    assert all(template.columns <= {"FORM", "UPOS"} for template in found)


def test_one_set_of_words_between():
    templates = parse_arc_templates("head.UPOS between.UPOS\nhead.XPOS between.UPOS=VERB")
    assert set_between(templates) == Field("UPOS")
    assert set_between([ArcTemplate((RoleField("head", Field("UPOS")),))]) is None
    with pytest.raises(ValueError, match="between.UPOS and between.XPOS; expected one of them"):
        set_between(parse_arc_templates("head.UPOS between.UPOS\nhead.UPOS between.XPOS"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no templates"),
        ("head.UPOS\nhead.UPOS", "line 2: 'head.UPOS' stands in line 1"),
        ("head.FORM distance", "combined with anyway"),
        ("heads.FORM", "expected head, modifier or between"),
        ("head", "expected head, modifier or between"),
        ("head.FORM.word", "there is no view 'word'"),
        ("between.UPOS[1]", "no offset"),
        ("head.UPOS=NOUN", "only to count words between"),
        ("head.FEATS.each head.FEATS[1].each", "two sets at head"),
        ("head.FEATS.each between.UPOS=VERB", "a set and a count"),
        ("my/templates.txt", "Name a file by a pathlib.Path"),
    ],
)
def test_errors_say_what_to_do(text, message):
    with pytest.raises(DataError, match=message.replace(".", r"\.").replace("+", r"\+")):
        parse_arc_templates(text)


def test_errors_of_label_templates():
    with pytest.raises(DataError, match="line 2: found 'uncle.FORM'; expected one of the roles"):
        parse_label_templates("head.FORM\nuncle.FORM")
