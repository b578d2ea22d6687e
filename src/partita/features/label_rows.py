"""Hashed features of the labels of arcs, as rows: what templates see of the relatives of a word."""

from collections.abc import Sequence

import numpy as np

from partita.arrays import Array, IntArray
from partita.features.arcs import distance_slots
from partita.features.nodes import Nodes, within_groups
from partita.text.attributes import Attributes
from partita.text.hashing import States, buckets, hashes, keys_of, mixed
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
    relatives = Relatives(words, heads, known)
    singles, counts, many = [], [], []
    for template in templates:
        states, n_each = relatives.mixture(template)
        ids = buckets(keys_of(states), 2**n_bits).astype(np.int32)
        if n_each is None:
            singles.append(ids)
        else:
            counts.append(n_each)
            many.append(ids)
    return _joined(int(words.n_words.sum()), singles, counts, many)


def _joined(
    n_rows: int, singles: Sequence[Array], counts: Sequence[IntArray], many: Sequence[Array]
) -> Attributes:
    """Rows of some single attributes, each followed by those that are members of sets."""
    sizes = np.full(n_rows, len(singles), dtype=np.int64)
    for n_each in counts:
        sizes += n_each
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    ids = np.empty(offsets[-1], dtype=np.int32)
    # One attribute of all rows after the other: an index of all of them is larger than they are.
    begin = offsets[:-1].copy()
    for values in singles:
        ids[begin] = values
        begin += 1
    for n_each, values in zip(counts, many, strict=True):
        ids[np.repeat(begin, n_each) + within_groups(n_each)] = values
        begin = begin + n_each
    return Attributes(ids, offsets)


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
        self.roles = {"modifier": nodes, "head": above[nodes], "grandparent": above[above[nodes]]}
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
        self.roles |= {"left": left, "right": right, "first": first[nodes], "last": last[nodes]}
        self._n_below = np.bincount(above[nodes], minlength=nobody + 1)
        self._begin = np.searchsorted(above[sorted_nodes], np.arange(nobody + 1))
        self._sorted_nodes = sorted_nodes

    def mixture(self, template: LabelTemplate) -> tuple[States, IntArray | None]:
        """Hashes of a template's features at each word, and how many each has if it is a set."""
        (seed,) = hashes([template.text])
        state = mixed(np.full(len(self._direction), seed, dtype=np.uint64), self._direction)
        if template.has_distance:
            state = mixed(state, self._distance)
        members = None
        for each in template.fields:
            values = self._nodes.values((each.column, each.field.view))
            if each.role in SETS:
                members = each.role, values
            else:
                nodes = self._nodes.moved(self.roles[each.role], each.field.offset)
                state = mixed(state, values[nodes])
        if members is None:
            return state, None
        role, values = members
        of, chosen = self._members(SETS[role], role == "sibling")
        return mixed(state[of], values[chosen]), np.bincount(of, minlength=len(self._direction))

    def _members(self, role: str, not_self: bool) -> tuple[IntArray, IntArray]:
        """All modifiers of each word's `role`: whose they are, and which nodes."""
        owners = self.roles[role]
        counts = self._n_below[owners]
        of = np.repeat(np.arange(len(owners)), counts)
        places = np.repeat(self._begin[owners], counts) + within_groups(counts)
        members = self._sorted_nodes[places]
        if not_self:
            others = members != self.roles["modifier"][of]
            of, members = of[others], members[others]
        return of, members
