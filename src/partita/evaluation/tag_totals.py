"""How good tags are, added up over the parts of a corpus of any length."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import IntArray
from partita.data.schemes import UNKNOWN, ChunkStarts, Scheme, is_chunk_tag
from partita.evaluation.bootstrap import Interval, bootstrap
from partita.evaluation.calibration import BinSums
from partita.evaluation.chunks import ChunkCounts, ChunkScores, Reading
from partita.evaluation.tags import Tagged, check_alike


@dataclass(frozen=True)
class TagTotals:
    """All that is to be said of tags: two numbers a sentence, and a few counts.

    >>> one = TagTotals.of([["D", "N"]], [["D", "V"]], [0.9, 0.6])
    >>> two = TagTotals.of([["V", "?"]], [["V", "N"]], [0.8, 0.3])
    >>> (one + two).accuracy().value, (one + two).pairs["N", "V"]
    (0.6666666666666666, 1)
    """

    right: IntArray
    """Words of each sentence whose tag is right, (n_sentences,)."""
    known: IntArray
    """Words of each sentence whose right tag is known."""
    n_words: int
    pairs: Counter[tuple[str, str]]
    """How often each gold tag met each predicted one."""
    starts: ChunkStarts
    """What tells the scheme of the gold tags."""
    chunks: ChunkCounts | None
    """None where tags spell out no chunks."""
    bins: BinSums
    """Of the probabilities of the predicted tags."""

    @classmethod
    def of(
        cls, gold: Tagged, predicted: Tagged, probabilities: ArrayLike, reading: Reading = "schemes"
    ) -> "TagTotals":
        """Of some sentences; `probabilities` has a number for each word, end to end."""
        check_alike(gold, predicted)
        rows = [
            [(a, b) for a, b in zip(*both, strict=True) if a != UNKNOWN]
            for both in zip(gold, predicted, strict=True)
        ]
        flat = [tag for row in gold for tag in row]
        is_known = np.array([tag != UNKNOWN for tag in flat], dtype=np.bool_)
        is_right = np.array([a == b for row in rows for a, b in row], dtype=np.bool_)
        spells = all(is_chunk_tag(tag) for tag in {*flat, *(b for row in predicted for b in row)})
        return cls(
            np.array([sum(a == b for a, b in row) for row in rows], dtype=np.int64),
            np.array([len(row) for row in rows], dtype=np.int64),
            len(flat),
            Counter(pair for row in rows for pair in row),
            ChunkStarts.of(gold),
            ChunkCounts.of(gold, predicted, reading) if spells else None,
            BinSums.of(np.asarray(probabilities)[is_known], is_right),
        )

    def __add__(self, other: "TagTotals") -> "TagTotals":
        both = None
        if self.chunks is not None and other.chunks is not None:
            both = self.chunks + other.chunks
        return TagTotals(
            np.concatenate([self.right, other.right]),
            np.concatenate([self.known, other.known]),
            self.n_words + other.n_words,
            self.pairs + other.pairs,
            self.starts + other.starts,
            both,
            self.bins.plus(other.bins),
        )

    def accuracy(self) -> Interval:
        """The share of words whose tag is right, of those whose tag is known; by sentences."""

        def share(right: Sequence[int], known: Sequence[int]) -> float:
            return sum(right) / max(sum(known), 1)

        return bootstrap(share, self.right.tolist(), self.known.tolist())

    @property
    def scheme(self) -> Scheme | None:
        """Of the gold tags; None where they, or the predicted ones, spell out no chunks."""
        return None if self.chunks is None else self.starts.scheme

    def chunk_scores(self) -> ChunkScores:
        """Where there are chunks."""
        assert self.chunks is not None
        n_known = int(self.known.sum())
        accuracy = int(self.right.sum()) / n_known if n_known else float("nan")
        return self.chunks.scores(self.n_words, accuracy)
