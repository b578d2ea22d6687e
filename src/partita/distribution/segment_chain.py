"""Semi-Markov conditional random fields: distributions over segmentations with tags."""

from typing import Any, NamedTuple

from numpy.typing import ArrayLike

from partita.arrays import IntArray, Values
from partita.distribution.base import Distribution
from partita.structures.array_structures import made_once
from partita.structures.forms import recognise
from partita.structures.part_arrays import axes
from partita.structures.segments import SegmentChains

SEGMENTS = axes("n L s", "a score for every first word, length (less one) and tag of a segment")
PAIRWISE = axes("s s", "a score for every pair of tags of neighbouring segments")


class SegmentParts(NamedTuple):
    """Something for every part: marginals, max-marginals, gradients or directions."""

    segments: Values
    """For each first word, length - 1 and tag, (n, L, s)."""
    pairwise: Values
    """For each transition between neighbouring segments, [left tag, right tag], (s, s)."""


class SegmentChain(Distribution[SegmentParts, IntArray]):
    """p(cut) proportional to exp(sum of segments[first, length-1, tag] + sum of pairwise).

    A structure cuts the words into segments of 1 to L words and gives each a tag; pairwise scores
    count between neighbouring segments (Sarawagi & Cohen 2004, a semi-Markov CRF). With L = 1 it
    is `LinearChain`.

    Parameters
    ----------
    segments
        Scores of segments, (n, L, s), indexed [first, length - 1, tag]. Segments that would end
        behind the sentence are ignored, whatever is there; L may be larger than n. A list of such
        arrays for a batch, or one padded array (B, N, L, s) with `n_words`.
    pairwise
        Scores of transitions between neighbouring segments, [left tag, right tag], (s, s), for
        all sentences of a batch, or a list of these, or (B, s, s).
    n_words
        Number of words of each row of a padded array; all N if left out.
    mask
        Or which words of a padded array are there, booleans (B, N). A word that is not there is
        in no segment and has no length, wherever it stands.

    A structure is an integer array of rows (first, end, tag), one for each segment, in order. `end`
    is exclusive: the first word behind the segment, so that it is `words[first:end]`, and the next
    row's `first`. Transitions given once for several sentences give results summed over them (the
    best of them for `max_marginals`). Log-partition, marginals, the covariance product, the best
    structure and max-marginals cost O(n L s + n s²) each.

    >>> import numpy as np
    >>> p = SegmentChain(np.zeros((4, 3, 1)), np.zeros((1, 1)))  # segments of up to three words
    >>> float(np.exp(p.log_partition).round(9))
    7.0
    >>> p.marginals.segments[:, :, 0].round(3)
    array([[0.571, 0.286, 0.143],
           [0.286, 0.143, 0.143],
           [0.286, 0.286, 0.   ],
           [0.571, 0.   , 0.   ]])
    >>> long = SegmentChain(np.arange(12.0).reshape(4, 3, 1), np.zeros((1, 1)))
    >>> long.argmax  # words[0:1], words[1:2], words[2:3], words[3:4]
    array([[0, 1, 0],
           [1, 2, 0],
           [2, 3, 0],
           [3, 4, 0]])
    """

    structures: SegmentChains
    parts_type = SegmentParts

    def __init__(
        self,
        segments: Any,
        pairwise: Any,
        *,
        n_words: "ArrayLike | None" = None,
        mask: "ArrayLike | None" = None,
    ) -> None:
        given = [("segments", segments, SEGMENTS), ("pairwise", pairwise, PAIRWISE)]
        form, lengths, sizes = recognise(given, n_words, mask)
        sets = made_once(SegmentChains, lengths, sizes["L"], sizes["s"])
        super().__init__(sets, form, segments, pairwise)
