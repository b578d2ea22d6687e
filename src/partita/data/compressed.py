"""Bytes that gzip wrote, within bounds, so that no small file fills a disk; others as they are."""

import gzip
import os
import zlib
from collections.abc import Callable, Iterator
from typing import Any, cast

from partita.data.errors import DataError
from partita.files import StrPath

GZIP_SUFFIX, GZIP_START = ".gz", b"\x1f\x8b"
"""How names of compressed files end, and how the files begin."""
MOST_EXPANSION = 200
"""Times its size that a compressed file may expand to; text does to some 3 to 20 times."""
ALWAYS_ALLOWED = 2**26
"""Bytes that any compressed file may expand to."""
MOST_EXPANDED = 2**34
"""Bytes that no compressed file may exceed."""
PIECE = 2**20
"""Bytes that are read at a time."""
FIRST_PIECE = 2**18
"""Those that are read first: whoever shares out what follows has to do with them alone."""


def is_compressed(path: StrPath) -> bool:
    """Whether a file is one that gzip wrote, by its name or by its first bytes."""
    if os.fspath(path).endswith(GZIP_SUFFIX):
        return True
    if not os.path.isfile(path):  # what is read from a pipe is gone
        return False
    with open(path, "rb") as file:
        return file.read(len(GZIP_START)) == GZIP_START


class _Raw:
    """Bytes as they come behind the first ones, which were looked at."""

    def __init__(self, first: bytes, read: Callable[[int], bytes]) -> None:
        self.first = first
        self._read = read
        self.n_read = len(first)

    def read(self, size: int = PIECE) -> bytes:
        """At most so many; none at the end."""
        found = self.first[:size]
        if found:
            self.first = self.first[size:]
            return found
        found = self._read(size)
        self.n_read += len(found)
        return found


def contents(read: Callable[[int], bytes], name: str, size: int = 0) -> Iterator[bytes]:
    """What some bytes say, which are `size` or more: as they are, or decompressed."""
    first = read(min(FIRST_PIECE, PIECE))
    if first == GZIP_START[:1]:  # a program that writes slowly
        first += read(PIECE)
    is_named = name.endswith(GZIP_SUFFIX)
    raw = _Raw(first, read)
    if not is_named and not first.startswith(GZIP_START):
        while piece := raw.read():
            yield piece
        return
    try:
        yield from _decompressed(raw, name, size)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # a disk that cannot be read, say
        why = f"its name ends in {GZIP_SUFFIX}" if is_named else "it begins like one"
        raise DataError(
            name,
            None,
            f"the file cannot be decompressed ({error}); expected one that gzip wrote, since "
            f"{why}. Copy it again, or rename it if it is no {GZIP_SUFFIX}.",
        ) from None


def _decompressed(raw: _Raw, name: str, size: int) -> Iterator[bytes]:
    """The contents of a gzip file, as long as they are not out of all proportion to it."""
    total = 0
    with gzip.GzipFile(fileobj=cast(Any, raw), mode="rb") as file:
        while piece := file.read(PIECE):
            total += len(piece)
            size = max(size, raw.n_read)
            if total > max(ALWAYS_ALLOWED, MOST_EXPANSION * size) or total > MOST_EXPANDED:
                raise DataError(
                    name,
                    None,
                    f"its {size:,} bytes expand to more than {total - len(piece):,}; expected "
                    f"text, which expands to at most {MOST_EXPANSION} times its size, and to "
                    f"{MOST_EXPANDED:,} bytes at most. If you trust the file, decompress it with "
                    "gunzip and give the result.",
                )
            yield piece
