"""Features of arcs with labels: a row of weights, one for each label, for every hashed feature."""

from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.features.arc_keys import keys_of_nodes, own_nodes
from partita.features.arcs import with_distance
from partita.features.base import FeatureMap
from partita.features.rows import RowFeatures
from partita.kernels.features.arcs import Keys
from partita.structures.trees import Trees
from partita.text.attributes import Attributes
from partita.text.hashing import buckets


class SharedArcs(FeatureMap):
    """Features that an arc has whatever its label is.

        score[arc, label] = features.scores(weights)[arc]

    `features` are those of the arcs without labels.
    """

    def __init__(self, features: FeatureMap, n_labels: int) -> None:
        self.features, self.n_labels = features, n_labels
        self.n_parts, self.n_weights = features.n_parts * n_labels, features.n_weights
        self.is_spread = features.is_spread

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """The same for all labels of an arc."""
        out.reshape(-1, self.n_labels)[...] += self.features.scores(weights)[:, None]

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """The sum over the labels of an arc."""
        sums = score_gradient.reshape(-1, self.n_labels).sum(axis=1)
        self.features.add_gradient(sums, out)


class LabelledArcs(FeatureMap):
    """Features that have a weight for every label: hashed, at their direction and distance.

        score[arc, label] = sum over features f of the arc of weights[f, label]

    The weights are (2**n_bits, n_labels). Templates are of words at both ends or at one, with
    nothing between and no sets. The places of a batch's features are found each time anew, as those
    of `ArcFeatures` are; an arc costs two rows of weights for each template.
    """

    def __init__(self, trees: Trees, keys: Keys, first_nodes: IntArray, n_bits: int) -> None:
        assert trees.n_labels is not None
        self.n_labels, self.n_bits = trees.n_labels, n_bits
        self.n_parts, self.n_weights = trees.n_parts, 2**n_bits * trees.n_labels
        self._keys, self._trees, self._first_nodes = keys, trees, first_nodes

    def __getstate__(self) -> dict[str, Any]:
        # As of `ArcFeatures`: its own sentences' keys only.
        nodes, firsts = own_nodes(self._first_nodes, self._trees.n_words)
        own = {"_keys": keys_of_nodes(self._keys, nodes), "_first_nodes": firsts}
        return {**vars(self), **own}

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[arc, label] += the weights of the arc's features; cells that are no arc stay."""
        self._rows().add_scores(weights, out)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out[feature, label] += the score gradients of the arcs that have the feature."""
        self._rows().add_gradient(score_gradient, out)

    def _rows(self) -> RowFeatures:
        """A row for each arc of the batch."""
        n_nodes = self._trees.n_words + 1
        sentence = np.repeat(np.arange(len(n_nodes)), n_nodes**2)
        cell = np.arange(len(sentence)) - self._trees.arc_offsets[sentence]
        head, modifier = np.divmod(cell, n_nodes[sentence])
        arcs = np.flatnonzero((modifier != 0) & (head != modifier))
        roots = self._first_nodes[sentence[arcs]]
        places = row_places(self._keys, roots + head[arcs], roots + modifier[arcs], self.n_bits)
        ends = np.arange(len(arcs) + 1) * places.shape[1]
        return RowFeatures(
            Attributes(places.ravel(), ends),
            arcs * self.n_labels,
            self.n_labels,
            2**self.n_bits,
            self.n_parts,
        )


def row_places(keys: Keys, heads: IntArray, modifiers: IntArray, n_bits: int) -> Array:
    """The rows of weights of each arc's features, (n_arcs, 2 n_templates), int32.

    Pairs first, then templates of the head alone and of the modifier alone; then all of them again,
    with the distance. Heads and modifiers are nodes, as the keys count them.
    """
    direction = (heads > modifiers).astype(np.int64)
    together = np.concatenate(
        [
            keys.head[heads] ^ keys.modifier[modifiers] ^ keys.direction[direction],
            keys.only_head[heads] ^ keys.only_head_direction[direction],
            keys.only_modifier[modifiers] ^ keys.only_modifier_direction[direction],
        ],
        axis=1,
    )
    plain = buckets(together, 2**n_bits)
    further = with_distance(plain, heads[:, None], modifiers[:, None])
    return np.concatenate([plain, further], axis=1).astype(np.int32, copy=False)
