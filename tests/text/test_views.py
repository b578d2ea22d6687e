"""Views have one meaning, which their table says; every cell of it is checked."""

import pytest

from partita.text import views
from partita.text.fields import parse_field
from partita.text.views import EACH, VIEWS, ViewedTexts, find_parts, find_view


def tables():
    """The tables of the module's text: lists of rows, the first of which are the values."""
    found, rows = [], []
    for line in [*views.__doc__.splitlines(), ""]:
        if line.startswith("|"):
            rows.append([cell.strip().replace("&#124;", "|") for cell in line.split("|")[1:-1]])
        elif rows:
            found.append(rows)
            rows = []
    return found


def test_the_table_says_what_views_see():
    shown = set()
    for header, _, *rows in tables():
        for name, _, *cells in rows:
            view = name.strip("`")
            shown.add(view.rstrip("0123456789").partition(":")[0])
            for value, cell in zip(header[2:], cells, strict=True):
                expected = [] if cell == "–" else cell.split(" and ")
                assert find_parts(view)(value) == expected, (view, value)
    assert shown == {*VIEWS, EACH}


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("", "USA", "USA"),
        ("lower.suffix3", "Running", "ing"),
        ("suffix3", "an", None),
        ("suffix2.shape", "an", None),
        ("prefix12", "abcdefghijklm", "abcdefghijkl"),
        ("lower.cut3", "The", "the"),
        ("value:Number[psor]", "Case=Nom|Number[psor]=Sing", "Sing"),
        ("value:Case.lower", "Case=Nom", "nom"),
        ("kind", "", "symbol"),
        ("capital", "", None),
    ],
)
def test_views_and_chains(name, text, expected):
    assert find_view(name)(text) == expected


@pytest.mark.parametrize(
    "name", ["upper", "suffix", "suffix0", "lower3", "value", "lower:x", "each.lower", "Lower", "."]
)
def test_what_is_no_view(name):
    with pytest.raises(ValueError, match="there is no view .*; there are lower, shape, .* suffix3"):
        find_parts(name)


@pytest.mark.parametrize(
    "text", ["FORM[-1].lower.suffix3", "0[2]", "a.b[0].lower", "FEATS[0].each"]
)
def test_fields_read_back(text):
    assert parse_field(text).text == text


def test_the_offset_may_be_left_out():
    assert parse_field("FORM.lower") == parse_field("FORM[0].lower")
    assert parse_field("FEATS.value:Number[psor]").view == "value:Number[psor]"
    assert parse_field("FORM[1]x") is None
    assert parse_field("%x[0,1]") is None


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [""],
        ["McDonald's", "IBM", "McDonald's", "aaaaaaB", "Ⅷ½", "ǅ", "\ud800a", ""],
        ["a\nb", "\n", "c"],
        ["a\n", ""],
    ],
)
@pytest.mark.parametrize("name", ["shape", "pattern", "lower.shape", "suffix2.pattern", "kind"])
def test_many_texts_are_seen_as_each_by_itself(name, texts):
    assert list(ViewedTexts(texts).seen_by(name)) == list(map(find_view(name), texts))
