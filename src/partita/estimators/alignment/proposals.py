"""Which target words a source word may become, proposed by Model 1 in both directions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.estimators.alignment.model1 import WordTable
from partita.features.word_pairs import proposal_values
from partita.grammars.choices import TargetChoices, ranges
from partita.kept import kept_array, kept_offsets
from partita.structures.batch import offsets as offsets_of
from partita.text.likeness import pair_likenesses
from partita.text.word_vocabulary import N_RESERVED, WordVocabulary
from partita.training.threads import in_threads


@dataclass(frozen=True, eq=False)
class Proposals:
    """For each source word a list of target words, best first, with numbers for each.

    >>> lists = Proposals.of(np.array([[2, 7], [0, 5], [2, 6]]), np.zeros((3, 1)), n_source=3)
    >>> choices, entries = lists.choices(np.array([2, 0]))
    >>> choices.words, choices.offsets, entries
    (array([7, 6, 5]), array([0, 2, 3]), array([1, 2, 0]))
    >>> lists.links(np.array([0, 2]), np.array([6]))[0]
    array([[False],
           [ True]])
    """

    offsets: IntArray
    """The entries of source word x: offsets[x] to offsets[x + 1], (n_source + 1,)."""
    targets: NDArray[np.int32]
    """The target word of each entry."""
    values: FloatArray
    """(n_entries, n_values)."""

    @classmethod
    def of(cls, pairs: IntArray, values: FloatArray, n_source: int) -> Self:
        """From pairs (source, target), which are sorted by source here."""
        order = np.argsort(pairs[:, 0], kind="stable")
        counts = np.bincount(pairs[:, 0], minlength=n_source)
        return cls(offsets_of(counts), pairs[order, 1].astype(np.int32), values[order])

    @classmethod
    def learn(
        cls,
        words: tuple[WordVocabulary, WordVocabulary],
        tables: tuple[WordTable, WordTable],
        most: int,
        least: float = 0.0,
        *,
        n_threads: int = 1,
    ) -> Self:
        """From t(y | x) and t(x | y): at most so many translations of each word.

        Of a source word those with the highest t(y | x) t(x | y) are kept, among those that one of
        the directions gives a probability of at least `least`; the values are those of
        `PROPOSAL_VALUES`.
        """
        pairs = _candidates(*tables, most, least, n_threads)
        x, y = pairs.T
        values = proposal_values(
            tables[0].probability(x, y),
            tables[1].probability(y, x),
            pair_likenesses(words[0].names, words[1].names, x, y),
        )
        return cls.of(pairs, values, len(words[0]))

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def sources(self) -> IntArray:
        """The source word of each entry."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @property
    def most(self) -> int:
        """Most entries of a word."""
        return int(np.diff(self.offsets).max(initial=0))

    def choices(self, source: IntArray) -> tuple[TargetChoices, IntArray]:
        """The target words of each word of a sentence, and the entry that each of them is."""
        entries = ranges(self.offsets[source], self.offsets[source + 1])
        sizes = self.offsets[source + 1] - self.offsets[source]
        words = self.targets[entries].astype(np.int64)
        return TargetChoices(words, offsets_of(sizes)), entries

    def links(self, source: IntArray, target: IntArray) -> tuple[BoolArray, IntArray]:
        """Which words of two sentences make a pair, and the entry that it is, both (n, m).

        O(n m log entries). The entry of what is no pair means nothing.
        """
        keys = _keys(source[:, np.newaxis], target)
        if not len(self):
            return np.zeros(keys.shape, dtype=np.bool_), np.zeros(keys.shape, dtype=np.int64)
        order, ascending = self._sorted
        places = np.minimum(np.searchsorted(ascending, keys), len(self) - 1)
        found: BoolArray = ascending[places] == keys
        return found, order[places]

    @cached_property
    def _sorted(self) -> tuple[IntArray, IntArray]:
        """Entries by source and target word, since a list has its best ones first; and the keys."""
        keys = _keys(self.sources, self.targets)
        order = np.argsort(keys)
        return order, keys[order]

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def restored(
        cls, arrays: Mapping[str, Array], n_source: int, n_target: int, n_values: int
    ) -> Self:
        """The lists that `arrays` describes, for so many words."""
        targets = kept_array(arrays, "targets", np.int32, None, below=n_target)
        offsets = kept_offsets(arrays, "offsets", n_source, len(targets))
        return cls(
            offsets,
            targets,
            kept_array(arrays, "values", np.float64, len(targets), n_values, is_log=True),
        )


def _keys(source: IntArray, target: Array) -> IntArray:
    """A number for each pair of words, ascending as source and target do."""
    return np.asarray(source, dtype=np.int64) * 2**32 + target


def _candidates(
    forward: WordTable, backward: WordTable, most: int, least: float, n_threads: int
) -> IntArray:
    """Pairs (source, target) of real words, at most `most` for each source word, best first."""
    # Twice as many are looked at: what is seventh in one direction may be first in both.
    (there, _), (back, _) = in_threads(
        # Unlikely ones are behind the others, and need not be sorted.
        lambda table: table.pruned(least).best(2 * most),
        (forward, backward),
        n_threads=n_threads,
    )
    pairs = np.concatenate([there, back[:, ::-1]])
    pairs = pairs[(pairs >= N_RESERVED).all(axis=1)]
    pairs = np.column_stack(np.divmod(np.unique(_keys(*pairs.T)), 2**32))
    score = forward.probability(pairs[:, 0], pairs[:, 1])
    score = score * backward.probability(pairs[:, 1], pairs[:, 0])
    pairs = pairs[np.lexsort((-score, pairs[:, 0]))]
    rank = np.arange(len(pairs)) - np.searchsorted(pairs[:, 0], pairs[:, 0])
    kept: IntArray = pairs[rank < most]
    return kept
