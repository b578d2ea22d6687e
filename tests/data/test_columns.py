"""CoNLL columns: tabs or blanks, -DOCSTART- lines, names; mistakes are named with their line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data import DataError, Sentence, read_columns, write_columns
from partita.data.columns import columns_text, parse_columns

TEXT = """-DOCSTART- -X- O

EU NNP I-ORG
rejects VBZ O

# # O

-DOCSTART- -X- O

-DOCSTART- -X- O

Peter NNP I-PER

"""


def test_columns_are_numbered_or_named():
    first, second, third = parse_columns(TEXT, source="my")
    assert first.names == ("0", "1", "2")
    assert first.column("2") == ("I-ORG", "O")
    assert first.before == ("-DOCSTART- -X- O", "")
    assert second.column("0") == ("#",)
    assert third.before == ("-DOCSTART- -X- O", "") * 2
    assert [sentence.first_line for sentence in (first, second, third)] == [3, 6, 12]
    assert parse_columns("a b", ["word", "tag"])[0].names == ("word", "tag")


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        "a\tb\n\n\n\nc d\te\n\n",
        "a b\n\n-DOCSTART- x\n\n",
        "-DOCSTART- x\na b\n\n",
        "word\n\n",
        "a\xa0b X\n\n",
        "\n\na b\n\n\n\n",
    ],
)
def test_the_same_bytes_back(text, tmp_path):
    (tmp_path / "in").write_bytes(text.encode())
    write_columns(tmp_path / "out", read_columns(tmp_path / "in"))
    assert (tmp_path / "out").read_bytes() == text.encode()


def test_blanks_and_windows_line_ends_are_tidied(tmp_path):
    (tmp_path / "in").write_bytes(b" a   b \r\n \t\r\nc\td\r\n")
    assert columns_text(read_columns(tmp_path / "in")) == "a b\n \t\nc d\n\n"
    assert [sentence.first_line for sentence in read_columns(tmp_path / "in")] == [1, 3]


words = st.text(
    st.characters(exclude_characters="\t\n\r ", exclude_categories=["Cs"]), min_size=1
).filter(lambda word: not word.startswith("-DOCSTART-"))


@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(st.tuples(*[words] * n), min_size=1), min_size=1)
    ),
    st.sampled_from(" \t"),
)
def test_any_words_survive(sentences, separator):
    text = "".join("".join(separator.join(row) + "\n" for row in rows) + "\n" for rows in sentences)
    assert columns_text(parse_columns(text)) == text


def test_extra_columns():
    [sentence] = parse_columns("a b\n")
    assert columns_text([sentence.replaced("2", ["c"])]) == "a b c\n\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a b\nc\n",
            "my, line 2: found 1 column separated by blanks in 'c'; expected 2, as in the",
        ),
        ("a\tb\n\nc d\n", "my, line 3: found 1 column separated by tabs in 'c d'; expected 2"),
        ("a b\n\nc d e\n", "my, line 3: found 3 columns .*put a blank line between sentences"),
        ("a b\n-DOCSTART- x\n", "my, line 2: found a -DOCSTART- line inside a sentence"),
        ("-DOCSTART- x\n", "my: there are no words"),
    ],
)
def test_mistakes_in_the_file(text, message):
    with pytest.raises(DataError, match=message):
        parse_columns(text, source="my")


def test_more_names_than_columns():
    with pytest.raises(DataError, match="my, line 1: found 2 columns .*expected 1, word"):
        parse_columns("a b\n", ["word"], "my")


def test_what_cannot_be_written():
    with pytest.raises(ValueError, match="a value contains ' ' or a line end"):
        columns_text([Sentence({"0": ("a b",)}, separator=" ")])
