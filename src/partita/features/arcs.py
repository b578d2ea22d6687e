"""Hashed features of the arcs of dependency trees, computed from keys of the words."""

from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.features.arc_keys import keys_of_nodes, own_nodes
from partita.features.base import FeatureMap
from partita.kernels.features import arcs as arc_features
from partita.kernels.features.arcs import GROUP, MOST_KINDS, Keys
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.trees import Trees
from partita.text.hashing import buckets

MARGIN = 6
"""Weights before the first group. The C library puts a large array 16 bytes behind the beginning
of a page, so that groups of eight doubles begin with a line of the cache from its weight 6 on;
without it, every third feature would need two lines."""


class ArcFeatures(FeatureMap):
    """Features of all arcs of a batch of sentences, hashed into 2**n_bits weights.

    Nothing is kept for an arc: the places of its weights follow from the keys of its two words
    (see `partita.kernels.features.arcs`), each time anew. Costs, for an arc, two weights for each
    template; templates of one end only cost that for a word, direction and distance.

    Parameters
    ----------
    trees
        The sentences; unlabelled. Of the second order, siblings have no features here.
    keys
        Those of the nodes of all sentences, this batch's and maybe more.
    first_nodes
        (n_sentences,): where the nodes of each sentence begin among the keys; the root is first.
    n_bits
        The logarithm of the number of weights, 3 to 28.
    """

    is_spread = True

    def __init__(
        self, trees: Trees | SiblingTrees, keys: Keys, first_nodes: IntArray, n_bits: int
    ) -> None:
        self.n_parts = trees.n_parts
        self.n_weights = number_of_weights(n_bits)
        self._keys = keys
        self._shift = np.uint32(32 - n_bits)
        self._shape = trees.n_words, first_nodes, trees.arc_offsets
        last = (first_nodes + trees.n_words + 1).max(initial=0)
        self._most_places = most_places(keys, int(first_nodes.min(initial=last)), int(last))

    def __getstate__(self) -> dict[str, Any]:
        # A batch on its way to a file or a worker takes its own sentences' keys along, not all.
        n_words, first_nodes, arc_offsets = self._shape
        nodes, firsts = own_nodes(first_nodes, n_words)
        own = {"_keys": keys_of_nodes(self._keys, nodes), "_shape": (n_words, firsts, arc_offsets)}
        return {**vars(self), **own}

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[arc] += the weights of its features; cells that are no arc stay as they are."""
        arc_features.sweep(
            table(weights), False, self._shift, self._keys, *self._shape, self._most_places, out
        )

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out[weight] += the score gradients of the arcs that have its feature."""
        arc_features.sweep(
            table(out), True, self._shift, self._keys, *self._shape, self._most_places,
            score_gradient,
        )  # fmt: skip


def number_of_weights(n_bits: int) -> int:
    """2**n_bits that features are hashed to, and a group that none is."""
    return int(2**n_bits) + GROUP


def table(weights: FloatArray) -> FloatArray:
    """The weights that features are hashed to."""
    return weights[MARGIN : len(weights) - GROUP + MARGIN]


def most_places(keys: Keys, first: int, last: int) -> int:
    """The most features that an arc between some nodes can have, those of one end left out.

    Only of the nodes from `first` on and before `last`: a batch does not look at all the corpus.
    """
    n_pairs, n_sets = keys.head.shape[1], len(keys.set_between)
    if n_sets == 0:
        return int(n_pairs + 1)
    largest = [
        np.diff(ends[first * n_sets : last * n_sets + 1]).reshape(-1, n_sets).max(axis=0, initial=0)
        for ends in (keys.set_head_ends, keys.set_modifier_ends)
    ]
    n_between = np.where(keys.set_between, MOST_KINDS, 1)
    return int(n_pairs + 1 + (largest[0] * largest[1] * n_between).sum())


def places(
    keys: Keys, first_node: int, n_words: int, heads: IntArray, modifiers: IntArray, n_bits: int
) -> list[Array]:
    """For each of some arcs of a sentence, where the plain weights of its features lie.

    In the order of the templates: pairs, then sets with their members, then those of the head
    alone and of the modifier alone.
    """
    shift = np.uint32(32 - n_bits)
    most = most_places(keys, first_node, first_node + n_words + 1)
    out, n_out = np.zeros((len(heads), most), dtype=np.uint32), np.zeros(len(heads), dtype=np.int64)
    arc_features.places_of_arcs(
        shift, keys, first_node, n_words, heads, modifiers, most, out, n_out
    )
    direction = (heads > modifiers).astype(np.int64)
    ends = [
        only[first_node + nodes] ^ direction_keys[direction]
        for only, direction_keys, nodes in (
            (keys.only_head, keys.only_head_direction, heads),
            (keys.only_modifier, keys.only_modifier_direction, modifiers),
        )
    ]
    alone = buckets(np.concatenate(ends, axis=1), 2**n_bits)
    return [
        np.concatenate([out[arc, : n_out[arc]], alone[arc]]).astype(np.int64)
        for arc in range(len(heads))
    ]


def n_features(keys: Keys, first_node: int, heads: IntArray, modifiers: IntArray) -> IntArray:
    """How many of the features of each arc each template has, (n_arcs, n_templates), as `places`.

    One each; but of a template of sets as many as there are ways to choose a member of each.
    """
    n_sets = len(keys.set_between)
    members = [
        np.diff(ends).reshape(len(keys.head), n_sets)[first_node + nodes]
        for ends, nodes in ((keys.set_head_ends, heads), (keys.set_modifier_ends, modifiers))
    ]
    spans = np.sort(np.stack([heads, modifiers], axis=1) + first_node, axis=1).tolist()
    n_kinds = np.array([len(np.unique(keys.kind[low + 1 : high])) for low, high in spans])
    sets = members[0] * members[1] * np.where(keys.set_between, n_kinds[:, np.newaxis], 1)
    sizes = keys.head.shape[1], keys.only_head.shape[1] + keys.only_modifier.shape[1]
    before, behind = (np.ones((len(heads), size), dtype=np.int64) for size in sizes)
    return np.concatenate([before, sets, behind], axis=1)


def distance_slots(differences: IntArray | int) -> Any:
    """The class of each distance, from 0: 1, 2, 3, 4, 5 to 6, 7 to 10, more.

    >>> distance_slots(np.array([1, -2, 5, 6, 7, -11])).tolist()
    [0, 1, 4, 4, 5, 6]
    """
    return np.searchsorted([2, 3, 4, 5, 7, 11], np.abs(differences), side="right")


def with_distance(plain: Array, heads: IntArray | int, modifiers: IntArray | int) -> Array:
    """Where the weights lie that belong to plain ones and the distance of the arc."""
    slots = distance_slots(np.asarray(heads) - np.asarray(modifiers)) + 1
    return np.asarray((plain & ~(GROUP - 1)) | ((plain + slots) & (GROUP - 1)))
