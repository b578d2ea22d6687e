"""Objects one after the other in a file: what they have in common is written, and read, once.

What an object is made of (see `packing`) is the same from batch to batch of a corpus, but for some
numbers and for what is in the arrays. So a file has two kinds of things:

    layout   a model file of its own: the header of `pack`, with slots in place of numbers that
             differ; numbers and arrays that do not; the types of the other arrays
    record   the frame of a model file; in place of its header a table of 64-bit integers: where the
             layout is and how long, numbers in the order of their slots, and of each array where it
             lies and its shape

To read a record, the recipe of its layout is followed. All is mapped into memory.
"""

import hashlib
import json
import math
import mmap
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import FileIO
from typing import Any, BinaryIO

import numpy as np

from partita.arrays import Array, IntArray
from partita.training.contents import not_ours, refusing_wrong_contents
from partita.training.model_file import (
    ALIGNMENT,
    PREFIX,
    START,
    TYPES,
    aligned,
    check_start,
    damaged,
    encoded,
    framed,
    laid_out,
    mapped,
)
from partita.training.packing import Code, pack
from partita.training.recipes import Recipe, slots

KIND = "layout"
MOST_LAYOUTS = 64
"""That are known at a time: enough where objects are alike, and no burden where they are not."""
WORD = np.dtype("<i8")
REAL = np.dtype("<f8")
N_FIRST = 2
"""Entries of a table before the numbers: where the layout is."""


class RecordWriter:
    """Writes objects into a file as they come."""

    def __init__(self, file: BinaryIO, code: Code) -> None:
        self._file, self._code = file, code
        self._last: dict[int, Array] = {}
        """The arrays of the last object by id, and with it those that are common to several."""
        self._common: dict[int, Array] = {}
        self._differing: dict[bytes, dict[int, int | float]] = {}
        """By the digest of a header with slots: the numbers that have been the same so far."""
        self._layouts: dict[bytes, tuple[int, int]] = {}

    def write(self, value: Any) -> tuple[int, int]:
        """Where the object begins, and its length in bytes."""
        packed, arrays = pack(value, self._code)
        header, numbers = slots(packed)
        self._note_common(arrays)
        common = {name: each for name, each in arrays.items() if id(each) in self._common}
        own = {name: each for name, each in arrays.items() if name not in common}
        layout, slots_of_own = self._layout(header, numbers, common, own)
        entries, chunks = laid_out(own)
        places = [
            number for entry in entries.values() for number in (entry["offset"], *entry["shape"])
        ]
        bits = [_bits(numbers[slot]) for slot in slots_of_own]
        table = np.array([*layout, *bits, *places], dtype=WORD)
        return self._put(framed(table.tobytes(), chunks))

    def _note_common(self, arrays: Mapping[str, Array]) -> None:
        """What is the same object as in the last one is so in more of them."""
        present = {id(each): each for each in arrays.values()}
        if len(self._layouts) < MOST_LAYOUTS:
            again = present.keys() & self._last.keys()
            self._common |= {number: present[number] for number in again}
        # Held, so that no other array can get the number of one of them.
        self._last = present

    def _layout(
        self,
        header: Mapping[str, Any],
        numbers: Sequence[int | float],
        common: Mapping[str, Array],
        own: Mapping[str, Array],
    ) -> tuple[tuple[int, int], list[int]]:
        """Where the layout is, written if it is new; and the slots that the record fills."""
        types = {name: [_type_of(each), each.ndim] for name, each in own.items()}
        names = {name: id(each) for name, each in common.items()}
        kinds = [type(number).__name__ for number in numbers]
        shape = _digest([header, kinds, types, names])
        if shape not in self._layouts and len(self._layouts) >= MOST_LAYOUTS:
            self._layouts.clear()
            self._differing.clear()
        fixed = self._differing.setdefault(shape, dict(enumerate(numbers)))
        changed = [slot for slot, value in fixed.items() if _bits(value) != _bits(numbers[slot])]
        for slot in changed:
            del fixed[slot]
        if changed or shape not in self._layouts:
            text = {"kind": KIND, **header, "fixed": [*fixed.items()], "kinds": kinds}
            self._layouts[shape] = self._put(encoded({**text, "own": types}, common))
        return self._layouts[shape], [slot for slot in range(len(numbers)) if slot not in fixed]

    def _put(self, chunks: list[Any]) -> tuple[int, int]:
        self._file.seek(aligned(self._file.tell(), chunks))
        start = self._file.tell()
        for chunk in chunks:
            self._file.write(chunk)
        return start, self._file.tell() - start


@dataclass(frozen=True)
class RecordLayout:
    """What records have in common."""

    recipe: Recipe
    numbers: list[tuple[int, str]]
    """The cells of a record's own numbers in the recipe, in order, and their kinds."""
    arrays: list[tuple[int, np.dtype[Any], int]]
    """The cells of its own arrays, in order, their types and numbers of axes."""
    n_entries: int
    """Of its table."""

    @classmethod
    def read(cls, path: str, place: tuple[int, int], code: Sequence[Any]) -> "RecordLayout":
        """From a file."""
        contents = mapped(path, *place, kind=KIND)
        header = contents.header
        with refusing_wrong_contents(path):
            fixed = dict(header["fixed"])
            recipe = Recipe(header, code, fixed, contents.arrays)
            kinds = enumerate(header["kinds"])
            numbers = [(recipe.of_numbers[slot], kind) for slot, kind in kinds if slot not in fixed]
            arrays = [
                (recipe.of_arrays[name], TYPES[letters], int(n_axes))
                for name, (letters, n_axes) in header["own"].items()
            ]
        n_entries = N_FIRST + len(numbers) + sum(1 + n_axes for _, _, n_axes in arrays)
        return cls(recipe, numbers, arrays, n_entries)

    def made(self, path: str, memory: Any, start: int, table: IntArray) -> Any:
        """The object of a record whose arrays begin at a place of its bytes."""
        entries = table.tolist()
        if len(entries) != self.n_entries:
            raise not_ours(path, f"a table has {len(entries)} entries, not {self.n_entries}")
        cells = self.recipe.cells()
        at = N_FIRST
        for cell, number in self.numbers:
            cells[cell] = table.view(REAL)[at].item() if number == "float" else entries[at]
            at += 1
        for cell, kind, n_axes in self.arrays:
            # The length of a vector is a shape, too.
            shape = entries[at + 1] if n_axes == 1 else entries[at + 1 : at + 1 + n_axes]
            array: Array = np.ndarray(shape, kind, memory, start + entries[at])
            cells[cell] = array if kind.isnative else array.astype(kind.newbyteorder("="))
            at += 1 + n_axes
        return self.recipe.follow(cells)

    def check(self, path: str, table: IntArray, payload: memoryview) -> None:
        """Refuse arrays that do not lie where we put arrays; for a record that is new."""
        entries, at, total = table.tolist(), N_FIRST + len(self.numbers), 0
        for _, kind, n_axes in self.arrays:
            offset, *shape = entries[at : at + 1 + n_axes]
            at += 1 + n_axes
            n_bytes = kind.itemsize * math.prod(shape)
            total += n_bytes
            if min(offset, *shape, 0) < 0 or offset % ALIGNMENT or offset + n_bytes > len(payload):
                raise not_ours(path, f"an array of shape {shape} would begin at byte {offset}")
            # A byte that is neither 0 nor 1 would be true and not equal to true.
            if kind.kind == "b" and max(payload[offset : offset + n_bytes], default=0) > 1:
                raise not_ours(path, "an array of booleans has other bytes than 0 and 1")
        if total > len(payload):
            raise not_ours(path, "arrays overlap")


class RecordLayouts(dict[tuple[str, int], RecordLayout]):
    """Layouts that were read, by file and place; found again in another process."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RecordLayouts, ()

    def of(self, path: str, place: tuple[int, int], code: Sequence[Any]) -> RecordLayout:
        """The layout at a place of a file."""
        found = self.get((path, place[0]))
        if found is None:
            found = RecordLayout.read(path, place, code)
            if len(self) >= MOST_LAYOUTS:
                self.clear()
            self[path, place[0]] = found
        return found


def read_record(
    path: str,
    place: tuple[int, int],
    code: Sequence[Any],
    layouts: RecordLayouts,
    *,
    check: bool,
    is_kept: bool,
    next_place: tuple[int, int] | None = None,
) -> Any:
    """An object; `ModelFileError` if its file is damaged. With `check` all of its bytes are read.

    What is kept is mapped into memory, so that the system can take the memory back; what is used
    once is read, which takes less time. What is written into an array stays in this process. At
    `next_place` the system is asked to read ahead, beside what is computed.
    """
    with open(path, "rb", buffering=0) as file:
        memory, first = (_mapped if is_kept else _read)(path, file, *place)
        if next_place is not None and hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), *next_place, os.POSIX_FADV_WILLNEED)
    size = place[1]
    head = bytes(memory[first : first + START])
    length, n_bytes = check_start(path, head, size)
    text = bytes(memory[first + START : first + START + length])
    if hashlib.sha256(head[: PREFIX.size] + text).digest() != head[PREFIX.size :][:32]:
        raise damaged(path, "the checksum of its header does not match")
    if length % WORD.itemsize or length < N_FIRST * WORD.itemsize:
        raise not_ours(path, f"a table has {length} bytes")
    table = np.frombuffer(text, WORD)
    layout = layouts.of(path, (int(table[0]), int(table[1])), code)
    if check:
        payload = memoryview(memory)[first + size - n_bytes : first + size]
        if hashlib.sha256(payload).digest() != head[PREFIX.size + 32 :]:
            raise damaged(path, "the checksum of its arrays does not match")
        layout.check(path, table, payload)
    return layout.made(path, memory, first + START + length, table)


def _mapped(path: str, file: FileIO, start: int, size: int) -> tuple[Any, int]:
    """Memory with some bytes of a file, as they lie there; and where in it they begin."""
    first = start % mmap.ALLOCATIONGRANULARITY
    try:
        mode = mmap.ACCESS_COPY
        return mmap.mmap(file.fileno(), first + size, access=mode, offset=start - first), first
    except ValueError:
        raise damaged(path, f"it ends before byte {start + size}") from None


def _read(path: str, file: FileIO, start: int, size: int) -> tuple[Any, int]:
    """The same, read."""
    memory = np.empty(size, np.uint8)
    file.seek(start)
    done = 0
    while done < size:
        n_read = file.readinto(memory[done:].data)
        if not n_read:
            raise damaged(path, f"it ends before byte {start + size}")
        done += n_read
    return memory, 0


def _type_of(array: Array) -> str:
    return array.dtype.newbyteorder("<").str


def _bits(number: int | float) -> int:
    """A number as a word of 64 bits.

    >>> _bits(-3), hex(_bits(1.0))
    (-3, '0x3ff0000000000000')
    """
    return int(np.float64(number).view(np.int64)) if isinstance(number, float) else number


def _digest(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value).encode()).digest()
