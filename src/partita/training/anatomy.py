"""Objects taken apart, by the protocol that `copy` and `pickle` use, without what they cached.

Digests and shards need the same thing: what an object is made of, down to arrays, numbers and
text. An object that holds more than that (a lock, results kept for later) says so as it would for
`copy.deepcopy`: by `__getstate__` and `__setstate__`.
"""

from collections.abc import Callable
from functools import cached_property
from types import BuiltinFunctionType, FunctionType
from typing import Any, NamedTuple


class Anatomy(NamedTuple):
    """How to make an object again: make(*arguments), then give it its state and contents."""

    make: Callable[..., Any]
    arguments: tuple[Any, ...]
    state: Any
    """What `__setstate__` takes, or attributes by name; None for nothing."""
    items: list[Any]
    """Of a list of its own class."""
    entries: list[tuple[Any, Any]]
    """Of a dictionary of its own class."""


def is_code(value: Any) -> bool:
    """Whether it is a class or a function, which has a name and is not made of data."""
    return isinstance(value, type | FunctionType | BuiltinFunctionType) or (
        # What a compiler made of a function, such as a kernel.
        callable(value) and isinstance(getattr(value, "__wrapped__", None), FunctionType)
    )


def taken_apart(value: Any) -> Anatomy:
    """The parts of an object that is neither a plain value nor code; a TypeError if it has none.

    >>> from fractions import Fraction
    >>> taken_apart(Fraction(1, 3)).arguments
    (1, 3)
    """
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        raise TypeError(f"{value!r} is one of a kind and has no parts")
    make, arguments, *rest = reduced
    state, items, entries = (*rest, None, None, None)[:3]
    return Anatomy(make, arguments, _kept(value, state), list(items or ()), list(entries or ()))


def _kept(value: Any, state: Any) -> Any:
    """A state without cached properties, which come back when they are needed."""
    if not isinstance(state, dict):
        return state
    kind = type(value)
    return {
        name: part
        for name, part in state.items()
        if not isinstance(getattr(kind, name, None), cached_property)
    }
