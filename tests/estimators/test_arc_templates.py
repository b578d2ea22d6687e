"""Templates of arc features: what can be written, and what the errors say."""

import pytest

from partita.data.errors import DataError
from partita.estimators.parsing.templates import DEFAULT, parse_templates, read_templates


def test_default_templates_read_back():
    templates = parse_templates(DEFAULT)
    assert parse_templates("\n".join(template.text for template in templates)) == templates
    assert {template.kind for template in templates} == {"pair", "count", "set", "head", "modifier"}


def test_comments_and_files(tmp_path):
    path = tmp_path / "arcs.txt"
    path.write_text("# words\nhead.form modifier.form  # both\n\nhead.upos\n")
    assert [template.text for template in read_templates(path)] == [
        "head.form modifier.form",
        "head.upos",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no templates"),
        ("head.upos\nhead.upos", "line 2: 'head.upos' stands in line 1"),
        ("head.form distance", "combined with anyway"),
        ("heads.form", "expected head, modifier or between"),
        ("head.word", "the view 'word'"),
        ("between+1.upos", "no offset"),
        ("between.form", "between.upos or between.xpos"),
        ("head.upos=NOUN", "only to count words between"),
        ("head.feat head+1.feat", "two sets at head"),
        ("head.feat between.upos=VERB", "a set and a count"),
    ],
)
def test_errors_say_what_to_do(text, message):
    with pytest.raises(DataError, match=message.replace(".", r"\.").replace("+", r"\+")):
        parse_templates(text)
