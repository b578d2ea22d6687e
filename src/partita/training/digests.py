"""A short text that tells data and options from others: equal contents, equal digest.

It depends on the contents alone: not on the process, nor on which objects are one and the same,
nor on what was cached. Code counts by its name only.
"""

import hashlib
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import numpy as np
from scipy import sparse

from partita.training.anatomy import is_code, taken_apart

DIGEST = " (digest)"
"""What the name of a digest ends in, among other things that a run is about."""
N_BYTES = 16
PLAIN = frozenset([type(None), bool, int, float, str, bytes])
"""Types whose values are what `repr` says, to the last bit."""


def digest(value: Any) -> str:
    """32 letters for anything made of arrays, numbers, text and objects; reads every byte once.

    Costs about a second for each gigabyte of arrays, and some microseconds for each object: less
    than one pass over the same batches.

    >>> digest({"a": np.arange(3), "b": 0.5})
    '...'
    >>> digest(np.arange(3)) == digest(np.arange(3)) != digest(np.arange(3.0))
    True
    """
    return _hashed("", [_Digester().of(value)]).hex()


def digest_part(value: Any) -> bytes:
    """The share of one of many values in their digest, for `digest_of_parts`."""
    return _Digester().of(value)


def digest_of_parts(parts: Iterable[bytes]) -> str:
    """The digest of a list, from the shares of its values: they need not be there at once.

    >>> values = [np.arange(2), np.arange(3)]
    >>> digest_of_parts(map(digest_part, values)) == digest(values)
    True
    """
    return _hashed("", [_hashed("list", parts)]).hex()


class _Digester:
    """Remembers what it has seen, since batches share much."""

    def __init__(self) -> None:
        self._known: dict[int, bytes] = {}
        self._seen: list[Any] = []
        """Held, so that no other object can get the number of one of them."""

    def of(self, value: Any) -> bytes:
        kind = type(value)
        if kind in PLAIN:
            return f"{kind.__name__} {value!r}".encode()
        found = self._known.get(id(value))
        if found is None:
            self._seen.append(value)
            # What contains itself is seen again while it is taken apart.
            self._known[id(value)] = b"itself"
            found = self._known[id(value)] = self._taken_apart(value)
        return found

    def _taken_apart(self, value: Any) -> bytes:
        if isinstance(value, np.ndarray | np.generic):
            return self._array(np.asarray(value))
        if sparse.issparse(value):
            return self._matrix(value)
        if type(value) in (tuple, list):
            return _hashed(type(value).__name__, map(self.of, value))
        if type(value) is dict:
            return _hashed("dict", (self.of(part) for pair in value.items() for part in pair))
        if isinstance(value, set | frozenset):
            # Their order differs from process to process.
            return _hashed("set", sorted(map(self.of, value)))
        if is_code(value):
            return self._code(value)
        return self._object(value)

    def _array(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.dtype.hasobject:
            return _hashed("objects", [self.of(array.shape), self.of(array.ravel().tolist())])
        kind = f"{array.dtype.newbyteorder('<').str} {array.shape}".encode()
        little = array.astype(array.dtype.newbyteorder("<"), copy=False)
        return _hashed("array", [kind, np.ascontiguousarray(little).reshape(-1).view(np.uint8)])

    def _matrix(self, matrix: Any) -> bytes:
        # SciPy sorts and merges entries in place when it feels like it.
        rows = matrix.tocsr(copy=True)
        rows.sum_duplicates()
        parts = (rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64))
        return _hashed("matrix", map(self.of, parts))

    def _code(self, value: Any) -> bytes:
        """By name, with the values that a function closes over."""
        name = f"{value.__module__}.{value.__qualname__}".encode()
        cells = value.__closure__ or () if isinstance(value, FunctionType) else ()
        return _hashed("code", [name, *(self.of(cell.cell_contents) for cell in cells)])

    def _object(self, value: Any) -> bytes:
        name = f"{type(value).__module__}.{type(value).__qualname__}".encode()
        if isinstance(value, np.random.Generator):
            return _hashed("rng", [name])  # it moves on with use
        try:
            parts = taken_apart(value)
        except TypeError:
            return _hashed("whole", [name])  # a lock, a file: not data
        return _hashed("object", [name, *map(self.of, parts)])


def _hashed(kind: str, parts: Iterable[Any]) -> bytes:
    """The digest of some parts, each behind its length, so that no two lists read alike."""
    found = hashlib.blake2b(digest_size=N_BYTES)
    found.update(kind.encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little"))
        found.update(part)
    return found.digest()
