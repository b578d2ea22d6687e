"""Hashed features of the labels of arcs, as rows: what templates see of the relatives of a word."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import BoolArray, IntArray
from partita.features.arcs import distance_slots
from partita.features.nodes import Looks, Nodes
from partita.kernels.features import mixtures as kernels
from partita.kernels.features.mixtures import Families, LabelSeeds
from partita.structures.batch import offsets
from partita.text.attributes import Attributes
from partita.text.fields import RoleField
from partita.text.hashing import hashes
from partita.text.known_values import KnownValues
from partita.text.label_templates import SETS, LabelTemplate
from partita.text.words import Words

ROLES = ("modifier", "head", "grandparent", "left", "right", "first", "last")
"""Those of single words, in the kernel's order: the word itself comes first."""


class LabelLooks(NamedTuple):
    """What templates are to kernels, the same for all sentences."""

    members: tuple[RoleField | None, ...]
    """The field of each template that many words may have."""
    looks: Looks
    """Behind those of the templates what is seen of members, whom the kernel finds."""
    has_distance: BoolArray
    owner: IntArray
    """The role of whose modifiers each is a feature; -1 for none."""
    sight: IntArray
    """What is seen of them."""

    @classmethod
    def of(cls, templates: Sequence[LabelTemplate]) -> "LabelLooks":
        """From templates."""
        members = tuple(map(_member, templates))
        fields = [
            [(ROLES.index(f.role), f.field) for f in each.fields if f.role not in SETS]
            for each in templates
        ]
        fields.append([(0, each.field) for each in members if each is not None])
        looks = Looks.of(hashes([each.text for each in templates]), fields)
        is_set = np.array([each is not None for each in members], dtype=np.bool_)
        owner, sight = np.full(len(members), -1), np.zeros(len(members), dtype=np.int64)
        owner[is_set] = [ROLES.index(SETS[each.role]) for each in members if each is not None]
        sight[is_set] = looks.mixtures.sights[looks.mixtures.starts[-2] :]
        has_distance = np.array([each.has_distance for each in templates], dtype=np.bool_)
        return cls(members, looks, has_distance, owner, sight)


def label_rows(
    looks: LabelLooks, known: KnownValues, words: Words, heads: IntArray, n_bits: int
) -> Attributes:
    """A row of features for each word, hashed to 2**n_bits; `heads` of all sentences end to end."""
    return Relatives(words, heads, known).rows(looks, 2**n_bits)


class Relatives:
    """Who is related to whom in some trees, and what the related words look like; see `Nodes`."""

    def __init__(self, words: Words, heads: IntArray, known: KnownValues) -> None:
        self._nodes = Nodes(words, known)
        starts, nobody = words.first_nodes, self._nodes.n_nodes
        sentence = np.repeat(np.arange(len(words.n_words)), words.n_words)
        nodes = np.flatnonzero(self._nodes.is_word)
        above = np.full(nobody + 1, nobody)
        above[nodes] = starts[sentence] + heads
        self._order = np.argsort(above[nodes], kind="stable")
        self._roles = {"modifier": nodes, "head": above[nodes], "grandparent": above[above[nodes]]}
        self._find_siblings(nodes, above)
        position = heads - (nodes - starts[sentence])
        # An arc that comes from the left is not one from the right, whatever it is about.
        self._direction = hashes(["R", "L"])[(position > 0).astype(np.int64)]
        names = hashes([f"distance {slot}" for slot in range(7)])
        self._distance = names[distance_slots(position)]

    def _find_siblings(self, nodes: IntArray, above: IntArray) -> None:
        nobody, order = self._nodes.n_nodes, self._order
        sorted_nodes = nodes[order]
        same = above[sorted_nodes][1:] == above[sorted_nodes][:-1]
        left, right = np.full(len(nodes), nobody), np.full(len(nodes), nobody)
        left[order[1:][same]] = sorted_nodes[:-1][same]
        right[order[:-1][same]] = sorted_nodes[1:][same]
        first, last = np.full(nobody + 1, nobody), np.full(nobody + 1, nobody)
        # Later assignments win: descending order leaves the first modifier of each head.
        first[above[sorted_nodes][::-1]] = sorted_nodes[::-1]
        last[above[sorted_nodes]] = sorted_nodes
        self._roles |= {"left": left, "right": right, "first": first[nodes], "last": last[nodes]}
        size = np.bincount(above[nodes], minlength=nobody + 1)
        self._families = Families(sorted_nodes, np.cumsum(size) - size, size)

    def rows(self, looks: LabelLooks, n_buckets: int) -> Attributes:
        """The features of each word, hashed: those of single words first, then those of sets."""
        nodes = np.array([self._roles[role] for role in ROLES])
        about = LabelSeeds(
            self._direction, self._distance, looks.has_distance, looks.owner, looks.sight
        )
        ends = offsets(self._sizes(looks.members))
        ids = np.empty(ends[-1], dtype=np.int32)
        states = np.empty(kernels.TOGETHER, dtype=np.uint64)
        seen = self._nodes.seen_by(looks.looks)
        given = looks.looks.mixtures, about, seen, nodes, self._families, n_buckets
        # The hash is meant to wrap around.
        with np.errstate(over="ignore"):
            kernels.label_rows(*given, states, ends[:-1].copy(), ids)
        return Attributes(ids, ends)

    def _sizes(self, sets: Sequence[RoleField | None]) -> IntArray:
        """How many features each word has."""
        sizes = np.full(len(self._direction), sets.count(None))
        for each in sets:
            if each is not None:
                # A word is among the modifiers of its head, and no sibling of itself.
                below = self._families.size[self._roles[SETS[each.role]]]
                sizes += below - (each.role == "sibling")
        return sizes


def _member(template: LabelTemplate) -> RoleField | None:
    """The field of a template that many words may have."""
    found = [field for field in template.fields if field.role in SETS]
    return found[-1] if found else None
