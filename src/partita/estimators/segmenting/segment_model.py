"""What a trained segmenter is made of: types, features, hard rules; and batches of sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.segment_chain import SegmentChain
from partita.estimators.pieces import Piece
from partita.estimators.segmenting.spelling import Spelling
from partita.estimators.tagging.tags import TagSet
from partita.features.base import JoinedFeatures
from partita.features.matrix import FixedScores
from partita.features.segments import segment_features
from partita.structures.segments import SegmentChains
from partita.text.attributes import Attributes
from partita.text.segment_features import SegmentFeatures
from partita.text.word_features import WordFeatures
from partita.text.words import Words
from partita.training.batches import CACHED_PARTS, cut

Roles = Literal["one", "IOB2", "BIOES"]
BLOCKS: dict[Roles, tuple[int, int, int, int]] = {
    "one": (0, 0, 0, 0),
    "IOB2": (0, 1, 1, 0),
    "BIOES": (0, 1, 2, 3),
}
"""Which weights a word has as the first, inside, last or single word of its segment."""
BLOCK_NAMES: dict[Roles, str] = {"one": "-", "IOB2": "BI", "BIOES": "BIES"}


class EncodedSegments(NamedTuple):
    """Sentences as attributes of words, and of segments for each word and length."""

    n_words: IntArray
    words: Attributes
    wholes: Attributes


class SegmentWeights(NamedTuple):
    """Views of the weights of a segmenter."""

    words: FloatArray
    """(n_attributes, n_blocks, s)."""
    wholes: FloatArray
    """(n_segment_attributes, s)."""
    transitions: FloatArray
    """(s, s)."""


@dataclass(frozen=True)
class SegmentModel:
    """All of a segmenter but its weights, which are those of `SegmentWeights`, end to end."""

    spelling: Spelling
    features: WordFeatures
    wholes: SegmentFeatures
    roles: Roles

    @property
    def tags(self) -> TagSet:
        """The tags of words, in the order of all arrays."""
        return self.spelling.tags

    @property
    def n_types(self) -> int:
        """Types of segments."""
        return len(self.spelling.types)

    def split(self, weights: FloatArray) -> SegmentWeights:
        """Views of the weights."""
        s, n_blocks = self.n_types, max(BLOCKS[self.roles]) + 1
        middle = self.features.n_attributes * n_blocks * s
        end = middle + self.wholes.n_attributes * s
        return SegmentWeights(
            weights[:middle].reshape(-1, n_blocks, s),
            weights[middle:end].reshape(-1, s),
            weights[end:].reshape(s, s),
        )

    def encode(self, sentences: Sequence[Any]) -> EncodedSegments:
        """The attributes of sentences, none of which is empty."""
        return self.encoded(self.features.words_of(sentences))

    def encoded(self, words: Words) -> EncodedSegments:
        """The attributes of words and of segments."""
        found = self.features.encode(words)
        return EncodedSegments(found.n_words, found.words, self.wholes.encode(words))

    def pieces(
        self,
        encoded: EncodedSegments,
        first: int = 0,
        last: int | None = None,
        *,
        most: int = CACHED_PARTS,
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, in pieces of `most` parts."""
        longest, n_types = self.wholes.longest, self.n_types
        n_words = encoded.n_words[first:last]
        ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(encoded.n_words)])
        for part in cut(n_words * longest * n_types + n_types**2, most):
            sentences = range(first + part.start, first + part.stop)
            segments = SegmentChains(n_words[part.start : part.stop], longest, n_types)
            begin, end = int(ends[sentences.start]), int(ends[sentences.stop])
            features = segment_features(
                segments,
                encoded.words[begin:end],
                self.features.n_attributes,
                encoded.wholes[begin * longest : end * longest],
                self.wholes.n_attributes,
                BLOCKS[self.roles],
            )
            forbidden = self._forbidden(segments)
            hard = FixedScores(segments.n_parts, forbidden, np.full(len(forbidden), -np.inf))
            yield Piece(sentences, SegmentChain, segments, JoinedFeatures([*features.maps, hard]))

    @cached_property
    def _rules(self) -> tuple[IntArray, IntArray]:
        """What is forbidden: types of the parts of a word, (longest, s), and transitions."""
        words = np.zeros((self.wholes.longest, self.n_types), dtype=np.bool_)
        words[1:, self.spelling.is_single] = True
        return np.flatnonzero(words), np.flatnonzero(~self.spelling.may_follow)

    def _forbidden(self, segments: SegmentChains) -> IntArray:
        """Parts that are none by the spelling, and those that end behind their sentence."""
        of_words, of_tables = self._rules
        n_words, row = segments.n_words, segments.longest * segments.n_tags
        within = np.arange(n_words.sum()) - np.repeat(segments.word_offsets[:-1], n_words)
        words = np.repeat(segments.part_offsets[:-1], n_words) + within * row
        tables = segments.part_offsets[1:] - segments.n_tags**2
        parts = (words[:, None] + of_words).ravel(), (tables[:, None] + of_tables).ravel()
        return np.concatenate(parts)
