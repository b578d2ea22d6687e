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
import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import Array
from partita.files import atomic_writer
from partita.structures.batch import is_whole

MAGIC = b"PARTITA\0"
VERSION = 1
ALIGNMENT = 64
PREFIX = struct.Struct("<8sIIQQ")
START = PREFIX.size + 2 * hashlib.sha256().digest_size


class ModelFileError(ValueError):
    """A file that is not what it should be: what came, what was expected, what to do."""


@dataclass(frozen=True)
class Contents:
    """What a file holds: a header of plain JSON values, and arrays by name."""

    header: dict[str, Any]
    arrays: dict[str, Array]


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
    entries, chunks = _laid_out(arrays)
    complete = {**header, "arrays": entries}
    try:
        text = json.dumps(complete, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"the header cannot be written as JSON: {error}. Expected text, finite numbers, "
            "booleans, None, and lists and dictionaries of them; put arrays among the arrays."
        ) from None
    payload = hashlib.sha256()
    for chunk in chunks:
        payload.update(chunk)
    prefix = PREFIX.pack(MAGIC, VERSION, 0, len(text), sum(len(chunk) for chunk in chunks))
    top = hashlib.sha256(prefix + text)
    with atomic_writer(path) as file:
        file.write(prefix + top.digest() + payload.digest() + text)
        for chunk in chunks:
            file.write(chunk)


def read_model(
    path: str | os.PathLike[str], *, kind: str = "model", estimator: str | None = None
) -> Contents:
    """The contents of a file that `write_model` wrote, checked from the first byte to the last.

    A file that is truncated, foreign, newer, damaged, or of another kind or estimator raises
    `ModelFileError`, whose message says what came, what was expected and what to do.
    """
    with open(path, "rb") as file:
        header = _read_header(os.fspath(path), file)
        _check_kind(os.fspath(path), header, kind, estimator)
        # A bytearray, so that the arrays are writable and share its memory.
        payload = bytearray(header.pop(".length"))
        if file.readinto(payload) != len(payload) or file.read(1):
            raise _damaged(path, "it is shorter or longer than its header says")
    if hashlib.sha256(payload).digest() != header.pop(".digest"):
        raise _damaged(path, "the checksum of its arrays does not match")
    entries = header.pop("arrays")
    return Contents(header, {name: _array(path, payload, name, entries[name]) for name in entries})


def read_header(path: str | os.PathLike[str], *, kind: str = "model") -> dict[str, Any]:
    """What a file says it holds, without its arrays (nor their checksum)."""
    with open(path, "rb") as file:
        header = _read_header(os.fspath(path), file)
    _check_kind(os.fspath(path), header, kind, None)
    return {name: value for name, value in header.items() if not name.startswith(".")}


def _laid_out(arrays: Mapping[str, Array]) -> tuple[dict[str, Any], list[Any]]:
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


def _read_header(path: str, file: Any) -> dict[str, Any]:
    """The header, once its checksum says that it is what was written."""
    start = file.read(START)
    if not start.startswith(MAGIC):
        what = "is empty" if not start else f"begins with {bytes(start[:8])!r}"
        raise ModelFileError(
            f"{path} {what}; expected a file written by Partita, which begins with {MAGIC!r}. "
            "Check the path: it may be a data file or another program's model."
        )
    if len(start) < START:
        raise _damaged(path, f"it ends after {len(start)} bytes")
    _, version, zero, length, payload = PREFIX.unpack_from(start)
    if version > VERSION and zero == 0:
        raise ModelFileError(
            f"{path} has format version {version}; this Partita reads versions up to {VERSION}. "
            "Install a newer Partita, or train the model again with this one."
        )
    size = os.fstat(file.fileno()).st_size
    if START + length + payload != size:
        raise _damaged(path, f"it has {size} bytes instead of {START + length + payload}")
    text = file.read(length)
    digests = start[PREFIX.size :]
    if hashlib.sha256(start[: PREFIX.size] + text).digest() != digests[:32]:
        raise _damaged(path, "the checksum of its header does not match")
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _not_ours(path, f"its header is no JSON ({error})") from None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), dict):
        raise _not_ours(path, "its header does not say where its arrays are")
    return {**header, ".length": payload, ".digest": digests[32:]}


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


def _array(path: str | os.PathLike[str], payload: bytearray, name: str, entry: Any) -> Array:
    """An array of the file, once it is sure that it lies within."""
    try:
        kind, shape, offset = np.dtype(str(entry["type"])), entry["shape"], entry["offset"]
        is_ours = kind.kind in "biuf" and all(is_whole(n) and n >= 0 for n in [offset, *shape])
    except (KeyError, TypeError, ValueError):
        is_ours = False
    # The product of plain integers, which do not wrap around.
    if not is_ours or offset + kind.itemsize * math.prod(shape) > len(payload):
        raise _not_ours(path, f"its header describes the array {name!r} as {entry!r}")
    array = np.frombuffer(payload, kind, math.prod(shape), offset)
    return array.reshape(shape).astype(kind.newbyteorder("="), copy=False)


def _not_ours(path: str | os.PathLike[str], how: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)} was not written by Partita, though it begins like a file of ours: "
        f"{how[:200]}. Expected numbers that lie within the file. Do not use it."
    )


def _damaged(path: str | os.PathLike[str], how: str) -> ModelFileError:
    return ModelFileError(
        f"{os.fspath(path)} is damaged: {how}. Copy it again from where it came, or write it anew."
    )
