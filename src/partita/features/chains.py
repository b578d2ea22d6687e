"""Features of tag sequences: attributes of words, and of transitions between tags."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from partita.arrays import BoolArray, IntArray
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.matrix import FixedScores
from partita.features.pairs import PairFeatures, Pairs
from partita.features.rows import RowFeatures
from partita.structures.chains import Chains
from partita.text.attributes import Attributes


def tag_features(
    chains: Chains,
    words: Attributes,
    n_attributes: int,
    *,
    transitions: Attributes | None = None,
    n_transition_attributes: int = 1,
    pairs: Pairs | None = None,
) -> JoinedFeatures:
    """The usual features of a tagger: (attribute, tag) and (tag, tag), or (attribute, tag, tag).

    `words` has a row for each word of the batch. The weights are (n_attributes, s) for tags and
    then (n_transition_attributes, s, s) for transitions. Without `transitions` there is one table
    for all positions; with it, a row for each pair of neighbours (n - 1 for a sentence of n words)
    says what holds there, and `chains` must not be shared. With `pairs` of attribute and tag only
    those have weights, as `Pairs` orders them, in place of (n_attributes, s).

    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> features = tag_features(chains, Attributes.from_lists([[0], [1]]), n_attributes=2)
    >>> features.scores(np.arange(8.0))  # four weights of attributes, four of transitions
    array([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    if words.n_rows != chains.n_words.sum():
        raise ValueError(
            f"words has {words.n_rows} rows; expected {chains.n_words.sum()}, one for each word of "
            "the batch."
        )
    word_starts, table_starts = _starts(chains)
    if transitions is None:
        everywhere = Attributes(
            np.zeros(len(table_starts), dtype=np.int32), np.arange(len(table_starts) + 1)
        )
        transitions = everywhere
    elif chains.shared:
        raise ValueError(
            "transitions came for chains that share one table; make them with "
            "Chains(n_words, n_tags, shared=False)."
        )
    n_tags, n_parts = chains.n_tags, chains.n_parts
    return JoinedFeatures(
        [
            RowFeatures(words, word_starts, n_tags, n_attributes, n_parts)
            if pairs is None
            else PairFeatures(words, word_starts, pairs, n_parts),
            RowFeatures(transitions, table_starts, n_tags**2, n_transition_attributes, n_parts),
        ]
    )


def tag_maps(
    chains: Chains, features: FeatureMap
) -> tuple[RowFeatures | PairFeatures, FixedScores | None] | None:
    """Attributes of words, and what is fixed, if all else is one table for all transitions.

    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> words = Attributes.from_lists([[0], [1]])
    >>> tag_maps(chains, tag_features(chains, words, n_attributes=2)) is None
    False
    """
    if type(features) is not JoinedFeatures or len(features.maps) not in (2, 3):
        return None
    words, tables, *others = features.maps
    if not isinstance(words, RowFeatures | PairFeatures) or type(tables) is not RowFeatures:
        return None
    fixed = others[0] if others else None
    if not (fixed is None or isinstance(fixed, FixedScores)):
        return None
    rows = words.rows if isinstance(words, PairFeatures) else words
    word_starts, table_starts = _starts(chains)
    is_usual = (
        rows.width == chains.n_tags
        and np.array_equal(rows.starts, word_starts)
        and tables.n_weights == chains.n_tags**2
        and np.array_equal(tables.starts, table_starts)
        and len(tables.attributes.ids) == len(table_starts)
        and not len(tables.attributes.values)
        and (fixed is None or bool((np.diff(fixed.given[0]) > 0).all()))
    )
    return (words, fixed) if is_usual else None


def tag_parts(chains: Chains) -> BoolArray:
    """Which parts are a tag at a word, not a transition; (n_parts,).

    The number of wrong tags is the cost `wrong_parts(counts, among=tag_parts(chains))`.

    >>> tag_parts(Chains([1], n_tags=2, shared=True))
    array([ True,  True, False, False, False, False])
    """
    return chains.is_choice()


def tag_constraints(
    chains: Chains, words: Attributes, attributes: ArrayLike, tags: ArrayLike
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Features and occurrences of constraints like "a word with attribute a has tag j".

    Constraint k is about `attributes[k]` and `tags[k]`; `words` has a row for each word, of any
    attributes, not only those of the model. The result is for `Constraints(*result)`, whose
    expectation k is p(tags[k] | attributes[k]); sparse, (n_constraints, n_parts) and
    (n_constraints, n_sentences).

    >>> chains = Chains([2], n_tags=2, shared=True)
    >>> words = Attributes.from_lists([[0], [0]])  # both words have attribute 0
    >>> features, occurrences = tag_constraints(chains, words, attributes=[0], tags=[1])
    >>> features.toarray(), occurrences.toarray()
    (array([[0., 1., 0., 1., 0., 0., 0., 0.]]), array([[2.]]))
    """
    attributes, tags = np.asarray(attributes, dtype=np.int64), np.asarray(tags, dtype=np.int64)
    word_starts, _ = _starts(chains)
    n_places, n_constraints = len(words.ids), len(attributes)
    values = words.values if len(words.values) else np.ones(n_places)
    n_attributes = int(max(words.ids.max(initial=-1), attributes.max(initial=-1))) + 1
    rows = sparse.csr_array((values, words.ids, words.offsets), shape=(words.n_rows, n_attributes))
    # Entry (k, word): the value of constraint k's attribute at the word.
    places = rows.T.tocsr()[attributes].tocoo()
    constraint, word = places.coords
    sentence = np.searchsorted(chains.word_offsets, word, side="right") - 1
    part = word_starts[word] + tags[constraint]
    return (
        sparse.csr_array((places.data, (constraint, part)), shape=(n_constraints, chains.n_parts)),
        sparse.csr_array(
            (places.data, (constraint, sentence)), shape=(n_constraints, chains.n_sentences)
        ),
    )


def _starts(chains: Chains) -> tuple[IntArray, IntArray]:
    """The first part of each word, and of each transition table."""
    n_tags, n_words = chains.n_tags, chains.n_words
    within = np.arange(n_words.sum()) - np.repeat(chains.word_offsets[:-1], n_words)
    word_starts = np.repeat(chains.part_offsets[:-1], n_words) + within * n_tags
    n_tables = np.ones_like(n_words) if chains.shared else n_words - 1
    first = chains.part_offsets[:-1] + n_words * n_tags
    position = np.arange(n_tables.sum()) - np.repeat(np.cumsum(n_tables) - n_tables, n_tables)
    return word_starts, np.repeat(first, n_tables) + position * n_tags**2
