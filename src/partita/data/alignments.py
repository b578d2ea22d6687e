"""Word alignments in Pharaoh format: `0-0 1-2`, also `1?2` (possible) and `1-2:0.93`."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from partita.data.bitext import SentencePair
from partita.data.errors import DataError, shown
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath

Link = tuple[int, int]
"""Positions of a source and a target word, both from 0."""

Symmetrisation: TypeAlias = Literal[
    "mean",
    "intersection",
    "union",
    "grow-diag",
    "grow-diag-final",
    "grow-diag-final-and",
    "forward",
    "backward",
]
SYMMETRISATIONS: tuple[Symmetrisation, ...] = get_args(Symmetrisation)
"""How the links of two directions become one alignment."""

_LINK = re.compile(r"(\d{1,9})([-?])(\d{1,9})(?::(\S+))?", re.ASCII)


@dataclass(frozen=True)
class Alignment:
    """The links of a sentence pair: sure ones, and those that are possible only.

    >>> alignment = parse_alignment("0-0 1?2 2-1:0.93")
    >>> alignment.sure, alignment.possible, alignment.probabilities
    (((0, 0), (2, 1)), ((1, 2),), {(2, 1): 0.93})
    >>> str(alignment)
    '0-0 1?2 2-1:0.93'
    """

    sure: tuple[Link, ...] = ()
    """`i-j`, ascending."""
    possible: tuple[Link, ...] = ()
    """`i?j`, ascending; no sure link is among them."""
    probabilities: Mapping[Link, float] = field(default_factory=dict)
    """Of links that came with one."""

    @property
    def links(self) -> tuple[Link, ...]:
        """Sure and possible ones, ascending.

        >>> parse_alignment("1-2 0?0").links
        ((0, 0), (1, 2))
        """
        return tuple(sorted((*self.sure, *self.possible)))

    def __str__(self) -> str:
        possible = frozenset(self.possible)
        return " ".join(
            f"{i}{'?' if (i, j) in possible else '-'}{j}"
            + (f":{self.probabilities[i, j]:.6g}" if (i, j) in self.probabilities else "")
            for i, j in self.links
        )


def read_alignments(path: StrPath, bitext: Sequence[SentencePair] | None = None) -> list[Alignment]:
    """The alignments of a file, one a line; `-` is standard input, and `.gz` is decompressed.

    With the `bitext` that they are of, there must be one for each pair, and no link may lie
    outside it: a `DataError` names file and line.

    >>> from partita import samples
    >>> str(read_alignments(samples.path("bitext-dev.align"))[0])
    '0-0 1-1 2-2 3-3 4-5 5-4 6-6'
    """
    # Where no pair has a link, all lines are empty.
    return parse_alignments(read_text(path, may_be_blank=True), bitext, source_name(path))


def parse_alignments(
    text: str, bitext: Sequence[SentencePair] | None = None, source: str = "<text>"
) -> list[Alignment]:
    r"""The alignments of a text.

    >>> pair = SentencePair(("la", "maison"), ("the", "house"))
    >>> parse_alignments("0-0 2-1\n", [pair])
    Traceback (most recent call last):
    partita.data.errors.DataError: <text>, line 1: the link 2-1 lies outside the pair, which has 2
    source and 2 target words (<pair>); expected positions from 0 on, the source's first. ...
    """
    lines = text.removesuffix("\n").split("\n") if text else []
    if bitext is not None and len(lines) != len(bitext):
        raise DataError(
            source,
            min(len(lines), len(bitext)) + 1,
            f"there are {len(lines):,} lines of links for {len(bitext):,} sentence pairs; expected "
            "one for each, empty where nothing is linked.",
        )
    alignments = []
    for number, line in enumerate(lines, start=1):
        alignment = parse_alignment(line, source, number)
        if bitext is not None:
            _check_within(alignment, bitext[number - 1], source, number)
        alignments.append(alignment)
    return alignments


def parse_alignment(text: str, source: str = "<text>", line: int | None = None) -> Alignment:
    """The links of one line, in any order; a link that is both sure and possible is sure.

    >>> parse_alignment("1-2 0-0 1?2").sure
    ((0, 0), (1, 2))
    """
    sure: set[Link] = set()
    possible: set[Link] = set()
    probabilities: dict[Link, float] = {}
    for word in text.split():
        match = _LINK.fullmatch(word)
        if match is None:
            raise DataError(
                source,
                line,
                f"found {shown(word)}; expected links such as 3-4 (sure), 3?4 (possible) or "
                "3-4:0.93, positions from 0 on, the source's first.",
            )
        link = int(match[1]), int(match[3])
        (sure if match[2] == "-" else possible).add(link)
        if match[4] is not None:
            probabilities[link] = _probability(match[4], word, source, line)
    return Alignment(tuple(sorted(sure)), tuple(sorted(possible - sure)), probabilities)


def _probability(text: str, word: str, source: str, line: int | None) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise DataError(
            source,
            line,
            f"found {shown(word)}; expected a probability from 0 to 1 after the colon.",
        )
    return value


def _check_within(alignment: Alignment, pair: SentencePair, source: str, line: int) -> None:
    n_source, n_target = len(pair.source), len(pair.target)
    for i, j in alignment.links:
        if i >= n_source or j >= n_target:
            raise DataError(
                source,
                line,
                f"the link {i}-{j} lies outside the pair, which has {n_source} source and "
                f"{n_target} target words ({pair.where}); expected positions from 0 on, the "
                "source's first. Are the two sides swapped, or are positions counted from 1?",
            )


def alignments_text(alignments: Iterable[Alignment]) -> str:
    r"""Alignments in Pharaoh format, one a line.

    >>> alignments_text([Alignment(((0, 1),)), Alignment()])
    '0-1\n\n'
    """
    return "".join(f"{alignment}\n" for alignment in alignments)


def write_alignments(path: StrPath, alignments: Iterable[Alignment]) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed.

    >>> write_alignments("-", [Alignment(((0, 1),), ((1, 0),))])
    0-1 1?0
    """
    write_text(path, alignments_text(alignments))
