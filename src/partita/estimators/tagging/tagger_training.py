"""From sentences and what is known of them to batches, an objective and weights, for a tagger."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.linear_chain import LinearChain
from partita.estimators.lessons import entropy_terms, summed
from partita.estimators.tagging.chain_model import ChainModel, Piece
from partita.features.chains import tag_constraints
from partita.objectives import (
    Constraints,
    Counts,
    Entropy,
    ExpectedCost,
    GeneralizedExpectation,
    Likelihood,
    MarginalLikelihood,
    Sum,
    as_sum,
    kl_distance,
    known_tags,
    squared_distance,
)
from partita.objectives.base import Objective
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.text.extraction import Encoded
from partita.training.batches import Batch

DISTANCES = {"squared": squared_distance, "kl": kl_distance}


@dataclass(frozen=True)
class Expectations:
    """Expectation constraints, numbered: constraint k is about `attributes[k]` and `tags[k]`."""

    rows: Attributes
    """For each word, in the order of the sentences, the attributes that constraints are about."""
    attributes: IntArray
    tags: IntArray
    targets: FloatArray
    weight: float
    distance: str

    def objective(self) -> Sum:
        """Its term of the objective."""
        if self.distance not in DISTANCES:
            raise ValueError(
                f"constraint_distance is {self.distance!r}; expected {' or '.join(DISTANCES)}."
            )
        distance = DISTANCES[self.distance]
        return self.weight * GeneralizedExpectation(self.targets, distance=distance)

    def target(self, chains: Chains, words: slice) -> Constraints:
        """What the term compares with in a batch of these words."""
        return Constraints(*tag_constraints(chains, self.rows[words], self.attributes, self.tags))


def tag_shares(tags: Sequence[IntArray], n_tags: int, n_words: int, weight: float) -> Expectations:
    """That tags without labels should be as frequent as those with: a constraint on every word.

    weight * n_known * KL(shares of the known tags, expected shares), where n_known is the number
    of known tags. Entropy alone is least where few tags are left, so it needs this beside it
    (expectation regularisation, Mann & McCallum 2007).
    """
    known = np.concatenate([np.zeros(0, dtype=np.int64), *(each[each >= 0] for each in tags)])
    counts = np.bincount(known, minlength=n_tags)
    rows = Attributes(np.zeros(n_words, dtype=np.int32), np.arange(n_words + 1, dtype=np.int64))
    return Expectations(
        rows,
        np.zeros(n_tags, dtype=np.int64),
        np.arange(n_tags),
        counts / len(known),
        weight * len(known),
        "kl",
    )


@dataclass(frozen=True)
class Lessons:
    """Sentences in the order: all tags known, some known, none known; and what to do with them."""

    model: ChainModel
    encoded: Encoded
    tags: Sequence[IntArray]
    """For each sentence the number of each tag, -1 where it is not known."""
    n_full: int
    n_partial: int
    sentence_weights: FloatArray | None = None
    class_weights: FloatArray | None = None
    """For each tag."""
    entropy_weight: float = 0.0
    """Of the entropy of a sentence without tags."""
    entropy_ramp: int = 0
    expectations: Sequence[Expectations] = ()
    pieces: Mapping[str, list[Piece]] = field(init=False)

    def __post_init__(self) -> None:
        ends = (0, self.n_full, self.n_full + self.n_partial, len(self.tags))
        pieces = {
            name: list(self.model.pieces(self.encoded, first, last))
            for name, first, last in zip(
                ("full", "partial", "none"), ends[:-1], ends[1:], strict=True
            )
        }
        object.__setattr__(self, "pieces", pieces)

    def assemble(self, *, risk: bool) -> tuple[Sum, list[Batch]]:
        """The objective, and the batches with their targets."""
        known: dict[str, list[tuple[Objective, Callable[[Piece], Any]]]] = {
            "full": [(Likelihood(), self._counts)],
            "partial": [(MarginalLikelihood(), self._allowed)],
            "none": [],
        }
        if risk:
            known["full"] = known["partial"] = [(ExpectedCost(), self._cost)]
        terms: dict[str, Sum] = {}
        batches = []
        for group, pieces in self.pieces.items():
            objectives = {type(each).__name__: (each, target) for each, target in known[group]}
            terms.update({name: as_sum(each) for name, (each, _) in objectives.items() if pieces})
            for piece in pieces:
                targets = {name: target(piece) for name, (_, target) in objectives.items()}
                targets.update(self._without_labels(group, piece))
                weights = self._weights(piece)
                batches.append(Batch(LinearChain, piece.chains, piece.features, targets, weights))
        objective = summed(
            [*terms.values(), *self._terms_without_labels()],
            expected="tags (y), or expectation constraints, beside sentences without tags",
        )
        # A batch that no term learns from would only cost time.
        return objective, [batch for batch in batches if batch.targets]

    def _terms_without_labels(self) -> list[Sum]:
        terms = entropy_terms(
            Entropy(),
            self.entropy_weight,
            self.entropy_ramp,
            came=bool(self.pieces["none"]),
            what="tags",
        )
        return terms + [expectations.objective() for expectations in self.expectations]

    def _without_labels(self, group: str, piece: Piece) -> dict[str, Any]:
        """Targets of entropy and expectations, which sentences without tags teach, if any came."""
        targets: dict[str, Any] = {}
        if self.entropy_weight and group == "none":
            targets["Entropy"] = None
        if group == "none" or not self.pieces["none"]:
            first = int(self.encoded.n_words[: piece.sentences.start].sum())
            words = slice(first, first + int(piece.chains.n_words.sum()))
            for number, expectations in enumerate(self.expectations, start=1):
                # As `Sum.names` has it: a term of a kind that came before is numbered.
                name = "GeneralizedExpectation" + (str(number) if number > 1 else "")
                targets[name] = expectations.target(piece.chains, words)
        return targets

    def _counts(self, piece: Piece) -> Counts:
        return Counts.of(piece.chains, self._of(piece))

    def _allowed(self, piece: Piece) -> Any:
        return known_tags(piece.chains, self._of(piece))

    def _cost(self, piece: Piece) -> FloatArray:
        """1 for a wrong tag, or the weight of the right one; 0 where that is not known."""
        cost = np.zeros(piece.chains.n_parts)
        unaries, _ = piece.chains.split(cost)
        for unary, tags in zip(unaries, self._of(piece), strict=True):
            known = np.flatnonzero(tags >= 0)
            right = tags[known]
            unary[known] = 1.0 if self.class_weights is None else self.class_weights[right, None]
            unary[known, right] = 0.0
        return cost

    def _weights(self, piece: Piece) -> FloatArray | None:
        if self.sentence_weights is None:
            return None
        return self.sentence_weights[piece.sentences.start : piece.sentences.stop]

    def _of(self, piece: Piece) -> Sequence[IntArray]:
        return self.tags[piece.sentences.start : piece.sentences.stop]
