"""What drawings ask of their callers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray


def checked_words(name: str, words: Any) -> list[str]:
    """A sequence of at least one word, as text."""
    if isinstance(words, str) or not len(words):
        raise ValueError(f"{name} is {words!r}; expected a sequence of at least one word.")
    return [str(word) for word in words]


def checked_probabilities(name: str, values: ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Probabilities of this shape; rounding a little below 0 or above 1 is taken away."""
    p = np.asarray(values, dtype=np.float64)
    if p.shape != shape:
        raise ValueError(f"{name} has shape {p.shape}; expected {shape}, one for each.")
    # NaN fails both comparisons.
    if p.size and not (p.min() >= -1e-6 and p.max() <= 1 + 1e-6):
        raise ValueError(
            f"{name} range from {p.min()} to {p.max()}; expected probabilities from 0 to 1. Take "
            "the marginals of a distribution, not its scores."
        )
    return np.clip(p, 0.0, 1.0)


def checked_heads(heads: ArrayLike, n_words: int) -> IntArray:
    """The head of every word, 0 for the root."""
    array = np.asarray(heads)
    if array.shape != (n_words,) or array.dtype.kind not in "iu":
        raise ValueError(
            f"heads has shape {array.shape} and type {array.dtype}; expected ({n_words},) whole "
            "numbers, the head of each word with 0 for the root."
        )
    if array.min() < 0 or array.max() > n_words:
        raise ValueError(
            f"heads range from {array.min()} to {array.max()}; expected 0 (the root) to {n_words}."
        )
    return array.astype(np.int64)


def checked_names(name: str, names: Sequence[Any] | None, n: int) -> list[str] | None:
    """One text for each of n things, or None."""
    if names is None:
        return None
    if len(names) != n:
        raise ValueError(f"{name} has {len(names)} entries; expected {n}, one for each word.")
    return ["" if each is None else str(each) for each in names]
