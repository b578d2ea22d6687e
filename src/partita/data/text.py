"""Text of a file, checked; its blocks of lines; and text into a file, all of it or none."""

import gzip
import os
import re
import sys
from collections.abc import Iterator

from partita.data.errors import DataError
from partita.files import StrPath, atomic_writer

STANDARD = "-"
"""As a path: standard input or standard output."""

_BLANK = re.compile(r"^[ \t]+$", re.MULTILINE)


def source_name(path: StrPath) -> str:
    """How messages name a file."""
    return "standard input" if os.fspath(path) == STANDARD else os.fspath(path)


def read_text(path: StrPath, *, may_be_blank: bool = False) -> str:
    r"""The text of a file in UTF-8, with "\n" between lines whatever the file has.

    A name that ends in `.gz` is decompressed; `-` is standard input. A file without any text is a
    `DataError`, unless it `may_be_blank`.
    """
    source = source_name(path)
    data = _read_bytes(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            source,
            line,
            f"the byte {data[error.start]:#04x} at position {error.start} of the file is not UTF-8 "
            f"({error.reason}). Expected text in UTF-8; convert the file, "
            "for example with iconv -f latin1 -t utf-8.",
        ) from None
    if not may_be_blank and not text.strip():
        raise DataError(
            source,
            None,
            "the file is empty; expected at least one sentence. Check the path, and the program "
            "that wrote it.",
        )
    return text.replace("\r\n", "\n")


def _read_bytes(path: StrPath) -> bytes:
    if os.fspath(path) == STANDARD:
        return sys.stdin.buffer.read()
    with open(path, "rb") as file:
        data = file.read()
    if not os.fspath(path).endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise DataError(
            os.fspath(path),
            None,
            f"the file cannot be decompressed ({error}); expected one that gzip wrote, since its "
            "name ends in .gz. Copy it again, or rename it.",
        ) from None


def write_text(path: StrPath, text: str) -> None:
    """Write a file in one step, compressed if its name ends in `.gz`; `-` is standard output."""
    data = text.encode()
    if os.fspath(path) == STANDARD:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    if os.fspath(path).endswith(".gz"):
        data = gzip.compress(data, mtime=0)
    with atomic_writer(path) as file:
        file.write(data)


def blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    r"""Runs of lines that a blank line ends, each with the number of its first line.

    Surplus blank lines open the next block, as empty strings; those at the end of the text are a
    block of their own, so that nothing is lost.

    >>> list(blocks("a\nb\n\n\nc\n"))
    [(1, ['a', 'b']), (4, ['', 'c'])]
    """
    first = 1
    block: list[str] = []
    has_content = False
    for number, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
        if line or not has_content:
            block.append(line)
            has_content = has_content or bool(line)
        else:
            yield first, block
            first, block, has_content = number + 1, [], False
    if block:
        yield first, block


def without_blanks(text: str) -> str:
    r"""Lines of nothing but blanks and tabs made empty.

    >>> without_blanks("a\n \t\nb")
    'a\n\nb'
    """
    return _BLANK.sub("", text) if _BLANK.search(text) else text
