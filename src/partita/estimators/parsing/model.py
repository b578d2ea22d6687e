"""What a trained parser is made of, apart from its weights; and batches of sentences of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.projective_tree import ProjectiveTree
from partita.distribution.spanning_tree import SpanningTree
from partita.distribution.trees import Tree
from partita.estimators.parsing.keys import KeyMaker
from partita.estimators.parsing.templates import Template
from partita.estimators.parsing.words import Lexicon, Words, read_words
from partita.features.arcs import ArcFeatures, number_of_weights
from partita.kernels.features.arcs import Keys
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees
from partita.structures.tree_tools import is_projective
from partita.structures.trees import Trees
from partita.training.batches import cut


class Encoded(NamedTuple):
    """Sentences as numbers."""

    words: Words
    keys: Keys


class Piece(NamedTuple):
    """Neighbouring sentences whose scores fit into the cache."""

    sentences: range
    trees: Trees
    features: ArcFeatures


@dataclass(frozen=True)
class ParserModel:
    """All of a parser of unlabelled arcs but its weights."""

    templates: tuple[Template, ...]
    lexicon: Lexicon
    n_bits: int
    projective: bool
    single_root: bool
    columns: tuple[str, ...]
    """The CoNLL-U columns that sentences must have."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return number_of_weights(self.n_bits)

    @cached_property
    def maker(self) -> KeyMaker:
        """Makes keys of words."""
        return KeyMaker(self.templates, self.lexicon)

    def encode(self, sentences: Sequence[Any]) -> Encoded:
        """Sentences as numbers."""
        words = read_words(sentences, self.columns)
        return Encoded(words, self.maker.keys(words))

    def pieces(
        self, encoded: Encoded, first: int = 0, last: int | None = None, *, most: int = 2**15
    ) -> Iterator[Piece]:
        """The sentences from `first` on and before `last`, cut into pieces of `most` arcs."""
        n_words = encoded.words.n_words[first:last]
        starts = encoded.words.first_nodes
        for part in cut((n_words + 1) ** 2, most):
            sentences = range(first + part.start, first + part.stop)
            trees = self.trees(n_words[part.start : part.stop])
            nodes = starts[sentences.start : sentences.stop]
            features = ArcFeatures(trees, encoded.keys, nodes, self.n_bits)
            yield Piece(sentences, trees, features)

    def trees(self, n_words: IntArray) -> Trees:
        """The set of trees of sentences of these lengths."""
        return tree_set(n_words, projective=self.projective, single_root=self.single_root)

    def distribution(self, piece: Piece, weights: FloatArray) -> Tree:
        """The trees of a piece's sentences."""
        return self.kind.from_flat(piece.trees, piece.features.scores(weights))

    @property
    def kind(self) -> type[Tree]:
        """The class of its distributions."""
        return ProjectiveTree if self.projective else SpanningTree


def tree_set(n_words: IntArray, *, projective: bool, single_root: bool) -> Trees:
    """The projective trees, or all trees, of sentences of these lengths."""
    kind = ProjectiveTrees if projective else SpanningTrees
    return kind(n_words, single_root=single_root)


def may_be_projective(heads: IntArray) -> bool:
    """Whether some projective tree has the known heads (-1 where one is not known).

    >>> may_be_projective(np.array([3, 4, -1, -1]))
    False
    """
    known = heads >= 0
    if known.all():
        return is_projective(heads)
    if known.sum() < 2:
        return True
    return bool((_most_agreeing(heads, single_root=False) == heads)[known].all())


def nearest_projective(heads: IntArray, *, single_root: bool) -> IntArray:
    """The projective tree that needs the fewest steps of words up to their heads' heads.

    A tree whose arcs cross becomes projective when some words move to an ancestor of their head;
    the best choice of all is one run of Eisner's algorithm. A projective tree stays as it is. Where
    some heads are not known (-1), those that no projective tree has together with most of the
    others become unknown, too.

    >>> nearest_projective(np.array([3, 4, 0, 3]), single_root=True)
    array([3, 3, 0, 3])
    >>> nearest_projective(np.array([3, 4, -1, 3]), single_root=True)
    array([ 3, -1, -1,  3])
    """
    if (heads < 0).any():
        agreeing = _most_agreeing(heads, single_root=single_root)
        return np.where(agreeing == heads, heads, -1)
    n_words = len(heads)
    arcs = np.full((n_words + 1, n_words + 1), -np.inf)
    for word in range(1, n_words + 1):
        head, steps = int(heads[word - 1]), 0
        arcs[head, word] = 0.0
        while head != 0:
            head, steps = int(heads[head - 1]), steps + 1
            if head != 0 or not single_root:
                arcs[head, word] = -float(steps)
    best: IntArray = ProjectiveTree(arcs, single_root=single_root).argmax
    return best


def _most_agreeing(heads: IntArray, *, single_root: bool) -> IntArray:
    """The projective tree with the most of the known heads."""
    known = np.flatnonzero(heads >= 0)
    arcs = np.zeros((len(heads) + 1, len(heads) + 1))
    arcs[heads[known], known + 1] = 1.0
    best: IntArray = ProjectiveTree(arcs, single_root=single_root).argmax
    return best
