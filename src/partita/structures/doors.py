"""The door: arrays of callers to one flat vector over parts, and back."""

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kernels import parts as part_kernels
from partita.kernels.doors import padded
from partita.structures.base import Structures
from partita.structures.batch import boolean_array, number_array
from partita.structures.forms import Form, length_of
from partita.structures.part_arrays import PartArray
from partita.structures.settling import PRECISE

SINGLE = np.dtype(np.float32)
"""What networks have: turned into doubles as it is copied, not before."""
NUMBERS = frozenset({np.dtype(np.float64), SINGLE})
BOOLEANS = frozenset({np.dtype(np.bool_)})


def flat_scores(sets: Structures, form: Form, given: Sequence[Any]) -> tuple[FloatArray, float]:
    """Scores for every part, copied and checked: finite, or -inf; and the largest absolute one."""
    scores, n_wrong, largest = _flatten(sets, form, given, np.float64)
    # Cells that are in no structure may hold anything.
    is_odd = n_wrong or largest > PRECISE
    if (is_odd or sets.reads_unused) and n_wrong > sets.clear_unused(scores):
        _refuse(sets, form, scores)
    return scores, largest if largest <= PRECISE else float(part_kernels.largest(scores)[0])


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
    shares = _shares(sets, form)
    if shares:
        source = parts.copy() if copied else parts
        return [source[start:end].reshape(shape) for start, end, shape in shares]
    neutral = -np.inf if largest else 0.0
    if form.kind == "list" and copied:
        whole = parts.copy()
    arrays: list[Any] = []
    for index, once in enumerate(form.once):
        array, starts = sets.arrays[index], sets.array_starts[index]
        if once:
            merged = np.empty(array.inner)
            padded.merge(parts, starts, largest, neutral, merged.reshape(-1))
            arrays.append(merged)
        elif form.kind == "padded":
            arrays.append(_scattered(sets, form, array, starts, parts, neutral))
        else:
            arrays.append(sets.split_array(index, whole if copied else parts))
    return arrays


def _flatten(
    sets: Structures, form: Form, given: Sequence[Any], dtype: type
) -> tuple[FloatArray, float, float]:
    """One flat vector, how many of its numbers are neither finite nor -inf, and the largest."""
    if form.kind == "list" and len(given) == 1 and given[0] is not None:
        # Nothing comes between the sentences.
        flat = _listed(sets, 0, given[0], dtype)
        return flat, *padded.copy(flat, flat)
    flat, n_wrong, largest = np.empty(sets.n_parts), 0.0, 0.0
    shares = _shares(sets, form)
    if shares:
        for array, values, (start, end, shape) in zip(sets.arrays, given, shares, strict=True):
            if values is None:
                flat[start:end] = dtype is np.bool_
            else:
                cells = _floats(_checked(array.name, values, shape, dtype))
                wrong, most = padded.copy(cells, flat[start:end])
                n_wrong, largest = n_wrong + wrong, max(largest, most)
        return flat, n_wrong, largest
    lengths = sets.lengths
    n_padded = form.n_padded if form.kind == "padded" else sets.largest_length
    for index, (array, starts) in enumerate(zip(sets.arrays, sets.array_starts, strict=True)):
        cells, stride = _cells(sets, form, index, n_padded, given[index], dtype)
        wrong, most = padded.gather(
            cells, stride, n_padded + array.extra, array.n_axes, array.extra, array.n_inner,
            lengths, starts, flat,
        )  # fmt: skip
        n_wrong, largest = n_wrong + wrong, max(largest, most)
    return flat, n_wrong, largest


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
    sets: Structures, form: Form, index: int, n_padded: int, given: Any, dtype: type
) -> tuple[FloatArray, int]:
    """The cells of one array for all sentences, and how far these lie apart (see `gather`)."""
    array, once = sets.arrays[index], form.once[index]
    if given is None:
        return np.full(prod(array.shape(n_padded)), float(dtype is np.bool_)), 0
    if form.kind == "list" and not once:
        return _listed(sets, index, given, dtype), padded.END_TO_END
    shape = array.inner if once else array.shape(n_padded)
    if form.kind == "padded" and not once:
        if length_of(given) == sets.n_sentences == 0:
            return np.zeros(0), 0
        cells = _checked(array.name, given, (sets.n_sentences, *shape), dtype)
        if form.order is not None:
            for axis in range(1, array.n_axes + 1):
                cells = _along(cells, axis, _places(form.order, array.extra))
    else:
        cells = _checked(array.name, given, shape, dtype)
    flat = _floats(cells)
    return flat, 0 if once else len(flat) // sets.n_sentences


def _listed(sets: Structures, index: int, given: Any, dtype: type) -> FloatArray:
    """The cells of an array for each sentence, end to end, out of a list of them."""
    array, shapes = sets.arrays[index], sets.array_shapes[index]
    if length_of(given) != len(shapes):
        raise ValueError(
            f"{array.name} has {length_of(given)} sentences; expected {len(shapes)}, as the "
            "scores have."
        )
    # By sets, since a comparison for each sentence takes as long as copying it.
    are_arrays = {*map(type, given)} <= {np.ndarray}
    are_right = are_arrays and {cells.dtype for cells in given} <= _taken(dtype)
    if not are_right or [cells.shape for cells in given] != shapes:
        given = [
            _checked(array.name, cells, shape, dtype, sentence)
            for sentence, (cells, shape) in enumerate(zip(given, shapes, strict=True))
        ]
    if not shapes:
        return np.zeros(0)
    # With one axis along words or none, arrays fit together as they are.
    rows = given if array.n_axes < 2 else [cells.ravel() for cells in given]
    return np.concatenate(rows, dtype=np.float64).reshape(-1)


def _scattered(
    sets: Structures, form: Form, array: PartArray, starts: IntArray, parts: FloatArray, fill: float
) -> FloatArray:
    """The parts of one array as a padded batch."""
    batch = np.empty((sets.n_sentences, *array.shape(form.n_padded)))
    padded.scatter(
        parts, starts, form.n_padded + array.extra, array.n_axes, array.extra, array.n_inner,
        sets.lengths, fill, batch.reshape(-1),
    )  # fmt: skip
    if form.order is not None:
        places = _places(np.argsort(form.order, axis=1), array.extra)
        # Of the tables between words, those that lead to a first word: behind them is padding.
        places[places < 0] = form.n_padded + array.extra - 1
        for axis in range(1, array.n_axes + 1):
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
