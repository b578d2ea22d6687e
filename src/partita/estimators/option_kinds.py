"""The types of options, read from annotations: what they accept, how they are read and called."""

import os
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Reader = Callable[[str], Any]
"""From the text of a flag, or the name of a file, to an option's value."""
NONE = type(None)
WORDS: dict[type, str] = {
    bool: "True or False",
    str: "text",
    os.PathLike: "a path",
    Mapping: "a dictionary",
}


@dataclass(frozen=True)
class Kind:
    """The type of an option, read from its annotation."""

    choices: tuple[str, ...] = ()
    numbers: tuple[type, ...] = ()
    """`int`, `float`, or none of them."""
    classes: tuple[type, ...] = ()
    allows_none: bool = False
    allows_all: bool = False

    @property
    def is_switch(self) -> bool:
        """Whether it is true or false."""
        return bool in self.classes

    def is_number(self, value: Any) -> bool:
        """Whether a value is a number of the kind; truth is none."""
        if isinstance(value, bool | np.bool_):
            return False
        if float in self.numbers:
            return isinstance(value, int | float | np.integer | np.floating)
        return int in self.numbers and isinstance(value, int | np.integer)

    def accepts(self, value: Any) -> bool:
        """Whether a value is of this type."""
        if self.allows_all or (value is None and self.allows_none):
            return True
        if isinstance(value, str) and str not in self.classes:
            # Text is a sequence, too, but never what a list of names means.
            return value in self.choices
        if isinstance(value, bool | np.bool_):
            return self.is_switch
        return self.is_number(value) or isinstance(value, self.classes)

    def expected(self, more: str | None) -> str:
        """The types in words, with what else is expected of numbers (or of all, without any)."""
        words = [repr(choice) for choice in self.choices]
        for kinds, name in ((float, "a number"), (int, "a whole number")):
            if kinds in self.numbers:
                words.append(f"{name} ({more})" if more and words else name)
                words[-1] += f", {more}" if more and len(words) == 1 else ""
        words += [WORDS.get(each) or f"an object of {each.__name__}" for each in self.classes]
        words += ["None"] * self.allows_none
        if len(words) == 1:
            return words[0]
        last = ", or " if ", " in words[-2] else " or "
        return ", ".join(words[:-1]) + last + words[-1]

    @property
    def reader(self) -> Reader:
        """How the text of a flag becomes a value."""
        if self.numbers:
            return float if float in self.numbers else int
        return str


def kind_of(hint: Any) -> Kind:
    """The type that an annotation describes.

    >>> kind_of(float | None).expected("0 or more")
    'a number, 0 or more, or None'
    >>> kind_of(typing.Literal["best", "risk"]).accepts("worst")
    False
    """
    members = _members(hint)
    choices = [value for each in members if _is_literal(each) for value in typing.get_args(each)]
    plain = [typing.get_origin(each) or each for each in members if not _is_literal(each)]
    return Kind(
        tuple(str(choice) for choice in choices if choice is not None),
        tuple(each for each in plain if each in (int, float)),
        tuple(each for each in plain if isinstance(each, type) and each not in (int, float, NONE)),
        allows_none=NONE in plain or None in choices,
        allows_all=Any in plain,
    )


def _members(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [member for each in typing.get_args(hint) for member in _members(each)]
    return [hint]


def _is_literal(hint: Any) -> bool:
    return typing.get_origin(hint) is typing.Literal
