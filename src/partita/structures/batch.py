"""Ragged batches, end to end: where each sentence starts; and numbers that callers give."""

from itertools import pairwise
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.kernels.doors import lengths

MOST_PARTS = 2**62
"""More parts than any memory holds; sums of lengths are checked against it before they wrap."""
NOWHERE: IntArray = np.zeros(0, dtype=np.int64)


def number_array(name: str, values: Any, expected: str) -> FloatArray:
    """A caller's values as float64, or an error that says what they are.

    Nested lists, buffers, and whatever has `__array__` or `__dlpack__`: arrays of other libraries
    in the main memory are shared, not copied, where they are float64.

    >>> from array import array
    >>> number_array("weights", array("d", [1.0, 2.0]), "(n,)")
    array([1., 2.])
    """
    if hasattr(values, "toarray"):
        raise ValueError(
            f"{name} is a sparse {type(values).__name__}, which does not say what the cells that "
            f"it leaves out mean; expected {expected}. Give {name}.toarray(); of scores, with "
            "-inf in the cells that are forbidden."
        )
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        raise ValueError(
            f"{name} is a masked array, whose mask would be lost; expected {expected}. Give "
            f"{name}.filled(-np.inf) if what is masked is forbidden, or say by mask= which words "
            "of a padded batch are there."
        )
    is_foreign = hasattr(values, "__dlpack__") and not hasattr(values, "__array__")
    try:
        array = np.from_dlpack(values) if is_foreign else np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        return array.astype(np.float64, copy=False)
    # Of a tensor that wants a gradient, or on another device, PyTorch makes a RuntimeError.
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        is_tensor = type(values).__module__.partition(".")[0] == "torch"
        also = " partita.torch has the distributions on tensors." if is_tensor else ""
        raise ValueError(
            f"{name} is no array of numbers ({error}); expected {expected}.{also}"
        ) from None


def flat_vector(name: str, values: ArrayLike, n_parts: int) -> FloatArray:
    """A number for every part of a batch, as kernels read it; copied only if it must be."""
    vector = np.ascontiguousarray(values, dtype=np.float64)
    # Not `vector.shape`, since a number alone would have become a vector.
    if np.shape(values) != (n_parts,):
        raise ValueError(
            f"{name} has shape {np.shape(values)}; expected ({n_parts},), one number for each part "
            "of the batch in the order of `structures.part_offsets`."
        )
    return vector


def moved_words(numbers: ArrayLike, places: IntArray) -> IntArray:
    """`places[numbers]` for the words that a caller's structure names, or an error.

    >>> moved_words([2, 0], np.array([5, 6, 7]))
    array([7, 5])
    """
    words = np.asarray(numbers)
    is_whole = words.dtype.kind in "iu" or not words.size
    if not is_whole or ((words < 0) | (words >= len(places))).any():
        raise ValueError(
            f"a structure names the places {words.tolist()}; expected whole numbers from 0 to "
            f"{len(places) - 1}, places of the padded array."
        )
    moved: IntArray = places[words.astype(np.int64)]
    return moved


def boolean_array(name: str, values: ArrayLike) -> BoolArray:
    """A caller's booleans, one per part; numbers are refused, since scores may be meant."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(
            f"{name} has type {array.dtype}; expected booleans, True for an allowed part."
        )
    return array


def whole_number(name: str, value: Any, least: int) -> int:
    """A caller's count: a whole number, `least` or more."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is {value!r}; expected at least {least}, a whole number.")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether a value is one whole number, Python's or NumPy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_list(values: Any, n_axes: int) -> bool:
    """Whether a caller means a list of sentences, whose arrays have so many axes each.

    An array of numbers never is one, nor are nested lists of numbers with the axes of one sentence;
    what holds arrays always is, and so is a column of objects, such as a pandas Series of them.

    >>> is_list([np.zeros((3, 2))], 2), is_list([[0.0, 1.0], [2.0, 0.0]], 2)
    (True, False)
    """
    if not isinstance(values, list | tuple):
        return is_column(values)
    depth, first = 1, values[0] if values else None
    while isinstance(first, list | tuple):
        depth, first = depth + 1, first[0] if first else None
    return depth != n_axes or getattr(first, "ndim", 0) > 0


def is_column(values: Any) -> bool:
    """Whether something is a column of objects, one for each sentence.

    >>> column = np.empty(2, dtype=object)
    >>> column[:] = [np.zeros((3, 2)), np.zeros((1, 2))]
    >>> is_column(column), is_column(column[0])
    (True, False)
    """
    is_of_objects = getattr(getattr(values, "dtype", None), "kind", "") == "O"
    return is_of_objects and values.ndim == 1


def check_scores(name: str, scores: FloatArray) -> None:
    """Scores are finite or -inf; anything else is an error that names the place."""
    # The maximum is NaN if any score is, so that one pass finds both.
    if scores.size and not scores.max() < np.inf:
        index = tuple(np.argwhere(np.isnan(scores) | (scores == np.inf))[0].tolist())
        raise ValueError(
            f"{name}{list(index)} is {scores[index]}; scores are natural logarithms and must be "
            "finite, or -inf for a part that is forbidden. Check the model that made them."
        )


def word_counts(n_words: ArrayLike, n_sentences: int, longest: int) -> IntArray:
    """A caller's `n_words`: one whole number from 1 to `longest` per sentence."""
    try:
        counts = np.asarray(n_words)
    except ValueError as error:
        raise ValueError(
            f"n_words is no array ({error}); expected ({n_sentences},) whole numbers."
        ) from None
    if counts.shape != (n_sentences,):
        raise ValueError(
            f"n_words has shape {counts.shape}; expected ({n_sentences},), the number of words of "
            "each sentence of the batch."
        )
    if counts.size == 0:
        return np.zeros(0, dtype=np.int64)
    if counts.dtype.kind not in "iu":
        raise ValueError(
            f"n_words has type {counts.dtype}; expected whole numbers. Convert it with "
            "n_words.astype(int)."
        )
    found: IntArray = counts.astype(np.int64)
    # Numbers that are too large for this type have become negative ones.
    if not lengths.all_within(found, 1, longest):
        wrong = np.flatnonzero((counts < 1) | (counts > longest))
        raise ValueError(
            f"n_words[{wrong[0]}] is {counts[wrong[0]]}; expected 1 to {longest}. "
            "An empty sentence has no structure: leave it out of the batch."
        )
    return found


def offsets(counts: IntArray) -> IntArray:
    """Where each sentence starts when `counts` items each lie end to end, and the end."""
    total = counts.sum(dtype=np.float64)
    if total > MOST_PARTS:
        raise too_many_parts(total)
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    counts.cumsum(out=starts[1:])
    return starts


def too_many_parts(total: float) -> ValueError:
    """The error for a batch with more parts than any memory holds."""
    return ValueError(
        f"the batch would have {total:.3g} parts, more than can be counted in 64 bits; check "
        "the lengths."
    )


def where_false(flags: BoolArray) -> IntArray:
    """The places of what is False; next to nothing where nothing is, as nearly always."""
    # A look at the bytes: a sum or `all` takes microseconds, as much as a small batch.
    return NOWHERE if 0 not in flags.tobytes() else np.flatnonzero(~flags)


def where_true(flags: BoolArray) -> IntArray:
    """The places of what is True; likewise."""
    return np.flatnonzero(flags) if 1 in flags.tobytes() else NOWHERE


def pieces(values: Array, starts: IntArray) -> list[Array]:
    """Views of each sentence's part of an array, given by `offsets`."""
    # Not np.split, which takes a microsecond for each sentence, and makes one piece of none.
    return [values[start:end] for start, end in pairwise(starts.tolist())]


def largest_finite(scores: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """The largest score along some axes, which stay with a length of 1; 0 where all are -inf.

    >>> largest_finite(np.array([[1.0, 3.0], [-np.inf, -np.inf]]), (1,))
    array([[3.],
           [0.]])
    """
    largest: FloatArray = scores.max(axis=axes, keepdims=True, initial=-np.inf)
    return np.where(largest > -np.inf, largest, 0.0)


def exact_sum(*terms: FloatArray) -> FloatArray:
    """The sum of finite arrays of one shape, cell by cell, rounded once.

    >>> exact_sum(np.array([1e16]), np.array([1.0]), np.array([-1e16]))
    array([1.])
    """
    cells = zip(*(term.ravel().tolist() for term in terms), strict=True)
    return np.array(list(map(fsum, cells))).reshape(terms[0].shape)
