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
    return _Unpacker(header["objects"], arrays, code).of(header["root"])


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


class _Unpacker:
    def __init__(
        self, objects: Sequence[Any], arrays: Mapping[str, Array], code: Sequence[Any]
    ) -> None:
        self._objects = objects
        self._arrays = arrays
        self._code = code
        self._made: dict[int, Any] = {}

    def of(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        place = value["at"]
        if place not in self._made:
            [(kind, contents)] = self._objects[place].items()
            self._made[place] = self._unpacked(place, kind, contents)
        return self._made[place]

    def _unpacked(self, place: int, kind: str, contents: Any) -> Any:
        if kind == "made":
            return self._put_together(place, contents)
        if kind == "dict":
            made = self._made[place] = {}
            made.update((self.of(name), self.of(part)) for name, part in contents)
            return made
        if kind == "list":
            items = self._made[place] = []
            items.extend(map(self.of, contents))
            return items
        if kind in ("tuple", "set", "frozenset"):
            return {"tuple": tuple, "set": set, "frozenset": frozenset}[kind](
                map(self.of, contents)
            )
        if kind == "float":
            return float(contents)
        if kind == "code":
            return self._code[contents]
        array = self._arrays[contents]
        if kind == "bytes":
            return array.tobytes()
        if kind == "scalar":
            return array[()]
        return array.T if kind == "turned" else array

    def _put_together(self, place: int, contents: Sequence[Any]) -> Any:
        make, arguments, state, items, entries = contents
        # Made before its state is, which may hold the object itself.
        made = self._made[place] = self.of(make)(*self.of(arguments))
        given = self.of(state)
        if given is not None:
            _set_state(made, given)
        for item in self.of(items):
            made.append(item)
        for name, part in self.of(entries):
            made[name] = part
        return made


def _set_state(made: Any, state: Any) -> None:
    """As `copy` does: by `__setstate__`, or attribute by attribute."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slots or {})}.items():
        # Also where the class is frozen.
        object.__setattr__(made, name, value)
