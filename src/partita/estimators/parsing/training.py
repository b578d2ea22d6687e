"""Batches of sentences by what is known of their trees, and the objective that they teach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.arc_rules import ArcRule
from partita.estimators.lessons import entropy_terms, summed
from partita.estimators.parsing.model import Encoded, ParserModel, Piece
from partita.features.arc_constraints import arc_constraints, rule_targets
from partita.objectives import (
    Constraints,
    Counts,
    Entropy,
    ExpectedCost,
    GeneralizedExpectation,
    Likelihood,
    MarginalLikelihood,
    Objective,
    RenyiEntropy,
    Sum,
    as_sum,
    known_heads,
)
from partita.training.batches import Batch


@dataclass(frozen=True)
class Rules:
    """Rules about arcs, the tags that they speak of, and how much they count."""

    rules: Sequence[ArcRule]
    tags: Sequence[Sequence[str]]
    """Of the words of each sentence."""
    weight: float

    def objective(self) -> Sum:
        """The distance of their expectations from their targets."""
        targets, bounds = rule_targets(self.rules)
        return self.weight * GeneralizedExpectation(targets, bounds=bounds)

    def target(self, piece: Piece) -> Constraints:
        """What the objective compares with in a piece."""
        tags = self.tags[piece.sentences.start : piece.sentences.stop]
        return Constraints(*arc_constraints(piece.trees, tags, self.rules))


@dataclass(frozen=True)
class Lessons:
    """Sentences in the order: all heads known, some known, none known; and what to do with them."""

    model: ParserModel
    encoded: Encoded
    heads: Sequence[IntArray]
    """For each sentence the head of each word, -1 where it is not known."""
    counts: tuple[int, int, int]
    """How many sentences have all heads known, some, none."""
    sentence_weights: FloatArray | None = None
    entropy_weight: float = 0.0
    entropy_ramp: int = 0
    renyi_alpha: float | None = None
    rules: Rules | None = None
    n_parts: int = 2**15
    """Arcs in a batch."""
    pieces: Mapping[str, list[Piece]] = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([0, *self.counts]).tolist()
        names = ("full", "partial", "none")
        object.__setattr__(
            self,
            "pieces",
            {
                name: list(self.model.pieces(self.encoded, first, last, most=self.n_parts))
                for name, first, last in zip(names, ends[:-1], ends[1:], strict=True)
            },
        )

    def assemble(self, *, risk: bool) -> tuple[Sum, list[Batch]]:
        """The objective, and the batches with their targets."""
        known: dict[str, Any] = {
            "full": (Likelihood(), self._counts),
            "partial": (MarginalLikelihood(), self._allowed),
        }
        if risk:
            known["full"] = known["partial"] = (ExpectedCost(), self._cost)
        terms: dict[str, Sum] = {}
        batches = []
        for group, pieces in self.pieces.items():
            for piece in pieces:
                targets = self._without_heads(group, piece)
                if group in known:
                    objective, target = known[group]
                    targets[type(objective).__name__] = target(piece)
                    terms[type(objective).__name__] = as_sum(objective)
                if targets:
                    weights = self._weights(piece)
                    batch = Batch(self.model.kind, piece.trees, piece.features, targets, weights)
                    batches.append(batch)
        return (
            summed(
                [*terms.values(), *self._terms_without_heads()],
                expected="heads, or rules about arcs (rules=...), beside sentences without heads",
            ),
            batches,
        )

    @property
    def uncertainty(self) -> Objective:
        """The entropy that sentences without heads should not have."""
        return Entropy() if self.renyi_alpha is None else RenyiEntropy(self.renyi_alpha)

    def _terms_without_heads(self) -> list[Sum]:
        terms = entropy_terms(
            self.uncertainty,
            self.entropy_weight,
            self.entropy_ramp,
            came=bool(self.pieces["none"]),
            what="heads",
        )
        return terms if self.rules is None else [*terms, self.rules.objective()]

    def _without_heads(self, group: str, piece: Piece) -> dict[str, Any]:
        """Targets of entropy and rules, which sentences without heads teach, if any came."""
        targets: dict[str, Any] = {}
        if self.entropy_weight and group == "none":
            targets[type(self.uncertainty).__name__] = None
        if self.rules is not None and (group == "none" or not self.pieces["none"]):
            targets["GeneralizedExpectation"] = self.rules.target(piece)
        return targets

    def _counts(self, piece: Piece) -> Counts:
        return Counts.of(piece.trees, self._of(piece))

    def _allowed(self, piece: Piece) -> Any:
        return known_heads(piece.trees, self._of(piece))

    def _cost(self, piece: Piece) -> FloatArray:
        """1 for a wrong arc, 0 for the right one and where that is not known."""
        cost = np.zeros(piece.trees.n_parts)
        for arcs, heads in zip(piece.trees.split(cost), self._of(piece), strict=True):
            known = np.flatnonzero(heads >= 0)
            arcs[:, known + 1] = 1.0
            arcs[heads[known], known + 1] = 0.0
        return cost

    def _weights(self, piece: Piece) -> FloatArray | None:
        if self.sentence_weights is None:
            return None
        return self.sentence_weights[piece.sentences.start : piece.sentences.stop]

    def _of(self, piece: Piece) -> Sequence[IntArray]:
        return self.heads[piece.sentences.start : piece.sentences.stop]
