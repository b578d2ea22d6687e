"""Sentences of a file as they are read: a little at a time, whatever its size."""

import re
from collections.abc import Iterator, Sequence

from partita.data.columns import DOCUMENT_START, parse_columns
from partita.data.conllu import parse_conllu
from partita.data.formats import Document, Format, guess_format
from partita.data.plain import Tokeniser, parse_plain
from partita.data.text import no_text, read_line_pieces, source_name
from partita.data.tokens import split_at_blanks
from partita.files import StrPath

LAST_END = {"conllu": re.compile(r"(?s).*(\n\n)"), "columns": re.compile(r"(?s).*(\n[ \t]*\n)")}
"""Up to the last line that ends a sentence."""


def stream_documents(
    path: StrPath,
    *,
    format: Format | None = None,
    names: Sequence[str] | None = None,
    most: int = 1000,
    tokeniser: Tokeniser = split_at_blanks,
) -> Iterator[Document]:
    """The sentences of a file, in documents of at most `most` sentences, as they can be read.

    All documents together are what `read_sentences` gives, except that the format is guessed from
    what comes first. Needs memory for a document and a piece of the file only; from a terminal or
    a pipe, sentences come as soon as they are complete.
    """
    source, n_lines, waiting = source_name(path), 0, ""
    last: Document | None = None
    for piece in read_line_pieces(path):
        waiting += piece
        if format is None and waiting.strip():
            format = guess_format(waiting)
        whole = _complete(waiting, format)
        if format is not None and whole:
            document = _parsed(whole, format, names, source, n_lines + 1, last, tokeniser)
            n_lines, last = n_lines + whole.count("\n"), document
            waiting = waiting[len(whole) :]
            yield from _in_parts(document, most)
    if waiting.strip():
        format = format or guess_format(waiting)
        rest = _parsed(waiting, format, names, source, n_lines + 1, last, tokeniser)
        yield from _in_parts(rest, most)
    elif last is None:
        raise no_text(path)


def _complete(text: str, format: Format | None) -> str:
    """What of a text can be parsed already; nothing as long as there is no whole sentence.

    Blank lines and comments wait for the sentence that they belong to.
    """
    if format is None or not text:
        return ""
    if format == "plain":
        end = text.rfind("\n") + 1
    else:
        ends = LAST_END[format].search(text)
        end = 0 if ends is None else ends.end(1)
    beside = {"plain": (), "columns": (DOCUMENT_START,), "conllu": ("#",)}[format]
    whole = text[:end]
    lines = whole.split("\n")
    return whole if any(line.strip() and not line.startswith(beside) for line in lines) else ""


def _parsed(
    text: str,
    format: Format,
    names: Sequence[str] | None,
    source: str,
    first_line: int,
    last: Document | None,
    tokeniser: Tokeniser,
) -> Document:
    """A document out of a piece of the file; columns are those of the piece before it."""
    if format == "conllu":
        sentences = parse_conllu(text, source, first_line)
    elif format == "plain":
        name = names[0] if names else "FORM"
        sentences = parse_plain(text, name, source, first_line, tokeniser)
    elif last is None:
        sentences = parse_columns(text, names, source, first_line)
    else:
        separator = last[0].separator
        sentences = parse_columns(text, last.names, source, first_line, separator)
    return Document(tuple(sentences), format, source)


def _in_parts(document: Document, most: int) -> Iterator[Document]:
    for start in range(0, len(document), most):
        yield Document(document[start : start + most], document.format, document.source)
