"""Features of segments: attributes of their words, of segments as a whole, and transitions."""

from collections.abc import Sequence

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.rows import RowFeatures
from partita.kernels.features import segments as features_segments
from partita.structures.segments import SegmentChains
from partita.text.attributes import Attributes

N_ROLES = 4
"""First, inside, last and single: where a word may stand in its segment."""
EACH = (0, 1, 2, 3)
"""Blocks for roles that are all told apart."""


def role_sums(
    segments: SegmentChains, roles: FloatArray, blocks: Sequence[int] = EACH
) -> FloatArray:
    """For each part that is a segment the sum over its words; 0 for transitions; (n_parts,).

    `roles` has for each word of the batch a number for each block and tag, (n, n_blocks * s), and
    blocks[r] is the block of role r: first, inside, last, single.

    >>> sets = SegmentChains([3], longest=3, n_tags=1)
    >>> role_sums(sets, np.array([[1.0, 0, 0, 9], [0, 2, 0, 9], [0, 0, 4, 9]]))[:3]
    array([9., 1., 7.])
    """
    sums = np.zeros(segments.n_parts)
    features_segments.spread(
        np.ascontiguousarray(roles).reshape(-1), roles.shape[1] // segments.n_tags,
        np.array(blocks), *segments.shape, sums,
    )  # fmt: skip
    return sums


def role_counts(
    segments: SegmentChains, parts: FloatArray, blocks: Sequence[int] = EACH
) -> FloatArray:
    """The transpose of `role_sums`: of marginals, how likely each word has each role and tag.

    >>> sets = SegmentChains([2], longest=2, n_tags=1)
    >>> role_counts(sets, np.array([0.25, 0.75, 0.25, 0.0, 0.25]))
    array([[0.75, 0.  , 0.  , 0.25],
           [0.  , 0.  , 0.75, 0.25]])
    """
    n_blocks = max(blocks) + 1
    counts = np.zeros((int(segments.n_words.sum()), n_blocks * segments.n_tags))
    features_segments.collect(
        parts, n_blocks, np.array(blocks), *segments.shape, counts.reshape(-1)
    )
    return counts


class RoleFeatures(FeatureMap):
    """Attributes of words, with a weight for each block of roles and each tag, summed over words.

    The weights are (n_attributes, n_blocks * s). Costs what `RowFeatures` of words costs, and
    O(1) for each segment and tag.
    """

    def __init__(
        self, segments: SegmentChains, words: Attributes, n_attributes: int, blocks: Sequence[int]
    ) -> None:
        width = (max(blocks) + 1) * segments.n_tags
        self._segments, self._blocks, self._width = segments, tuple(blocks), width
        n_words = int(segments.n_words.sum())
        if words.n_rows != n_words:
            raise ValueError(
                f"words has {words.n_rows} rows; expected {n_words}, one for each word of the "
                "batch."
            )
        starts = np.arange(n_words) * width
        self._words = RowFeatures(words, starts, width, n_attributes, n_words * width)
        self.n_parts, self.n_weights = segments.n_parts, self._words.n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """Scores of words in each role, summed over the words of segments."""
        roles = self._words.scores(weights).reshape(-1, self._width)
        out += role_sums(self._segments, roles, self._blocks)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """The gradient of each word's roles is the sum over the segments that it has them in."""
        roles = role_counts(self._segments, score_gradient, self._blocks)
        self._words.add_gradient(roles.reshape(-1), out)


def segment_features(
    segments: SegmentChains,
    words: Attributes,
    n_attributes: int,
    wholes: Attributes,
    n_whole_attributes: int,
    blocks: Sequence[int],
) -> JoinedFeatures:
    """(attribute of a word, role and tag), (attribute of a segment, tag), and (tag, tag).

    `words` has a row for each word and `wholes` one for each word and length, [word, length - 1];
    the weights of the three maps lie end to end.

    >>> sets = SegmentChains([2], longest=1, n_tags=2)
    >>> words = wholes = Attributes.from_lists([[0], [0]])
    >>> features = segment_features(sets, words, 1, wholes, 1, blocks=(0, 0, 0, 0))
    >>> features.scores(np.array([1.0, 2.0, 10.0, 20.0, 0.1, 0.2, 0.3, 0.4]))
    array([11. , 22. , 11. , 22. ,  0.1,  0.2,  0.3,  0.4])
    """
    n_tags, n_parts = segments.n_tags, segments.n_parts
    everywhere = Attributes(
        np.zeros(segments.n_sentences, dtype=np.int32), np.arange(segments.n_sentences + 1)
    )
    tables = segments.part_offsets[1:] - n_tags**2
    return JoinedFeatures(
        [
            RoleFeatures(segments, words, n_attributes, blocks),
            RowFeatures(wholes, segment_starts(segments), n_tags, n_whole_attributes, n_parts),
            RowFeatures(everywhere, tables, n_tags**2, 1, n_parts),
        ]
    )


def segment_starts(segments: SegmentChains) -> IntArray:
    """The first part of each word and length, [word, length - 1], end to end."""
    n_rows = segments.n_words * segments.longest
    within = np.arange(n_rows.sum()) - np.repeat(np.cumsum(n_rows) - n_rows, n_rows)
    starts: IntArray = np.repeat(segments.part_offsets[:-1], n_rows) + within * segments.n_tags
    return starts
