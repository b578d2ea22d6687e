"""What every model of alignment in one direction answers: links of target words to source words."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.alignment.model1 import WordTable
from partita.kernels.bitext import model1
from partita.structures.batch import offsets as offsets_of
from partita.structures.batch import pieces
from partita.text.word_vocabulary import Numbered, WordNumbers

MOST_CELLS = 2**22
"""Of sentence pairs that are answered together: 32 MB of probabilities."""


class DirectedModel(ABC):
    """p(target, alignment | source), where each target word comes from one source word or none."""

    table: WordTable

    @abstractmethod
    def _posteriors(self, source: Numbered, target: Numbered) -> tuple[FloatArray, FloatArray]:
        """Posteriors of all cells of pairs, flat, the empty word first; log-likelihood of each."""

    @abstractmethod
    def _best(self, source: Numbered, target: Numbered) -> IntArray:
        """The source place of every target word in the likeliest alignments; -1 is none."""

    @abstractmethod
    def with_table(self, table: WordTable) -> Self:
        """The same model with other word probabilities."""

    @abstractmethod
    def distribution(self, source: WordNumbers, target: WordNumbers) -> LinearChain:
        """The alignments of one pair as a linear chain: tag i < n is place i, others are none."""

    @abstractmethod
    def tags(self, places: Sequence[int], n_source: int) -> list[int]:
        """The tags of that chain for the source place of each target word, -1 for none."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""

    def posteriors(
        self, source: Numbered, target: Numbered, *, empty_word: bool = False
    ) -> list[FloatArray]:
        """p(target word j comes from source word i | both sentences), (n, m) for each pair.

        With `empty_word`, (n + 1, m): row 0 says that it comes from none, and columns sum to 1.
        """
        first = 0 if empty_word else 1
        found = []
        for sources, targets in blocks(source, target):
            flat, _ = self._posteriors(sources, targets)
            shapes = list(
                zip((sources.n_words + 1).tolist(), targets.n_words.tolist(), strict=True)
            )
            ends = offsets_of((sources.n_words + 1) * targets.n_words).tolist()
            found += [
                flat[begin:end].reshape(shape)[first:].copy()
                for begin, end, shape in zip(ends[:-1], ends[1:], shapes, strict=True)
            ]
        return found

    def log_likelihood(self, source: Numbered, target: Numbered) -> FloatArray:
        """log p(target | source) of each pair, the alignment summed out."""
        found = [self._posteriors(*block)[1] for block in blocks(source, target)]
        return np.concatenate([np.zeros(0), *found])

    def best(self, source: Numbered, target: Numbered) -> list[IntArray]:
        """The likeliest alignment of each pair: the source place of each target word, or -1."""
        return pieces(self.best_places(source, target), target.offsets)

    def best_places(self, source: Numbered, target: Numbered) -> IntArray:
        """The same, end to end."""
        found = [self._best(*block) for block in blocks(source, target)]
        return np.concatenate([np.zeros(0, dtype=np.int64), *found])


@dataclass(frozen=True, eq=False)
class DirectedModel1(DirectedModel):
    """IBM Model 1 as a model of alignment: every target word chooses its source word alone."""

    table: WordTable

    def _posteriors(self, source: Numbered, target: Numbered) -> tuple[FloatArray, FloatArray]:
        cells = self.table.cells(source, target)
        out, log_likelihood = np.empty_like(cells), np.empty(len(source))
        model1.posteriors(cells, *_shape(source, target), out, log_likelihood)
        return out, log_likelihood

    def _best(self, source: Numbered, target: Numbered) -> IntArray:
        out = np.empty(len(target.numbers), dtype=np.int64)
        model1.best(self.table.cells(source, target), *_shape(source, target), out)
        return out

    def with_table(self, table: WordTable) -> Self:
        """The same with other probabilities."""
        return replace(self, table=table)

    def distribution(self, source: WordNumbers, target: WordNumbers) -> LinearChain:
        """A chain of n + 1 tags without transitions; tag n is the empty word."""
        with np.errstate(divide="ignore"):
            words = np.log(self.table.matrix(source, target) / (len(source) + 1))
        # A word that nothing can be translated to says nothing.
        words[:, (words == -np.inf).all(axis=0)] = -np.log(len(words))
        return LinearChain(np.roll(words, -1, axis=0).T, np.zeros((len(words), len(words))))

    def tags(self, places: Sequence[int], n_source: int) -> list[int]:
        """Places, and n for none."""
        return [place if place >= 0 else n_source for place in places]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return self.table.arrays()

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `arrays` describes."""
        return cls(WordTable.restored(arrays))


def _shape(source: Numbered, target: Numbered) -> tuple[IntArray, IntArray, IntArray]:
    n_source = source.n_words + 1
    return offsets_of(n_source * target.n_words), n_source, target.n_words


def blocks(source: Numbered, target: Numbered) -> Iterator[tuple[Numbered, Numbered]]:
    """Pairs in runs that do not take too much memory."""
    sizes = ((source.n_words + 1) * target.n_words).tolist()
    start, total = 0, 0
    for place, size in enumerate(sizes):
        if total + size > MOST_CELLS and place > start:
            yield source.between(start, place), target.between(start, place)
            start, total = place, 0
        total += size
    if start < len(sizes):
        yield source.between(start, len(sizes)), target.between(start, len(sizes))
