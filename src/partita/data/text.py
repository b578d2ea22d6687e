"""Text of a file, checked; and text into a file, all of it or none."""

import contextlib
import gzip
import os
import sys
from collections.abc import Iterable, Iterator

from partita.data.compressed import GZIP_SUFFIX, contents
from partita.data.errors import DataError, shown
from partita.files import StrPath, atomic_writer

STANDARD = "-"
"""As a path: standard input or standard output."""

OTHERS = {
    b"BZh": "bzip2 wrote it; decompress it first, with bunzip2",
    b"\xfd7zXZ": "xz wrote it; decompress it first, with unxz",
    b"\x28\xb5\x2f\xfd": "zstd wrote it; decompress it first, with unzstd",
    b"PK\x03\x04": "it is a zip archive; unpack it first, with unzip",
    b"\xff\xfe": "it seems to be UTF-16; convert it, with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "it seems to be UTF-16; convert it, with iconv -f utf-16 -t utf-8",
}
"""What files are that begin like this, and are no text in UTF-8."""


def source_name(path: StrPath) -> str:
    """How messages name a file."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"something of the type {type(path).__name__} came; expected the name of one file. "
            "Read several one by one, and add up what they hold."
        )
    return "standard input" if os.fspath(path) == STANDARD else os.fspath(path)


def read_text(path: StrPath, *, may_be_blank: bool = False) -> str:
    r"""The text of a file in UTF-8, with "\n" between lines whatever the file has.

    What gzip wrote is decompressed, whatever its name; `-` is standard input. Bytes that are not
    UTF-8, a carriage return that ends no line, a `.gz` that is damaged or expands beyond measure,
    and a file without any text (unless it `may_be_blank`) are a `DataError`. Every reader of ours,
    of templates too, gets its text from here.
    """
    text = _decoded(b"".join(byte_pieces(path)), source_name(path))
    if not may_be_blank and not text.strip():
        raise no_text(path)
    return text


def no_text(path: StrPath) -> DataError:
    """The error of a file without any text."""
    return DataError(
        source_name(path),
        None,
        "the file is empty; expected at least one sentence. Check the path, and the program that "
        "wrote it.",
    )


def read_line_pieces(path: StrPath) -> Iterator[str]:
    """The text of a file as it is read: whole lines, as many as there are so far.

    What a terminal or another program has not written yet is not waited for, so that answers can
    follow the lines; errors as for `read_text`.
    """
    source, n_lines, n_bytes = source_name(path), 0, 0
    # Joined once: a line of gigabytes, as in a file of zeros, is not copied for every piece of it.
    waiting: list[bytes] = []
    for data in byte_pieces(path):
        head, newline, tail = data.rpartition(b"\n")
        if not newline:
            waiting.append(data)
            continue
        whole = b"".join([*waiting, head, newline])
        text = _decoded(whole, source, n_lines, n_bytes)
        n_lines, n_bytes = n_lines + text.count("\n"), n_bytes + len(whole)
        waiting = [tail]
        yield text
    if rest := b"".join(waiting):
        yield _decoded(rest, source, n_lines, n_bytes)


def read_line_batches(path: StrPath, most: int) -> Iterator[list[str]]:
    """The lines of a file, at most so many at a time, as they can be read; errors likewise."""
    rest = ""
    is_empty = True
    for piece in read_line_pieces(path):
        is_empty = is_empty and not piece.strip()
        lines = (rest + piece).split("\n")
        rest = lines.pop()
        for start in range(0, len(lines), most):
            yield lines[start : start + most]
    if rest:
        yield [rest]
    if is_empty:
        raise no_text(path)


def block_text(data: bytes, source: str, first_line: int, start: int) -> str:
    """The text of a block of a file that begins at a line and a byte of it; errors likewise."""
    _check_zeros(data, source, first_line - 1)
    return _decoded(data, source, first_line - 1, start)


def _decoded(data: bytes, source: str, n_lines: int = 0, n_bytes: int = 0) -> str:
    """Text in UTF-8 with our line ends, behind so many lines and bytes of the same file."""
    try:
        text = data.decode("utf-8" if n_bytes else "utf-8-sig")
    except UnicodeDecodeError as error:
        if not n_bytes:
            _check_kind(data, source)
        line = n_lines + data.count(b"\n", 0, error.start) + 1
        raise DataError(
            source,
            line,
            f"the byte {data[error.start]:#04x} at position {n_bytes + error.start} of the file is "
            f"not UTF-8 ({error.reason}). Expected text in UTF-8; convert the file, "
            "for example with iconv -f latin1 -t utf-8.",
        ) from None
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    place = text.find("\r")
    if place >= 0:
        raise DataError(
            source,
            n_lines + text.count("\n", 0, place) + 1,
            "found a carriage return (\\r) that no line feed (\\n) follows; expected lines that "
            "end in \\n or \\r\\n. Convert the file, for example with tr '\\r' '\\n'.",
        )
    return text


def _check_kind(first: bytes, source: str) -> None:
    """An error if a file that cannot be text begins as those of a known kind do."""
    for start, what in OTHERS.items():
        if first.startswith(start):
            raise DataError(source, None, f"expected text in UTF-8, but {what}.") from None


def _check_zeros(data: bytes, source: str, n_lines: int) -> None:
    """An error if bytes behind so many lines of a file have a zero among them."""
    place = data.find(0)
    if place < 0:
        return
    if n_lines == 0:
        _check_kind(data, source)
    raise DataError(
        source,
        n_lines + data.count(b"\n", 0, place) + 1,
        "found a byte of value 0; expected text in UTF-8, which has none. The file is damaged, of "
        "another program, or in UTF-16 (convert it with iconv -f utf-16 -t utf-8).",
    )


def byte_pieces(path: StrPath) -> Iterator[bytes]:
    """The bytes of a file, or of standard input, as they come; decompressed if need be.

    Zeros are an error at once: a damaged file may be nothing else, and gigabytes long.
    """
    name, n_lines = source_name(path), 0
    for piece in _any_pieces(path, name):
        _check_zeros(piece, name, n_lines)
        n_lines += piece.count(b"\n")
        yield piece


def _any_pieces(path: StrPath, name: str) -> Iterator[bytes]:
    if os.fspath(path) != STANDARD:
        with open(path, "rb") as file:
            yield from contents(file.read, name, os.fstat(file.fileno()).st_size)
        return
    if sys.stdin is None or sys.stdin.closed:
        raise DataError(name, None, "it is closed; name a file instead of -.")
    stream = sys.stdin.buffer
    # What is there already; a test's stand-in may know only how to read all of it.
    yield from contents(getattr(stream, "read1", stream.read), name)


def write_text(path: StrPath, text: str) -> None:
    """Write a file in one step, compressed if its name ends in `.gz`; `-` is standard output.

    A text that `read_text` would not read back is a ValueError.
    """
    write_pieces(path, [text])


def write_pieces(path: StrPath, texts: Iterable[str]) -> None:
    """Write texts one behind the other, as they are made; a file still in one step."""
    if os.fspath(path) == STANDARD:
        if sys.stdout is None or sys.stdout.closed:
            raise ValueError("standard output is closed; name a file instead of -.")
        for text in texts:
            sys.stdout.write(_checked(text))
            sys.stdout.flush()
        return
    with atomic_writer(path) as file, contextlib.ExitStack() as stack:
        if os.fspath(path).endswith(GZIP_SUFFIX):
            file = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        for text in texts:
            file.write(_checked(text).encode())


def _checked(text: str) -> str:
    if (place := text.find("\0")) >= 0:
        raise ValueError(
            f"a value contains a character of code 0, near {shown(_around(text, place))}; readers "
            "would take the file for no text. Leave it out, or replace it by a blank."
        )
    if "\r" not in text:
        return text
    place = text.replace("\r\n", "\n").find("\r")
    if place >= 0:
        raise ValueError(
            f"a value contains a carriage return, near {shown(_around(text, place))}; readers "
            "would take it for the end of a line. Replace it, for example by a blank."
        )
    return text


def _around(text: str, place: int) -> str:
    return text[max(place - 20, 0) : place + 20]
