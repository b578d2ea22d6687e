"""Sentences as a model sees them: encoded, and cut into pieces that stay in the cache."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from partita.arrays import FloatArray
from partita.distribution.base import Distribution
from partita.features.base import FeatureMap
from partita.structures.base import Structures
from partita.structures.local_chains import locally_normalised
from partita.training.batches import CACHED_PARTS, Batch


@dataclass(frozen=True)
class Piece:
    """Neighbouring sentences whose scores fit into the cache: their structures and features."""

    sentences: range
    """Their numbers among the encoded ones."""
    kind: type[Distribution]
    structures: Any
    features: FeatureMap
    is_local: bool = False
    """Whether the scores are normalised at every step; only those of chains can be."""

    def at(self, weights: FloatArray) -> Any:
        """The distribution over their structures that the weights define."""
        scores = self.features.scores(weights)
        if self.is_local:
            scores = locally_normalised(self.structures, scores)
        return self.kind.from_flat(self.structures, scores)

    def of(self, values: Sequence[Any]) -> Sequence[Any]:
        """What these sentences have of a value for each encoded sentence."""
        return values[self.sentences.start : self.sentences.stop]

    def batch(self, targets: Mapping[str, Any], sample_weights: FloatArray | None) -> Batch:
        """These sentences as a batch to learn from, before the scores are normalised."""
        structures: Structures = self.structures
        span = slice(self.sentences.start, self.sentences.stop)
        weights = None if sample_weights is None else sample_weights[span]
        return Batch(self.kind, structures, self.features, targets, weights)


class PieceModel(Protocol):
    """All of a trained estimator but its weights."""

    def encode(self, sentences: Sequence[Any]) -> Any:
        """The attributes of sentences, none of which is empty."""

    def pieces(
        self, encoded: Any, first: int = 0, last: int | None = None, *, most: int = CACHED_PARTS
    ) -> Iterator[Piece]:
        """The encoded sentences from `first` on and before `last`, in pieces of `most` parts."""
