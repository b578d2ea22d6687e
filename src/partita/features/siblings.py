"""Hashed features of siblings in dependency trees, computed from keys of the words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.features.arc_keys import direction_keys, keys_at, looks_from, own_nodes
from partita.features.arcs import number_of_weights, table
from partita.features.base import FeatureMap
from partita.features.nodes import Looks, Nodes
from partita.kept import kept_texts
from partita.kernels.features import siblings as sibling_features
from partita.kernels.features.siblings import SiblingKeys
from partita.structures.sibling_trees import SiblingTrees
from partita.text.hashing import Keys32, buckets, hashes, keys_of
from partita.text.known_values import KnownValues
from partita.text.sibling_templates import SiblingTemplate, parse_sibling_templates
from partita.text.words import CountedWords, Words


@dataclass(frozen=True)
class SiblingKeyMaker:
    """Makes the keys of sentences, for fixed templates and values that can be told apart."""

    templates: tuple[SiblingTemplate, ...]
    known: KnownValues

    @classmethod
    def learn(
        cls, templates: Sequence[SiblingTemplate], words: Words | CountedWords, min_count: int
    ) -> "SiblingKeyMaker":
        """From the words of the training sentences."""
        fields = [each.field for template in templates for each in template.fields]
        return cls(tuple(templates), KnownValues.learn(words, fields, min_count))

    def header(self) -> dict[str, Any]:
        """What a model file keeps."""
        templates = [template.text for template in self.templates]
        return {"templates": templates, "known": self.known.header()}

    @classmethod
    def restored(cls, header: Mapping[str, Any]) -> "SiblingKeyMaker":
        """From what a model file kept."""
        templates = parse_sibling_templates("\n".join(kept_texts(header["templates"], "templates")))
        fields = [each.field for template in templates for each in template.fields]
        return cls(templates, KnownValues.restored(header["known"], fields))

    @cached_property
    def ordered(self) -> list[SiblingTemplate]:
        """The templates as the kernel has them: those that look at the head first."""
        return sorted(self.templates, key=lambda template: not template.at("head"))

    def keys(self, words: Words) -> SiblingKeys:
        """The keys of all nodes."""
        nodes, looks = Nodes(words, self.known), self._looks
        return SiblingKeys(
            head=_rows(keys_at(nodes, looks["head"])),
            inner=_rows(keys_at(nodes, looks["inner"])),
            modifier=_rows(keys_at(nodes, looks["modifier"])),
            **self._fixed,
        )

    @cached_property
    def _looks(self) -> dict[str, Looks]:
        """Where templates look from a word in a role."""
        triples = [template for template in self.ordered if template.at("head")]
        return {
            "head": looks_from(triples, "head"),
            "inner": looks_from(self.ordered, "inner"),
            "modifier": looks_from(self.ordered, "modifier"),
        }

    @cached_property
    def _fixed(self) -> dict[str, Array]:
        """Those of the keys that are the same for all sentences."""
        nobody = [f"{template.text}\0nobody" for template in self.ordered]
        return {"nobody": keys_of(hashes(nobody)), "side": direction_keys(self.ordered)}


def _rows(keys: Keys32) -> Keys32:
    """A row for each template, so that a sentence's modifiers lie side by side."""
    return np.ascontiguousarray(keys.T)


class SiblingFeatures(FeatureMap):
    """Features of all sibling parts of a batch of sentences, hashed into 2**n_bits weights.

    Nothing is kept for a part: the places of its weights follow from the keys of its three words.
    Costs two weights for each part and template; templates that do not look at the head cost that
    for a pair of modifiers. Arcs have no features here.
    """

    is_spread = True

    def __init__(
        self, trees: SiblingTrees, keys: SiblingKeys, first_nodes: IntArray, n_bits: int
    ) -> None:
        self.n_parts, self.n_weights = trees.n_parts, number_of_weights(n_bits)
        self._keys, self._shift = keys, np.uint32(32 - n_bits)
        self._shape = trees.n_words, first_nodes, trees.array_starts[1]

    def __getstate__(self) -> dict[str, Any]:
        # As of `ArcFeatures`: its own sentences' keys only.
        n_words, first_nodes, starts = self._shape
        nodes, firsts = own_nodes(first_nodes, n_words)
        keys = self._keys
        chosen = keys._replace(
            head=_rows(keys.head.T[nodes]),
            inner=_rows(keys.inner.T[nodes]),
            modifier=_rows(keys.modifier.T[nodes]),
        )
        return {**vars(self), "_keys": chosen, "_shape": (n_words, firsts, starts)}

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """out[part] += the weights of its features; cells that are no part stay as they are."""
        sibling_features.scores(table(weights), self._shift, self._keys, *self._shape, out)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out[weight] += the score gradients of the parts that have its feature."""
        sibling_features.gradient(score_gradient, self._shift, self._keys, *self._shape, table(out))


def sibling_weights_at(keys: SiblingKeys, first_node: int, rows: IntArray, n_bits: int) -> Array:
    """For rows (head, inner, modifier), where the plain weights of their features lie.

    (n_rows, n_templates), in the order of the templates as the kernel has them.
    """
    head, inner, modifier = rows.T
    side, n_triples = (head > modifier).astype(np.int64), len(keys.head)
    middle = np.where(inner == head, keys.nobody[:, None], keys.inner[:, first_node + inner])
    together = middle ^ keys.modifier[:, first_node + modifier] ^ keys.side[side].T
    together[:n_triples] ^= keys.head[:, first_node + head]
    return buckets(np.ascontiguousarray(together.T), 2**n_bits)
