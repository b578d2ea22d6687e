"""Ragged batches: how a caller gave the sentences, and how results go back the same way."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray

MOST_PARTS = 2**62
"""More parts than any memory holds; sums of lengths are checked against it before they wrap."""


@dataclass(frozen=True)
class Form:
    """One sentence, a list of sentences, or a padded array of `n_padded` words a row.

    `tables_once` says that the transitions of a chain came once for the whole batch.
    """

    kind: Literal["one", "list", "padded"]
    n_padded: int = 0
    tables_once: bool = False

    def scalar(self, values: Array) -> Any:
        """A number per sentence: a plain number for one sentence, else an array."""
        return values[0].item() if self.kind == "one" else values

    def join(
        self, arrays: Sequence[Array], shape: Callable[[int], tuple[int, ...]], fill: Any = 0
    ) -> Any:
        """Arrays per sentence, in this form; a padded row has `shape(n_padded)`."""
        if self.kind == "one":
            return arrays[0]
        if self.kind == "list":
            return list(arrays)
        return padded(arrays, shape(self.n_padded), fill)

    def split(
        self, name: str, values: Any, shapes: Sequence[tuple[int, ...]], dtype: type = np.float64
    ) -> list[Array]:
        """An array of numbers, or of booleans, per sentence, of the given shapes."""
        if self.kind == "one":
            values = [values]
        if _length(values) != len(shapes):
            raise ValueError(
                f"{name} has {_length(values)} sentences; expected {len(shapes)}, as the scores "
                "have."
            )
        arrays = [
            boolean_array(name, array)
            if dtype is np.bool_
            else number_array(name, array, f"{shape} numbers")
            for array, shape in zip(values, shapes, strict=True)
        ]
        if self.kind == "padded":
            arrays = [
                array[tuple(map(slice, shape))] if array.ndim == len(shape) else array
                for array, shape in zip(arrays, shapes, strict=True)
            ]
        for index, (array, shape) in enumerate(zip(arrays, shapes, strict=True)):
            if array.shape != shape:
                where = "" if self.kind == "one" else f" of sentence {index}"
                raise ValueError(f"{name}{where} has shape {array.shape}; expected {shape}.")
        return arrays

    def join_structures(self, structures: Sequence[Any]) -> Any:
        """Structures per sentence, in this form; words that are not there are -1."""
        if self.kind != "padded" or not structures:
            return structures[0] if self.kind == "one" else list(structures)
        if isinstance(structures[0], tuple):
            return tuple(self.join_structures(field) for field in zip(*structures, strict=True))
        return self.join(structures, lambda n: (*structures[0].shape[:-1], n), fill=-1)

    def one_each(self, name: str, given: Any, n_sentences: int) -> list[Any]:
        """What a caller gave for each sentence, in a list; for one sentence, as it is."""
        if self.kind == "one":
            return [given]
        if _length(given) != n_sentences:
            raise ValueError(
                f"{_length(given)} {name} came for a batch of {n_sentences} sentences; expected "
                "one for each sentence, in the order of the scores."
            )
        return list(given)

    def split_structures(self, structures: Any, n_words: IntArray) -> list[Any]:
        """One structure per sentence, out of this form."""
        if self.kind == "one":
            return [structures]
        if self.kind == "padded" and isinstance(structures, tuple):
            fields = [self.split_structures(field, n_words) for field in structures]
            return list(zip(*fields, strict=True))
        each = self.one_each("structures", structures, len(n_words))
        if self.kind == "list":
            return each
        # A tuple is a structure of several fields, as `k_best` gives it; rows may have padding.
        return [
            row if isinstance(row, tuple) else np.asarray(row)[:n]
            for row, n in zip(each, n_words, strict=True)
        ]


def recognise(
    name: str, scores: Any, n_axes: Sequence[int], n_words: ArrayLike | None, expected: str
) -> tuple[Form, list[Array]]:
    """The form of a caller's scores, and an array per sentence (padding still there).

    An array with as many axes as `n_axes` is one sentence, with one more a padded batch; a list
    or tuple holds one array per sentence.
    """
    if is_list(scores):
        form, arrays = Form("list"), [number_array(name, array, expected) for array in scores]
    else:
        array = number_array(name, scores, expected)
        if array.ndim - 1 in n_axes and array.ndim not in n_axes:
            form, arrays = Form("padded", array.shape[1]), list(array)
        else:
            form, arrays = Form("one"), [array]
    if n_words is not None and form.kind != "padded":
        raise ValueError(
            "n_words came with scores that are not padded; it says how many words of each row of a "
            f"padded batch are real. Leave it out, or give {name} with a leading batch axis."
        )
    for index, array in enumerate(arrays):
        if array.ndim not in n_axes:
            where = "" if form.kind == "one" else f" of sentence {index}"
            raise ValueError(f"{name}{where} has shape {array.shape}; expected {expected}.")
    return form, arrays


def number_array(name: str, values: ArrayLike, expected: str) -> FloatArray:
    """A caller's values as float64, or an error that says what they are."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":
            raise TypeError(f"its type is {array.dtype}")
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is no array of numbers ({error}); expected {expected}.") from None


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


def boolean_array(name: str, values: ArrayLike) -> BoolArray:
    """A caller's booleans, one per part; numbers are refused, since scores may be meant."""
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise ValueError(
            f"{name} has type {array.dtype}; expected booleans, True for an allowed part."
        )
    return array


def padded(arrays: Sequence[Array], shape: tuple[int, ...], fill: Any) -> Array:
    """Arrays of differing shapes in the corners of the rows of one array."""
    dtype = arrays[0].dtype if arrays else np.float64
    rows = np.full((len(arrays), *shape), fill, dtype=dtype)
    for row, array in zip(rows, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    return rows


def whole_number(name: str, value: Any, least: int) -> int:
    """A caller's count: a whole number, `least` or more."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} is {value!r}; expected at least {least}, a whole number.")
    return int(value)


def is_whole(value: Any) -> bool:
    """Whether a value is one whole number, Python's or NumPy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _length(values: Any) -> int:
    """How many sentences a caller gave something for; 0 for what has no length."""
    is_one = not hasattr(values, "__len__") or (isinstance(values, np.ndarray) and not values.ndim)
    return 0 if is_one else len(values)


def is_list(values: Any) -> bool:
    """Whether a caller means a list of sentences (an array never is one)."""
    return isinstance(values, list | tuple)


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
    wrong = np.flatnonzero((counts < 1) | (counts > longest))
    if wrong.size:
        raise ValueError(
            f"n_words[{wrong[0]}] is {counts[wrong[0]]}; expected 1 to {longest}. "
            "An empty sentence has no structure: leave it out of the batch."
        )
    return counts.astype(np.int64)


def offsets(counts: IntArray) -> IntArray:
    """Where each sentence starts when `counts` items each lie end to end, and the end."""
    if counts.astype(np.float64).sum() > MOST_PARTS:
        raise ValueError(
            f"the batch would have {counts.astype(np.float64).sum():.3g} parts, more than can be "
            "counted in 64 bits; check the lengths."
        )
    return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])


def pieces(values: Array, starts: IntArray) -> list[Array]:
    """Views of each sentence's part of an array, given by `offsets`."""
    # Not np.split, which takes a microsecond for each sentence, and makes one piece of none.
    return [values[start:end] for start, end in pairwise(starts.tolist())]
