"""Features of tagged sentences of lattices: attributes of words, wherever they stand."""

import numpy as np

from partita.arrays import BoolArray, IntArray
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.matrix import FixedScores
from partita.features.rows import RowFeatures
from partita.structures.lattice_chains import LatticeChains
from partita.text.attributes import Attributes


def lattice_features(
    chains: LatticeChains,
    words: Attributes,
    n_attributes: int,
    *,
    allowed: BoolArray | None = None,
    stop: bool = True,
) -> JoinedFeatures:
    """(attribute, tag) and (tag, tag), with the ends also (first tag) and (last tag).

    `words` has a row for each word that the items may offer, items end to end; the weights are
    (n_attributes, s), then (s, s), then with `ends` (2, s), or without `stop` (s,) for first tags
    alone; shared by all items, so that what was observed and its neighbourhood are scored alike.
    `allowed`, a boolean for each of these words and each tag, is a dictionary: other tags are
    forbidden.

    >>> from partita.structures.lattices import WordLattice
    >>> chains = LatticeChains([WordLattice([(0, 1, [0, 1])], [1])], n_tags=2)
    >>> words = Attributes.from_lists([[0], [1]])
    >>> features = lattice_features(
    ...     chains, words, 2, allowed=np.array([[True, True], [True, False]])
    ... )
    >>> features.scores(np.arange(8.0))
    array([  0.,   1.,   2., -inf,   4.,   5.,   6.,   7.])
    """
    n_tags, n_parts = chains.n_tags, chains.n_parts
    n_words = int(chains.n_choices.sum())
    if words.n_rows != n_words:
        raise ValueError(
            f"words has {words.n_rows} rows; expected {n_words}, one for each word of each item."
        )
    word_starts, tables = _starts(chains)
    maps: list[FeatureMap] = [
        RowFeatures(words, word_starts, n_tags, n_attributes, n_parts),
        RowFeatures(_same(len(tables)), tables, n_tags**2, 1, n_parts),
    ]
    if chains.ends:
        width = 2 * n_tags if stop else n_tags
        maps.append(RowFeatures(_same(len(tables)), tables + n_tags**2, width, 1, n_parts))
    if allowed is not None:
        if allowed.shape != (n_words, n_tags):
            raise ValueError(
                f"allowed has shape {allowed.shape}; expected ({n_words}, {n_tags}), a boolean for "
                "each word of each item and each tag."
            )
        row, tag = np.nonzero(~allowed)
        maps.append(FixedScores(n_parts, word_starts[row] + tag, np.full(len(row), -np.inf)))
    return JoinedFeatures(maps)


def _starts(chains: LatticeChains) -> tuple[IntArray, IntArray]:
    """The first part of each word of each item, and of each table of transitions."""
    n_choices, n_tags = chains.n_choices, chains.n_tags
    within = np.arange(n_choices.sum()) - np.repeat(np.cumsum(n_choices) - n_choices, n_choices)
    firsts = chains.part_offsets[:-1]
    return np.repeat(firsts, n_choices) + within * n_tags, firsts + n_choices * n_tags


def _same(n_rows: int) -> Attributes:
    """The same one attribute in every row."""
    return Attributes(np.zeros(n_rows, dtype=np.int32), np.arange(n_rows + 1))
