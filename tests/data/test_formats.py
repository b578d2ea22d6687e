"""Formats are guessed, also of files with a mistake in them; gzip and standard input are read."""

import gzip
import io

import pytest

from partita.data import DataError, read_sentences, write_sentences
from partita.data.formats import guess_format, parse_sentences, sentences_text

ROW = "1\tDogs\t_\tNOUN\t_\t_\t0\troot\t_\t_\n"
COLUMNS = "Dogs NNS B-NP\nbark VBP B-VP\n\nCats NNS B-NP\nsleep VBP B-VP\n\n"
PLAIN = "Dogs bark\nCats sleep all day\n"


@pytest.mark.parametrize(
    ("text", "format"),
    [
        (ROW, "conllu"),
        ("\n# sent_id = 1\n1 Dogs\n", "conllu"),
        ("1\tDogs\n" + ROW, "conllu"),
        (COLUMNS, "columns"),
        ("-DOCSTART- -X-\nDogs NNS\nbark VBP\n", "columns"),
        ("Dogs\tNNS\n", "columns"),
        ("Dogs\nbark\n\nCats\nsleep\n", "columns"),
        (COLUMNS * 3 + "Cats NNS\n", "columns"),
        (PLAIN, "plain"),
        ("\n\n" + PLAIN, "plain"),
        ("Dogs bark\n\nCats sleep all day\n\nWe do not\n", "plain"),
        ("Dogs bark\n", "plain"),
        ("Dogs bark .\n\nCats sleep .\n\nCows moo .\n\n", "plain"),
        ("Dogs bark\n \nCats sleep\n", "plain"),
        ("Dogs NNS\n\nCats NNS\n", "columns"),
        ("Dogs NNS\nbark VBP\n. .\n\nCats\nsleep VBP\nlong\n", "columns"),
        ("Dogs bark all day\nand all night .\n\nCats do not\n", "plain"),
        ("-DOCSTART- -X-\n", "plain"),
    ],
)
def test_guesses(text, format):
    assert guess_format(text) == format


@pytest.mark.parametrize(
    ("text", "description"),
    [
        (ROW + "\n", "my: CoNLL-U, 1 sentence, 1 word"),
        (COLUMNS, "my: CoNLL columns (3 columns), 2 sentences, 4 words"),
        (PLAIN, "my: plain text, 2 sentences, 6 words"),
        ("\n" + PLAIN + "\n\n", "my: plain text, 2 sentences, 6 words"),
    ],
)
def test_what_was_taken_and_back(text, description):
    document = parse_sentences(text, source="my")
    assert document.description == description
    assert sentences_text(document, document.format) == text
    assert list(document) == [document[0], *document[1:]]


def test_names_and_formats_that_are_given():
    assert parse_sentences(COLUMNS, names=["word", "pos", "chunk"]).names[2] == "chunk"
    assert parse_sentences(PLAIN, names=["word"]).names == ("word",)
    assert parse_sentences("a b\nc d\n", format="columns").names == ("0", "1")
    with pytest.raises(ValueError, match="the format 'xml' came; expected one of conllu, columns"):
        parse_sentences(PLAIN, format="xml")


def test_a_wrong_line_is_named_whatever_the_guess():
    with pytest.raises(DataError, match="<text>, line 13: found 2 columns"):
        parse_sentences(COLUMNS * 2 + "Cats NNS\n")


def test_compressed_files(tmp_path):
    path = tmp_path / "dev.conllu.gz"
    write_sentences(path, parse_sentences(ROW), "conllu")
    assert gzip.decompress(path.read_bytes()).decode() == ROW + "\n"
    assert read_sentences(path).format == "conllu"
    path.write_bytes(b"no gzip")
    with pytest.raises(DataError, match="dev.conllu.gz: the file cannot be decompressed"):
        read_sentences(path)
    path.write_bytes(gzip.compress(ROW.encode())[:-4])
    with pytest.raises(DataError, match="dev.conllu.gz: the file cannot be decompressed"):
        read_sentences(path)


def test_standard_input_and_output(monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(PLAIN.encode())))
    document = read_sentences("-")
    assert document.source == "standard input"
    write_sentences("-", document, "plain")
    assert capsys.readouterr().out == PLAIN


def test_no_words():
    for format in ("conllu", "columns", "plain"):
        with pytest.raises(DataError, match="<text>: there are no words"):
            parse_sentences("\n \n" if format != "conllu" else "\n", format=format)
