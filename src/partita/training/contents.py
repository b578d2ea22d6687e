"""What a model file holds, checked as it is asked for: a wrong file gives a sentence, no traceback.

A checksum only says that a file is as somebody wrote it, not that Partita did.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import UnionType
from typing import Any, get_args, get_origin

import numpy as np

from partita.arrays import Array


class ModelFileError(ValueError):
    """A file that is not what it should be: what came, what was expected, what to do."""


def not_ours(path: str | os.PathLike[str], how: str) -> ModelFileError:
    """The error for a file that is whole, and not what Partita writes."""
    return ModelFileError(
        f"{os.fspath(path)} was not written by this version of Partita, though it begins like a "
        f"file of ours: {how[:200]}. Train the model again with this version; do not use a file "
        "that a stranger made."
    )


@dataclass(frozen=True)
class Contents:
    """What a file holds: a header of plain JSON values, and arrays by name.

    `take` and `array` check what they give, so that a wrong file is told from a wrong program.
    """

    header: dict[str, Any]
    arrays: dict[str, Array]
    path: str = "<memory>"

    def take(self, name: str, kind: Any) -> Any:
        """A value of the header, of a type such as int, list[str] or dict[str, float] | None.

        A name with dots goes into dictionaries: "options.n_bits".

        >>> contents = Contents({"tags": ["NOUN", "VERB"], "options": {"l2": 1}}, {})
        >>> contents.take("tags", list[str]), contents.take("options.l2", float)
        (['NOUN', 'VERB'], 1.0)
        >>> contents.take("tags", int)
        Traceback (most recent call last):
            ...
        partita.training.contents.ModelFileError: ... 'tags' is ['NOUN', 'VERB'] and not int. ...
        """
        value: Any = self.header
        for step in name.split("."):
            if not isinstance(value, dict) or step not in value:
                raise not_ours(self.path, f"its header has no {name!r}")
            value = value[step]
        if not is_of(value, kind):
            wanted = getattr(kind, "__name__", kind) if isinstance(kind, type) else kind
            raise not_ours(self.path, f"{name!r} is {str(value)[:100]} and not {wanted}")
        return float(value) if kind is float else value

    def array(self, name: str, kind: Any, shape: tuple[int | None, ...] | None = None) -> Array:
        """An array of a type, and of a shape with None for any length.

        >>> Contents({}, {"weights": np.zeros(3)}).array("weights", np.float64, (None,))
        array([0., 0., 0.])
        """
        array = self.arrays.get(name)
        if array is None:
            raise not_ours(self.path, f"it has no array {name!r}")
        fits = shape is None or (
            len(shape) == array.ndim
            and all(n in (None, found) for n, found in zip(shape, array.shape, strict=True))
        )
        if not fits or array.dtype != np.dtype(kind):
            wanted = np.dtype(kind).name + ("" if shape is None else f" {shape}")
            found_type = f"{array.dtype.name} {array.shape}"
            raise not_ours(self.path, f"the array {name!r} is {found_type} and not {wanted}")
        return array


def is_of(value: Any, kind: Any) -> bool:
    """Whether a JSON value is of a type; whole numbers are of type float, too.

    >>> is_of([1, 2.5], list[float]), is_of(True, int), is_of(None, str | None)
    (True, False, True)
    """
    if kind is Any:
        return True
    if isinstance(kind, UnionType):
        return any(is_of(value, each) for each in get_args(kind))
    items = get_args(kind)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(is_of(each, items[0]) for each in value)
    if get_origin(kind) is dict:
        return isinstance(value, dict) and all(is_of(each, items[1]) for each in value.values())
    if kind in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, float | int if kind is float else kind)


@contextmanager
def refusing_wrong_contents(path: str | os.PathLike[str]) -> Iterator[None]:
    """For the time of a block that builds something from a file: its mistakes are the file's.

    Whatever goes wrong with what it holds (a name that is missing, a text in place of a number, an
    array that is too short) becomes a `ModelFileError` that says so. For what `Contents.take` and
    `Contents.array` do not find by themselves.

    >>> with refusing_wrong_contents("my.model"):
    ...     {}["options"]
    Traceback (most recent call last):
        ...
    partita.training.contents.ModelFileError: my.model ... KeyError: 'options'. ...
    """
    try:
        yield
    except ModelFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as e:
        raise not_ours(path, f"{type(e).__name__}: {e}") from e


def check_numbers(path: str | os.PathLike[str], arrays: Mapping[str, Array]) -> None:
    """Refuse arrays with a NaN, from which only nonsense would follow."""
    for name, array in arrays.items():
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ModelFileError(
                f"{os.fspath(path)} has {int(np.isnan(array).sum())} values in the array {name!r} "
                "that are not a number (NaN); expected numbers. Do not use it: train it anew."
            )
