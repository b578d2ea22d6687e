"""What model files kept, checked as it is taken over: kernels trust sizes and numbers blindly.

Errors are plain ones; whoever reads the file says whose they are (`refusing_wrong_contents`).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from partita.arrays import Array


def kept_array(
    arrays: Mapping[str, Array],
    name: str,
    kind: Any,
    *shape: int | None,
    below: int | None = None,
    is_log: bool = False,
) -> Array:
    """An array of a type and a shape, None for any length.

    Indices are 0 or more and `below`; floats are finite, but for the logarithm of 0 in what
    `is_log`.

    >>> kept_array({"targets": np.array([0, 2])}, "targets", np.int64, None, below=2)
    Traceback (most recent call last):
        ...
    ValueError: the array 'targets' has numbers from 0 to 2; expected 0 to 1.
    """
    array = arrays[name]
    fits = array.ndim == len(shape) and all(
        n in (None, found) for n, found in zip(shape, array.shape, strict=True)
    )
    if not fits or array.dtype != np.dtype(kind):
        raise ValueError(
            f"the array {name!r} is {array.dtype} {array.shape}; expected {np.dtype(kind)} "
            f"{shape}, with any length for None."
        )
    if below is not None and array.size and not 0 <= array.min() <= array.max() < below:
        raise ValueError(
            f"the array {name!r} has numbers from {array.min()} to {array.max()}; expected 0 to "
            f"{below - 1}."
        )
    if array.dtype.kind == "f" and not (array < np.inf if is_log else np.isfinite(array)).all():
        raise ValueError(f"the array {name!r} has numbers that are not finite.")
    return array


def kept_offsets(arrays: Mapping[str, Array], name: str, n_rows: int | None, end: int) -> Array:
    """Where rows begin and the last one ends: n_rows + 1 numbers that ascend from 0 to `end`."""
    size = None if n_rows is None else n_rows + 1
    offsets = kept_array(arrays, name, np.int64, size)
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or (np.diff(offsets) < 0).any():
        raise ValueError(f"the array {name!r} does not ascend from 0 to {end}.")
    return offsets


def kept_texts(values: Any, name: str) -> list[str]:
    """A list of texts.

    >>> kept_texts(["NOUN", 3], "tags")
    Traceback (most recent call last):
        ...
    ValueError: 'tags' is ['NOUN', 3]; expected a list of texts.
    """
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise ValueError(f"{name!r} is {str(values)[:100]}; expected a list of texts.")
    return values


def kept_number(
    value: Any,
    name: str,
    kind: type[int] | type[float] = float,
    least: float = -np.inf,
    most: float = np.inf,
) -> Any:
    """A number of JSON within bounds, which may be whole where any is expected.

    >>> kept_number(2**31, "n_bits", int, least=1, most=28)
    Traceback (most recent call last):
        ...
    ValueError: 'n_bits' is 2147483648; expected a number (int) from 1 to 28.
    """
    allowed = int if kind is int else float | int
    is_number = isinstance(value, allowed) and not isinstance(value, bool)
    if not is_number or not least <= value <= most:
        bounds = "" if least == -most == -np.inf else f" from {least} to {most}"
        raise ValueError(
            f"{name!r} is {str(value)[:100]}; expected a number ({kind.__name__}){bounds}."
        )
    return kind(value)
