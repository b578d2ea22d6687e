"""What every model of alignment in one direction answers: links of target words to source words."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.words import Numbered
from partita.structures.batch import offsets as offsets_of

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
        for sources, targets in _blocks(source, target):
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
        found = [self._posteriors(*block)[1] for block in _blocks(source, target)]
        return np.concatenate([np.zeros(0), *found])

    def best(self, source: Numbered, target: Numbered) -> list[IntArray]:
        """The likeliest alignment of each pair: the source place of each target word, or -1."""
        found = []
        for sources, targets in _blocks(source, target):
            flat, ends = self._best(sources, targets), targets.offsets.tolist()
            found += [flat[begin:end] for begin, end in zip(ends[:-1], ends[1:], strict=True)]
        return found


def _blocks(source: Numbered, target: Numbered) -> Iterator[tuple[Numbered, Numbered]]:
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
