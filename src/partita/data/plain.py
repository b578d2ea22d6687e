"""Plain text: one sentence a line, words separated by blanks, or found by a tokeniser."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from partita.data.errors import DataError
from partita.data.sentences import Sentence
from partita.data.text import read_text, source_name, write_text
from partita.data.tokens import split_at_blanks
from partita.files import StrPath

Tokeniser = Callable[[str], list[str]]
"""From a line of text to its words."""


def read_plain(
    path: StrPath, name: str = "FORM", tokeniser: Tokeniser = split_at_blanks
) -> list[Sentence]:
    """The sentences of a file; `-` is standard input, and `.gz` is decompressed."""
    return parse_plain(read_text(path), name, source_name(path), tokeniser=tokeniser)


def parse_plain(
    text: str,
    name: str = "FORM",
    source: str = "<text>",
    first_line: int = 1,
    tokeniser: Tokeniser = split_at_blanks,
) -> list[Sentence]:
    r"""The sentences of a text, with one column; blank lines are kept beside them.

    Lines are numbered from `first_line`. Words are separated by blanks, unless there is another
    tokeniser, such as `partita.data.tokenise`.

    >>> from partita.data import tokenise
    >>> [sentence] = parse_plain("Dogs bark.\n", tokeniser=tokenise)
    >>> sentence.column("FORM")
    ('Dogs', 'bark', '.')
    """
    sentences: list[Sentence] = []
    waiting: list[str] = []
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=first_line):
        words = tuple(tokeniser(line))
        if words:
            before = tuple(waiting)
            sentences.append(
                Sentence({name: words}, before=before, source=source, first_line=number)
            )
            waiting = []
        else:
            waiting.append("")
    if not sentences:
        raise DataError(source, None, "there are no words; expected one sentence a line.")
    sentences[-1] = replace(sentences[-1], after=tuple(waiting))
    return sentences


def write_plain(path: StrPath, sentences: Iterable[Sentence]) -> None:
    """Write a file in one step; `-` is standard output, and `.gz` is compressed."""
    write_text(path, plain_text(sentences))


def plain_text(sentences: Iterable[Sentence]) -> str:
    r"""The words of sentences, the first column, one sentence a line.

    >>> plain_text([Sentence({"FORM": ("Dogs", "bark")})])
    'Dogs bark\n'
    """
    return "".join(
        "\n".join([*sentence.before, " ".join(sentence.column(_words(sentence))), *sentence.after])
        + "\n"
        for sentence in sentences
    )


def _words(sentence: Sentence) -> str:
    return "FORM" if "FORM" in sentence.columns else sentence.names[0]
