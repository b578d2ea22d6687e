"""Batches in files, for workers to read: one file a shard, in the layout of model files."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from partita.arrays import IntArray
from partita.training.batches import Batch
from partita.training.model_file import decoded, encoded, read_model, write_model
from partita.training.packing import Code, pack, unpack

KIND = "batch"
INDEX = "index"
"""The file that says where in its shard each batch lies."""


@dataclass(frozen=True)
class StoredBatches:
    """Batches in a folder, read one by one when they are needed.

    The files hold numbers and text. The code that makes objects of them, classes and functions,
    is not among it: it stays here, and travels as the program itself does.
    """

    folder: str
    n_shards: int
    code: tuple[Any, ...]

    @classmethod
    def write(
        cls, batches: Sequence[Batch], folder: str | os.PathLike[str], n_shards: int
    ) -> "StoredBatches":
        """Batch k goes to shard k modulo n_shards."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        code = Code()
        places = np.zeros((len(batches), 2), dtype=np.int64)
        for number in range(n_shards):
            with open(_path(folder, number), "wb") as file:
                for index in range(number, len(batches), n_shards):
                    header, arrays = pack(batches[index], code)
                    start = file.tell()
                    for chunk in encoded({"kind": KIND, **header}, arrays):
                        file.write(chunk)
                    places[index] = start, file.tell() - start
        write_model(Path(folder) / INDEX, {"kind": INDEX}, {"places": places})
        return cls(os.fspath(folder), n_shards, tuple(code.members))

    @cached_property
    def places(self) -> IntArray:
        """For each batch, where in the file of its shard it begins, and its length."""
        contents = read_model(Path(self.folder) / INDEX, kind=INDEX)
        return contents.array("places", np.int64, (None, 2))

    def shard(self, number: int) -> list[Batch]:
        """All batches of a shard, in order."""
        return [self.read(index) for index in range(number, len(self.places), self.n_shards)]

    def read(self, index: int) -> Batch:
        """A batch; `ModelFileError` if its file is damaged."""
        path = _path(self.folder, index % self.n_shards)
        start, size = self.places[index].tolist()
        with open(path, "rb") as file:
            file.seek(start)
            contents = decoded(path, file, size, kind=KIND)
        batch: Batch = unpack(contents.header, contents.arrays, self.code)
        return batch


def _path(folder: str | os.PathLike[str], number: int) -> str:
    return str(Path(folder) / f"shard-{number:04d}")
