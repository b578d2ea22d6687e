"""Structures out of forests: say what the steps of a dynamic program are, and have all answers."""

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property
from math import prod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import Best, Inference, Structure
from partita.structures.batch import pieces
from partita.structures.forest_batches import ForestBatch, ForestTable
from partita.structures.kept_forests import KeptForests
from partita.structures.part_arrays import PartArray
from partita.structures.tied_forests import TiedForest

Cell = tuple[Any, ...]
"""A cell of an array, as (name, *place)."""
Step = tuple[Hashable, Sequence[Hashable], Cell | None]
"""Head, tails, and the cell that scores the step; None where nothing does."""


class StepStructures(ArrayStructures):
    """Structures that are the derivations of one forest for each number of words.

    A subclass says three things: `forest`, whose edges are the steps of the dynamic program, each
    an instance of a cell of the arrays; `structure`, what the cells of a derivation mean; and
    `places`, the cells of a structure. Every structure must have exactly one derivation. Its cells
    may be some of those of a larger structure, if no structure has a cell twice.
    Log-partition, marginals, covariances, best structures and samples follow, in O(edges) each.

    `arrays` are the arrays of scores; `options` is whatever else the sets of structures depend
    on. Sentences of the same length share their forest, also those of other batches.
    """

    _forests: ClassVar[KeptForests] = KeptForests()

    def __init__(
        self, n_words: ArrayLike, arrays: Sequence[PartArray], options: tuple[Hashable, ...] = ()
    ) -> None:
        super().__init__(n_words, arrays)
        self.options = options

    @abstractmethod
    def forest(self, n_words: int) -> TiedForest:
        """The forest of a sentence; `build` makes it from steps."""

    @abstractmethod
    def structure(self, n_words: int, *places: IntArray) -> Structure:
        """The structure whose derivation has these cells.

        For each array a matrix with a row for every cell, in the order of the derivation (an
        edge, then what its tails derive, from left to right), and a column for every axis.
        """

    @abstractmethod
    def places(self, n_words: int, structure: Structure, sentence: int) -> Sequence[ArrayLike]:
        """The cells of a caller's structure, for each array as `structure` gets them, in any order.

        What has the wrong shape should be an error that names the sentence. Whether the cells are
        those of a derivation is checked by the caller.
        """

    def build(self, n_words: int, steps: Iterable[Step], root: Hashable) -> TiedForest:
        """A forest from its steps, with nodes of any names, and cells of arrays by their names."""
        starts, n_parts = {}, 0
        for array in self.arrays:
            starts[array.name] = n_parts, array.shape(n_words)
            n_parts += prod(array.shape(n_words))
        edges = [
            (head, tails, None if cell is None else _part(*starts[cell[0]], cell))
            for head, tails, cell in steps
        ]
        return TiedForest.of(edges, root, n_parts)

    # ------------------------------------------------------------------ what follows

    def is_same_set(self, other: Self) -> bool:
        """The same arrays and options, and sentences of the same lengths."""
        mine, theirs = (self.arrays, self.options), (other.arrays, other.options)
        return mine == theirs and np.array_equal(self.n_words, other.n_words)

    def infer(self, scores: FloatArray) -> Inference:
        """Inside and outside on the forests; the counts of a cell are summed over its edges."""
        return self._batch.infer(scores)

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """Inside and outside, differentiated along the direction."""
        return self._batch.covariance_product(inference, direction)

    def argmax(self, scores: FloatArray) -> Best:
        """The best derivation of each forest, as a structure."""
        best = self._batch.argmax(scores)
        found = [self._read(index, edges) for index, edges in enumerate(best.structures)]
        return Best(found, best.scores)

    def count(self, allowed: BoolArray) -> list[int]:
        """The inside algorithm of each forest in whole numbers."""
        sentences = zip(self.n_words.tolist(), pieces(allowed, self.part_offsets), strict=True)
        return [self._by_length[n_words].count(mine) for n_words, mine in sentences]

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """Inside and outside, with a maximum for the sum."""
        return self._batch.max_marginals(scores)

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best derivations of each forest, as structures."""
        return [
            [(self._read(index, edges), score) for edges, score in derivations]
            for index, derivations in enumerate(self._batch.k_best(scores, k))
        ]

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Derivations top-down; along a leading axis where a structure has a number a word."""
        samples: list[Any] = [
            [self._read(index, edges) for edges in derivations]
            for index, derivations in enumerate(self._batch.sample(inference, size, rng))
        ]
        if self.one_per_word:
            sizes = self.n_words.tolist()
            return [np.reshape(rows, (size, n)) for rows, n in zip(samples, sizes, strict=True)]
        return samples

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Derivations top-down, without replacement."""
        return [
            [self._read(index, edges) for edges in derivations]
            for index, derivations in enumerate(self._batch.sample_distinct(scores, size, rng))
        ]

    def resampled(
        self,
        scores: FloatArray,
        structures: Sequence[Structure],
        n_steps: int,
        rng: np.random.Generator,
    ) -> list[Structure]:
        """Metropolis sampling: a step derives a node of the derivation anew, drawn at random."""
        # Where nothing else is allowed, the largest derivation is that of the structure.
        given = self._batch.argmax(np.where(self.counts(structures) > 0, 1.0, -np.inf)).structures
        found = self._batch.resampled(scores, given, n_steps, rng)
        return [self._read(index, edges) for index, edges in enumerate(found)]

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each cell occurs in one structure per sentence.

        Where nothing else is allowed, the counts of a structure are the marginals; or, where its
        cells make up smaller structures, too, those of the largest one. What has neither is no
        structure of the set.
        """
        counts = self._cell_counts(structures)
        alone = self.infer(np.where(counts > 0, 0.0, -np.inf))
        self._check_each(structures, alone.log_partition > -np.inf)
        is_alone = self._are_alike(counts, alone.marginals)
        if not is_alone.all():
            largest = self.argmax(np.where(counts > 0, 1.0, -np.inf)).structures
            is_largest = self._are_alike(counts, self._cell_counts(largest))
            self._check_each(structures, is_alone | is_largest)
        return counts

    def _cell_counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each cell is named, by whatever comes for a structure."""
        counts = np.zeros(self.n_parts)
        for sentence, structure in enumerate(structures):
            np.add.at(counts, self._parts_of(sentence, structure), 1.0)
        return counts

    def _are_alike(self, counts: FloatArray, others: FloatArray) -> BoolArray:
        """For each sentence whether all counts are those of the other vector."""
        both = zip(
            pieces(counts, self.part_offsets), pieces(others, self.part_offsets), strict=True
        )
        return np.array([np.array_equal(mine, other) for mine, other in both], dtype=np.bool_)

    def _check_each(self, structures: Sequence[Structure], is_one: BoolArray) -> None:
        """An error for the first of the structures that is none."""
        for sentence in np.flatnonzero(~is_one)[:1].tolist():
            raise ValueError(
                f"the structure of sentence {sentence} is none: {structures[sentence]!r}. "
                f"Expected one of the set of {type(self).__name__} for {self.n_words[sentence]}"
                " words; check what it leaves out, or has twice."
            )

    def _parts_of(self, sentence: int, structure: Structure) -> IntArray:
        """The parts of a caller's structure, in the index of the batch."""
        n_words = int(self.n_words[sentence])
        given = self.places(n_words, structure, sentence)
        parts = []
        for array, starts, cells in zip(self.arrays, self.array_starts, given, strict=True):
            shape = array.shape(n_words)
            places = np.reshape(np.asarray(cells, dtype=np.int64), (-1, len(shape)))
            wrong = np.flatnonzero(((places < 0) | (places >= np.array(shape))).any(axis=1))
            if wrong.size:
                raise ValueError(
                    f"the structure of sentence {sentence} has {array.name}"
                    f"{places[wrong[0]].tolist()}; expected places in an array of shape {shape}."
                )
            parts.append(starts[sentence] + np.ravel_multi_index(tuple(places.T), shape))
        return np.concatenate(parts)

    def _read(self, sentence: int, edges: IntArray) -> Structure:
        """A derivation as a structure."""
        n_words = int(self.n_words[sentence])
        cells: Array = self._by_length[n_words].parts[edges]
        places, start = [], 0
        for array in self.arrays:
            shape = array.shape(n_words)
            end = start + prod(shape)
            mine = cells[(start <= cells) & (cells < end)] - start
            places.append(np.stack(np.unravel_index(mine, shape), axis=1))
            start = end
        return self.structure(n_words, *places)

    @cached_property
    def _by_length(self) -> dict[int, TiedForest]:
        """The forest of each number of words in the batch."""
        return {n_words: self._forest(n_words) for n_words in np.unique(self.n_words).tolist()}

    def _forest(self, n_words: int) -> TiedForest:
        """The forest that all batches share."""
        key = (type(self), self.arrays, self.options, n_words)
        return self._forests.get(key, lambda: self.forest(n_words))

    @cached_property
    def _batch(self) -> ForestBatch:
        forests = list(self._by_length.values())
        table = ForestTable.of(
            [forest.hypergraph for forest in forests], [forest.parts for forest in forests]
        )
        which = np.searchsorted(list(self._by_length), self.n_words)
        return ForestBatch(table, which.astype(np.int64), self.part_offsets)


def _part(start: int, shape: tuple[int, ...], cell: Cell) -> int:
    """The part that a cell is; NumPy's function for it would take longer than all the rest."""
    _, *place = cell
    part = 0
    for index, size in zip(place, shape, strict=True):
        if not 0 <= index < size:
            raise ValueError(
                f"a step is scored by {cell}; expected a place in an array of {shape}."
            )
        part = part * size + int(index)
    return start + part
