"""Which words may be linked, deleted and inserted."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, IntArray
from partita.grammars.choices import TargetChoices
from partita.grammars.parts import word_numbers


@dataclass(frozen=True, eq=False)
class Lexicon:
    """The terminal rules of a grammar: x/y for allowed pairs, x/eps and eps/y for allowed words.

    Words are numbers. Build one with `from_pairs`.

    >>> lexicon = Lexicon.from_pairs([(0, 1), (0, 2), (1, 0)], n_source=2, n_target=3)
    >>> links, deletions, insertions = lexicon.allowed([1, 0], [0, 2])
    >>> links
    array([[ True, False],
           [False,  True]])
    >>> lexicon.translations([0, 1]).words
    array([1, 2, 0])
    """

    pairs: IntArray
    """Allowed pairs as source * n_target + target, ascending."""
    offsets: IntArray
    """The pairs of source word x are `pairs[offsets[x] : offsets[x + 1]]`."""
    can_delete: BoolArray
    """(n_source,)."""
    can_insert: BoolArray
    """(n_target,)."""

    @classmethod
    def from_pairs(
        cls,
        pairs: ArrayLike,
        n_source: int,
        n_target: int,
        *,
        deletions: ArrayLike = True,
        insertions: ArrayLike = True,
    ) -> Self:
        """From pairs (source, target), (n_pairs, 2), out of vocabularies of the given sizes.

        `deletions` and `insertions` hold a boolean per word, or one for all.
        """
        array = np.asarray(pairs)
        if array.size == 0:
            array = np.zeros((0, 2), dtype=np.int64)
        if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
            raise ValueError(
                f"pairs is an array of {array.dtype} of shape {array.shape}; expected (n_pairs, 2) "
                "whole numbers: a source and a target word."
            )
        source = word_numbers("source words of pairs", array[:, 0], n_source)
        target = word_numbers("target words of pairs", array[:, 1], n_target)
        keys = np.unique(source * n_target + target)
        return cls(
            keys,
            np.searchsorted(keys, np.arange(n_source + 1) * n_target),
            np.broadcast_to(np.asarray(deletions, dtype=np.bool_), (n_source,)),
            np.broadcast_to(np.asarray(insertions, dtype=np.bool_), (n_target,)),
        )

    @property
    def n_source(self) -> int:
        """Number of source words."""
        return len(self.can_delete)

    @property
    def n_target(self) -> int:
        """Number of target words."""
        return len(self.can_insert)

    def allowed(
        self, source: ArrayLike, target: ArrayLike
    ) -> tuple[BoolArray, BoolArray, BoolArray]:
        """Allowed links (n, m), deletions (n,) and insertions (m,) of a pair: O(n m log pairs)."""
        rows = word_numbers("source", source, self.n_source)
        columns = word_numbers("target", target, self.n_target)
        keys = rows[:, np.newaxis] * self.n_target + columns
        places = np.searchsorted(self.pairs, keys)
        links = np.zeros(keys.shape, dtype=np.bool_)
        within = places < len(self.pairs)
        links[within] = self.pairs[places[within]] == keys[within]
        return links, self.can_delete[rows], self.can_insert[columns]

    def translations(self, source: ArrayLike) -> TargetChoices:
        """For each word of a sentence the target words that it can be linked to."""
        words = word_numbers("source", source, self.n_source)
        counts = self.offsets[words + 1] - self.offsets[words]
        starts = np.concatenate([[0], np.cumsum(counts)])
        places = np.arange(starts[-1]) + np.repeat(self.offsets[words] - starts[:-1], counts)
        return TargetChoices(self.pairs[places] % max(self.n_target, 1), starts)

    @property
    def insertions(self) -> TargetChoices:
        """The target words that can be inserted, as the one group of an insertion's leaf."""
        words = np.flatnonzero(self.can_insert)
        return TargetChoices(words, np.array([0, len(words)]))
