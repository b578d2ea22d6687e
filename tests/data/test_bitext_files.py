"""Bitext and alignments: every line has its place, and every mistake its file and line."""

import gzip

import pytest

from partita.data.alignments import (
    Alignment,
    alignments_text,
    parse_alignments,
    read_alignments,
    write_alignments,
)
from partita.data.bitext import SentencePair, join_sides, parse_bitext, read_bitext
from partita.data.errors import DataError


def test_two_files_and_one_are_the_same(tmp_path):
    (tmp_path / "a").write_text("la maison\n\nune  fleur\u00a0bleue \n")
    (tmp_path / "b").write_bytes(b"the\thouse\r\nempty\r\na blue flower\r\n")
    (tmp_path / "both").write_text(
        "la maison ||| the house\n||| empty\nune fleur\u00a0bleue ||| a blue flower"
    )
    two = read_bitext(tmp_path / "a", tmp_path / "b")
    one = read_bitext(tmp_path / "both")
    assert [pair[:2] for pair in two] == [pair[:2] for pair in one]
    # A no-break space is part of a word, and a pair with an empty side keeps its place.
    assert two.source == [("la", "maison"), (), ("une", "fleur\u00a0bleue")]
    assert two.target[1:] == [("empty",), ("a", "blue", "flower")]
    assert two.empty == [1]
    assert two.longer(2) == [2]
    assert two[2].where == f"{tmp_path / 'a'}, line 3"
    assert f"1 with an empty side, the first {tmp_path / 'a'}, line 2" in two.description


def test_compressed(tmp_path):
    (tmp_path / "both.gz").write_bytes(gzip.compress(b"a ||| b\n"))
    assert read_bitext(tmp_path / "both.gz")[0][:2] == (("a",), ("b",))


@pytest.mark.parametrize(
    "source, target, where, what",
    [
        (b"a\nb\n", b"a\n", "a, line 2", "has 2 lines and"),
        (b"a\n", b"a\nb\nc\n", "b, line 2", "has 3"),
        (b"a\n\xe9t\xe9\n", b"a\nb\n", "a, line 2", "0xe9"),
        (b"a\nb\n", b"", "b:", "empty"),
        (b"a ||| b\nc d\n", None, "a, line 2", "found no |||"),
        (b"a ||| b ||| c\n", None, "a, line 1", "found 2 |||"),
    ],
)
def test_bad_bitext(tmp_path, source, target, where, what):
    (tmp_path / "a").write_bytes(source)
    if target is not None:
        (tmp_path / "b").write_bytes(target)
    with pytest.raises(DataError) as caught:
        read_bitext(tmp_path / "a", None if target is None else tmp_path / "b")
    assert str(caught.value).startswith(str(tmp_path / where))
    assert what in str(caught.value)


def test_an_empty_line_of_one_file_is_an_empty_pair():
    assert parse_bitext("a ||| b\n\nc |||\n").empty == [1, 2]


def test_alignments_survive_a_file(tmp_path):
    alignments = [
        Alignment(((0, 1), (2, 0)), ((1, 1),), {(0, 1): 0.25}),
        Alignment(),
        Alignment(((10, 9),)),
    ]
    path = tmp_path / "links"
    write_alignments(path, alignments)
    assert path.read_text() == "0-1:0.25 1?1 2-0\n\n10-9\n"
    assert read_alignments(path) == alignments


def test_pairs_without_links_survive_a_file(tmp_path):
    write_alignments(tmp_path / "links", [Alignment(), Alignment()])
    assert read_alignments(tmp_path / "links") == [Alignment(), Alignment()]
    (tmp_path / "links").write_text("")
    pair = SentencePair(("a",), ("b",))
    with pytest.raises(DataError, match="links, line 1: there are 0 lines of links for 1 sentence"):
        read_alignments(tmp_path / "links", [pair])


@pytest.mark.parametrize("n", [0, 1, 2])
def test_as_many_alignments_as_were_written(n):
    assert len(parse_alignments(alignments_text([Alignment()] * n))) == n
    assert len(parse_bitext("\n" * n)) == len(join_sides("\n" * n, "\n" * n)) == n


def test_sure_wins_over_possible():
    [alignment] = parse_alignments("1?0 0-0 1-0 0-0\n")
    assert alignment == Alignment(((0, 0), (1, 0)))
    assert alignment.links == ((0, 0), (1, 0))
    assert alignments_text([alignment]) == "0-0 1-0\n"


@pytest.mark.parametrize("link", ["0", "0-", "-1-0", "0--1", "0:1", "0-0:x", "0-0:1.5", "0-0:nan"])
def test_bad_links(link):
    with pytest.raises(DataError, match="^links, line 2: found"):
        parse_alignments(f"0-0\n0-0 {link}\n", source="links")


def test_links_of_another_bitext():
    pairs = [SentencePair(("a", "b"), ("c",), "x, line 1"), SentencePair((), ("d",), "x, line 2")]
    assert len(parse_alignments("0-0 1-0\n\n", pairs)) == 2
    with pytest.raises(DataError, match="links, line 1: the link 0-1 lies outside .*x, line 1"):
        parse_alignments("0-1\n\n", pairs, "links")
    with pytest.raises(DataError, match="links, line 2: the link 0-0 lies outside"):
        parse_alignments("0-0\n0-0\n", pairs, "links")
    with pytest.raises(DataError, match="links, line 2: there are 1 lines of links for 2"):
        parse_alignments("0-0\n", pairs, "links")
    with pytest.raises(DataError, match="links, line 3: there are 3 lines"):
        parse_alignments("0-0\n\n\n", pairs, "links")
