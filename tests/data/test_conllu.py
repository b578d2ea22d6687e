"""CoNLL-U: what is read is written back, and every mistake is named with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data import DataError, Sentence, read_conllu, write_conllu
from partita.data.conllu import NAMES, conllu_text, features, parse_conllu, with_misc
from partita.data.dependencies import tree_heads


def row(number, form="x", head="0"):
    return f"{number}\t{form}\t_\tX\t_\tA=1|B=2\t{head}\troot\t_\t_\n"


TEXT = (
    "# newdoc\n# text = al fin\n1-2\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + row(1, "a")
    + row("1.1", "empty")
    + row(2, "el", 1)
    + row(3, "fin", 1)
    + "\n"
    + row(1, "una palabra\u2028\xa0")
    + "\n"
)


def test_words_without_multiword_tokens_and_empty_nodes():
    first, second = parse_conllu(TEXT, "my.conllu")
    assert first.column("FORM") == ("a", "el", "fin")
    assert first.before == ("# newdoc", "# text = al fin")
    assert [position for position, _ in first.extras] == [0, 1]
    assert [first.line(word) for word in range(3)] == [4, 6, 7]
    assert (second.source, second.first_line) == ("my.conllu", 9)
    assert second.column("FORM") == ("una palabra\u2028\xa0",)
    assert tree_heads(first) == (0, 1, 1)
    assert features(first)[0] == {"A": "1", "B": "2"}


@pytest.mark.parametrize(
    "text",
    [TEXT, "\n\n" + TEXT, TEXT + "\n\n", row(1) + "\n\n\n" + row(1) + "# inside\n" + row(2) + "\n"],
)
def test_the_same_bytes_back(text, tmp_path):
    (tmp_path / "in").write_bytes(text.encode())
    write_conllu(tmp_path / "out", read_conllu(tmp_path / "in"))
    assert (tmp_path / "out").read_bytes() == text.encode()


def test_windows_line_ends_byte_order_mark_and_no_blank_line_at_the_end(tmp_path):
    data = b"\xef\xbb\xbf" + TEXT.removesuffix("\n").replace("\n", "\r\n").encode()
    (tmp_path / "in").write_bytes(data)
    assert conllu_text(read_conllu(tmp_path / "in")) == TEXT


values = st.text(st.characters(exclude_characters="\t\n\r", exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.lists(st.tuples(*[values] * 9), min_size=1), min_size=1))
def test_any_values_survive(sentences):
    text = "".join(
        "".join(f"{number}\t" + "\t".join(row) + "\n" for number, row in enumerate(rows, 1)) + "\n"
        for rows in sentences
    )
    assert conllu_text(parse_conllu(text)) == text


def test_a_sentence_of_more_than_a_thousand_words():
    text = "".join(row(number) for number in range(1, 1502)) + "\n"
    assert conllu_text(parse_conllu(text)) == text


def test_a_sentence_that_has_only_words():
    assert conllu_text([Sentence({"FORM": ("a", "b")})]).split("\n")[1] == "2\tb" + "\t_" * 8


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            row(1) + "2\tx\t_\n",
            "my, line 2: found 3 columns separated by tabs in .*expected 10, ID",
        ),
        (row(1) + row("1.1") + "2\tx\n", "my, line 3: found 2 columns"),
        (row(1) + "1-2\tx\n", "my, line 2: found 2 columns"),
        (row(1).replace("\t", " "), "my, line 1: .*separated by blanks: make them tabs"),
        (row(1) + " \n" + row(1), "my, line 2: .*holds only blanks: make it empty"),
        (row(1) + row(3), "my, line 2: found the id '3'; expected 2, .*without gaps"),
        (row(1) + row(1), "my, line 2: found the id '1'; .*blank line must stand between"),
        (row("x"), "my, line 1: found the id 'x'; expected 1"),
        (row("1.1"), "my, line 1: found a sentence without words"),
        (row(1) + "\n# text = a\n\n" + row(1), "my, line 3: found a sentence without words, only"),
        ("\n", "my: there are no words"),
    ],
)
def test_mistakes_in_the_file(text, message):
    with pytest.raises(DataError, match=message):
        parse_conllu(text, "my")


def test_broken_encoding(tmp_path):
    path = tmp_path / "latin.conllu"
    path.write_bytes((row(1) + row(2, "é")).encode("latin1"))
    position = len(row(1)) + 2
    message = rf"latin.conllu, line 2: the byte 0xe9 at position {position} of the file is not UTF"
    with pytest.raises(DataError, match=message):
        read_conllu(path)


def test_an_empty_file(tmp_path):
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="empty: the file is empty; expected at least one sentence"):
        read_conllu(tmp_path / "empty")


@given(st.text(), st.text())
def test_values_in_misc(first, second):
    sentence = Sentence({"FORM": ("x",), "MISC": ("SpaceAfter=No",)})
    sentence = with_misc(with_misc(sentence, "P", [first]), "P", [second])
    assert features(sentence, "MISC") == ({"SpaceAfter": "No", "P": second},)
    assert len(conllu_text([sentence]).split("\n")) == 3


def test_misc_of_a_sentence_without_it_and_bad_arguments():
    sentence = Sentence({"FORM": ("x",)})
    assert with_misc(sentence, "P", ["1"]).column("MISC") == ("P=1",)
    with pytest.raises(ValueError, match="the name 'a=b' came for MISC"):
        with_misc(sentence, "a=b", ["1"])
    with pytest.raises(ValueError, match="2 values came for 'P' in MISC; expected 1"):
        with_misc(sentence, "P", ["1", "2"])


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="the column 'chunk' has no place in CoNLL-U"):
        conllu_text([Sentence({"chunk": ("x",)})])
    with pytest.raises(ValueError, match="a value contains a tab or a line end"):
        write_conllu(tmp_path / "out", [Sentence({"FORM": ("a\tb",)})])
    assert not list(tmp_path.iterdir())
    assert NAMES[0] == "ID"
