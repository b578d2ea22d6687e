"""What a trained parser is made of, apart from its weights; and pieces of sentences of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import IntArray
from partita.distribution.projective_tree import ProjectiveTree
from partita.distribution.spanning_tree import SpanningTree
from partita.distribution.trees import Tree
from partita.estimators.parsing.joint import ArcLabels
from partita.estimators.pieces import Piece
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import ArcFeatures, number_of_weights
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.labelled_arcs import LabelledArcs, SharedArcs
from partita.kernels.features.arcs import Keys
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees
from partita.structures.trees import Trees
from partita.text.tree_words import read_tree_words
from partita.text.words import Words
from partita.training.batches import CACHED_PARTS, cut


class KeyedWords(NamedTuple):
    """Sentences as columns, the keys that templates make of them, and some order."""

    words: Words
    keys: Keys
    order: IntArray
    """The sentences, by their numbers among the words."""
    label_keys: Keys | None = None
    """Of templates of labels, where arcs have such."""


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

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return self.n_arc_weights + (0 if self.labels is None else self.labels.n_weights)

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
        return KeyedWords(words, self.maker.keys(words), order, label_keys)

    def pieces(
        self, encoded: KeyedWords, first: int = 0, last: int | None = None, most: int = CACHED_PARTS
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, cut into pieces of `most` arcs."""
        order = encoded.order[first:last]
        n_words, nodes = encoded.words.n_words[order], encoded.words.first_nodes[order]
        for part in cut((n_words + 1) ** 2, most):
            here = slice(part.start, part.stop)
            trees = self._trees(n_words[here])
            features: FeatureMap = ArcFeatures(trees, encoded.keys, nodes[here], self.n_bits)
            if self.labels is not None and encoded.label_keys is not None:
                n_labels = len(self.labels.names)
                trees = self._trees(n_words[here], n_labels)
                labelled = LabelledArcs(trees, encoded.label_keys, nodes[here], self.labels.n_bits)
                features = JoinedFeatures([SharedArcs(features, n_labels), labelled])
            yield Piece(range(first + part.start, first + part.stop), self.kind, trees, features)

    def _trees(self, n_words: IntArray, n_labels: int | None = None) -> Trees:
        trees = ProjectiveTrees if self.projective else SpanningTrees
        return trees(n_words, n_labels, single_root=self.single_root)

    @property
    def kind(self) -> type[Tree]:
        """The class of its distributions."""
        return ProjectiveTree if self.projective else SpanningTree


def without_labels(p: Tree, *, best: bool = False) -> Tree:
    """The distribution over heads alone: labels summed out, or each arc with its best label."""
    trees = p.structures
    if trees.n_labels is None:
        return p
    table = p.scores.reshape(-1, trees.n_labels)
    arcs = table.max(axis=1)
    if not best:
        arcs += np.log(np.exp(table - arcs[:, None]).sum(axis=1))
    return type(p).from_flat(type(trees)(trees.n_words, single_root=trees.single_root), arcs)
