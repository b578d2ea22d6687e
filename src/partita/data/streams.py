"""Sentences of a file as they are read: a little at a time, whatever its size."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

from partita.data.formats import WAYS, Document, Format, ReadingMatter, guess_format
from partita.data.plain import Tokeniser
from partita.data.text import no_text, read_line_pieces, source_name
from partita.data.tokens import split_at_blanks
from partita.files import StrPath
from partita.garbage import unsought

_LINE = re.compile(r"[^\n]+")


@dataclass(frozen=True)
class DocumentText:
    """The text of some sentences of a file, and how to read it."""

    matter: ReadingMatter
    format: Format

    @cached_property
    def document(self) -> Document:
        """The sentences."""
        # Texts by the ten thousand that stay, and no cycles.
        with unsought():
            sentences = tuple(WAYS[self.format].parse(self.matter))
        return Document(sentences, self.format, self.matter.source)

    def documents(self, most: int) -> Iterator[Document]:
        """The sentences, at most so many at a time."""
        for start in range(0, len(self.document), most):
            part = self.document[start : start + most]
            yield Document(part, self.format, self.matter.source)


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
    for text in stream_texts(path, format=format, names=names, tokeniser=tokeniser):
        yield from text.documents(most)


def stream_texts(
    path: StrPath,
    *,
    format: Format | None = None,
    names: Sequence[str] | None = None,
    tokeniser: Tokeniser = split_at_blanks,
) -> Iterator[DocumentText]:
    """What `stream_documents` reads, before it is parsed, which anybody may do in any order.

    Only the first one is parsed here, if nobody did, where it says what the columns are.
    """
    source, n_lines, waiting, separator = source_name(path), 0, "", ""
    text: DocumentText | None = None
    for piece in chain(read_line_pieces(path), [None]):
        waiting += piece or ""
        if format is None and waiting.strip():
            format = guess_format(waiting)
        whole = _complete(waiting, format) if piece is not None else waiting
        if format is None or not whole.strip():
            continue
        text = DocumentText(
            ReadingMatter(whole, source, n_lines + 1, names, separator, tokeniser), format
        )
        n_lines, waiting = n_lines + whole.count("\n"), waiting[len(whole) :]
        yield text
        if format == "columns" and not separator:
            names, separator = text.document.names, text.document[0].separator
    if text is None:
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
    lines = (found[0] for found in _LINE.finditer(whole))
    return whole if any(line.strip() and not line.startswith(ways.beside) for line in lines) else ""
