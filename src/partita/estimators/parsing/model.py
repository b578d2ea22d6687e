"""What a trained parser is made of, apart from its weights; and pieces of sentences of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import IntArray
from partita.distribution.projective_tree import ProjectiveTree
from partita.distribution.spanning_tree import SpanningTree
from partita.distribution.trees import Tree
from partita.estimators.pieces import Piece
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import ArcFeatures, number_of_weights
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


@dataclass(frozen=True)
class ParserModel:
    """All of a parser of unlabelled arcs but its weights."""

    maker: KeyMaker
    """Makes keys of words."""
    n_bits: int
    projective: bool
    single_root: bool
    columns: tuple[str, ...]
    """The CoNLL-U columns that sentences must have."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return number_of_weights(self.n_bits)

    def encode(self, sentences: Sequence[Any]) -> KeyedWords:
        """Sentences as numbers."""
        return self.encode_words(read_tree_words(sentences, self.columns))

    def encode_words(self, words: Words) -> KeyedWords:
        """Sentences whose columns are read already as numbers."""
        return KeyedWords(words, self.maker.keys(words), np.arange(len(words.n_words)))

    def pieces(
        self, encoded: KeyedWords, first: int = 0, last: int | None = None, most: int = CACHED_PARTS
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, cut into pieces of `most` arcs."""
        order = encoded.order[first:last]
        n_words, nodes = encoded.words.n_words[order], encoded.words.first_nodes[order]
        for part in cut((n_words + 1) ** 2, most):
            here = slice(part.start, part.stop)
            trees = self.trees(n_words[here])
            features = ArcFeatures(trees, encoded.keys, nodes[here], self.n_bits)
            yield Piece(range(first + part.start, first + part.stop), self.kind, trees, features)

    def trees(self, n_words: IntArray) -> Trees:
        """The set of trees of sentences of these lengths."""
        trees = ProjectiveTrees if self.projective else SpanningTrees
        return trees(n_words, single_root=self.single_root)

    @property
    def kind(self) -> type[Tree]:
        """The class of its distributions."""
        return ProjectiveTree if self.projective else SpanningTree
