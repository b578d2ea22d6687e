"""The local choices of each kind of structure, for `LocalLikelihood`."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from partita.arrays import IntArray
from partita.objectives.local import Choices
from partita.structures.chains import Chains
from partita.structures.forests import Forests
from partita.structures.trees import Trees


def chain_pieces(chains: Chains) -> IntArray:
    """The pieces of chains: the tags of each word, and each table of transitions; (n_parts,).

    A table that all positions share is one piece, of which the target makes n - 1 choices.

    >>> chain_pieces(Chains([2], n_tags=2, shared=True))
    array([0, 0, 1, 1, 2, 2, 2, 2])
    """
    n_tags, n_words = chains.n_tags, chains.n_words
    n_tables = np.ones_like(n_words) if chains.shared else n_words - 1
    sizes = np.tile([n_tags, n_tags**2], len(n_words))
    counts = np.column_stack([n_words, n_tables]).ravel()
    return np.repeat(np.arange(counts.sum()), np.repeat(sizes, counts))


def tree_pieces(trees: Trees) -> IntArray:
    """The pieces of trees: the arcs into each word, (n_parts,); -1 for cells that are no arcs.

    So the piecewise likelihood is a softmax over heads (and labels) for every word.

    >>> from partita.structures.projective_trees import ProjectiveTrees
    >>> tree_pieces(ProjectiveTrees([2])).reshape(3, 3)
    array([[-1,  0,  1],
           [-1, -1,  1],
           [-1,  0, -1]])
    """
    pieces = []
    for first, n in zip(trees.word_offsets[:-1], trees.n_words, strict=True):
        arcs = np.tile(np.arange(first - 1, first + n), (n + 1, 1))
        arcs[:, 0] = -1
        np.fill_diagonal(arcs, -1)
        pieces.append(np.repeat(arcs.ravel(), trees.n_labels or 1))
    return np.concatenate([np.zeros(0, dtype=np.int64), *pieces])


def forest_pieces(forests: Forests) -> IntArray:
    """The pieces of forests: the hyperedges into each node, (n_parts,).

    So the piecewise likelihood is that of a grammar whose rules are normalised for each node.

    >>> from partita.structures.hypergraph import Hypergraph
    >>> forest_pieces(Forests([Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)]))
    array([0, 0, 1])
    """
    graphs = zip(forests.hypergraphs, forests.node_offsets, strict=False)
    heads = [graph.heads + first for graph, first in graphs]
    return np.concatenate([np.zeros(0, dtype=np.int64), *heads])


def tag_choices(chains: Chains, tags: ArrayLike) -> Choices:
    """The choices of a chain's pseudo-likelihood: the tag of each word given its neighbours' tags.

    `tags` holds the target's tags of all sentences end to end. Row (word t, tag j) uses the parts
    that j would have: the tag itself, and the transitions from tag t-1 and to tag t+1.

    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> tag_choices(chains, [0, 1]).parts.toarray()[:2]  # word 0: tag 0 or 1, then a tag 1
    array([[1., 0., 0., 0., 0., 1., 0., 0.],
           [0., 1., 0., 0., 0., 0., 0., 1.]])
    """
    tags = _checked_tags(tags, int(chains.n_words.sum()), chains.n_tags)
    n_tags, n_words = chains.n_tags, chains.n_words
    sentences = np.repeat(np.arange(len(n_words)), n_words)
    word = np.arange(len(tags)) - chains.word_offsets[sentences]
    start = chains.part_offsets[sentences]
    tables = start + n_words[sentences] * n_tags
    stride = 0 if chains.shared else n_tags**2
    row = np.arange(len(tags))[:, None] * n_tags + np.arange(n_tags)
    tag = np.arange(n_tags)
    own = (start + word * n_tags)[:, None] + tag
    after, before = np.flatnonzero(word > 0), np.flatnonzero(word < n_words[sentences] - 1)
    table = tables[after] + (word[after] - 1) * stride
    incoming = (table + tags[after - 1] * n_tags)[:, None] + tag
    table = tables[before] + word[before] * stride
    outgoing = (table + tags[before + 1])[:, None] + tag * n_tags
    rows = np.concatenate([row.ravel(), row[after].ravel(), row[before].ravel()])
    parts = np.concatenate([own.ravel(), incoming.ravel(), outgoing.ravel()])
    # Equal places add up: a transition into and out of a word may be the same part.
    matrix = sparse.coo_array((np.ones(len(rows)), (rows, parts)), shape=(row.size, chains.n_parts))
    chosen = np.zeros(row.size)
    chosen[np.arange(len(tags)) * n_tags + tags] = 1.0
    return Choices(matrix.tocsr(), np.arange(len(tags) + 1) * n_tags, chosen, sentences)


def _checked_tags(given: ArrayLike, n_words: int, n_tags: int) -> IntArray:
    """The tags of all words end to end, each of which must be known."""
    tags = np.asarray(given)
    if tags.shape != (n_words,) or (n_words and tags.dtype.kind not in "iu"):
        raise ValueError(
            f"tags is an array of {tags.dtype} of shape {tags.shape}; expected ({n_words},) whole "
            "numbers, the tags of all sentences end to end."
        )
    wrong = np.flatnonzero((tags < 0) | (tags >= n_tags))
    if wrong.size:
        raise ValueError(
            f"tags[{wrong[0]}] is {tags[wrong[0]]}; expected 0 to {n_tags - 1}: pseudo-likelihood "
            "needs every tag. Use MarginalLikelihood with known_tags where some are not known."
        )
    return tags.astype(np.int64)
