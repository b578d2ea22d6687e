"""Which target words like to stand side by side: what a grammar of the source cannot know."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.kept import kept_array
from partita.structures.batch import offsets as offsets_of
from partita.text.extraction import KeyCounts
from partita.text.merging import MergedCounts
from partita.text.word_vocabulary import NULL, Numbered, WordVocabulary


@dataclass(frozen=True, eq=False)
class Seams:
    """How much likelier a word is behind another than anywhere: log p(w | v) - log p(w).

    By Witten and Bell (1991), p(w | v) = (c(v, w) + t(v) p(w)) / (c(v) + t(v)), where c counts and
    t(v) is how many different words follow v. A target has such a seam between any two neighbours,
    before the first and behind the last word. The sum is the logarithm of a bigram model over one
    of words without order, so it does not prefer short targets.

    >>> words = WordVocabulary.learn([["the", "house"], ["the", "flower"]])
    >>> seams = Seams.learn(words.encode([["the", "house"], ["the", "flower"]]), words)
    >>> there, back = seams.scores([["the", "house"], ["house", "the"]])
    >>> bool(there > back)
    True
    """

    words: WordVocabulary
    keys: IntArray
    """before * len(words) + after of every pair of neighbours that was seen, ascending."""
    counts: IntArray

    @classmethod
    def learn(cls, text: Numbered, words: WordVocabulary) -> Self:
        """From sentences as numbers; O(words log words)."""
        return cls.merged([neighbours(text, len(words))], words)

    @classmethod
    def merged(cls, parts: Iterable[KeyCounts], words: WordVocabulary) -> Self:
        """From the `neighbours` of all parts of a text."""
        total = MergedCounts()
        for part in parts:
            total.add([part])
        return cls(words, *total.total()[0])

    def scores(self, targets: Sequence[Sequence[str]]) -> FloatArray:
        """The sum over the seams of each target; O(words)."""
        n_words = np.array([len(target) for target in targets], dtype=np.int64)
        numbers = [self.words.number(word) for word in chain.from_iterable(targets)]
        keys = _keys(np.array(numbers, dtype=np.int64), offsets_of(n_words), len(self.words))
        of_target = np.repeat(np.arange(len(targets)), n_words + 1)
        found = np.bincount(of_target, self._values(keys), minlength=len(targets))
        return found.astype(np.float64)

    def _values(self, keys: IntArray) -> FloatArray:
        """log (c(v, w) / p(w) + t(v)) / (c(v) + t(v)); 0 behind a word that was never seen."""
        lifts, n_behind, n_different = self._tables
        lift = np.zeros(len(keys))
        place = np.searchsorted(self.keys, keys)
        is_known = np.append(self.keys, -1)[place] == keys
        lift[is_known] = lifts[place[is_known]]
        before = keys // len(self.words)
        different = n_different[before]
        # Without a count nothing is divided by: log 1.
        below = np.where(different > 0, n_behind[before] + different, 1.0)
        values: FloatArray = np.log(np.where(different > 0, lift + different, 1.0) / below)
        return values

    @cached_property
    def _tables(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """c(v, w) / p(w) of each key; c(v) and t(v) of each word."""
        n = len(self.words)
        before, after = np.divmod(self.keys, n)
        behind = np.bincount(after, self.counts, minlength=n)
        lifts = self.counts * (behind.sum() / behind[after])
        return (
            lifts,
            np.bincount(before, self.counts, minlength=n).astype(np.float64),
            np.bincount(before, minlength=n).astype(np.float64),
        )

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file; the words are those of the model."""
        return {"keys": self.keys, "counts": self.counts}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array], words: WordVocabulary) -> Self:
        """What `arrays` describe; of an older model, which has none, every seam is 0."""
        if not arrays:
            return cls(words, *np.zeros((2, 0), dtype=np.int64))
        keys = kept_array(arrays, "keys", np.int64, None, below=len(words) ** 2)
        counts = kept_array(arrays, "counts", np.int64, len(keys))
        if (np.diff(keys) <= 0).any() or (counts < 1).any():
            raise ValueError("the pairs of neighbours do not ascend, or were never seen.")
        return cls(words, keys, counts)


def neighbours(text: Numbered, n_words: int) -> KeyCounts:
    """The keys of `Seams` that a text has, ascending, and how often."""
    keys, counts = np.unique(_keys(text.numbers, text.offsets, n_words), return_counts=True)
    return keys, counts.astype(np.int64)


def _keys(numbers: Array, offsets: IntArray, n_words: int) -> IntArray:
    """Each pair of neighbours; the empty word, which no sentence has, stands at both ends."""
    padded = np.insert(numbers.astype(np.int64), offsets, NULL)
    return padded[:-1] * n_words + padded[1:]
