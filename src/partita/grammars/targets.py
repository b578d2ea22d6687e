"""All translations of source sentences under an ITG, as structures: D_n(x) in normal form."""

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import BoolArray, FloatArray
from partita.grammars.choices import TargetChoices, joined, ranges
from partita.grammars.itg import bounded_forest
from partita.grammars.lengths import infer_lengths
from partita.grammars.parts import all_but_binary
from partita.grammars.source_structures import ForestStructures
from partita.structures.base import Inference
from partita.structures.batch import offsets, pieces
from partita.structures.forests import Forests
from partita.structures.tied_forests import TiedForest, TiedForests


class BoundedTargets(ForestStructures):
    """Derivations of sentences with at most `longest` target words, each alignment by one.

    Sentence p has `choices[p]`, a group of translations for each source word. Its parts are the
    links, one for each choice, the deletions (n,), one insertion that stands for any word, the
    straight and the inverted rule: flat `RuleScores` where the target is not given. Log-partition
    and marginals sum over the choices of a word first and cost O(n³ longest²) after that; the rest
    is asked of a hypergraph that has an edge for every choice, and derivations are its edges.

    >>> choices = TargetChoices(np.array([7, 8, 9]), np.array([0, 2, 3]))  # 7 or 8, then 9
    >>> targets = BoundedTargets([choices], [2])
    >>> scores = np.append(np.zeros(3), [-np.inf, -np.inf, -np.inf, 0.0, 0.0])
    >>> np.exp(targets.infer(scores).log_partition).round(9)  # 7 9, 8 9, 9 7, 9 8
    array([4.])
    """

    def __init__(self, choices: Sequence[TargetChoices], longest: ArrayLike) -> None:
        self.choices = tuple(choices)
        self.longest = np.ascontiguousarray(longest, dtype=np.int64)
        self.n_words = np.array([each.n_groups for each in choices], dtype=np.int64)
        n_links = np.array([len(each.words) for each in choices], dtype=np.int64)
        self.part_offsets = offsets(n_links + self.n_words + 3)
        self._links = joined(choices)
        starts = self.part_offsets[:-1]
        self._link_parts = ranges(starts, starts + n_links)
        self._other_parts = ranges(starts + n_links, self.part_offsets[1:])
        summed = offsets(2 * self.n_words + 3)
        self._summed_links = ranges(summed[:-1], summed[:-1] + self.n_words)
        self._summed_others = ranges(summed[:-1] + self.n_words, summed[1:])

    def is_same_set(self, other: Self) -> bool:
        """The same choices and the same longest targets."""
        return np.array_equal(self.longest, other.longest) and all(
            np.array_equal(mine.words, its.words) and np.array_equal(mine.offsets, its.offsets)
            for mine, its in zip(self.choices, other.choices, strict=True)
        )

    def infer(self, scores: FloatArray) -> Inference:
        """Convolutions over the number of target words, see `infer_lengths`."""
        links = scores[self._link_parts]
        summed = np.empty(len(self._summed_links) + len(self._summed_others))
        summed[self._summed_links] = self._links.log_sums(links)
        summed[self._summed_others] = scores[self._other_parts]
        log_partition, counts = infer_lengths(summed, self.n_words, self.longest)
        marginals = np.empty(self.n_parts)
        marginals[self._link_parts] = self._links.spread(counts[self._summed_links], links)
        marginals[self._other_parts] = counts[self._summed_others]
        return Inference(log_partition, marginals)

    @cached_property
    def forests(self) -> TiedForests:
        """The same sets as hypergraphs."""
        forests = []
        for choices, longest in zip(self.choices, self.longest.tolist(), strict=True):
            groups = pieces(np.arange(len(choices.words)), choices.offsets)
            everything = np.ones(choices.n_groups, dtype=np.bool_)
            forest = bounded_forest(groups, everything, True, longest, normal_form=True)
            forests.append(TiedForest(Forests([forest.hypergraph]), forest.part, forest.n_parts))
        return TiedForests(forests, np.diff(self.part_offsets).tolist())

    def count(self, allowed: BoolArray) -> list[int]:
        """On the hypergraphs, in whole numbers."""
        return self.forests.count(allowed)

    def is_choice(self) -> BoolArray:
        """Links, deletions and insertions; not the binary rules."""
        return all_but_binary(self.part_offsets)

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """More words must be linked than the target may have, or what is forbidden."""
        return (
            f"every derivation with at most {self.longest[sentence]} target words uses a part "
            "whose score is -inf"
        )
