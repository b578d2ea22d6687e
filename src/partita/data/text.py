"""Text of a file, checked; its blocks of lines; and text into a file, all of it or none."""

import gzip
import os
import re
import sys
import zlib
from collections.abc import Iterator

from partita.data.errors import DataError, shown
from partita.files import StrPath, atomic_writer

STANDARD = "-"
"""As a path: standard input or standard output."""

MOST_EXPANSION = 200
"""Times its size that a compressed file may expand to; text does to some 3 to 20 times."""
ALWAYS_ALLOWED = 2**26
"""Bytes that any compressed file may expand to."""
MOST_EXPANDED = 2**34
"""Bytes that no compressed file may exceed."""
PIECE = 2**20

_BLANK = re.compile(r"^[ \t]+$", re.MULTILINE)


def source_name(path: StrPath) -> str:
    """How messages name a file."""
    return "standard input" if os.fspath(path) == STANDARD else os.fspath(path)


def read_text(path: StrPath, *, may_be_blank: bool = False) -> str:
    r"""The text of a file in UTF-8, with "\n" between lines whatever the file has.

    A name that ends in `.gz` is decompressed; `-` is standard input. Bytes that are not UTF-8, a
    carriage return that ends no line, a `.gz` that is damaged or expands beyond measure, and a
    file without any text (unless it `may_be_blank`) are a `DataError`. Every reader of ours, of
    templates too, gets its text from here.
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
    return _with_our_line_ends(text, source)


def _with_our_line_ends(text: str, source: str) -> str:
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    place = text.find("\r")
    if place >= 0:
        raise DataError(
            source,
            text.count("\n", 0, place) + 1,
            "found a carriage return (\\r) that no line feed (\\n) follows; expected lines that "
            "end in \\n or \\r\\n. Convert the file, for example with tr '\\r' '\\n'.",
        )
    return text


def _read_bytes(path: StrPath) -> bytes:
    if os.fspath(path) == STANDARD:
        if sys.stdin is None or sys.stdin.closed:
            raise DataError(source_name(path), None, "it is closed; name a file instead of -.")
        return sys.stdin.buffer.read()
    if not os.fspath(path).endswith(".gz"):
        with open(path, "rb") as file:
            return file.read()
    try:
        return _decompressed(path)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise  # the file is not there, or not ours to read
        raise DataError(
            os.fspath(path),
            None,
            f"the file cannot be decompressed ({error}); expected one that gzip wrote, since its "
            "name ends in .gz. Copy it again, or rename it.",
        ) from None


def _decompressed(path: StrPath) -> bytes:
    """The contents of a gzip file, as long as they are not out of all proportion to it."""
    size = os.path.getsize(path)
    data = bytearray()
    with gzip.open(path, "rb") as file:
        while piece := file.read(PIECE):
            data += piece
            if len(data) > max(ALWAYS_ALLOWED, MOST_EXPANSION * size) or len(data) > MOST_EXPANDED:
                raise DataError(
                    os.fspath(path),
                    None,
                    f"its {size:,} bytes expand to more than {len(data) - len(piece):,}; expected "
                    f"text, which expands to at most {MOST_EXPANSION} times its size, and to "
                    f"{MOST_EXPANDED:,} bytes at most. If you trust the file, decompress it with "
                    "gunzip and give the result.",
                )
    return bytes(data)


def write_text(path: StrPath, text: str) -> None:
    """Write a file in one step, compressed if its name ends in `.gz`; `-` is standard output.

    A text that `read_text` would not read back is a ValueError.
    """
    place = text.replace("\r\n", "\n").find("\r")
    if place >= 0:
        around = text[max(place - 20, 0) : place + 20]
        raise ValueError(
            f"a value contains a carriage return, near {shown(around)}; readers would take it for "
            "the end of a line. Replace it, for example by a blank."
        )
    data = text.encode()
    if os.fspath(path) == STANDARD:
        if sys.stdout is None or sys.stdout.closed:
            raise ValueError("standard output is closed; name a file instead of -.")
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
