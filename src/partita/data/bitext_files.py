"""Sentences and their translations that stay in files: cut into blocks, to be read by anybody."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import repeat

from partita.data.bitext import Bitext, join_sides, parse_bitext, stream_bitext
from partita.data.compressed import is_compressed
from partita.data.files import BLOCK
from partita.data.text import block_text, byte_pieces
from partita.files import StrPath

CHUNK = 4096
"""Pairs that are read together."""


@dataclass(frozen=True)
class Lines:
    """Neighbouring lines of a file, by their bytes."""

    path: str
    start: int
    end: int

    def text(self, first_line: int) -> str:
        """What they say, the first of them being that line of the file."""
        return block_text(self.read(), self.path, first_line, self.start)

    def read(self) -> bytes:
        """Their bytes."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            return file.read(self.end - self.start)


@dataclass(frozen=True)
class BitextBlock:
    """Some pairs of a bitext: lines of one or two files, or whole files that are compressed."""

    paths: tuple[str, ...]
    number: int = 0
    lines: tuple[Lines, ...] = ()
    first_line: int = 1

    def bitexts(self) -> Iterator[Bitext]:
        """The pairs, some thousands at a time where they stream."""
        if not self.lines:
            yield from stream_bitext(*self.paths, most=CHUNK)
            return
        texts = [each.text(self.first_line) for each in self.lines]
        if len(texts) == 1:
            yield parse_bitext(texts[0], self.paths[0], self.first_line)
        else:
            names = self.paths[0], self.paths[1]
            yield join_sides(texts[0], texts[1], *names, first=self.first_line)

    @property
    def digest(self) -> bytes:
        """Tells its contents from others."""
        found = hashlib.blake2b(digest_size=16)
        for lines in self.lines:
            found.update(lines.read())
        for path in () if self.lines else self.paths:
            for piece in byte_pieces(path):
                found.update(piece)
        return found.digest()


class BitextFiles:
    """The pairs of two files, a sentence a line, or of one file of `source ||| target` lines.

    `Aligner.fit` and `Translator.fit` take it in place of sentences: then each worker reads and
    encodes its own blocks, and nobody needs memory for all. A compressed file is one block.

    >>> from partita import samples
    >>> files = BitextFiles(samples.path("bitext-dev.txt"))
    >>> sum(len(bitext) for block in files.blocks for bitext in block.bitexts()) > 10
    True
    """

    def __init__(self, path: StrPath, target_path: StrPath | None = None) -> None:
        given = (path,) if target_path is None else (path, target_path)
        self.paths = tuple(os.fspath(each) for each in given)
        if any(map(is_compressed, self.paths)):
            self.blocks = [BitextBlock(self.paths)]
        else:
            self.blocks = list(_blocks(self.paths))

    def __repr__(self) -> str:
        return f"BitextFiles({', '.join(map(repr, self.paths))})"


def _blocks(paths: tuple[str, ...]) -> Iterator[BitextBlock]:
    """Cuts behind lines that have the same number in both files."""
    first, starts = 1, [0] * len(paths)
    number = 0
    with open(paths[0], "rb") as source, open(paths[-1], "rb") as target:
        while lines := source.readlines(BLOCK):
            ends = [starts[0] + sum(map(len, lines))]
            if len(paths) > 1:
                size = sum(len(target.readline()) for _ in repeat(None, len(lines)))
                ends.append(starts[1] + size)
            parts = tuple(map(Lines, paths, starts, ends))
            yield BitextBlock(paths, number, parts, first)
            first, starts, number = first + len(lines), ends, number + 1
        if len(paths) > 1 and target.read(1):
            # Lines without a partner, which reading refuses by their number.
            size = os.path.getsize(paths[1])
            parts = (Lines(paths[0], starts[0], starts[0]), Lines(paths[1], starts[1], size))
            yield BitextBlock(paths, number, parts, first)
