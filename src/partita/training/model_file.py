"""One file for a model or a checkpoint: a JSON header and plain arrays. Nothing in it can run.

Layout, all integers little-endian:

    8 bytes     the letters PARTITA and a zero byte
    u32         version of this layout
    u32         zero
    u64         length of the header
    u64         length of everything after the header
    32 bytes    SHA-256 of the preceding 32 bytes and the header
    32 bytes    SHA-256 of everything after the header
    header      JSON (UTF-8): kind, estimator, options, ..., and where each array lies
    arrays      each begins at a multiple of 64 bytes after the header, zeros between them

Arrays are numbers or booleans in little-endian C order; a type that could hold Python objects is
refused both ways. The checksums find damage; they are no signature, and need not be one, since
reading a file only ever makes numbers and text of it.
"""

import hashlib
import json
import math
import mmap
import os
import struct
from collections.abc import Mapping
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from partita.arrays import Array
from partita.files import atomic_writer
from partita.structures.batch import is_whole
from partita.training.contents import Contents, ModelFileError, check_numbers, not_ours

__all__ = ["Contents", "ModelFileError", "read_header", "read_model", "write_model"]

MAGIC = b"PARTITA\0"
VERSION = 2
"""Of the layout, and of what numbers mean: 2 has one hash of features, and one meaning of views."""
ALIGNMENT = 64
PREFIX = struct.Struct("<8sIIQQ")
MOST_HEADER = 2**30
"""Bytes of a header: words, names, options. Numbers go into arrays."""
PIECE = 2**20
"""Bytes that are read at a time for a checksum."""
START = PREFIX.size + 2 * hashlib.sha256().digest_size
_NAMES = [np.dtype(letter).newbyteorder("<").str for letter in "?bBhHiIlLqQefdg"]
TYPES = {name: np.dtype(name) for name in _NAMES}
"""What arrays may be of, by name. NumPy would take other names for expressions of Python."""


def write_model(
    path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write a file in one step: whoever looks sees the old file or the new one, never half of one.

    `header` says what the file is, with at least `kind` ("model" or "checkpoint"); a model adds
    `estimator`, `options`, `vocabulary` and the like: whatever JSON can hold. Numbers survive to
    the last bit. Costs one pass over the arrays for the checksum and one to write.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "small.model"
    >>> write_model(path, {"kind": "model", "estimator": "tagger"}, {"weights": np.arange(3.0)})
    >>> read_model(path, estimator="tagger").arrays["weights"]
    array([0., 1., 2.])
    """
    chunks = encoded(header, arrays)
    with atomic_writer(path) as file:
        for chunk in chunks:
            file.write(chunk)


def encoded(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> list[Any]:
    """The bytes of a file, in pieces to be written one after the other."""
    entries, chunks = laid_out(arrays)
    complete = {**header, "arrays": entries}
    try:
        text = json.dumps(complete, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the header cannot be written as JSON: {error}. Expected text, finite numbers, "
            "booleans, None, and lists and dictionaries of them; put arrays among the arrays."
        ) from None
    return framed(text, chunks)


def framed(text: bytes, chunks: list[Any]) -> list[Any]:
    """A header and what follows it, behind their lengths and checksums."""
    payload = hashlib.sha256()
    for chunk in chunks:
        payload.update(chunk)
    prefix = PREFIX.pack(MAGIC, VERSION, 0, len(text), sum(len(chunk) for chunk in chunks))
    top = hashlib.sha256(prefix + text)
    return [prefix + top.digest() + payload.digest() + text, *chunks]


def read_model(
    path: str | os.PathLike[str], *, kind: str = "model", estimator: str | None = None
) -> Contents:
    """The contents of a file that `write_model` wrote, checked from the first byte to the last.

    A file that is truncated, foreign, newer, damaged, or of another kind or estimator raises
    `ModelFileError`, whose message says what came, what was expected and what to do. So does one
    with an array that has a NaN among its numbers, if it is a model. Memory is taken only once the
    checksums are right, and no more than the file is long.
    """
    # A number would be a file that is open already.
    with open(os.fspath(path), "rb") as file:
        return decoded(os.fspath(path), file, _size(file), kind=kind, estimator=estimator)


def decoded(
    path: str, file: BinaryIO, size: int, *, kind: str, estimator: str | None = None
) -> Contents:
    """What the next `size` bytes of a file hold, which `encoded` made."""
    found = _read_header(path, file, size)
    _check_kind(path, found.header, kind, estimator)
    start = file.tell()
    if _checksum(file, found.n_bytes) != found.digest:
        raise damaged(path, "the checksum of its arrays does not match")
    file.seek(start)
    # A bytearray, so that the arrays are writable and share its memory.
    payload = bytearray(found.n_bytes)
    if file.readinto(payload) != len(payload):  # type: ignore[attr-defined]
        raise damaged(path, "it changed while it was read")
    arrays = _arrays(path, payload, found.header.pop("arrays"))
    if kind == "model":
        check_numbers(path, arrays)
    return Contents(found.header, arrays, path)


def mapped(path: str, start: int, size: int, *, kind: str) -> Contents:
    """What `size` bytes of a file hold from `start` on, its arrays as they lie there.

    The memory of what was read can be taken back by the system. What is written into an array stays
    in this process. Arrays must lie at multiples of `ALIGNMENT`, see `aligned`.
    """
    page = start - start % mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        if _size(file) < start + size:
            raise damaged(path, f"it ends before byte {start + size}")
        memory = mmap.mmap(file.fileno(), start + size - page, access=mmap.ACCESS_COPY, offset=page)
        file.seek(start)
        found = _read_header(path, file, size)
        _check_kind(path, found.header, kind, None)
        if _checksum(file, found.n_bytes) != found.digest:
            raise damaged(path, "the checksum of its arrays does not match")
    payload = memoryview(memory)[start - page + size - found.n_bytes :]
    return Contents(found.header, _arrays(path, payload, found.header.pop("arrays")), path)


def aligned(place: int, chunks: list[Any]) -> int:
    """Where from `place` on to write the pieces of `encoded`, so that they can be `mapped`."""
    return place + -(place + len(chunks[0])) % ALIGNMENT


def read_header(path: str | os.PathLike[str], *, kind: str = "model") -> dict[str, Any]:
    """What a file says it holds, without its arrays (nor their checksum)."""
    with open(os.fspath(path), "rb") as file:
        header = _read_header(os.fspath(path), file, _size(file)).header
    _check_kind(os.fspath(path), header, kind, None)
    return header


def _size(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_size


def laid_out(arrays: Mapping[str, Array]) -> tuple[dict[str, Any], list[Any]]:
    """Where each array lies after the header, and the bytes to write, gaps included."""
    entries: dict[str, Any] = {}
    chunks: list[Any] = []
    offset = 0
    for name, values in arrays.items():
        array = np.ascontiguousarray(values)
        if array.dtype.kind not in "biuf":
            raise ValueError(
                f"the array {name!r} has type {array.dtype}; expected numbers or booleans. "
                "Put text into the header."
            )
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        entries[name] = {"type": array.dtype.str, "shape": np.shape(values), "offset": offset}
        gap = -array.nbytes % ALIGNMENT
        chunks += [array.reshape(-1).view(np.uint8).data, bytes(gap)]
        offset += array.nbytes + gap
    return entries, chunks


class _FileHeader(NamedTuple):
    """A header, and what it says of what follows."""

    header: dict[str, Any]
    n_bytes: int
    digest: bytes


def _read_header(path: str, file: BinaryIO, size: int) -> _FileHeader:
    """The header, once its checksum says that it is what was written."""
    first = file.tell()
    start = file.read(START)
    length, payload = check_start(path, start, size)
    digests = start[PREFIX.size :]
    if _checksum(file, length, start[: PREFIX.size]) != digests[:32]:
        raise damaged(path, "the checksum of its header does not match")
    file.seek(first + START)
    return _FileHeader(_parsed_header(path, file.read(length)), payload, digests[32:])


def check_start(path: str, start: bytes, size: int) -> tuple[int, int]:
    """The lengths of the header and of what follows, once they fit to how many bytes there are."""
    if not start.startswith(MAGIC):
        raise ModelFileError(
            f"{path} is no model of Partita's: {_described(start)}. Expected a file that `save` or "
            "`partita train -o` wrote; check the path."
        )
    if len(start) < START:
        raise damaged(path, f"it ends after {len(start)} bytes")
    _, version, zero, length, payload = PREFIX.unpack_from(start)
    if version != VERSION and zero == 0:
        other = "a newer" if version > VERSION else "the older"
        raise ModelFileError(
            f"{path} has format version {version}; this Partita reads version {VERSION}. Train the "
            f"model again with this one, or use {other} Partita that wrote it."
        )
    if START + length + payload != size:
        raise damaged(path, f"it has {size} bytes instead of {START + length + payload}")
    if length > MOST_HEADER:
        raise not_ours(path, f"its header has {length:,} bytes, more than {MOST_HEADER:,}")
    return length, payload


def _described(start: bytes) -> str:
    """What a file is that is none of ours, by its first bytes."""
    if not start:
        return "it is empty"
    line = start.split(b"\n")[0].decode(errors="replace").strip()
    if line.isprintable() and "\N{REPLACEMENT CHARACTER}" not in line:
        return f"it seems to be a data file, whose first line is {line[:40]!r}"
    return "it seems to be another program's file"


def _parsed_header(path: str, text: bytes) -> dict[str, Any]:
    try:
        header = json.loads(text, parse_constant=_no_constant)
        if b"\\u" in text:
            # Half of a character, which no writer accepts later.
            json.dumps(header, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise not_ours(path, f"its header is no JSON ({error})") from None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict):
        raise not_ours(path, "its header does not say where its arrays are")
    return header


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _checksum(file: BinaryIO, n_bytes: int, start: bytes = b"") -> bytes:
    """SHA-256 of the next bytes of a file, read in pieces: a file can claim to be very long."""
    found = hashlib.sha256(start)
    while n_bytes > 0 and (piece := file.read(min(n_bytes, PIECE))):
        found.update(piece)
        n_bytes -= len(piece)
    return found.digest()


def _check_kind(path: str, header: dict[str, Any], kind: str, estimator: str | None) -> None:
    found = header.get("kind")
    if found != kind:
        raise ModelFileError(f"{path} holds a {found}; expected a {kind}. Check the path.")
    found = header.get("estimator")
    if estimator is not None and found != estimator:
        raise ModelFileError(
            f"{path} holds a model of kind {found!r}; expected {estimator!r}. Check the path, or "
            "use the command for that kind of model."
        )


def _arrays(
    path: str, payload: bytearray | memoryview, entries: Mapping[str, Any]
) -> dict[str, Array]:
    """All arrays of a file, which do not overlap: together they are no longer than the file."""
    arrays = {name: _array(path, payload, name, entry) for name, entry in entries.items()}
    if sum(array.nbytes for array in arrays.values()) > len(payload):
        raise not_ours(path, "its header describes arrays that overlap")
    return arrays


def _array(path: str, payload: bytearray | memoryview, name: str, entry: Any) -> Array:
    """An array of the file, once it is sure that it lies within."""
    try:
        kind, shape, offset = TYPES[entry["type"]], entry["shape"], entry["offset"]
        is_ours = _is_placed(kind, shape, offset, len(payload))
        array = np.frombuffer(payload, kind if is_ours else "u1", math.prod(shape), offset)
        array = array.reshape(shape)
    except (KeyError, TypeError, ValueError, OverflowError):
        is_ours = False
    # A byte that is neither 0 nor 1 would be true and not equal to true.
    if not is_ours or (kind.kind == "b" and (array.view(np.uint8) > 1).any()):
        raise not_ours(path, f"its header describes the array {name!r} as {entry!r}")
    return array.astype(kind.newbyteorder("="), copy=False)


def _is_placed(kind: np.dtype[Any], shape: Any, offset: Any, n_bytes: int) -> bool:
    """Whether an array lies where we put arrays, and within so many bytes."""
    is_aligned = all(is_whole(n) and n >= 0 for n in [offset, *shape]) and offset % ALIGNMENT == 0
    # The product of plain integers, which do not wrap around.
    return bool(is_aligned and offset + kind.itemsize * math.prod(shape) <= n_bytes)


def damaged(path: str | os.PathLike[str], how: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)} is damaged: {how}. Copy it again from where it came, or write it anew."
    )
