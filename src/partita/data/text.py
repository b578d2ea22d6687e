"""Text of a file, checked; its blocks of lines; and text into a file, all of it or none."""

import contextlib
import gzip
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast

from partita.data.errors import DataError, shown
from partita.files import StrPath, atomic_writer

STANDARD = "-"
"""As a path: standard input or standard output."""

GZIP_SUFFIX, GZIP_START = ".gz", b"\x1f\x8b"
"""How names of compressed files end, and how the files begin."""
OTHERS = {
    b"BZh": "bzip2 wrote it; decompress it first, with bunzip2",
    b"\xfd7zXZ": "xz wrote it; decompress it first, with unxz",
    b"\x28\xb5\x2f\xfd": "zstd wrote it; decompress it first, with unzstd",
    b"PK\x03\x04": "it is a zip archive; unpack it first, with unzip",
    b"\xff\xfe": "it seems to be UTF-16; convert it, with iconv -f utf-16 -t utf-8",
    b"\xfe\xff": "it seems to be UTF-16; convert it, with iconv -f utf-16 -t utf-8",
}
"""What files are that begin like this, and are no text in UTF-8."""
MOST_EXPANSION = 200
"""Times its size that a compressed file may expand to; text does to some 3 to 20 times."""
ALWAYS_ALLOWED = 2**26
"""Bytes that any compressed file may expand to."""
MOST_EXPANDED = 2**34
"""Bytes that no compressed file may exceed."""
PIECE = 2**20

_BLANK = re.compile(r"^[ \t]+$", re.MULTILINE)


class SharedText(dict[str, str]):
    """Texts in which what is equal is one object.

    Data repeat few texts many times: a third of the memory, and looking them up is faster.

    >>> first, again = SharedText().of(["".join("no"), "".join("no")])
    >>> first is again
    True
    """

    def __missing__(self, text: str) -> str:
        self[text] = text
        return text

    def of(self, texts: Iterable[str]) -> list[str]:
        """The same texts, as they are shared."""
        return list(map(self.__getitem__, texts))


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
            yield from _contents(file.read, name, os.fstat(file.fileno()).st_size)
        return
    if sys.stdin is None or sys.stdin.closed:
        raise DataError(name, None, "it is closed; name a file instead of -.")
    stream = sys.stdin.buffer
    # What is there already; a test's stand-in may know only how to read all of it.
    yield from _contents(getattr(stream, "read1", stream.read), name)


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


def _contents(read: Callable[[int], bytes], name: str, size: int = 0) -> Iterator[bytes]:
    """What some bytes say, which are `size` or more: as they are, or decompressed."""
    first = read(PIECE)
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


def blocks(text: str, first: int = 1, blanks: str = "") -> Iterator[tuple[int, list[str], str]]:
    r"""Runs of lines that a blank line ends, each with the number of its first line, and the end.

    `first` is the number of the text's first line; lines of nothing but letters of `blanks` are
    blank, too.

    Surplus blank lines open the next block, as they are; those at the end of the text are a
    block of their own, so that nothing is lost.

    >>> list(blocks("a\nb\n\n\nc\n"))
    [(1, ['a', 'b'], ''), (4, ['', 'c'], '')]
    >>> list(blocks("a\n\t\nb", blanks=" \t"))
    [(1, ['a'], '\t'), (3, ['b'], '')]
    """
    if not any(_begins_line(text, blank) for blank in blanks):
        yield from _empty_line_blocks(text, first)
        return
    block: list[str] = []
    has_content = False
    end = len(text) - text.endswith("\n")
    for number, line in enumerate(_split(text, "\n", end), start=first):
        is_content = bool(line.strip(blanks))
        if is_content or not has_content:
            block.append(line)
            has_content = has_content or is_content
        else:
            yield first, block, line
            first, block, has_content = number + 1, [], False
    if block:
        yield first, block, ""


def _begins_line(text: str, letter: str) -> bool:
    return text.startswith(letter) or f"\n{letter}" in text


def _empty_line_blocks(text: str, first: int) -> Iterator[tuple[int, list[str], str]]:
    """Blocks where only empty lines are blank: a split at these, which is the fastest way."""
    waiting = ""
    for piece in _split(text, "\n\n", len(text)):
        block = waiting + piece
        if not block.strip("\n"):
            waiting = block + "\n\n"
            continue
        if block.endswith("\n"):  # the end of the text
            block = block[:-1]
        lines = block.split("\n")
        yield first, lines, ""
        first, waiting = first + len(lines) + 1, ""
    # What waited is no end of a block, but for the last line's own.
    rest = waiting.removesuffix("\n\n")
    if rest:
        yield first, rest.removesuffix("\n").split("\n"), ""


def _split(text: str, separator: str, end: int) -> Iterator[str]:
    """A text as far as its end, split a piece at a time: all of it at once is twice the text."""
    start = 0
    while (found := text.find(separator, start + PIECE, end)) >= 0:
        piece = text[start:found]
        # Of a run of line ends, separators are counted from its beginning.
        found -= (len(piece) - len(piece.rstrip("\n"))) % len(separator)
        yield from text[start:found].split(separator)
        start = found + len(separator)
    yield from text[start:end].split(separator)


def broken_line(lines: Sequence[str], separator: str, n_separators: int) -> int | None:
    r"""The first of some lines that has more separators than it should, or a line end; or None.

    None of them has fewer.

    >>> broken_line(["a\tb", "a\tb\tc"], "\t", 1)
    1
    """
    text = "\n".join(lines)
    if text.count(separator) == len(lines) * n_separators and text.count("\n") == len(lines) - 1:
        return None
    return next(
        index
        for index, line in enumerate(lines)
        if line.count(separator) != n_separators or "\n" in line
    )


def without_blanks(text: str) -> str:
    r"""Lines of nothing but blanks and tabs made empty.

    >>> without_blanks("a\n \t\nb")
    'a\n\nb'
    """
    return _BLANK.sub("", text) if _BLANK.search(text) else text
