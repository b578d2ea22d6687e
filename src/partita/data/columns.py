"""CoNLL columns: one word a line, any number of columns, a blank line between sentences.

Columns are separated by tabs, or else by blanks, whichever the first line of words has. Lines
that begin with -DOCSTART- belong to no sentence; they are kept, and written back.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

from partita.data.errors import DataError, shown
from partita.data.lines import SharedText, blocks, broken_line
from partita.data.sentences import Sentence
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath

DOCUMENT_START = "-DOCSTART-"
BLANKS = " \t"
"""What a line may hold that ends a sentence; it is written back as it was."""
_BLANKS = re.compile(r"[ \t]+")


def read_columns(path: StrPath, names: Sequence[str] | None = None) -> list[Sentence]:
    """The sentences of a file; `-` is standard input, and `.gz` is decompressed.

    >>> from partita import samples
    >>> read_columns(samples.path("chunks-dev.txt"), ["FORM", "XPOS", "CHUNK"])[0].column("CHUNK")[
    ...     :3
    ... ]
    ('B-NP', 'B-VP', 'B-PP')
    """
    return parse_columns(read_text(path), names, source_name(path))


def parse_columns(
    text: str,
    names: Sequence[str] | None = None,
    source: str = "<text>",
    first_line: int = 1,
    separator: str = "",
) -> list[Sentence]:
    r"""The sentences of a text; the columns are named "0", "1", ..., or by `names`.

    Lines are numbered from `first_line`; the `separator` is that of the first line if left out.

    >>> [sentence] = parse_columns("Dogs NNS B-NP\nbark VBP B-VP\n")
    >>> sentence.column("2")
    ('B-NP', 'B-VP')
    """
    sentences: list[Sentence] = []
    shared = SharedText()
    waiting: list[str] = []
    for first, lines, end in blocks(text, first_line, BLANKS):
        n_before = _n_before(lines)
        waiting += lines[:n_before]
        if n_before == len(lines):
            waiting += [end] if any(lines) else []
            continue
        rows = lines[n_before:]
        separator = separator or ("\t" if "\t" in rows[0] else " ")
        names = names or [str(number) for number in range(len(_split(rows[0], separator)))]
        cells = shared.of(_cells(rows, names, separator, first + n_before, source))
        sentences.append(
            Sentence(
                {name: tuple(cells[place :: len(names)]) for place, name in enumerate(names)},
                before=tuple(waiting),
                separator=separator,
                end=end,
                source=source,
                first_line=first + n_before,
            )
        )
        waiting = []
    if not sentences:
        raise DataError(source, None, "there are no words; expected one a line, with its columns.")
    if waiting:
        sentences[-1] = replace(sentences[-1], after=tuple(waiting))
    return sentences


def _n_before(lines: Sequence[str]) -> int:
    """How many lines of a block precede its words."""
    for index, line in enumerate(lines):
        if line.strip(BLANKS) and not line.startswith(DOCUMENT_START):
            return index
    return len(lines)


def _split(line: str, separator: str) -> list[str]:
    if separator == "\t":
        return line.split("\t")
    # Not line.split(), which would split words at a no-break space.
    line = line.strip(" \t")
    return _BLANKS.split(line) if "  " in line or "\t" in line else line.split(" ")


def _cells(
    lines: Sequence[str], names: Sequence[str], separator: str, start: int, source: str
) -> list[str]:
    """The values of all columns of all words, word by word."""
    width, joined = len(names), separator.join(lines)
    # A blank too many, at an end of a line or within, stands beside another one here.
    is_plain = separator == "\t" or not (
        "  " in joined or "\t" in joined or joined[0] == " " or joined[-1] == " "
    )
    if is_plain and all(line.count(separator) == width - 1 for line in lines):
        cells = joined.split(separator)
        if DOCUMENT_START not in cells[::width]:
            return cells
    rows = [_split(line, separator) for line in lines]
    for index, row in enumerate(rows):
        if row[0] == DOCUMENT_START:
            raise DataError(
                source,
                start + index,
                f"found a {DOCUMENT_START} line inside a sentence; expected one before a sentence. "
                "Put a blank line before it.",
            )
        if len(row) != width:
            raise _column_error(row, names, separator, start + index, source)
    return list(chain.from_iterable(rows))


def _column_error(
    row: Sequence[str], names: Sequence[str], separator: str, line: int, source: str
) -> DataError:
    what = "tabs" if separator == "\t" else "blanks"
    return DataError(
        source,
        line,
        f"found {len(row)} column{'' if len(row) == 1 else 's'} separated by {what} in "
        f"{shown(separator.join(row))}; expected {len(names)}"
        + (", as in the lines before" if _numbered(names) else f", {', '.join(names)}")
        + ". Give every word the same columns, and put a blank line between sentences.",
    )


def _numbered(names: Sequence[str]) -> bool:
    return all(name == str(number) for number, name in enumerate(names))


def write_columns(path: StrPath, sentences: Iterable[Sentence]) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed.

    >>> write_columns("-", [Sentence({"0": ("Dogs", "bark"), "1": ("NNS", "VBP")}, separator=" ")])
    Dogs NNS
    bark VBP
    <BLANKLINE>
    """
    write_text(path, columns_text(sentences))


def columns_text(sentences: Iterable[Sentence]) -> str:
    r"""Sentences as columns, in the order of the columns and with the separator they came with.

    >>> sentence = Sentence({"0": ("Dogs",)}, separator=" ").replaced("tag", ["NNS"])
    >>> columns_text([sentence])
    'Dogs NNS\n\n'
    """
    return "".join(map(_sentence_text, sentences))


def _sentence_text(sentence: Sentence) -> str:
    separator = sentence.separator
    lines = list(map(separator.join, zip(*sentence.columns.values(), strict=True)))
    wrong = broken_line(lines, separator, len(sentence.columns) - 1)
    if wrong is not None:
        raise ValueError(
            f"{sentence.where(wrong)}: a value contains {separator!r} or a line end, in "
            f"{shown(lines[wrong])}; expected values without. Replace it, or use another separator."
        )
    return "\n".join([*sentence.before, *lines, sentence.end, *sentence.after, ""])
