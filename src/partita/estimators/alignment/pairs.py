"""The words of a bitext that meet: what tables of word pairs and their learning are built on."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.bitext import word_pairs
from partita.structures.batch import offsets as offsets_of
from partita.text.word_vocabulary import NULL, Numbered


@dataclass(frozen=True, eq=False)
class Meetings:
    """Which source words (the empty word too) meet which target words, and where.

    Built in O(cells); holds 4 bytes for each cell, a place of a source and a target word in a
    sentence pair, and 4 for each entry, a pair of words that meet.

    >>> source = Numbered(np.array([2, 3, 2], dtype=np.int32), np.array([0, 2, 3]))
    >>> target = Numbered(np.array([2, 2, 3], dtype=np.int32), np.array([0, 1, 3]))
    >>> meetings = Meetings.of(source, target, n_source=4, n_target=4)
    >>> meetings.row(2)  # the words that meet word 2
    array([2, 3], dtype=int32)
    >>> meetings.cells[:3]  # of the first pair: the empty word, words 2 and 3, each with word 2
    array([0, 2, 4], dtype=int32)
    """

    offsets: IntArray
    """Entries of source word x: offsets[x] to offsets[x + 1], (n_source + 1,)."""
    targets: NDArray[np.int32]
    """The target word of each entry, ascending in a row."""
    cells: NDArray[np.int32]
    """The entry of each cell, in C order, pair after pair; the empty word is the first row."""
    cell_offsets: IntArray
    """Where the cells of each sentence pair begin."""
    n_source: IntArray
    """Words of each source sentence, and one for the empty word."""
    n_target: IntArray
    """Words of each target sentence."""

    @classmethod
    def of(cls, source: Numbered, target: Numbered, n_source: int, n_target: int) -> Self:
        """The meetings of sentence pairs, of vocabularies of the given sizes."""
        check_pairs(source, target, n_source, n_target)
        with_null = with_empty_word(source)
        word_starts = offsets_of(np.bincount(with_null.numbers, minlength=n_source))
        order = np.argsort(with_null.numbers, kind="stable")
        sentences = np.repeat(np.arange(len(source)), with_null.n_words)
        places = (order, word_starts, sentences)
        others = (target.numbers, target.offsets)
        offsets = offsets_of(word_pairs.row_sizes(*places, *others, n_target))
        if offsets[-1] > np.iinfo(np.int32).max:
            raise ValueError(
                f"{offsets[-1]:,} pairs of words meet; expected at most {np.iinfo(np.int32).max:,}."
                " Train on a part of the bitext, or with a higher min_count."
            )
        cell_offsets = offsets_of(with_null.n_words * target.n_words)
        targets = np.empty(offsets[-1], dtype=np.int32)
        cells = np.empty(cell_offsets[-1], dtype=np.int32)
        if len(target.numbers):
            word_pairs.fill_rows(
                *places, with_null.offsets, *others, cell_offsets, offsets, targets, cells
            )
        return cls(offsets, targets, cells, cell_offsets, with_null.n_words, target.n_words)

    def with_entries(self, numbers: NDArray[np.int32]) -> Self:
        """The same cells, whose entries are numbered as those of a larger bitext."""
        return replace(self, cells=numbers[self.cells])

    def row(self, word: int) -> NDArray[np.int32]:
        """The target words that meet a source word, ascending."""
        return self.targets[self.offsets[word] : self.offsets[word + 1]]


def with_empty_word(sentences: Numbered) -> Numbered:
    """Sentences with the empty word before the first.

    >>> with_empty_word(Numbered(np.array([5, 6, 5], dtype=np.int32), np.array([0, 2, 3]))).numbers
    array([0, 5, 6, 0, 5], dtype=int32)
    """
    starts = sentences.offsets[:-1]
    numbers = np.insert(sentences.numbers, starts, np.int32(NULL))
    return Numbered(numbers, sentences.offsets + np.arange(len(sentences.offsets)))


def check_pairs(source: Numbered, target: Numbered, n_source: int, n_target: int) -> None:
    """As many sentences on both sides, and words of the vocabularies; kernels check nothing."""
    if len(source) != len(target):
        raise ValueError(
            f"there are {len(source)} source and {len(target)} target sentences; expected as many "
            "of each."
        )
    for name, sentences, size in (("source", source, n_source), ("target", target, n_target)):
        numbers = sentences.numbers
        if len(numbers) and not NULL < numbers.min() <= numbers.max() < size:
            raise ValueError(
                f"the {name} has words from {numbers.min()} to {numbers.max()}; expected numbers "
                f"from 1 to {size - 1}, since 0 is the empty word."
            )
