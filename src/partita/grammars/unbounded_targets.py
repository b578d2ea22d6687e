"""D(x): all derivations of source sentences, with targets of every length, as structures."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray
from partita.grammars.choices import TargetChoices
from partita.grammars.loops import LoopSums
from partita.grammars.parts import all_but_binary
from partita.grammars.span_rules import NONE, SpanRuleForest, normal_forest, plain_forest
from partita.grammars.unbounded import diverge
from partita.structures.base import (
    ALL_FORBIDDEN,
    Best,
    Inference,
    Structure,
    Structures,
    covariance_from_products,
)
from partita.structures.batch import offsets, pieces


class UnboundedTargets(Structures):
    """Infinitely many derivations of each sentence: as many words may be inserted as you like.

    Sentence p has `choices[p]`, a group of translations for each source word. Parts are those of
    `BoundedTargets`: links, one for each choice, deletions (n,), one insertion that stands for any
    word, the straight and the inverted rule; so D(x) is the limit of D_n(x) where that exists. The
    sum over all derivations is the solution of an equation for each source span, exact and without
    iteration (see `grammars.loops`); where it is infinite, the error is a `DivergenceError`. With
    `normal_form` (the default) an alignment has one derivation; the plain grammar has many.

    A structure is the array of its parts in preorder: a rule, then all of its first tail, then the
    second. Log-partition, marginals and a sample cost O(n³) in plain Python: for short sentences.

    >>> from partita.distribution.parts import PartDistribution
    >>> one_word = TargetChoices(np.array([7]), np.array([0, 1]))
    >>> scores = np.log([1.0, 0.5, 0.25, 1.0, 1.0])  # 7, nothing, any insertion, [X X], <X X>
    >>> p = PartDistribution(UnboundedTargets([one_word]), [scores])
    >>> np.exp(p.log_partition).round(9)  # (4/3)² with the link, 1/2 x 4/3 without
    array([2.44444444])
    >>> p.marginals[0].round(6)  # how often each is used: links, deletions, insertions, rules
    array([0.727273, 0.272727, 0.575758, 0.575758, 0.      ])
    """

    def __init__(self, choices: Sequence[TargetChoices], *, normal_form: bool = True) -> None:
        self.choices, self.normal_form = tuple(choices), normal_form
        self.n_words = np.array([each.n_groups for each in choices], dtype=np.int64)
        n_links = np.array([len(each.words) for each in choices], dtype=np.int64)
        self.part_offsets = offsets(n_links + self.n_words + 3)

    def is_same_set(self, other: Self) -> bool:
        """The same choices under the same grammar."""
        return self.normal_form == other.normal_form and all(
            np.array_equal(mine.words, its.words) and np.array_equal(mine.offsets, its.offsets)
            for mine, its in zip(self.choices, other.choices, strict=True)
        )

    @cached_property
    def forests(self) -> list[SpanRuleForest]:
        """A forest with loops for each sentence."""
        build = normal_forest if self.normal_form else plain_forest
        return [build(each) for each in self.choices]

    def infer(self, scores: FloatArray) -> Inference:
        """Sums bottom-up, expected counts top-down."""
        log_partition, marginals, state = np.empty(self.n_sentences), np.zeros(self.n_parts), []
        for index, (forest, mine, out) in enumerate(self._with(scores, marginals)):
            sums = forest.graph.sums(forest.edge_scores(mine))
            log_partition[index] = sums.inside[forest.graph.root]
            if log_partition[index] > -np.inf:
                counts = (
                    forest.graph.marginals(sums) if np.isfinite(log_partition[index]) else [np.inf]
                )
                self._check_finite(counts, mine)
                out[:] = forest.part_counts(np.asarray(counts))
            state.append(sums)
        return Inference(log_partition, marginals, tuple(state))

    def _check_finite(self, counts: Any, scores: FloatArray) -> None:
        """An infinite sum, or one whose expected counts are infinite, is a `DivergenceError`."""
        if not np.isfinite(counts).all():
            diverge(*scores[-3:].tolist(), normal_form=self.normal_form)

    def covariance_product(
        self, scores: FloatArray, inference: Inference, direction: FloatArray
    ) -> FloatArray:
        """The sums and counts differentiated along the direction."""
        product = np.zeros(self.n_parts)
        for index, (forest, _, along, out) in enumerate(self._with(scores, direction, product)):
            sums: LoopSums = inference.state[index]
            edges = forest.graph.covariance_product(sums, np.append(along, 0.0)[forest.parts])
            out[:] = forest.part_counts(edges)
        return product

    def covariance(self, scores: FloatArray, inference: Inference) -> list[FloatArray]:
        """Dense covariance of each sentence, from products."""
        return covariance_from_products(self, scores, inference)

    def argmax(self, scores: FloatArray) -> Best:
        """The best derivation, which inserts no word that it can do without."""
        found = self.k_best(scores, 1)
        nothing = (np.zeros(0, dtype=np.int64), -np.inf)
        best = [derivations[0] if derivations else nothing for derivations in found]
        return Best([structure for structure, _ in best], np.array([score for _, score in best]))

    def max_marginals(self, scores: FloatArray) -> FloatArray:
        """For each part the best derivation that uses it."""
        result = np.full(self.n_parts, -np.inf)
        for forest, mine, out in self._with(scores, result):
            edges, best = self._best(forest, mine)
            values = np.full(len(mine) + 1, -np.inf)
            np.maximum.at(values, forest.parts, forest.graph.max_marginals(edges, best))
            out[:] = values[:-1]
        return result

    def k_best(self, scores: FloatArray, k: int) -> list[list[tuple[Structure, float]]]:
        """The k best derivations, of which there may be infinitely many."""
        results = []
        for forest, mine in self._with(scores):
            edges, best = self._best(forest, mine)
            found = forest.graph.k_best(edges, k) if best[forest.graph.root] > -np.inf else []
            results.append([(forest.structure(derivation), score) for derivation, score in found])
        return results

    def _best(self, forest: SpanRuleForest, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Scores of the edges, and of the best derivation of each node."""
        edges = forest.edge_scores(scores)
        best = forest.graph.best(edges)
        self._check_finite(np.where(best == -np.inf, 0.0, best), scores)
        return edges, best

    def sample(
        self, scores: FloatArray, inference: Inference, size: int, rng: np.random.Generator
    ) -> list[Structure]:
        """Top-down; a list per sentence."""
        return [
            [forest.structure(forest.graph.sample(sums, rng)) for _ in range(size)]
            for forest, sums in zip(self.forests, inference.state, strict=True)
        ]

    def sample_distinct(
        self, scores: FloatArray, size: int, rng: np.random.Generator
    ) -> list[list[Structure]]:
        """Top-down, without replacement."""
        found: list[list[Structure]] = []
        each = zip(self._with(scores), self.infer(scores).state, strict=True)
        for (forest, mine), sums in each:
            drawn = forest.graph.sample_distinct(forest.edge_scores(mine), sums, size, rng)
            found.append([forest.structure(derivation) for derivation in drawn])
        return found

    def count(self, allowed: BoolArray) -> list[int]:
        """Derivations without end are an error: a number of words bounds them."""
        found = []
        for sentence, (forest, mine) in enumerate(self._with(allowed)):
            n_ways = forest.graph.count(np.append(mine, True)[forest.parts])
            if n_ways is None:
                raise ValueError(
                    f"sentence {sentence} has infinitely many derivations, since words may be "
                    "inserted without end; expected a finite number to count. Forbid insertions "
                    "(-inf), or bound the number of target words (BoundedTargets)."
                )
            found.append(n_ways)
        return found

    def is_choice(self) -> BoolArray:
        """Links, deletions and insertions; not the binary rules."""
        return all_but_binary(self.part_offsets)

    def why_empty(self, scores: FloatArray, sentence: int) -> str:
        """A part of every derivation is forbidden; which ones is not known."""
        return ALL_FORBIDDEN

    def counts(self, structures: Sequence[Structure]) -> FloatArray:
        """How often each part occurs in a derivation; what is none is an error."""
        counts = np.zeros(self.n_parts)
        own = zip(self.forests, structures, pieces(counts, self.part_offsets), strict=True)
        for index, (forest, given, out) in enumerate(own):
            parts = np.asarray(given)
            if not forest.derives(parts):
                raise ValueError(
                    f"the structure of sentence {index}, {parts.tolist()}, is no derivation of it; "
                    f"expected the parts of one, 0 to {len(out) - 1}, top-down and left to right."
                )
            out += np.bincount(parts, minlength=len(out))
        return counts

    def target(self, sentence: int, structure: Structure) -> list[int]:
        """The target words of a derivation, in order; -1 for an insertion, which may be any word.

        >>> targets = UnboundedTargets([TargetChoices(np.array([7, 8]), np.array([0, 1, 2]))])
        >>> targets.target(0, np.array([6, 0, 1])), targets.target(0, np.array([5, 6, 0, 1, 4]))
        ([8, 7], [8, 7, -1])
        """
        words, n_links = self.choices[sentence].words, len(self.choices[sentence].words)
        straight = n_links + int(self.n_words[sentence]) + 1
        stack: list[list[int]] = []
        for part in reversed(np.asarray(structure).tolist()):
            if part >= straight:
                first, second = stack.pop(), stack.pop()
                stack.append(first + second if part == straight else second + first)
            elif part < n_links:
                stack.append([int(words[part])])
            else:
                stack.append([NONE] if part == straight - 1 else [])
        return stack.pop()

    def _with(self, *vectors: Array) -> Any:
        """Each sentence's forest, and its piece of every vector over parts."""
        split = [pieces(vector, self.part_offsets) for vector in vectors]
        return zip(self.forests, *split, strict=True)
