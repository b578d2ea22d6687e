"""Sentences that stay in files: cut into blocks, which anybody can read without the rest."""

import glob
import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from partita.data.columns import parse_columns
from partita.data.compressed import is_compressed
from partita.data.conllu import parse_conllu
from partita.data.errors import DataError
from partita.data.formats import Document, Format
from partita.data.sentences import Sentence
from partita.data.streams import stream_documents
from partita.data.text import block_text, byte_pieces
from partita.files import StrPath

BLOCK = 2**22
"""Bytes of a block, about: a second's work."""
CHUNK = 4096
"""Sentences that are parsed, or encoded, together."""
_SCAN = 2**16


@dataclass(frozen=True)
class TextBlock:
    """Some sentences of a file: the bytes from `start` to `end`, or all of a compressed file."""

    path: str
    format: Format
    names: tuple[str, ...]
    separator: str
    start: int = 0
    end: int | None = None

    def documents(self) -> Iterator[Document]:
        """The sentences, a few thousand at a time."""
        if self.end is None:
            names = None if self.format == "conllu" else self.names
            yield from stream_documents(self.path, format=self.format, names=names, most=CHUNK)
            return
        try:
            sentences = self._parsed(1)
        except DataError:
            # Only a message needs to know the number of a line in the whole file.
            sentences = self._parsed(self._first_line())
        for start in range(0, len(sentences), CHUNK):
            yield Document(tuple(sentences[start : start + CHUNK]), self.format, self.path)

    def digest(self) -> bytes:
        """Tells its contents from others."""
        found = hashlib.blake2b(repr(self.names).encode(), digest_size=16)
        if self.end is not None:
            found.update(self._bytes())
        else:
            for piece in byte_pieces(self.path):
                found.update(piece)
        return found.digest()

    def _parsed(self, first_line: int) -> list[Sentence]:
        text = block_text(self._bytes(), self.path, first_line, self.start)
        if self.format == "conllu":
            return parse_conllu(text, self.path, first_line)
        return parse_columns(text, self.names, self.path, first_line, self.separator)

    def _bytes(self) -> bytes:
        assert self.end is not None
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)

    def _first_line(self) -> int:
        count, left = 1, self.start
        with open(self.path, "rb") as file:
            while left and (piece := file.read(min(left, BLOCK))):
                count, left = count + piece.count(b"\n"), left - len(piece)
        return count


class SentenceFiles:
    """The sentences of files in CoNLL-U or columns, to be read a block at a time, by anybody.

    Names may be patterns, and files compressed by gzip. `Tagger.fit` takes it in place of
    sentences: then each worker reads and encodes its own blocks, and no one needs memory for all.

    >>> from partita import samples
    >>> files = SentenceFiles(samples.path("treebank-dev.conllu"))
    >>> sum(len(document) for block in files.blocks for document in block.documents())
    100
    """

    def __init__(
        self,
        *patterns: StrPath,
        format: Format | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        paths = [path for pattern in patterns for path in matching_files(pattern)]
        if not paths:
            raise ValueError("no files came; expected the names of some, or patterns.")
        first = next(stream_documents(paths[0], format=format, names=names, most=CHUNK))
        if first.format == "plain":
            raise DataError(
                paths[0],
                None,
                "this seems to be plain text; expected CoNLL-U or columns, which have tags.",
            )
        self.paths = tuple(paths)
        self.format: Format = first.format
        self.names = tuple(first.names)
        self.head: Document = first
        """The first sentences."""
        kind = (self.format, self.names, first[0].separator)
        self.blocks = [block for path in paths for block in _blocks(path, *kind)]

    def __repr__(self) -> str:
        return f"SentenceFiles({', '.join(map(repr, self.paths))})"


def matching_files(given: StrPath) -> list[str]:
    """The files that a pattern stands for, in order; a name that is no pattern stands for itself.

    >>> matching_files("my.conllu")
    ['my.conllu']
    """
    if not isinstance(given, str | os.PathLike):
        raise TypeError(
            f"something of the type {type(given).__name__} came; expected the name of a file, or a "
            "pattern. Give several names one by one: SentenceFiles(*names)."
        )
    pattern = os.fspath(given)
    if not glob.has_magic(pattern) or Path(pattern).exists():
        return [pattern]
    found = sorted(glob.glob(pattern, recursive=True))
    if not found:
        raise ValueError(f"no file matches {pattern!r}; expected at least one. Check the path.")
    return found


def _blocks(
    path: str, format: Format, names: tuple[str, ...], separator: str
) -> Iterator[TextBlock]:
    """Cuts at blank lines, where they depend on the file alone and not on who reads it."""
    if is_compressed(path):
        yield TextBlock(path, format, names, separator)
        return
    size, start = os.path.getsize(path), 0
    with open(path, "rb") as file:
        while start < size:
            end = _next_blank(file, start + BLOCK, size)
            yield TextBlock(path, format, names, separator, start, end)
            start = end


def _next_blank(file: object, place: int, size: int) -> int:
    """Behind the first blank line from a place on, or the end."""
    before = b""
    file.seek(place)  # type: ignore[attr-defined]
    while piece := file.read(_SCAN):  # type: ignore[attr-defined]
        text = before + piece
        for blank in (b"\n\n", b"\n\r\n"):
            found = text.find(blank)
            if found >= 0:
                return int(place - len(before) + found + len(blank))
        place, before = place + len(piece), text[-2:]
    return size
