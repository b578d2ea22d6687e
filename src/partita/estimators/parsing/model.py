"""What a trained parser is made of, apart from its weights; and pieces of sentences of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import IntArray
from partita.distribution.projective_tree import ProjectiveTree
from partita.distribution.sibling_tree import SiblingTree
from partita.distribution.spanning_tree import SpanningTree
from partita.distribution.trees import Tree
from partita.estimators.parsing.joint import ArcLabels
from partita.estimators.pieces import Piece
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import ArcFeatures, number_of_weights
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.labelled_arcs import LabelledArcs, SharedArcs
from partita.features.siblings import SiblingFeatures, SiblingKeyMaker
from partita.kernels.features.arcs import Keys
from partita.kernels.features.siblings import SiblingKeys
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.spanning_trees import SpanningTrees
from partita.structures.trees import Trees
from partita.text.tree_words import read_tree_words
from partita.text.words import Words
from partita.training.batches import CACHED_PARTS, cut

TreeDistribution = Tree | SiblingTree
"""Over trees of the first order or of the second."""


class KeyedWords(NamedTuple):
    """Sentences as columns, the keys that templates make of them, and some order."""

    words: Words
    keys: Keys
    order: IntArray
    """The sentences, by their numbers among the words."""
    label_keys: Keys | None = None
    """Of templates of labels, where arcs have such."""
    sibling_keys: SiblingKeys | None = None
    """Of templates of siblings, where these have scores."""


@dataclass(frozen=True)
class Siblings:
    """What scores pairs of siblings, in a parser of the second order."""

    maker: SiblingKeyMaker
    """Makes keys of words."""
    n_bits: int

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return number_of_weights(self.n_bits)


@dataclass(frozen=True)
class ParserModel:
    """All of a parser but its weights."""

    maker: KeyMaker
    """Makes keys of words."""
    n_bits: int
    projective: bool
    single_root: bool
    columns: tuple[str, ...]
    """The CoNLL-U columns that sentences must have."""
    labels: ArcLabels | None = None
    """Of arcs with labels; their weights follow those that an arc has whatever its label is."""
    siblings: Siblings | None = None
    """Of the second order; their weights follow those of the arcs, which have no labels then."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        more = self.siblings if self.labels is None else self.labels
        return self.n_arc_weights + (0 if more is None else more.n_weights)

    @property
    def n_arc_weights(self) -> int:
        """Number of weights of arcs, whatever their labels."""
        return number_of_weights(self.n_bits)

    def encode(self, sentences: Sequence[Any]) -> KeyedWords:
        """Sentences as numbers."""
        return self.encode_words(read_tree_words(sentences, self.columns))

    def encode_words(self, words: Words) -> KeyedWords:
        """Sentences whose columns are read already as numbers."""
        label_keys = None if self.labels is None else self.labels.maker.keys(words)
        order = np.arange(len(words.n_words))
        siblings = None if self.siblings is None else self.siblings.maker.keys(words)
        return KeyedWords(words, self.maker.keys(words), order, label_keys, siblings)

    def part_counts(self, n_words: IntArray) -> IntArray:
        """How many scores sentences have, those of labels left out."""
        counts: IntArray = (n_words + 1) ** 2
        return counts if self.siblings is None else counts * (n_words + 2)

    def pieces(
        self, encoded: KeyedWords, first: int = 0, last: int | None = None, most: int = CACHED_PARTS
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, cut into pieces of `most` scores."""
        order = encoded.order[first:last]
        n_words, nodes = encoded.words.n_words[order], encoded.words.first_nodes[order]
        for part in cut(self.part_counts(n_words), most):
            here = slice(part.start, part.stop)
            trees = self._trees(n_words[here])
            features: FeatureMap = ArcFeatures(trees, encoded.keys, nodes[here], self.n_bits)
            if self.siblings is not None and encoded.sibling_keys is not None:
                assert isinstance(trees, SiblingTrees)
                keys, n_bits = encoded.sibling_keys, self.siblings.n_bits
                both = [features, SiblingFeatures(trees, keys, nodes[here], n_bits)]
                features = JoinedFeatures(both)
            if self.labels is not None and encoded.label_keys is not None:
                n_labels = len(self.labels.names)
                trees = self._trees(n_words[here], n_labels)
                assert isinstance(trees, Trees)
                labelled = LabelledArcs(trees, encoded.label_keys, nodes[here], self.labels.n_bits)
                features = JoinedFeatures([SharedArcs(features, n_labels), labelled])
            yield Piece(range(first + part.start, first + part.stop), self.kind, trees, features)

    def _trees(self, n_words: IntArray, n_labels: int | None = None) -> Trees | SiblingTrees:
        if self.siblings is not None:
            return SiblingTrees(n_words, single_root=self.single_root)
        trees = ProjectiveTrees if self.projective else SpanningTrees
        return trees(n_words, n_labels, single_root=self.single_root)

    @property
    def kind(self) -> type[TreeDistribution]:
        """The class of its distributions."""
        if self.siblings is not None:
            return SiblingTree
        return ProjectiveTree if self.projective else SpanningTree


def without_labels(p: TreeDistribution, *, best: bool = False) -> TreeDistribution:
    """The distribution over heads alone: labels summed out, or each arc with its best label."""
    trees = p.structures
    if isinstance(trees, SiblingTrees) or trees.n_labels is None:
        return p
    table = p.scores.reshape(-1, trees.n_labels)
    arcs = table.max(axis=1)
    if not best:
        arcs += np.log(np.exp(table - arcs[:, None]).sum(axis=1))
    return type(p).from_flat(type(trees)(trees.n_words, single_root=trees.single_root), arcs)
