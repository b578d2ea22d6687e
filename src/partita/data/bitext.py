"""Bitext: sentences and their translations, in two files or in one of `source ||| target` lines."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from typing import NamedTuple, overload

from partita.data.errors import DataError
from partita.data.text import read_line_batches, read_text, source_name
from partita.files import StrPath

SEPARATOR = "|||"
"""Between the two sides of a line, a word of its own."""

Words = tuple[str, ...]


class SentencePair(NamedTuple):
    """A sentence and its translation; a side may be empty.

    >>> SentencePair(("la", "maison"), ("the", "house")).target
    ('the', 'house')
    """

    source: Words
    target: Words
    where: str = "<pair>"
    """File and line, for messages."""


@dataclass(frozen=True)
class Bitext(Sequence[SentencePair]):
    r"""The pairs of a bitext, one for every line of its files.

    >>> bitext = parse_bitext("la maison ||| the house\nune fleur ||| a flower\n")
    >>> bitext[1].target
    ('a', 'flower')
    >>> bitext.description
    '<text>: 2 pairs, 4 and 4 words'
    """

    pairs: tuple[SentencePair, ...]
    name: str

    @overload
    def __getitem__(self, index: int) -> SentencePair: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SentencePair, ...]: ...
    def __getitem__(self, index: int | slice) -> SentencePair | tuple[SentencePair, ...]:
        return self.pairs[index]

    def __iter__(self) -> Iterator[SentencePair]:
        return iter(self.pairs)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def source(self) -> list[Words]:
        """The source side of each pair.

        >>> parse_bitext("la maison ||| the house").source
        [('la', 'maison')]
        """
        return [pair.source for pair in self.pairs]

    @property
    def target(self) -> list[Words]:
        """The target side of each pair.

        >>> parse_bitext("la maison ||| the house").target
        [('the', 'house')]
        """
        return [pair.target for pair in self.pairs]

    @property
    def empty(self) -> list[int]:
        r"""The places of pairs with a side that has no words; nothing can be learnt from them.

        >>> parse_bitext("la maison ||| the house\n||| a flower").empty
        [1]
        """
        return [
            index for index, pair in enumerate(self.pairs) if not pair.source or not pair.target
        ]

    def longer(self, max_words: int) -> list[int]:
        """The places of pairs with a side of more than `max_words` words.

        >>> parse_bitext("la maison ||| the house").longer(1)
        [0]
        """
        return [
            index
            for index, pair in enumerate(self.pairs)
            if len(pair.source) > max_words or len(pair.target) > max_words
        ]

    @property
    def description(self) -> str:
        """What was read, for a line of progress."""
        n_source, n_target = (sum(map(len, side)) for side in (self.source, self.target))
        pairs = f"{len(self):,} pair" + ("" if len(self) == 1 else "s")
        text = f"{self.name}: {pairs}, {n_source:,} and {n_target:,} words"
        empty = self.empty
        if empty:
            text += f"; {len(empty)} with an empty side, the first {self.pairs[empty[0]].where}"
        return text


def read_bitext(path: StrPath, target_path: StrPath | None = None) -> Bitext:
    """The pairs of two files, a sentence a line, or of one file of `source ||| target` lines.

    Words are separated by blanks. A pair with an empty side is kept, so that there is one for each
    line; a file that has more lines than the other, a line without `|||` (or with two) and bytes
    that are not UTF-8 are a `DataError` with file and line. `-` is standard input; `.gz` is
    decompressed.

    >>> from partita import samples
    >>> read_bitext(samples.path("bitext-dev.txt"))[0].source
    ('A', 'young', 'man', 'has', 'taught', 'today', '.')
    """
    text, name = read_text(path), source_name(path)
    if target_path is None:
        return parse_bitext(text, name)
    return join_sides(text, read_text(target_path), name, source_name(target_path))


def stream_bitext(
    path: StrPath, target_path: StrPath | None = None, *, most: int = 1000
) -> Iterator[Bitext]:
    """As `read_bitext`, at most so many pairs at a time, as they can be read; in order."""
    name, first = source_name(path), 1
    if target_path is None:
        for lines in read_line_batches(path, most):
            yield parse_bitext("\n".join(lines) + "\n", name, first)
            first += len(lines)
        return
    other = source_name(target_path)
    sides = (chain.from_iterable(read_line_batches(each, most)) for each in (path, target_path))
    both = zip_longest(*sides)
    while read := list(islice(both, most)):
        for number, (line, translation) in enumerate(read, start=first):
            if line is None or translation is None:
                longer, shorter = (other, name) if line is None else (name, other)
                raise _without_partner(longer, number, f"{shorter} has {number - 1:,} lines")
        text, translations = ("\n".join(side) + "\n" for side in zip(*read, strict=True))
        yield join_sides(text, translations, name, other, first)
        first += len(read)


def parse_bitext(text: str, name: str = "<text>", first: int = 1) -> Bitext:
    r"""The pairs of a text of `source ||| target` lines, whose first line has the number `first`.

    >>> parse_bitext("la maison\n")
    Traceback (most recent call last):
    partita.data.errors.DataError: <text>, line 1: found no |||; expected source ||| target. If the
    two sides are in two files, name both.
    """
    pairs = []
    for number, line in enumerate(_lines(text), start=first):
        words = split_words(line)
        places = [index for index, word in enumerate(words) if word == SEPARATOR]
        if len(places) != 1 and words:
            what = "no" if not places else str(len(places))
            raise DataError(
                name,
                number,
                f"found {what} {SEPARATOR}; expected source {SEPARATOR} target. If the two sides "
                "are in two files, name both.",
            )
        middle = places[0] if places else 0
        where = f"{name}, line {number}"
        pairs.append(SentencePair(words[:middle], words[middle + 1 :], where))
    return Bitext(tuple(pairs), name)


def join_sides(
    source: str,
    target: str,
    source_name: str = "<source>",
    target_name: str = "<target>",
    first: int = 1,
) -> Bitext:
    r"""The pairs of two texts with as many lines each, the first of which has the number `first`.

    >>> join_sides("la maison\nune fleur\n", "the house\n")
    Traceback (most recent call last):
    partita.data.errors.DataError: <source>, line 2: this line has no partner: <source> has 2 lines
    and <target> has 1; expected line n of one to translate line n of the other. ...
    """
    lines, others = _lines(source), _lines(target)
    if len(lines) != len(others):
        n_lines, n_others = first - 1 + len(lines), first - 1 + len(others)
        raise _without_partner(
            source_name if n_lines > n_others else target_name,
            min(n_lines, n_others) + 1,
            f"{source_name} has {n_lines:,} lines and {target_name} has {n_others:,}",
        )
    pairs = tuple(
        SentencePair(split_words(line), split_words(other), f"{source_name}, line {number}")
        for number, (line, other) in enumerate(zip(lines, others, strict=True), start=first)
    )
    return Bitext(pairs, f"{source_name} and {target_name}")


def _without_partner(name: str, line: int, lines: str) -> DataError:
    return DataError(
        name,
        line,
        f"this line has no partner: {lines}; expected line n of one to translate line n of the "
        "other. Look for a line that was lost or split in one of them.",
    )


def _lines(text: str) -> list[str]:
    return text.removesuffix("\n").split("\n") if text else []


def split_words(line: str) -> Words:
    """The words of one side of a line.

    >>> split_words("la  maison")
    ('la', 'maison')
    """
    # Only blanks and tabs separate words, as in other tools' files: split() without an argument
    # would also cut at no-break spaces.
    return tuple(filter(None, line.replace("\t", " ").split(" ")))
