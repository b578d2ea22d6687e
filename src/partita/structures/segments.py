"""Segmentations with tags: words cut into segments, a tag for each, transitions between them."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.structures.base import Structure
from partita.structures.part_arrays import PartArray
from partita.structures.step_structures import Step, StepStructures
from partita.structures.tied_forests import TiedForest


class SegmentChains(StepStructures):
    """All ways to cut sentences of `n_words` words into segments of at most `longest`, with tags.

    The parts of a sentence of n words are, in this order, segments [first, length - 1, tag],
    (n, longest, s), and transitions between neighbouring segments, [left tag, right tag], (s, s).
    A structure is an array of rows (first, end, tag), one for each segment in order; `end` is the
    first word behind the segment. Cells of segments that would end behind the sentence are unused.
    """

    def __init__(self, n_words: ArrayLike, longest: int, n_tags: int) -> None:
        self.longest, self.n_tags = longest, n_tags
        segments = PartArray("segments", 1, inner=(longest, n_tags))
        super().__init__(n_words, [segments, PartArray("pairwise", 0, inner=(n_tags, n_tags))])

    def forest(self, n_words: int) -> TiedForest:
        """A node for each boundary between words and each tag, of both sides."""
        return self.build(n_words, self._steps(n_words), root="whole")

    def _steps(self, n_words: int) -> Iterator[Step]:
        """Head, tails and cell of each step.

        ("before", i, tag): the first i words are cut, and a segment with this tag comes next.
        ("after", i, tag): the first i words are cut, and the last segment has this tag.
        """
        for tag in range(self.n_tags):
            yield ("before", 0, tag), [], None
            yield "whole", [("after", n_words, tag)], None
            for first in range(n_words):
                for length in range(1, min(self.longest, n_words - first) + 1):
                    cell = ("segments", first, length - 1, tag)
                    yield ("after", first + length, tag), [("before", first, tag)], cell
                for left in range(self.n_tags) if first else ():
                    yield (
                        ("before", first, tag),
                        [("after", first, left)],
                        ("pairwise", left, tag),
                    )

    def structure(self, n_words: int, *places: IntArray) -> Structure:
        """Rows (first, end, tag); a derivation begins at the top, so with the last segment."""
        first, length, tag = places[0][::-1].T
        return np.stack([first, first + length + 1, tag], axis=1)

    def places(self, n_words: int, structure: Structure, sentence: int) -> Sequence[ArrayLike]:
        """The cells of rows (first, end, tag)."""
        rows = np.asarray(structure)
        if rows.ndim != 2 or rows.shape[1] != 3 or rows.dtype.kind not in "iu":
            raise ValueError(
                f"the segments of sentence {sentence} are an array of {rows.dtype} of shape "
                f"{rows.shape}; expected rows (first, end, tag) of whole numbers."
            )
        first, end, tag = rows.T
        return np.stack([first, end - first - 1, tag], 1), np.stack([tag[:-1], tag[1:]], 1)

    def moved(self, structure: Structure, places: IntArray) -> Structure:
        """Segments name words, which a padded batch may have at other places."""
        first, end, tag = np.asarray(structure).T
        return np.stack([places[first], places[end - 1] + 1, tag], axis=1)

    def clear_unused(self, scores: FloatArray) -> float:
        """-inf for segments that would end behind their sentence."""
        n_wrong = 0
        lengths = np.arange(1, self.longest + 1)
        for segments in self.split_arrays(scores)[0]:
            ends = np.arange(len(segments))[:, None] + lengths
            unused = ends > len(segments)
            n_wrong += int((~(segments[unused] < np.inf)).sum())
            segments[unused] = -np.inf
        return float(n_wrong)
