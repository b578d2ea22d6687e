"""Batches in files, to be read as they are needed: the corpus of a cluster, and one beyond memory.

The files hold numbers and text (see `records`). The code that makes objects of
them, classes and functions, is not among it: it travels as the program itself does. What is read is
mapped into memory, so that the system can take the memory back at any time.
"""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeVar, cast, overload

import numpy as np

from partita.arrays import Array, IntArray
from partita.training.batches import Batch
from partita.training.code_names import code_named, name_of
from partita.training.digests import N_BYTES, digest_of_parts, digest_part
from partita.training.model_file import ModelFileError, read_model, write_model
from partita.training.packing import Code
from partita.training.records import RecordLayouts, RecordWriter, read_record
from partita.training.tagged_batches import AnyBatch

INDEX = "index"
"""The file that says what the others hold."""
FORMAT = 2
"""Of the files: 2 has what batches have in common once. Others are encoded anew."""
PREFETCHED = 4
"""Batches that the system is asked to have ready, beside the one that is read."""


@dataclass(frozen=True)
class StoredFile:
    """The batches of one file: where they are, and what a corpus must know of them beforehand."""

    name: str
    code: tuple[Any, ...]
    places: IntArray
    """(n, 2): where each batch begins, and its length in bytes."""
    sizes: IntArray
    """(n, 4): sentences, words, parts and weights of each batch."""
    digests: Array
    """(n, 16): the share of each batch in the digest of all."""
    names: tuple[str, ...]
    """Of the terms that any batch has a target for."""

    @classmethod
    def write(cls, path: str | os.PathLike[str], batches: Iterable[Batch]) -> "StoredFile":
        """Batches as they come; one of them is in memory at a time."""
        code, names = Code(), dict[str, None]()
        places, sizes, digests = [], [], []
        with open(path, "wb") as file:
            writer = RecordWriter(file, code)
            for batch in batches:
                places.append(writer.write(batch))
                structures = batch.structures
                n_words = int(structures.n_words.sum())
                n_weights = batch.features.n_weights
                sizes.append((structures.n_sentences, n_words, structures.n_parts, n_weights))
                digests.append(np.frombuffer(digest_part(batch), np.uint8))
                names |= dict.fromkeys(batch.targets)
        return cls(
            Path(path).name,
            tuple(code.members),
            np.array(places, dtype=np.int64).reshape(-1, 2),
            np.array(sizes, dtype=np.int64).reshape(-1, 4),
            np.array(digests, dtype=np.uint8).reshape(-1, N_BYTES),
            tuple(names),
        )


@dataclass(frozen=True)
class StoredBatches(Sequence[Batch]):
    """Batches in the files of a folder, each read when it is asked for and not kept."""

    folder: str
    files: tuple[StoredFile, ...]
    _checked: set[int] = field(default_factory=set, repr=False, compare=False)
    _layouts: RecordLayouts = field(default_factory=RecordLayouts, repr=False, compare=False)

    @classmethod
    def write(cls, batches: Iterable[Batch], folder: str | os.PathLike[str]) -> "StoredBatches":
        """All batches in one file, as they come."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        return cls(os.fspath(folder), (StoredFile.write(Path(folder) / "batches-0", batches),))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> Batch: ...

    @overload
    def __getitem__(self, index: slice) -> "ChosenBatches[Batch]": ...

    def __getitem__(self, index: int | slice) -> "Batch | ChosenBatches[Batch]":
        """A batch; `ModelFileError` if its file is damaged. Some of them are read one by one."""
        if isinstance(index, slice):
            return ChosenBatches(self, range(len(self))[index])
        return self._batch(index, is_kept=True)

    def read(self, index: int, coming: int | None = None) -> Batch:
        """A batch that is used once, while the system is asked to get one that comes soon."""
        return self._batch(index, is_kept=False, coming=coming)

    def _batch(self, index: int, *, is_kept: bool, coming: int | None = None) -> Batch:
        file, place = self._place(index)
        next_place = None
        if coming is not None:
            other, next_place = self._place(coming)
            # The system reads ahead by itself where another file begins.
            next_place = next_place if other is file else None
        batch: Batch = read_record(
            os.path.join(self.folder, file.name),
            place,
            file.code,
            self._layouts,
            check=index not in self._checked,
            is_kept=is_kept,
            next_place=next_place,
        )
        self._checked.add(index)
        return batch

    def _place(self, index: int) -> tuple[StoredFile, tuple[int, int]]:
        """The file of a batch, and where it begins and how long it is there."""
        number = bisect_right(self._ends, index) - 1
        file = self.files[number]
        start, size = file.places[index - self._ends[number]].tolist()
        return file, (start, size)

    @property
    def sizes(self) -> IntArray:
        """(n, 4): sentences, words, parts and weights of each batch."""
        return np.concatenate([file.sizes for file in self.files])

    @property
    def names(self) -> list[str]:
        """Of the terms that any batch has a target for."""
        return list(dict.fromkeys(name for file in self.files for name in file.names))

    @cached_property
    def digest(self) -> str:
        """That of the list of all batches."""
        return digest_of_parts(row.tobytes() for file in self.files for row in file.digests)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate((len(file.places) for file in self.files), initial=0))

    def save(self, key: str) -> None:
        """Write down what the files hold, for `reopened`; `key` says what they were made from."""
        arrays = {
            f"{what}{number}": getattr(file, what)
            for number, file in enumerate(self.files)
            for what in ("places", "sizes", "digests")
        }
        described = [
            {"name": file.name, "names": file.names, "code": [name_of(each) for each in file.code]}
            for file in self.files
        ]
        header = {"kind": INDEX, "format": FORMAT, "key": key, "files": described}
        write_model(Path(self.folder) / INDEX, header, arrays)

    @classmethod
    def reopened(cls, folder: str | os.PathLike[str], key: str) -> "StoredBatches | None":
        """What `save` wrote down, if it was made from the same; None if not."""
        try:
            contents = read_model(Path(folder) / INDEX, kind=INDEX)
        except (FileNotFoundError, ModelFileError):
            return None
        if contents.header.get("key") != key or contents.header.get("format") != FORMAT:
            return None
        files = []
        for number, each in enumerate(contents.header["files"]):
            code = tuple(map(code_named, each["code"]))
            places, sizes, digests = (
                contents.arrays[f"{what}{number}"] for what in ("places", "sizes", "digests")
            )
            name = Path(each["name"]).name
            names = tuple(each["names"])
            files.append(StoredFile(name, code, places, sizes, digests, names))
        return cls(os.fspath(folder), tuple(files))


Each = TypeVar("Each", bound=AnyBatch)


@dataclass(frozen=True)
class ChosenBatches(Sequence[Each]):
    """Some batches of a sequence, read when they are asked for, the next ones prefetched."""

    batches: Sequence[Each]
    indices: Sequence[int]

    def __len__(self) -> int:
        return len(self.indices)

    @overload
    def __getitem__(self, index: int) -> Each: ...

    @overload
    def __getitem__(self, index: slice) -> "ChosenBatches[Each]": ...

    def __getitem__(self, index: int | slice) -> "Each | ChosenBatches[Each]":
        if isinstance(index, slice):
            return ChosenBatches(self.batches, self.indices[index])
        if isinstance(self.batches, StoredBatches):
            coming = self.indices[index + PREFETCHED] if index + PREFETCHED < len(self) else None
            return cast(Each, self.batches.read(self.indices[index], coming))
        return self.batches[self.indices[index]]

    def __iter__(self) -> Iterator[Each]:
        return (self[index] for index in range(len(self)))
