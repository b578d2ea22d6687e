"""The door: arrays of callers to one flat vector over parts, and back."""

from collections.abc import Sequence
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kernels import parts as part_kernels
from partita.kernels.doors import padded
from partita.structures.base import Structures
from partita.structures.batch import boolean_array, is_column, number_array
from partita.structures.forms import SHAPE, Form, are_arrays, length_of
from partita.structures.part_arrays import PartArray
from partita.structures.settling import PRECISE

SINGLE = np.dtype(np.float32)
"""What networks have: turned into doubles as it is copied, not before."""
DOUBLE = np.dtype(np.float64)
NUMBERS = frozenset({DOUBLE, SINGLE})
BOOLEANS = frozenset({np.dtype(np.bool_)})


def flat_scores(sets: Structures, form: Form, given: Sequence[Any]) -> tuple[FloatArray, float]:
    """Scores for every part, copied and checked: finite, or -inf; and the largest absolute one."""
    scores, is_odd, largest = _flatten(sets, form, given, np.float64)
    # Cells that are in no structure may hold anything.
    if is_odd or largest > PRECISE or sets.reads_unused:
        n_wrong = np.count_nonzero(~(scores < np.inf)) if is_odd else 0
        if n_wrong > sets.clear_unused(scores):
            _refuse(sets, form, scores)
    return scores, largest if largest <= PRECISE else float(part_kernels.largest(scores)[0])


def single_scores(
    sets: Structures, form: Form, given: Sequence[Any]
) -> tuple[FloatArray, float] | None:
    """`flat_scores` in the single precision that one array came in, and half the memory.

    None where it came in another, or structures do not take it, or something is wrong.
    """
    if not sets.takes_single or form.kind == "list" or getattr(given[0], "dtype", None) != SINGLE:
        return None
    scores, is_odd, largest = _flatten(sets, form, given, np.float64, SINGLE)
    return None if is_odd or largest > PRECISE else (scores, largest)


def flat_values(sets: Structures, form: Form, given: Sequence[Any], dtype: type) -> Any:
    """Numbers or booleans for every part; an array that is None counts as 0, or as True."""
    values, _, _ = _flatten(sets, form, given, dtype)
    return values != 0 if dtype is np.bool_ else values


def shaped(
    sets: Structures, form: Form, parts: FloatArray, *, largest: bool, copied: bool = True
) -> list[Any]:
    """A flat vector over parts as arrays in the form of the scores, with memory of their own.

    Unless `copied` is False: then they are views where they can be.

    Parts whose scores came once for several sentences are added up, or the largest taken; so
    padding is 0 or -inf.
    """
    _, shares, passages = _ways(sets, form)
    if shares:
        source = parts.copy() if copied else parts
        if len(shares) == 1:
            return [source.reshape(shares[0][2])]
        return [source[start:end].reshape(shape) for start, end, shape in shares]
    neutral = -np.inf if largest else 0.0
    if form.kind == "list" and copied:
        whole = parts.copy()
    arrays: list[Any] = []
    for index, passage in enumerate(passages):
        starts = sets.array_starts[index]
        if passage.once:
            merged = np.empty(passage.shape)
            padded.merge(parts, starts, largest, neutral, merged.reshape(-1))
            arrays.append(merged)
        elif form.kind == "padded":
            batch = np.empty(passage.shape)
            padded.scatter(parts, starts, *passage.layout, sets.lengths, neutral, batch.reshape(-1))
            arrays.append(batch if form.order is None else _reordered(form, passage, batch))
        else:
            arrays.append(sets.split_array(index, whole if copied else parts))
    return arrays


def shape_alike(sets: Structures, form: Form) -> tuple[int, ...] | None:
    """The shape of the only array, where its cells and the parts lie alike; else None."""
    _, shares, _ = _ways(sets, form)
    return shares[0][2] if len(shares) == 1 else None


class _Passage(NamedTuple):
    """How one array of a batch comes in, and how its cells lie there."""

    name: str
    shape: tuple[int, ...]
    """Of the whole batch, or of what came once for all sentences; of a list, of the longest."""
    stride: int
    """How many cells the sentences lie apart, see `padded.gather`."""
    layout: tuple[int, int, int, int]
    """What kernels ask next: the places of an axis along words, how many such axes, how much longer
    they are than the sentence, and the cells of the others."""
    once: bool


class _Passages(NamedTuple):
    """How arrays of a form come in, and go out."""

    form: Form
    shares: list[tuple[int, int, tuple[int, ...]]]
    """Where arrays and parts lie alike: of each array, where it begins and ends, and its shape."""
    passages: tuple[_Passage, ...]
    """Where they do not."""


def _ways(sets: Structures, form: Form) -> _Passages:
    known = sets.ways
    found: _Passages
    if known is not None and known.form is form:
        found = known
        return found
    shares = _shares(sets, form)
    is_padded = form.kind == "padded"
    n_padded, n_sentences = form.n_padded if is_padded else sets.largest_length, sets.n_sentences
    passages = (
        ()
        if shares
        else _laid_out(sets.arrays, form.once, n_padded, n_sentences if is_padded else None)
    )
    # Not read again: another thread may come with another form.
    found = sets.ways = _Passages(form, shares, passages)
    return found


@lru_cache(maxsize=256)
def _laid_out(
    arrays: tuple[PartArray, ...], once: tuple[bool, ...], n_padded: int, n_sentences: int | None
) -> tuple[_Passage, ...]:
    """The passages of a padded batch, or of a list, which has no number of sentences."""
    found = []
    for array, is_once in zip(arrays, once, strict=True):
        shape, stride = array.shape(n_padded), 0
        if not is_once:
            stride = padded.END_TO_END if n_sentences is None else prod(shape)
            shape = shape if n_sentences is None else (n_sentences, *shape)
        layout = n_padded + array.extra, array.n_axes, array.extra, array.n_inner
        found.append(_Passage(array.name, shape, stride, layout, is_once))
    return tuple(found)


def _flatten(
    sets: Structures, form: Form, given: Sequence[Any], dtype: type, kind: Any = DOUBLE
) -> tuple[FloatArray, bool, float]:
    """One flat vector; whether some of it is neither finite nor -inf; and the largest number.

    Of values as they are that vector is of the type `kind`; else of doubles.
    """
    if form.kind == "list" and len(given) == 1 and given[0] is not None:
        # Nothing comes between the sentences.
        flat = _listed(sets, 0, given[0], dtype)
        return flat, *padded.copy(flat, flat)
    flat, is_odd, largest = np.empty(sets.n_parts, kind), False, 0.0
    _, shares, passages = _ways(sets, form)
    if shares:
        for array, values, (start, end, shape) in zip(sets.arrays, given, shares, strict=True):
            if values is None:
                flat[start:end] = dtype is np.bool_
                continue
            odd, most = padded.copy(_row(array.name, values, shape, dtype), flat[start:end])
            is_odd, largest = is_odd or odd, max(largest, most)
        return flat, is_odd, largest
    starts, lengths = sets.array_starts, sets.lengths
    is_plain = dtype is np.float64 and form.order is None
    for index, passage in enumerate(passages):
        values = given[index]
        if is_plain and is_plain_array(values, passage.shape):
            cells, stride = values.ravel(), passage.stride
        else:
            cells, stride = _cells(sets, form, index, passage, values, dtype)
        odd, most = padded.gather(cells, stride, *passage.layout, lengths, starts[index], flat)
        is_odd, largest = is_odd or odd, max(largest, most)
    return flat, is_odd, largest


def is_plain_array(given: Any, shape: tuple[int, ...]) -> bool:
    """Whether an array is as nearly all are that come, so that nothing about it need be asked."""
    if type(given) is not np.ndarray or given.shape != shape:
        return False
    return given.dtype is DOUBLE or given.dtype is SINGLE


def _shares(sets: Structures, form: Form) -> list[tuple[int, int, tuple[int, ...]]]:
    """Where each array of a caller begins and ends among the parts, and its shape.

    Nothing where arrays and parts do not lie alike: sentences are several, and there is padding,
    or an array that comes between them.
    """
    if form.kind == "one":
        return sets.shares_of_one
    is_full = form.n_padded == sets.largest_length and form.order is None
    return sets.shares_of_batch if form.kind == "padded" and is_full else []


def _cells(
    sets: Structures, form: Form, index: int, passage: _Passage, given: Any, dtype: type
) -> tuple[FloatArray, int]:
    """The cells of one array for all sentences, and how far these lie apart (see `gather`)."""
    if given is None:
        shape = passage.shape if passage.stride <= 0 else passage.shape[1:]
        return np.full(prod(shape), float(dtype is np.bool_)), 0
    if passage.stride == padded.END_TO_END:
        return _listed(sets, index, given, dtype), padded.END_TO_END
    if passage.once or form.order is None:
        if sets.n_sentences == 0 == length_of(given) and not passage.once:
            return np.zeros(0), 0
        return _row(passage.name, given, passage.shape, dtype), passage.stride
    cells = _checked(passage.name, given, passage.shape, dtype)
    _, n_axes, extra, _ = passage.layout
    for axis in range(1, n_axes + 1):
        cells = _along(cells, axis, _places(form.order, extra))
    return _floats(cells), passage.stride


def _listed(sets: Structures, index: int, given: Any, dtype: type) -> FloatArray:
    """The cells of an array for each sentence, end to end, out of a list of them."""
    array, shapes = sets.arrays[index], sets.array_shapes[index]
    if length_of(given) != len(shapes):
        raise ValueError(
            f"{array.name} has {length_of(given)} sentences; expected {len(shapes)}, as the "
            "scores have."
        )
    if is_column(given):
        given = list(given)
    is_right = are_arrays(given) and [*map(SHAPE, given)] == shapes
    if not is_right or not {cells.dtype for cells in given} <= _taken(dtype):
        given = [
            _checked(array.name, cells, shape, dtype, sentence)
            for sentence, (cells, shape) in enumerate(zip(given, shapes, strict=True))
        ]
    if not shapes:
        return np.zeros(0)
    # With one axis along words or none, arrays fit together as they are.
    rows = given if array.n_axes < 2 else [cells.ravel() for cells in given]
    return np.concatenate(rows, dtype=np.float64).reshape(-1)


def _reordered(form: Form, passage: _Passage, batch: FloatArray) -> FloatArray:
    """A padded batch with the words of each row where they stand there."""
    assert form.order is not None
    width, n_axes, extra, _ = passage.layout
    places = _places(np.argsort(form.order, axis=1), extra)
    # Of the tables between words, those that lead to a first word: behind them is padding.
    places[places < 0] = width - 1
    for axis in range(1, n_axes + 1):
        batch = _along(batch, axis, places)
    return batch


def _places(order: IntArray, extra: int) -> IntArray:
    """An order of words as one of the places of an axis.

    A root comes first. A table between two words belongs to the one that it leads to, so that the
    first word has none.
    """
    if extra == 1:
        return np.concatenate([np.zeros((len(order), 1), dtype=np.int64), order + 1], axis=1)
    return order[:, 1:] - 1 if extra == -1 else order


def _along(cells: Array, axis: int, places: IntArray) -> Array:
    """The cells of a batch in another order along an axis, that of each sentence."""
    shape = [1] * cells.ndim
    shape[0], shape[axis] = places.shape
    return np.take_along_axis(cells, places.reshape(shape), axis)


def _checked(
    name: str, given: Any, shape: tuple[int, ...], dtype: type, sentence: int | None = None
) -> Array:
    """An array of numbers, or of booleans, of the given shape."""
    if type(given) is np.ndarray and given.shape == shape and given.dtype in _taken(dtype):
        return given
    is_boolean = dtype is np.bool_
    cells = boolean_array(name, given) if is_boolean else number_array(name, given, f"{shape}")
    if cells.shape != shape:
        where = "" if sentence is None else f" of sentence {sentence}"
        raise ValueError(f"{name}{where} has shape {cells.shape}; expected {shape}.")
    return cells


def _taken(dtype: type) -> frozenset[Any]:
    """The types of arrays that are taken as they are."""
    return BOOLEANS if dtype is np.bool_ else NUMBERS


def _row(name: str, given: Any, shape: tuple[int, ...], dtype: type) -> FloatArray:
    """A caller's array, checked, end to end."""
    if dtype is np.float64 and is_plain_array(given, shape):
        # Not copied where it lies in this order.
        row: FloatArray = given.ravel()
        return row
    return _floats(_checked(name, given, shape, dtype))


def _floats(cells: Array) -> FloatArray:
    """The cells end to end, as kernels read them: in single precision where they are in that."""
    kind: Any = SINGLE if cells.dtype == SINGLE else np.float64
    flat: FloatArray = np.ascontiguousarray(cells, dtype=kind).reshape(-1)
    return flat


def _refuse(sets: Structures, form: Form, scores: FloatArray) -> None:
    """The error for scores that are not finite or -inf: it names the first place."""
    for array, views in zip(sets.arrays, sets.split_arrays(scores), strict=True):
        for sentence, cells in enumerate(views):
            wrong = np.argwhere(~(cells < np.inf))
            if wrong.size:
                value, index = cells[tuple(wrong[0])], wrong[0]
                if form.order is not None:
                    # Where the caller has it.
                    places = _places(form.order, array.extra)[sentence]
                    index[: array.n_axes] = places[index[: array.n_axes]]
                where = "" if form.kind == "one" else f"[{sentence}]"
                raise ValueError(
                    f"{array.name}{where}{index.tolist()} is {value}; scores are natural "
                    "logarithms and must be finite, or -inf for a part that is forbidden. Check "
                    "the model that made them."
                )
