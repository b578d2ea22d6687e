"""Hashed features of the labels of arcs, as rows: what templates see of the relatives of a word."""

from collections.abc import Sequence

import numpy as np

from partita.arrays import IntArray
from partita.features.arcs import distance_slots
from partita.features.nodes import Nodes
from partita.kernels.features import mixtures as kernels
from partita.kernels.features.mixtures import Families, LabelSeeds
from partita.structures.batch import offsets
from partita.text.attributes import Attributes
from partita.text.fields import RoleField
from partita.text.hashing import hashes
from partita.text.known_values import KnownValues
from partita.text.label_templates import SETS, LabelTemplate
from partita.text.words import Words


def label_rows(
    templates: Sequence[LabelTemplate],
    known: KnownValues,
    words: Words,
    heads: IntArray,
    n_bits: int,
) -> Attributes:
    """A row of features for each word, hashed to 2**n_bits; `heads` of all sentences end to end."""
    return Relatives(words, heads, known).rows(templates, 2**n_bits)


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

    def rows(self, templates: Sequence[LabelTemplate], n_buckets: int) -> Attributes:
        """The features of each word, hashed: those of single words first, then those of sets."""
        roles = list(self._roles)
        nodes = np.array([self._roles[role] for role in roles])
        sets = [_member(each) for each in templates]
        fields = [
            [(roles.index(f.role), f.field) for f in each.fields if f.role not in SETS]
            for each in templates
        ]
        # Behind the templates: what is seen of members, whom the kernel finds.
        fields.append([(0, each.field) for each in sets if each is not None])
        mixtures, seen = self._nodes.mixtures(hashes([each.text for each in templates]), fields)
        is_set = np.array([each is not None for each in sets], dtype=np.bool_)
        owner, sight = np.full(len(sets), -1), np.zeros(len(sets), dtype=np.int64)
        owner[is_set] = [roles.index(SETS[each.role]) for each in sets if each is not None]
        sight[is_set] = mixtures.sights[mixtures.starts[-2] :]
        has_distance = np.array([each.has_distance for each in templates], dtype=np.bool_)
        about = LabelSeeds(self._direction, self._distance, has_distance, owner, sight)
        ends = offsets(self._sizes(sets))
        ids = np.empty(ends[-1], dtype=np.int32)
        states = np.empty(kernels.TOGETHER, dtype=np.uint64)
        given = mixtures, about, seen, nodes, self._families, n_buckets
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
