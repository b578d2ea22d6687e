"""Sentences of a file as they are read: a little at a time, whatever its size."""

from collections.abc import Iterator, Sequence

from partita.data.formats import WAYS, Document, Format, ReadingMatter, guess_format
from partita.data.plain import Tokeniser
from partita.data.text import no_text, read_line_pieces, source_name
from partita.data.tokens import split_at_blanks
from partita.files import StrPath


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
    ways = WAYS[format]
    end = ways.end.match(text)
    whole = "" if end is None else text[: end.end(1)]
    lines = whole.split("\n")
    return whole if any(line.strip() and not line.startswith(ways.beside) for line in lines) else ""


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
    if format == "columns" and last is not None:
        names, separator = last.names, last[0].separator
    else:
        separator = ""
    matter = ReadingMatter(text, source, first_line, names, separator, tokeniser)
    return Document(tuple(WAYS[format].parse(matter)), format, source)


def _in_parts(document: Document, most: int) -> Iterator[Document]:
    for start in range(0, len(document), most):
        yield Document(document[start : start + most], document.format, document.source)
