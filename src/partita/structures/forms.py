"""One sentence, a list of them or a padded batch: what callers give, and get back the same way."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, IntArray, Number
from partita.structures.base import Structure, Structures
from partita.structures.batch import is_list, number_array, word_counts
from partita.structures.part_arrays import Axes

Item = TypeVar("Item")
Kind = Literal["one", "list", "padded"]
SHAPE = attrgetter("shape")


@dataclass(frozen=True, eq=False)
class Form:
    """The form in which a caller gave scores, and so gets everything else."""

    kind: Kind
    n_padded: int = 0
    """Words of a row of a padded batch."""
    once: tuple[bool, ...] = (False,)
    """Whether each array came once for all sentences."""
    order: IntArray | None = None
    """The words of each row, (n_sentences, n_padded): those that are there first, in order; None
    where they are the first ones anyway."""

    def scalar(self, values: Array) -> Number:
        """A number per sentence: a plain number for one sentence, else an array."""
        return values[0].item() if self.kind == "one" else values

    def one_or_list(self, items: list[Item]) -> Item | Any:
        """Something per sentence: as it is for one sentence, else the list."""
        return items[0] if self.kind == "one" else items

    def one_each(self, name: str, given: Any, n_sentences: int) -> list[Any]:
        """What a caller gave for each sentence, in a list; for one sentence, as it is."""
        if self.kind == "one":
            return [given]
        if length_of(given) != n_sentences:
            raise ValueError(
                f"{length_of(given)} {name} came for a batch of {n_sentences} sentences; expected "
                "one for each sentence, in the order of the scores."
            )
        return list(given)

    def words(self, sentence: int, n_words: int) -> IntArray:
        """Where the words of a sentence stand in its row."""
        return np.arange(n_words) if self.order is None else self.order[sentence, :n_words]

    # ------------------------------------------------------------------ structures

    def join_structures(self, sets: Structures, found: Sequence[Structure]) -> Any:
        """Structures per sentence, in this form; of a padded batch, -1 for words not there."""
        if self.kind != "padded":
            return self.one_or_list(list(found))
        rows = [self.row(sets, structure, index) for index, structure in enumerate(found)]
        if not (sets.one_per_word and rows):
            return rows
        if isinstance(rows[0], tuple):
            return tuple(np.stack(field) for field in zip(*rows, strict=True))
        return np.stack(rows)

    def join_samples(self, sets: Structures, samples: Sequence[Any]) -> Any:
        """Samples per sentence: along a leading axis, or in lists where they differ in shape."""
        if self.kind != "padded" or sets.one_per_word:
            return self.join_structures(sets, samples)
        return [
            [self.row(sets, structure, index) for structure in drawn]
            for index, drawn in enumerate(samples)
        ]

    def join_k_best(
        self, sets: Structures, best: Sequence[list[tuple[Structure, float]]]
    ) -> list[Any]:
        """The best structures per sentence with their scores; without padding, unless a mask has
        holes: then words are numbered as in the rows.
        """
        if self.order is None:
            return self.one_or_list(list(best))
        return [
            [(self.row(sets, structure, index), score) for structure, score in found]
            for index, found in enumerate(best)
        ]

    def row(self, sets: Structures, structure: Structure, sentence: int) -> Structure:
        """A structure with its words where they stand in the row, -1 where none stands."""
        words = self.words(sentence, int(sets.n_words[sentence]))
        if self.order is not None:
            structure = sets.moved(structure, words)
        if not sets.one_per_word:
            return structure
        if isinstance(structure, tuple):
            return tuple(self._padded(field, words) for field in structure)
        return self._padded(structure, words)

    def _padded(self, numbers: Array, words: IntArray) -> Array:
        row = np.full((*numbers.shape[:-1], self.n_padded), -1, dtype=numbers.dtype)
        row[..., words] = numbers
        return row

    def split_structures(self, sets: Structures, given: Any) -> Sequence[Structure]:
        """One structure per sentence, out of this form."""
        is_plain = self.kind == "padded" and isinstance(given, np.ndarray) and self.order is None
        if is_plain and sets.one_per_word and given.shape == (sets.n_sentences, self.n_padded):
            if given.size == sets.n_words.sum():
                # Nothing is padding.
                full: Sequence[Structure] = given
                return full
            return [row[:n] for row, n in zip(given, sets.n_words.tolist(), strict=True)]
        if self.kind == "padded" and sets.one_per_word and isinstance(given, tuple):
            given = list(zip(*given, strict=True))
        each = self.one_each("structures", given, sets.n_sentences)
        if self.kind != "padded":
            return each
        return [self._unpadded(sets, row, index) for index, row in enumerate(each)]

    def _unpadded(self, sets: Structures, row: Any, sentence: int) -> Structure:
        words = self.words(sentence, int(sets.n_words[sentence]))
        if sets.one_per_word:
            fields = row if isinstance(row, tuple) else (row,)
            cut = tuple(self._words_of(np.asarray(field), words, sentence) for field in fields)
            row = cut if isinstance(row, tuple) else cut[0]
        if self.order is None:
            return row
        # A word that is not there has a number that no structure may have.
        places = np.full(self.n_padded, -2)
        places[words] = np.arange(len(words))
        return sets.moved(row, places)

    def _words_of(self, row: Array, words: IntArray, sentence: int) -> Array:
        """The numbers of the words that are there; without holes, padding may be left out."""
        if self.order is None and row.shape == words.shape:
            return row
        if row.shape != (self.n_padded,):
            is_shorter = self.order is None and len(words) < self.n_padded
            also = f", or ({len(words)},), one for each word" if is_shorter else ""
            raise ValueError(
                f"the structure of sentence {sentence} has shape {row.shape}; expected "
                f"({self.n_padded},), a number for each place of the padded row{also}. Pad it to "
                "the width of the scores; what stands at places without a word is not read."
            )
        return row[words]


class Given(NamedTuple):
    """What the scores that a caller gave say about the batch."""

    form: Form
    n_words: IntArray
    sizes: dict[str, int]
    """Sizes of the axes that are not along words, by the letters of their `Axes`."""


def recognise(
    scores: Sequence[tuple[str, Any, Axes]],
    n_words: ArrayLike | None = None,
    mask: ArrayLike | None = None,
) -> Given:
    """The form of a caller's scores, as names, arrays and the axes that they should have.

    The first array decides: with as many axes as it should have it is one sentence, with one more
    a padded batch; a list or tuple holds one array per sentence. Only shapes matter here, so what
    is known of them is kept: a caller comes with the same ones again and again.
    """
    found = _recognised(scores)
    if n_words is None and mask is None:
        return found
    form, lengths, sizes = found
    if form.kind != "padded":
        raise ValueError(
            f"{'mask' if n_words is None else 'n_words'} came with scores that are not padded; "
            "it says which words of each row of a padded batch are real. Leave it out, or give "
            f"{scores[0][0]} with a leading batch axis."
        )
    lengths, order = _words_there(n_words, mask, len(lengths), form.n_padded)
    return Given(form if order is None else replace(form, order=order), lengths, sizes)


def _recognised(scores: Sequence[tuple[str, Any, Axes]]) -> Given:
    """The form of scores, all words of which are there."""
    name, given, axes = scores[0]
    if type(given) is np.ndarray and not given.dtype.hasobject:
        # Plain loops: a comprehension is a call more, and all of this is a tenth of a small batch.
        n_axes: tuple[int, ...] = ()
        expected: tuple[Axes, ...] = ()
        for _, value, others in scores:
            n_axes += (value.ndim if type(value) is np.ndarray else -1,)
            expected += (others,)
        if -1 not in n_axes:
            return _plain(name, given.shape, n_axes, expected)
    if is_list(given, axes.n_dimensions):
        kind: Kind = "list"
        shapes = shapes_of(name, given, axes)
    else:
        shapes = (shape_of(name, given, axes),)
        kind = _kind(shapes[0], axes)
    lengths, n_padded, sizes = _measured(name, axes, kind, shapes)
    for _, value, others in [] if shapes else scores[1:]:
        # Of an empty batch an array that came once knows the sizes.
        is_one_each = is_list(value, others.n_dimensions)
        sizes = (
            sizes if is_one_each else sizes | _sizes(name, (shape_of(name, value, others),), others)
        )
    once = tuple([_came_once(kind, name, value, axes) for name, value, axes in scores])
    return Given(Form(kind, n_padded, once), lengths, sizes)


def shapes_of(name: str, given: Sequence[Any], axes: Axes) -> tuple[tuple[int, ...], ...]:
    """The shapes of a caller's list of arrays."""
    if are_arrays(given):
        return tuple(map(SHAPE, given))
    return tuple([shape_of(name, array, axes) for array in given])


def are_arrays(given: Iterable[Any]) -> bool:
    """Whether all are plain arrays; by sets, since a look at each takes as long as copying it."""
    return {*map(type, given)} <= {np.ndarray}


def shape_of(name: str, values: Any, axes: Axes) -> tuple[int, ...]:
    """The shape of an array of numbers that a caller gave."""
    # Whether an array holds numbers is seen when it is read.
    is_array = type(values) is np.ndarray
    return values.shape if is_array else number_array(name, values, axes.expected).shape


@lru_cache(maxsize=256)
def _plain(
    name: str, shape: tuple[int, ...], n_axes: tuple[int, ...], expected: tuple[Axes, ...]
) -> Given:
    """What arrays say of which the first has this shape, and each so many axes."""
    kind = _kind(shape, expected[0])
    lengths, n_padded, sizes = _measured(name, expected[0], kind, (shape,))
    once = tuple(_is_once(kind, n, axes) for n, axes in zip(n_axes, expected, strict=True))
    return Given(Form(kind, n_padded, once), lengths, sizes)


def _kind(shape: tuple[int, ...], axes: Axes) -> Kind:
    return "padded" if len(shape) == axes.n_dimensions + 1 else "one"


@lru_cache(maxsize=256)
def _measured(
    name: str, axes: Axes, kind: Kind, shapes: tuple[tuple[int, ...], ...]
) -> tuple[IntArray, int, dict[str, int]]:
    """Words of each sentence, those of a row of a padded batch, and the other sizes; checked."""
    is_batch = kind == "padded"
    for index, shape in enumerate(shapes):
        where = f" of sentence {index}" if kind == "list" else ""
        _check_axes(f"{name}{where}", shape, axes, is_batch=is_batch)
    sizes = _sizes(name, shapes, axes)
    if is_batch:
        n_padded = shapes[0][1] - axes.extra
        return np.full(shapes[0][0], n_padded, dtype=np.int64), n_padded, sizes
    lengths = [shape[0] - axes.extra for shape in shapes]
    return np.array(lengths, dtype=np.int64), 0, sizes


def _check_axes(what: str, shape: tuple[int, ...], axes: Axes, *, is_batch: bool) -> None:
    sides = shape[is_batch : is_batch + axes.n_axes]
    if len(shape) != axes.n_dimensions + is_batch or len(set(sides)) > 1:
        raise ValueError(f"{what} has shape {shape}; expected {axes.expected}.")
    inner = shape[is_batch + axes.n_axes :]
    if min(inner, default=1) < 1 or sides[0] - axes.extra < 1:
        raise ValueError(
            f"{what} has shape {shape}; expected {axes.expected}, with at least one word "
            "and nothing else empty. An empty sentence has no structure: leave it out of the batch."
        )


def _sizes(name: str, shapes: tuple[tuple[int, ...], ...], axes: Axes) -> dict[str, int]:
    """The sizes of the axes that are not along words, the same in every sentence; 1 if unknown."""
    sizes = dict.fromkeys(axes.sizes, 1)
    for place, letter in enumerate(axes.sizes):
        found = {shape[place - len(axes.sizes)] for shape in shapes}
        if len(found) > 1:
            raise ValueError(
                f"the sentences of {name} have {sorted(found)} as {letter}; expected the same "
                f"number in all: {axes.expected}."
            )
        sizes[letter] = max(found, default=1)
    return sizes


def _came_once(kind: Kind, name: str, value: Any, axes: Axes) -> bool:
    """Whether an array without axes along words came once for all sentences."""
    if axes.n_axes or (kind == "list" and is_list(value, axes.n_dimensions)):
        return False
    # Not `np.ndim`, which knows nothing of what has `__dlpack__` alone.
    return _is_once(kind, len(shape_of(name, value, axes)), axes)


def _is_once(kind: Kind, n_axes: int, axes: Axes) -> bool:
    return kind != "one" and axes.n_axes == 0 and n_axes == len(axes.sizes)


def _words_there(
    n_words: ArrayLike | None, mask: ArrayLike | None, n_sentences: int, n_padded: int
) -> tuple[IntArray, IntArray | None]:
    """How many words each row has, and their order where they are not the first ones."""
    if n_words is not None and mask is not None:
        raise ValueError("n_words and mask both came; expected one of them: they say the same.")
    if n_words is not None:
        return word_counts(n_words, n_sentences, n_padded), None
    there = np.asarray(mask)
    if there.shape != (n_sentences, n_padded) or there.dtype != np.bool_:
        raise ValueError(
            f"mask is an array of {there.dtype} of shape {there.shape}; expected booleans of shape "
            f"({n_sentences}, {n_padded}), True for every word that is there."
        )
    lengths = there.sum(axis=1)
    if not lengths.all():
        raise ValueError(
            f"mask[{int(np.argmin(lengths))}] has no word; expected at least one. An empty "
            "sentence has no structure: leave it out of the batch."
        )
    if np.array_equal(there, np.arange(n_padded) < lengths[:, None]):
        return lengths, None
    return lengths, np.argsort(~there, axis=1, kind="stable")


def length_of(values: Any) -> int:
    """How many sentences a caller gave something for; 0 for what has no length."""
    is_one = not hasattr(values, "__len__") or (isinstance(values, np.ndarray) and not values.ndim)
    return 0 if is_one else len(values)
