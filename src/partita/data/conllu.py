r"""CoNLL-U: ten columns separated by tabs, comments, multiword tokens and empty nodes.

https://universaldependencies.org/format.html

Words are what models see. Lines of multiword tokens (1-2) and empty nodes (1.1) are kept beside
them and written back. What was read is written byte for byte, except that line ends become "\n"
and the last sentence gets its blank line.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from partita.data.errors import DataError, shown
from partita.data.lines import SharedText, blocks, broken_line
from partita.data.sentences import Sentence
from partita.data.text import read_text, source_name, write_text
from partita.files import StrPath

NAMES = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
EMPTY = "_"
UNKNOWN_HEAD = -1

_EXTRA_ID = re.compile(r"\d+[-.]\d+")
_COUNTED = tuple(map(str, range(1, 1001)))


def read_conllu(path: StrPath) -> list[Sentence]:
    """The sentences of a file; `-` is standard input, and `.gz` is decompressed.

    >>> from partita import samples
    >>> read_conllu(samples.path("treebank-dev.conllu"))[0].column("UPOS")[:3]
    ('PROPN', 'AUX', 'ADP')
    """
    return parse_conllu(read_text(path), source_name(path))


def parse_conllu(text: str, source: str = "<text>", first_line: int = 1) -> list[Sentence]:
    r"""The sentences of a text, whose lines are numbered from `first_line`.

    >>> row = "1\tDogs\tdog\tNOUN\t_\t_\t0\troot\t_\t_\n"
    >>> [sentence] = parse_conllu("# sent_id = 1\n" + row + "\n")
    >>> sentence.column("FORM"), sentence.before
    (('Dogs',), ('# sent_id = 1',))
    """
    sentences: list[Sentence] = []
    shared = SharedText()
    for first, lines, _ in blocks(text, first_line):
        if any(lines):
            sentences.append(_sentence(lines, first, source, shared))
        elif sentences:
            sentences[-1] = replace(sentences[-1], after=tuple(lines))
    if not sentences:
        raise DataError(source, None, "there are no words; expected a line for each.")
    return sentences


def _sentence(lines: list[str], first: int, source: str, shared: SharedText) -> Sentence:
    n_before = 0
    while n_before < len(lines) and (not lines[n_before] or lines[n_before].startswith("#")):
        n_before += 1
    start = first + n_before
    if n_before == len(lines):
        raise DataError(
            source,
            start - 1,
            f"found a sentence without words, only comments (from line {first}); expected a line "
            "for each word. Remove the comments, or the blank line after them.",
        )
    words = lines[n_before:]
    extras: tuple[tuple[int, str], ...] = ()
    cells = shared.of("\t".join(words).split("\t"))
    width = len(NAMES)
    is_plain = [line.count("\t") for line in words].count(width - 1) == len(words)
    if not is_plain or tuple(cells[::width]) != _COUNTED[: len(words)]:
        cells, extras = _words_and_extras(words, start, source, shared)
    columns = {name: tuple(cells[place::width]) for place, name in enumerate(NAMES)}
    return Sentence(columns, tuple(lines[:n_before]), extras, source=source, first_line=start)


def _words_and_extras(
    lines: list[str], start: int, source: str, shared: SharedText
) -> tuple[list[str], tuple[tuple[int, str], ...]]:
    """The cells of all words, and the other lines with the number of words before each."""
    cells: list[str] = []
    extras: list[tuple[int, str]] = []
    n_words = 0
    for number, line in enumerate(lines, start):
        row = line.split("\t")
        if row[0] == str(n_words + 1):
            if len(row) != len(NAMES):
                raise _column_error(row, number, source)
            cells += shared.of(row)
            n_words += 1
        elif row[0].startswith("#"):
            extras.append((n_words, line))
        elif len(row) != len(NAMES):
            raise _column_error(row, number, source)
        elif _EXTRA_ID.fullmatch(row[0]):
            extras.append((n_words, line))
        else:
            raise DataError(
                source,
                number,
                f"found the id {shown(row[0])}; expected {n_words + 1}, since words are "
                "numbered from 1 without gaps (a range such as 1-2 is a multiword token, and 1.1 "
                "an empty node). A blank line must stand between sentences.",
            )
    if not cells:
        raise DataError(
            source, start, "found a sentence without words; expected a line that begins with 1."
        )
    return cells, tuple(extras)


def _column_error(row: list[str], line: int, source: str) -> Exception:
    n_columns = len(row)
    found = f"found {n_columns} column{'' if n_columns == 1 else 's'} separated by tabs"
    if n_columns == 1 and len(row[0].split()) == len(NAMES):
        advice = "The columns are separated by blanks: make them tabs."
    elif n_columns == 1 and not row[0].strip():
        advice = "The line holds only blanks: make it empty to end a sentence."
    else:
        advice = f"Write {EMPTY} for a value that is not there."
    return DataError(
        source,
        line,
        f"{found} in {shown(chr(9).join(row))}; expected 10, {', '.join(NAMES)}. {advice}",
    )


def write_conllu(path: StrPath, sentences: Iterable[Sentence]) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "dogs.conllu.gz"
    >>> write_conllu(path, [Sentence({"FORM": ("Dogs",), "UPOS": ("NOUN",)})])
    >>> read_conllu(path)[0].column("UPOS")
    ('NOUN',)
    """
    write_text(path, conllu_text(sentences))


def conllu_text(sentences: Iterable[Sentence]) -> str:
    r"""Sentences as CoNLL-U. Columns that a sentence lacks are `_`, and words are numbered.

    >>> conllu_text([Sentence({"FORM": ("Dogs",)})])
    '1\tDogs\t_\t_\t_\t_\t_\t_\t_\t_\n\n'
    """
    return "".join(map(_sentence_text, sentences))


def _sentence_text(sentence: Sentence) -> str:
    unknown = [name for name in sentence.names if name not in NAMES]
    if unknown:
        raise ValueError(
            f"{sentence.where()}: the column {unknown[0]!r} has no place in CoNLL-U, whose columns "
            f"are {', '.join(NAMES)}. Rename it, or put it into MISC by with_misc."
        )
    n_words = len(sentence)
    given = sentence.columns
    if "ID" not in given:
        given = {"ID": tuple(str(number) for number in range(1, n_words + 1)), **given}
    columns = [given.get(name) or (EMPTY,) * n_words for name in NAMES]
    lines = list(map("\t".join, zip(*columns, strict=True)))
    wrong = broken_line(lines, "\t", len(NAMES) - 1)
    if wrong is not None:
        raise ValueError(
            f"{sentence.where(wrong)}: a value contains a tab or a line end, in "
            f"{shown(lines[wrong])}; CoNLL-U cannot hold it. Replace it, for example by a blank."
        )
    for position, extra in reversed(sentence.extras):
        lines.insert(position, extra)
    return "\n".join([*sentence.before, *lines, "", *sentence.after, ""])


def features(sentence: Sentence, column: str = "FEATS") -> tuple[dict[str, str], ...]:
    """FEATS (or MISC) of every word as a dictionary; a name without a value maps to "".

    >>> features(Sentence({"FEATS": ("Case=Nom|Number=Sing", "_")}))
    ({'Case': 'Nom', 'Number': 'Sing'}, {})
    """
    return tuple(map(_parsed, sentence.column(column)))


def _parsed(value: str) -> dict[str, str]:
    if value == EMPTY:
        return {}
    pairs = (item.partition("=") for item in value.split("|"))
    return {name: _unescaped(text) for name, _, text in pairs}


def with_misc(sentence: Sentence, key: str, values: Sequence[str]) -> Sentence:
    r"""A sentence with `key=value` in MISC of every word, in place of an older value.

    What would break the column is written as Universal Dependencies do: `\p` for a bar, `\s` for
    a blank, `\t`, `\n`, `\r`, and `\\` for a backslash.

    >>> with_misc(Sentence({"FORM": ("Dogs",), "MISC": ("Gloss=x",)}), "P", ["0.9"]).column("MISC")
    ('Gloss=x|P=0.9',)
    """
    if not key or re.search(r"[=|\s]", key):
        raise ValueError(f"the name {key!r} came for MISC; expected one without '=', '|' or blanks")
    old = sentence.columns.get("MISC") or (EMPTY,) * len(sentence)
    if len(values) != len(sentence):
        raise ValueError(
            f"{sentence.where()}: {len(values)} values came for {key!r} in MISC; "
            f"expected {len(sentence)}, one for each word."
        )
    return sentence.replaced(
        "MISC", [_added(item, key, value) for item, value in zip(old, values, strict=True)]
    )


def _added(old: str, key: str, value: str) -> str:
    kept = [] if old == EMPTY else old.split("|")
    kept = [item for item in kept if item.partition("=")[0] != key]
    return "|".join([*kept, f"{key}={_escaped(value)}"])


_ESCAPES = {"\\": "\\\\", "|": "\\p", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {code: character for character, code in _ESCAPES.items()}


def _escaped(value: str) -> str:
    return "".join(_ESCAPES.get(character, character) for character in value)


def _unescaped(value: str) -> str:
    if "\\" not in value:
        return value
    return re.sub(r"\\.", lambda match: _UNESCAPES.get(match[0], match[0]), value)
