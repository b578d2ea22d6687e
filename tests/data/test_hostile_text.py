"""Files that are damaged, or made to do harm: a message with file and line, and nothing else."""

import bz2
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partita.data import DataError, bitext_files, compressed, files
from partita.data.alignments import parse_alignment, read_alignments
from partita.data.arc_rule import ArcRule
from partita.data.arc_rules import arc_rules_text, parse_arc_rules, read_arc_rules
from partita.data.bitext import read_bitext
from partita.data.bitext_files import BitextFiles
from partita.data.columns import read_columns, write_columns
from partita.data.conllu import features, parse_conllu, read_conllu, with_misc
from partita.data.constraints import parse_constraints, read_constraints
from partita.data.dependencies import tree_heads
from partita.data.files import SentenceFiles
from partita.data.formats import read_sentences
from partita.data.plain import read_plain
from partita.data.sentences import Sentence
from partita.data.text import read_text, write_text

READERS = [
    read_alignments,
    read_arc_rules,
    read_bitext,
    read_columns,
    read_conllu,
    read_constraints,
    read_plain,
    read_sentences,
]


def error_of(function, *arguments):
    with pytest.raises(DataError) as caught:
        function(*arguments)
    assert len(str(caught.value)) < 1000
    return str(caught.value)


# ------------------------------------------------------------------ gzip


@pytest.mark.parametrize("reader", READERS)
def test_damaged_gzip(tmp_path, reader):
    path = tmp_path / "data.gz"
    whole = gzip.compress(b"a ||| b\n" * 1000)
    for content in (
        b"",
        b"no gzip",
        whole[:-20],
        whole[:5],
        whole[:20] + b"\xff" * 40,
        whole + b"x",
    ):
        path.write_bytes(content)
        if content:
            assert "data.gz: the file cannot be decompressed" in error_of(reader, path)


@given(st.data())
def test_any_changed_byte_of_gzip(tmp_path_factory, data):
    content = bytearray(gzip.compress(b"the DT\ndog NN\n\n" * 20, mtime=0))
    position = data.draw(st.integers(0, len(content) - 1))
    content[position] ^= data.draw(st.integers(1, 255))
    path = tmp_path_factory.getbasetemp() / "changed.gz"
    path.write_bytes(content)
    try:
        read_text(path)
    except DataError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 (or it is read)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_text(tmp_path / "absent.gz")


def test_gzip_under_another_name(tmp_path):
    text = b"the DT\ndog NN\n\n"
    path = tmp_path / "data.txt"
    path.write_bytes(gzip.compress(text * 2) + gzip.compress(text))
    assert read_text(path) == text.decode() * 3
    assert len(SentenceFiles(path).blocks) == 1
    path.write_bytes(gzip.compress(text)[:-4])
    message = error_of(read_text, path)
    assert "cannot be decompressed" in message
    assert "since it begins like one" in message


@pytest.mark.parametrize("size", [1, 5, 10**6])
def test_gzip_on_standard_input(monkeypatch, size):
    """Whatever a pipe has at first."""
    buffer = io.BytesIO(gzip.compress(b"the DT\n"))
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=Slow(buffer, size), closed=False))
    assert read_text("-") == "the DT\n"


class Slow:
    def __init__(self, stream, most):
        self.stream, self.most = stream, most

    def read(self, size):
        return self.stream.read(min(size, self.most))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (bz2.compress(b"a"), "bzip2 wrote it; decompress it first"),
        (lzma.compress(b"a"), "xz wrote it; decompress it first"),
        ("Häuser".encode("utf-16"), "it seems to be UTF-16; convert it"),
    ],
)
def test_what_is_no_text(tmp_path, data, message):
    path = tmp_path / "data"
    path.write_bytes(data)
    assert message in error_of(read_text, path)


def test_a_list_of_files_is_no_file():
    with pytest.raises(TypeError, match="type list came; expected the name of one file"):
        read_sentences(["a.conllu"])


def test_a_gzip_bomb(tmp_path, monkeypatch):
    """A hundred kilobytes that expand to a hundred megabytes."""
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b"a" * 10**8))
    message = error_of(read_text, path)
    assert message.startswith(str(path))
    assert "expand to more than 67,108,864; expected text, which expands to at most 200" in message
    assert "17,179,869,184 bytes at most. If you trust the file, decompress it with" in message
    monkeypatch.setattr(compressed, "MOST_EXPANDED", 2**20)
    path.write_bytes(gzip.compress(b"word " * 10**6, compresslevel=0))
    assert "expand to more than 1,048,576" in error_of(read_text, path)
    monkeypatch.undo()
    assert len(read_text(path)) == 5 * 10**6


# ------------------------------------------------------------------ bytes and lines


@pytest.mark.parametrize("reader", READERS)
def test_lone_carriage_returns(tmp_path, reader):
    path = tmp_path / "mac"
    path.write_bytes(b"a ||| b\r\nc ||| d\re ||| f\r\n")
    assert str(path) + ", line 2: found a carriage return (\\r)" in error_of(reader, path)
    path.write_bytes(b"a ||| b\rc ||| d\r")
    assert str(path) + ", line 1: found a carriage return (\\r)" in error_of(reader, path)


@pytest.mark.parametrize("reader", READERS)
def test_bytes_that_are_not_utf_8(tmp_path, reader):
    path = tmp_path / "latin1"
    path.write_bytes("a ||| b\né ||| ö\n".encode("latin1"))
    assert str(path) + ", line 2: the byte 0xe9" in error_of(reader, path)


@pytest.mark.parametrize("reader", READERS)
def test_zeros_are_no_text(tmp_path, reader):
    """What is left of a file after a power cut, a sparse one, or UTF-16 without its first bytes."""
    path = tmp_path / "zeros"
    for data, line in (
        (b"a ||| b\nc ||| \0\n", 2),
        (b"a\n" * 700_000 + b"\0", 700_001),
        ("a ||| b\n".encode("utf-16-be"), 1),
    ):
        path.write_bytes(data)
        assert f"{path}, line {line}: found a byte of value 0" in error_of(reader, path)
    with open(path, "wb") as file:
        file.truncate(12 << 30)
    assert "line 1: found a byte of value 0" in error_of(reader, path)


ROW = "1\tdog" + "\t_" * 8 + "\n\n"
"""A sentence of one word."""


def sentences_of(path):
    for block in SentenceFiles(path).blocks:
        for document in block.documents():
            yield from document


def pairs_of(path):
    for block in BitextFiles(path).blocks:
        for bitext in block.bitexts():
            yield from bitext.pairs


@pytest.mark.parametrize(
    ("read", "line", "n_lines"), [(sentences_of, ROW, 2), (pairs_of, "dog ||| chien\n", 1)]
)
@pytest.mark.parametrize(
    ("letter", "message"),
    [
        ("ö", "the byte 0xf6 at position"),
        ("\0", "found a byte of value 0"),
        ("\r", "found a carriage return"),
    ],
)
def test_blocks_of_files_are_checked_as_whole_files_are(
    tmp_path, monkeypatch, read, line, n_lines, letter, message
):
    """Also what a worker reads of the middle of a file, with the line in the whole of it."""
    for module in (files, bitext_files):
        monkeypatch.setattr(module, "BLOCK", 50)
    path = tmp_path / "data"
    path.write_text(line * 20 + line.replace("o", letter) + line, "latin1", newline="")
    error = error_of(lambda: list(read(path)))
    assert f"{path}, line {20 * n_lines + 1}: {message}" in error
    path.write_bytes(("\ufeff" + line * 20).encode())
    first = next(iter(read(path)))
    assert "\ufeff" not in str(first)


def test_what_cannot_be_read_is_not_written(tmp_path):
    path = tmp_path / "out"
    with pytest.raises(ValueError, match="a value contains a character of code 0, near 'a.x00b"):
        write_columns(path, [Sentence({"0": ("a\0b",)})])
    with pytest.raises(ValueError, match="a value contains a carriage return, near 'a.rb"):
        write_columns(path, [Sentence({"0": ("a\rb",)})])
    with pytest.raises(ValueError, match="a value contains a carriage return"):
        write_text(path, "x" * 100 + "\r" + "x" * 100)
    assert not path.exists()
    write_text(path, "a\r\nb\n")
    assert read_text(path) == "a\nb\n"
    [sentence] = [with_misc(Sentence({"FORM": ("x",)}), "P", ["a\rb"])]
    assert "\r" not in sentence.column("MISC")[0]
    assert features(sentence, "MISC") == ({"P": "a\rb"},)


# ------------------------------------------------------------------ numbers

DIGITS = "9" * 5000


def test_digits_by_the_thousand():
    row = "1\ta" + "\t_" * 4 + f"\t{DIGITS}\tx\t_\t_\n"
    [sentence] = parse_conllu(row, "my")
    assert "my, line 1: the head of word 1" in error_of(tree_heads, sentence)
    assert "found the id '999" in error_of(parse_conllu, row.replace("1\t", DIGITS + "\t", 1))
    for link in (f"{DIGITS}-0", f"0-{DIGITS}", f"0?{DIGITS}", f"0-0:{DIGITS}"):
        assert "my, line 3: found '" in error_of(parse_alignment, link, "my", 3)
    assert "my, line 1: found 'A=999" in error_of(parse_constraints, f"w A={DIGITS}", "my")
    rule = f"NOUN <- VERB {DIGITS}"
    assert "my, line 1: found the target '999" in error_of(parse_arc_rules, rule, "my")
    group = f"{DIGITS} of arcs:\n  NOUN <- VERB"
    assert "my, line 1: found the target '999" in error_of(parse_arc_rules, group, "my")


def test_lines_by_the_megabyte():
    long = "x" * 10**6
    assert "my, line 1: found 1 column" in error_of(parse_conllu, long, "my")
    assert "my, line 1: found" in error_of(parse_arc_rules, long, "my")
    assert "my, line 1: found the feature" in error_of(parse_constraints, long, "my")
    assert "my, line 1: found" in error_of(parse_alignment, long, "my", 1)


# ------------------------------------------------------------------ the tag #


def test_a_tag_that_looks_like_a_comment():
    rules = parse_arc_rules(
        "# of a treebank with the tag #\n"
        "#NOUN <- VERB left 0.3\n"
        "# NOUN <- VERB left 0.3\n"
        "# <- NOUN left 0.25\n"
        "CD <- # 0.5\n"
        "0.75 of #:\n"
        "    # a comment among them\n"
        "    # <- VERB\n"
    )
    assert [str(rule) for rule in rules] == [
        "# <- NOUN left 0.25",
        "CD <- # 0.5",
        "# <- VERB 0.75",
    ]
    assert parse_arc_rules(arc_rules_text(rules)) == rules
    [table] = parse_arc_rules("#\tCD\n# a comment\nNOUN\t#\n")
    assert [str(pattern) for pattern in table.patterns] == ["CD <- #", "# <- NOUN"]
    with pytest.raises(ValueError, match="'#x', which would be read as a comment"):
        arc_rules_text([ArcRule.of("NOUN", "#x", "any", 0.5)])


# ------------------------------------------------------------------ standard streams


def test_closed_standard_streams(monkeypatch):
    for closed in (None, io.TextIOWrapper(io.BytesIO())):
        if closed is not None:
            closed.close()
        monkeypatch.setattr(sys, "stdin", closed)
        assert error_of(read_text, "-") == (
            "standard input: it is closed; name a file instead of -."
        )
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(ValueError, match="standard output is closed; name a file"):
            write_text("-", "a")
