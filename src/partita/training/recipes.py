"""How to make objects again out of arrays and numbers: a header, read once and followed often.

A header of `pack` is a list of objects that refer to each other. It becomes a list of steps, each
of which makes an object or completes it, in an order in which all that it needs is there.
"""

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from partita.arrays import Array

Cells = list[Any]
"""The values that a header names, by number, as far as they are there."""
Step = Callable[[Cells], None]
_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "set": set,
    "frozenset": frozenset,
}
_ARRAYS = frozenset(["array", "turned", "scalar", "bytes"])


class Recipe:
    """The steps of a header.

    `fixed` has what is the same whenever it is followed: numbers by their slots (see `slots`), and
    arrays by their names. What consists of that alone, and cannot change, is made once and shared.
    """

    def __init__(
        self,
        header: Mapping[str, Any],
        code: Sequence[Any],
        fixed_numbers: Mapping[int, int | float] | None = None,
        fixed_arrays: Mapping[str, Array] | None = None,
    ) -> None:
        self._objects = header["objects"]
        self._code = code
        self._numbers, self._arrays = fixed_numbers or {}, fixed_arrays or {}
        self._first: Cells = []
        self._steps: list[Step] = []
        self._is_fixed: set[int] = set()
        self._cells: dict[int, int] = {}
        """Of each object that has been seen: where it will be."""
        self.of_arrays: dict[str, int] = {}
        """The cells of arrays that are not fixed, by name."""
        self.of_numbers: dict[int, int] = {}
        """The cells of numbers that are not fixed, by slot."""
        self._root = self._cell_of(header["root"])

    def made(self, arrays: Mapping[str, Array]) -> Any:
        """The object with these arrays, where all numbers are fixed."""
        cells = self.cells()
        for name, cell in self.of_arrays.items():
            cells[cell] = arrays[name]
        return self.follow(cells)

    def cells(self) -> Cells:
        """What is fixed, and room for the rest, which begins with what is own: see `of_arrays`."""
        return self._first.copy()

    def follow(self, cells: Cells) -> Any:
        """The object, once cells have what is its own."""
        for step in self._steps:
            step(cells)
        return cells[self._root]

    def _new(self, value: Any = None, *, fixed: bool = False) -> int:
        self._first.append(value)
        if fixed:
            self._is_fixed.add(len(self._first) - 1)
        return len(self._first) - 1

    def _cell_of(self, value: Any) -> int:
        """Where a JSON value, a slot or an object will be."""
        if not isinstance(value, dict):
            return self._new(value, fixed=True)
        [(kind, number)] = value.items()
        if kind == "slot":
            return self._cell_of_number(number)
        if number not in self._cells:
            [(kind, contents)] = self._objects[number].items()
            self._plan(number, kind, contents)
        return self._cells[number]

    def _cell_of_number(self, slot: int) -> int:
        if slot in self._numbers:
            return self._new(self._numbers[slot], fixed=True)
        if slot not in self.of_numbers:
            self.of_numbers[slot] = self._new()
        return self.of_numbers[slot]

    def _plan(self, number: int, kind: str, contents: Any) -> None:
        """Give an object a cell, and plan the steps that make it."""
        if kind == "made":
            self._plan_made(number, contents)
        elif kind == "dict":
            cell = self._cells[number] = self._new()
            self._steps.append(_emptied(cell, dict))
            pairs = [(self._cell_of(name), self._cell_of(part)) for name, part in contents]
            names = _cells_of([name for name, _ in pairs])
            parts = _cells_of([part for _, part in pairs])
            self._steps.append(_updated(cell, names, parts))
        elif kind == "list":
            cell = self._cells[number] = self._new()
            self._steps.append(_emptied(cell, list))
            self._steps.append(_extended(cell, _cells_of(list(map(self._cell_of, contents)))))
        elif kind in _CONTAINERS:
            members = list(map(self._cell_of, contents))
            # A set can change, and is made anew for everybody.
            is_fixed = kind != "set" and self._is_fixed.issuperset(members)
            self._make(number, _CONTAINERS[kind], members, is_fixed=is_fixed, spread=False)
        elif kind == "float":
            self._cells[number] = self._new(float(contents), fixed=True)
        elif kind == "code":
            self._cells[number] = self._new(self._code[contents], fixed=True)
        else:
            self._plan_array(number, kind, contents)

    def _plan_array(self, number: int, kind: str, name: str) -> None:
        if kind not in _ARRAYS:
            raise ValueError(f"objects of kind {kind!r} are not known")
        if name in self._arrays:
            cell = self._new(self._arrays[name])
        elif name in self.of_arrays:
            cell = self.of_arrays[name]
        else:
            cell = self.of_arrays[name] = self._new()
        if kind != "array":
            cell, of = self._new(), cell
            self._steps.append(_derived(cell, of, kind))
        self._cells[number] = cell

    def _plan_made(self, number: int, contents: Sequence[Any]) -> None:
        make, arguments, state, items, entries = contents
        parts = list(map(self._cell_of, [make, *self._items(arguments)]))
        nothing = state is None and not self._items(items) and not self._items(entries)
        is_fixed = nothing and self._is_fixed.issuperset(parts)
        # Made before its state is, which may hold the object itself.
        cell = self._make(number, _called, parts, is_fixed=is_fixed, spread=True)
        if state is not None:
            self._plan_state(cell, state)
        for kind, of in (("items", items), ("entries", entries)):
            if self._items(of):
                self._steps.append(_FILLED[kind](cell, self._cell_of(of)))

    def _plan_state(self, cell: int, state: Any) -> None:
        """Attributes by name straight from their cells; anything else as a value."""
        contents = self._objects[state["at"]].get("dict") if "at" in state else None
        if contents is None or not all(isinstance(name, str) for name, _ in contents):
            self._steps.append(_stated(cell, self._cell_of(state)))
            return
        names = tuple(name for name, _ in contents)
        parts = _cells_of([self._cell_of(part) for _, part in contents])
        self._steps.append(_attributed(cell, names, parts))

    def _items(self, value: Any) -> list[Any]:
        """What a tuple or a list of the header holds."""
        [contents] = self._objects[value["at"]].values()
        return list(contents)

    def _make(
        self,
        number: int,
        make: Callable[..., Any],
        parts: Sequence[int],
        *,
        is_fixed: bool,
        spread: bool,
    ) -> int:
        """Plan a call, or make it now if all that it gets is fixed."""
        cell = self._cells[number] = self._new()
        step = _result(cell, make, _cells_of(parts), spread=spread)
        if is_fixed:
            step(self._first)
            self._is_fixed.add(cell)
        else:
            self._steps.append(step)
        return cell


def slots(header: Mapping[str, Any]) -> tuple[dict[str, Any], list[int | float]]:
    """A header with slots in place of the numbers among its values, and these.

    >>> slots({"root": {"at": 0}, "objects": [{"tuple": [3, True, 0.5]}]})
    ({'root': {'at': 0}, 'objects': [{'tuple': [{'slot': 0}, True, {'slot': 1}]}]}, [3, 0.5])
    """
    numbers: list[int | float] = []

    def of(value: Any) -> Any:
        if isinstance(value, list):
            return list(map(of, value))
        # What a word of 64 bits does not hold stays.
        is_int = type(value) is int and -(2**63) <= value < 2**63
        if not is_int and type(value) is not float:
            return value
        numbers.append(value)
        return {"slot": len(numbers) - 1}

    objects = []
    for each in header["objects"]:
        [(kind, contents)] = each.items()
        objects.append({kind: contents if kind == "code" else of(contents)})
    return {"root": of(header["root"]), "objects": objects}, numbers


def _cells_of(places: Sequence[int]) -> Callable[[Cells], Sequence[Any]]:
    """A function that takes some values out of all."""
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        return lambda cells, place=places[0]: (cells[place],)  # type: ignore[misc]
    return lambda cells: ()


def _called(make: Callable[..., Any], *arguments: Any) -> Any:
    return make(*arguments)


def _result(
    cell: int, make: Callable[..., Any], parts: Callable[[Cells], Any], *, spread: bool
) -> Step:
    def step(cells: Cells) -> None:
        cells[cell] = make(*parts(cells)) if spread else make(parts(cells))

    return step


def _emptied(cell: int, kind: Callable[[], Any]) -> Step:
    def step(cells: Cells) -> None:
        cells[cell] = kind()

    return step


def _updated(cell: int, names: Callable[[Cells], Any], parts: Callable[[Cells], Any]) -> Step:
    def step(cells: Cells) -> None:
        cells[cell].update(zip(names(cells), parts(cells), strict=True))

    return step


def _extended(cell: int, parts: Callable[[Cells], Any]) -> Step:
    def step(cells: Cells) -> None:
        cells[cell].extend(parts(cells))

    return step


def _derived(cell: int, of: int, kind: str) -> Step:
    derive: Callable[[Array], Any] = {
        "turned": lambda array: array.T,
        "scalar": lambda array: array[()],
        "bytes": np.ndarray.tobytes,
    }[kind]

    def step(cells: Cells) -> None:
        cells[cell] = derive(cells[of])

    return step


def _attributed(cell: int, names: Sequence[str], parts: Callable[[Cells], Any]) -> Step:
    def step(cells: Cells) -> None:
        made = cells[cell]
        if hasattr(made, "__setstate__") or not hasattr(made, "__dict__"):
            _set_state(made, dict(zip(names, parts(cells), strict=True)))
        else:
            # Also where the class is frozen.
            made.__dict__.update(zip(names, parts(cells), strict=True))

    return step


def _stated(cell: int, state: int) -> Step:
    def step(cells: Cells) -> None:
        _set_state(cells[cell], cells[state])

    return step


def _with_items(cell: int, items: int) -> Step:
    def step(cells: Cells) -> None:
        for item in cells[items]:
            cells[cell].append(item)

    return step


def _with_entries(cell: int, entries: int) -> Step:
    def step(cells: Cells) -> None:
        for name, part in cells[entries]:
            cells[cell][name] = part

    return step


_FILLED = {"items": _with_items, "entries": _with_entries}


def _set_state(made: Any, state: Any) -> None:
    """As `copy` does: by `__setstate__`, or attribute by attribute."""
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    attributes, slotted = state if isinstance(state, tuple) else (state, None)
    for name, value in {**(attributes or {}), **(slotted or {})}.items():
        # Also where the class is frozen.
        object.__setattr__(made, name, value)
