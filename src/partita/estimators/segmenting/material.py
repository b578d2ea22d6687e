"""What is known of the segments of sentences: all, some by tags of single words, or nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partita.arrays import BoolArray, IntArray
from partita.estimators.pieces import Piece
from partita.estimators.segmenting.spelling import Spelling
from partita.estimators.supervision import Knowledge
from partita.features.segments import role_sums
from partita.structures.segments import SegmentChains


@dataclass(frozen=True)
class SegmentKnowledge(Knowledge):
    """The tags of sentences, as the roles and types that each word may have."""

    spelling: Spelling
    labels: Sequence[IntArray]
    """Tags as numbers, -1 where one is not known."""
    roles: Sequence[BoolArray]
    """Which roles and types each word may have, (n, 4 s)."""

    @classmethod
    def of(
        cls, spelling: Spelling, given: Sequence[Sequence[Any]], places: Sequence[str]
    ) -> "SegmentKnowledge":
        """From tags by name; `places` are for messages."""
        pairs = list(zip(given, places, strict=True))
        return cls(
            spelling,
            [spelling.tags.numbers(each, place) for each, place in pairs],
            [spelling.allowed_roles(each, place) for each, place in pairs],
        )

    @cached_property
    def _n_known(self) -> int:
        return sum(int((labels >= 0).sum()) for labels in self.labels)

    def n_known(self) -> int:
        """Words with one known tag."""
        return self._n_known

    def allowed(self, piece: Piece) -> BoolArray:
        """Which segments agree with the known tags; all transitions do; (n_parts,)."""
        return agreeing(piece.structures, piece.of(self.roles))

    def right(self, piece: Piece) -> Sequence[IntArray]:
        """The right segments, where everything is known."""
        names = [self.spelling.tags.named(labels) for labels in piece.of(self.labels)]
        return [self.spelling.rows(each) for each in names]


def agreeing(segments: SegmentChains, roles: Sequence[BoolArray]) -> BoolArray:
    """Which parts agree with the roles and types that words may have, (n_parts,)."""
    together = np.concatenate([np.zeros((0, roles[0].shape[1]), dtype=np.bool_), *roles])
    agree: BoolArray = role_sums(segments, np.where(together, 0.0, -np.inf)) > -np.inf
    return agree
