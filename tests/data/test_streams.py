"""Files read a little at a time hold what they hold when they are read at once."""

import gzip
import io
from types import SimpleNamespace

import pytest

from partita.data import compressed, lines
from partita.data.errors import DataError
from partita.data.formats import read_sentences, sentences_text
from partita.data.streams import stream_documents

ROW = "{}\t{}\t_\tX\t_\t_\t0\troot\t_\t_\n"
TEXTS = {
    "conllu": "".join(
        f"# sent_id = {i}\n" + "".join(ROW.format(j + 1, f"w{i}é") for j in range(i % 5 + 1)) + "\n"
        for i in range(40)
    ),
    "columns": "-DOCSTART- x\n\n"
    + "".join("\n".join(f"w{i}_{j} T#" for j in range(i % 4 + 1)) + "\n \n" for i in range(40)),
    "tabs": "".join("\n".join(f"# {i}\tT" for j in range(i % 4 + 1)) + "\n\n\n" for i in range(40)),
    "plain": "\n\n# not a comment\n" + "".join("word " * (i % 7 + 1) + "ü\n" for i in range(40)),
    "crlf": "a X\r\nb Y\r\n\r\nc X\r\n",
    "no end": "a X\nb Y\n\nc X",
}


def texts(documents):
    return [
        (sentence.columns, sentence.extras, sentence.first_line)
        for document in documents
        for sentence in document
    ]


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_pieces_of_any_size(name, size, suffix, tmp_path, monkeypatch):
    path = tmp_path / f"file{suffix}"
    data = TEXTS[name].encode()
    path.write_bytes(gzip.compress(data) if suffix else data)
    whole = read_sentences(path)
    monkeypatch.setattr(compressed, "PIECE", size)
    monkeypatch.setattr(lines, "AT_ONCE", size)
    streamed = list(stream_documents(path, format=whole.format, most=3))
    assert texts(streamed) == texts([whole])
    assert {document.format for document in streamed} == {whole.format}
    assert max(map(len, streamed)) <= 3
    written = "".join(sentences_text(document, whole.format) for document in streamed)
    assert written.rstrip("\n") == sentences_text(whole, whole.format).rstrip("\n")


def test_sentences_come_as_soon_as_they_are_written(monkeypatch):
    given = iter([b"the dog\n", b"a c", b"at\n\n", b"", b"never"])
    taken = []

    def read1(size):
        taken.append(size)
        return next(given)

    monkeypatch.setattr(
        "sys.stdin", SimpleNamespace(buffer=SimpleNamespace(read1=read1, read=None), closed=False)
    )
    documents = stream_documents("-", format="plain")
    assert next(documents)[0].column("FORM") == ("the", "dog")
    assert len(taken) == 1
    assert next(documents)[0].column("FORM") == ("a", "cat")
    assert list(documents) == []


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", "the file is empty"),
        (b"\n \n\n", "the file is empty"),
        (b"a X\n\nb Y\n\nc\n\n", "line 5: found 1 column"),
        (b"a X\n\nb Y\n\n\xff X\n\n", "line 5: the byte 0xff at position 10"),
        (b"a X\n\nb Y\n\nc\rX\n\n", "line 5: found a carriage return"),
        (
            (ROW.format(1, "a") + "\n" + ROW.format(3, "b") + "\n").encode(),
            "line 3: found the id '3'",
        ),
        (
            (ROW.format(1, "a") + "\n# only\n# comments\n").encode(),
            "line 4: found a sentence without",
        ),
    ],
)
@pytest.mark.parametrize("size", [1, 10**6])
def test_errors_name_the_line_of_the_file(data, message, size, tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "PIECE", size)
    monkeypatch.setattr(lines, "AT_ONCE", size)
    path = tmp_path / "file"
    path.write_bytes(data)
    format = "conllu" if b"\t" in data else "columns"
    with pytest.raises(DataError, match=message):
        list(stream_documents(path, format=format))


def test_standard_input_of_a_test_knows_only_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"a b\n"), closed=False))
    assert len(next(stream_documents("-"))) == 1
