"""Objects as plain values and arrays, for files from which nothing can run.

What an object is made of (see `anatomy`) goes into a header of JSON values, arrays stay arrays,
and code, the classes and functions that make objects, is only numbered. Whoever unpacks brings the
code along, by another way that he trusts: a file cannot name a function to be called.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from partita.arrays import Array
from partita.training.anatomy import Anatomy, is_code, taken_apart
from partita.training.recipes import Recipe


class Code:
    """Classes and functions by number."""

    def __init__(self) -> None:
        self.members: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number(self, member: Any) -> int:
        """The number of a class or function, a new one if it is new."""
        if id(member) not in self._numbers:
            self._numbers[id(member)] = len(self.members)
            self.members.append(member)
        return self._numbers[id(member)]


def pack(value: Any, code: Code) -> tuple[dict[str, Any], dict[str, Array]]:
    """Anything made of arrays, numbers, text and objects, as a header and arrays.

    What is one object before is one object after; views become arrays of their own.

    >>> code = Code()
    >>> header, arrays = pack({"a": np.arange(2), "b": (1, None)}, code)
    >>> unpack(header, arrays, code.members)
    {'a': array([0, 1]), 'b': (1, None)}
    """
    packer = _Packer(code)
    root = packer.of(value)
    return {"root": root, "objects": packer.objects}, packer.arrays


def unpack(header: Mapping[str, Any], arrays: Mapping[str, Array], code: Sequence[Any]) -> Any:
    """What `pack` was given, with the code that it numbered."""
    return Recipe(header, code).made(arrays)


class _Packer:
    def __init__(self, code: Code) -> None:
        self.objects: list[Any] = []
        self.arrays: dict[str, Array] = {}
        self._code = code
        self._places: dict[int, int] = {}
        self._seen: list[Any] = []
        """Held, so that no other object can get the number of one of them."""

    def of(self, value: Any) -> Any:
        """A JSON value: the value itself, or where the object is."""
        kind = type(value)
        if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
            return value
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.objects)
            self._seen.append(value)
            self.objects.append(None)
            self.objects[place] = self._packed(value)
        return {"at": place}

    def _packed(self, value: Any) -> dict[str, Any]:
        kind = type(value)
        if kind is float:
            return {"float": repr(value)}
        if kind is bytes:
            return {"bytes": self._array(np.frombuffer(value, np.uint8))}
        if kind is np.ndarray and value.dtype.kind in "biuf":
            is_turned = value.flags.f_contiguous and not value.flags.c_contiguous
            return {
                "turned" if is_turned else "array": self._array(value.T if is_turned else value)
            }
        if kind in (tuple, list, set, frozenset):
            return {kind.__name__: list(map(self.of, value))}
        if kind is dict:
            return {"dict": [[self.of(name), self.of(part)] for name, part in value.items()]}
        if is_code(value):
            return {"code": self._code.number(value)}
        if isinstance(value, np.generic) and value.dtype.kind in "biuf":
            return {"scalar": self._array(np.asarray(value))}
        return {"made": [self.of(part) for part in self._anatomy(value)]}

    def _anatomy(self, value: Any) -> Anatomy:
        try:
            return taken_apart(value)
        except TypeError as error:
            raise TypeError(
                f"a batch holds a {type(value).__name__}, which cannot be sent to another process "
                f"({error}). Expected arrays, numbers, text and objects made of them; an object "
                "that holds more says by __getstate__ what it needs."
            ) from None

    def _array(self, array: Array) -> str:
        name = str(len(self.arrays))
        self.arrays[name] = array
        return name
