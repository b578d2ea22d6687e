"""What the learners of tags and of trees share: whom a round learns from, and how far it goes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.groups import Runs
from partita.estimators.pieces import Piece
from partita.estimators.runs import RunPlan
from partita.estimators.supervision import Known
from partita.features.base import JoinedFeatures
from partita.features.matrix import FixedScores
from partita.training import LBFGS, Penalty

RAMP = 5
"""Iterations of a round until the entropy of sentences without labels has its weight."""


@dataclass(frozen=True)
class RoundOptions:
    """How a round of learning goes."""

    l2: float = 1.0
    entropy_weight: float = 0.0
    """Of sentences without labels."""
    workers: int | None = None

    def plan(self, n_passes: int, n_shards: int | None = None) -> RunPlan:
        """A few passes from where the last round ended."""
        return RunPlan(
            Runs(workers=self.workers, progress=False),
            LBFGS(n_iterations=n_passes, loss_tolerance=1e-4),
            Penalty(l2=self.l2),
            n_shards=n_shards,
        )


class Classroom(NamedTuple):
    """The sentences that a round learns from: those known whole, in part, and not at all."""

    order: list[int]
    """Their numbers in the corpus."""
    labels: list[IntArray]
    """Of each of them, the number of every label, -1 where it is not known."""
    bounds: dict[Known, tuple[int, int]]
    """Where those of each kind begin and end in `order`."""

    @classmethod
    def of(cls, labels: Sequence[IntArray], *, with_unknown: bool) -> Self:
        """From the labels of all sentences; those without any come only if they teach, too.

        >>> room = Classroom.of([np.array([-1]), np.array([0])], with_unknown=True)
        >>> room.order, room.bounds[Known.NOTHING]
        ([1, 0], (1, 2))
        """
        kinds = [_kind(each) for each in labels]
        wanted = list(Known) if with_unknown else [Known.ALL, Known.SOME]
        order = [place for kind in wanted for place, each in enumerate(kinds) if each is kind]
        ends = np.cumsum([0, *(sum(kinds[i] is kind for i in order) for kind in Known)]).tolist()
        bounds = dict(zip(Known, zip(ends[:-1], ends[1:], strict=True), strict=True))
        return cls(order, [labels[place] for place in order], bounds)

    @property
    def knows_nothing(self) -> bool:
        """Whether no label is known at all."""
        first, last = self.bounds[Known.NOTHING]
        return first == 0 and last == len(self.order)


def _kind(labels: IntArray) -> Known:
    if (labels >= 0).all():
        return Known.ALL
    return Known.NOTHING if (labels < 0).all() else Known.SOME


def with_fixed_scores(piece: Piece, scores: FloatArray) -> Piece:
    """A piece whose parts have scores of a trained model, too, which no weight changes."""
    n_parts = piece.structures.n_parts
    fixed: Any = FixedScores(n_parts, np.arange(n_parts), scores)
    return replace(piece, features=JoinedFeatures([piece.features, fixed]))
