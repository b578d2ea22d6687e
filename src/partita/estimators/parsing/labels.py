"""Labels of arcs: a second model, on the arcs of a tree that is given or was found.

Each word's label is drawn from a multinomial distribution whose features may look at the whole
tree: at head and modifier, their neighbours, siblings, children, and the head's head.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.estimators.parsing.keys import finished, mixed
from partita.estimators.parsing.words import EDGE, ROOT, Lexicon, Words
from partita.features.arcs import distance_slots
from partita.features.rows import RowFeatures
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.text.vocabulary import hashes

ROLES = ("modifier", "head", "grandparent", "left", "right", "first", "last")
SETS = {"child": "modifier", "sibling": "head"}
"""Every modifier of the word, and every other modifier of its head."""
ATOM = re.compile(r"([a-z]+)([+-]\d+)?\.([a-z]\w*(?::\w+)?)")

TEMPLATES = """
modifier.form
modifier.lemma
modifier.lemma modifier.xpos
modifier.upos
modifier.xpos
modifier.feats
modifier.suffix3
modifier.xpos modifier-1.xpos modifier+1.xpos
modifier.upos modifier-1.lower
modifier.upos modifier+1.lower
modifier.lemma modifier-1.upos
modifier.lemma modifier+1.upos
head.upos
head.lemma
head.lemma head.upos modifier.upos
head.lemma modifier.lemma
head.lemma modifier.xpos
head.xpos modifier.lemma
head.upos modifier.upos
head.upos modifier.upos distance
head.xpos modifier.xpos
head.xpos modifier.xpos distance
head.xpos modifier.xpos modifier-1.xpos
head.xpos modifier.xpos modifier+1.xpos
head.feats modifier.feats modifier.upos
head.upos modifier.upos grandparent.upos
head.upos modifier.upos grandparent.lemma
head.lemma modifier.upos left.upos
head.upos modifier.upos left.upos
head.upos modifier.upos right.upos
head.upos modifier.upos left.upos right.upos
head.upos modifier.upos left.lemma
head.upos modifier.upos right.lemma
head.upos modifier.upos first.lemma
head.upos modifier.upos first.upos last.upos
head.upos modifier.lemma first.lemma
head.lemma modifier.upos first.lemma
head.upos modifier.upos child.lemma
head.upos modifier.upos child.upos
head.lemma modifier.upos child.lemma
modifier.upos child.xpos
modifier.lemma child.lemma
head.upos modifier.upos sibling.upos
head.upos modifier.upos sibling.lemma
head.lemma modifier.upos sibling.upos
"""


@dataclass(frozen=True)
class LabelModel:
    """All of a model of labels but its weights, which are (2**n_bits, n_labels)."""

    names: tuple[str, ...]
    lexicon: Lexicon
    n_bits: int
    columns: tuple[str, ...]
    """The columns that sentences have; templates that need others are left out."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return int(2**self.n_bits) * len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {name: number for number, name in enumerate(self.names)}

    def attributes(self, words: Words, heads: IntArray) -> Attributes:
        """A row of hashed features for each word; `heads` of all sentences end to end."""
        family = Family(words, heads, self.lexicon)
        singles, counts, many = [], [], []
        for template in label_templates(self.columns):
            state, n_each = family.mixture(template)
            ids = (finished(state) >> np.uint32(32 - self.n_bits)).astype(np.int32)
            if n_each is None:
                singles.append(ids)
            else:
                counts.append(n_each)
                many.append(ids)
        return _joined(np.array(singles).T, counts, many)

    def features(self, rows: Attributes) -> RowFeatures:
        """Scores of all labels of all rows."""
        n_labels, n_rows = len(self.names), rows.n_rows
        starts = np.arange(n_rows) * n_labels
        return RowFeatures(rows, starts, n_labels, 2**self.n_bits, n_rows * n_labels)

    def chains(self, n_rows: int) -> Chains:
        """Every row on its own."""
        return Chains(np.ones(n_rows, dtype=np.int64), len(self.names), shared=False)

    def log_probabilities(self, weights: FloatArray, words: Words, heads: IntArray) -> FloatArray:
        """log p(label | tree) of all words, (n_words, n_labels)."""
        rows = self.attributes(words, heads)
        scores = self.features(rows).scores(weights).reshape(-1, len(self.names))
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores


def _joined(singles: Array, counts: Sequence[IntArray], many: Sequence[Array]) -> Attributes:
    """Rows of some single attributes, each followed by those that are members of sets."""
    n_rows, n_single = singles.shape
    sizes = np.full(n_rows, n_single, dtype=np.int64)
    for n_each in counts:
        sizes += n_each
    offsets = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(sizes, out=offsets[1:])
    ids = np.empty(offsets[-1], dtype=np.int32)
    ids[(offsets[:-1, None] + np.arange(n_single)).ravel()] = singles.ravel()
    begin = offsets[:-1] + n_single
    for n_each, values in zip(counts, many, strict=True):
        within = np.arange(n_each.sum()) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        ids[np.repeat(begin, n_each) + within] = values
        begin = begin + n_each
    return Attributes(ids, offsets)


LabelAtom = tuple[str, int, str]
"""Role, offset and view; the role "distance" has neither."""


def label_templates(columns: Sequence[str]) -> list[tuple[LabelAtom, ...]]:
    """The templates of labels for sentences that have these columns."""
    templates = []
    for line in TEMPLATES.split("\n"):
        atoms = tuple(map(_atom, line.split()))
        if atoms and all(
            role == "distance" or column_of(view) in columns for role, _, view in atoms
        ):
            templates.append(atoms)
    return templates


def _atom(text: str) -> LabelAtom:
    if text == "distance":
        return "distance", 0, ""
    found = ATOM.fullmatch(text)
    assert found is not None, text
    return found[1], int(found[2] or 0), found[3]


def column_of(view: str) -> str:
    """The CoNLL-U column that a view looks at."""
    columns = {"lemma": "LEMMA", "upos": "UPOS", "xpos": "XPOS", "feats": "FEATS"}
    return columns.get(view.partition(":")[0], "FORM")


class Family:
    """Who is related to whom in some trees, and what the related words look like.

    Nodes are counted as in `Words`; there is one more, which stands for nobody.
    """

    def __init__(self, words: Words, heads: IntArray, lexicon: Lexicon) -> None:
        self._words, self._lexicon = words, lexicon
        starts = words.first_nodes
        self._n_nodes = nobody = int(starts[-1])
        sentence = np.repeat(np.arange(len(words.n_words)), words.n_words)
        self._is_word = np.ones(nobody + 1, dtype=np.bool_)
        self._is_word[starts] = False
        nodes = np.flatnonzero(self._is_word)
        self._sentence = np.append(np.repeat(np.arange(len(words.n_words)), words.n_words + 1), -1)
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
        self._root, self._edge = hashes([ROOT, EDGE])
        self._views: dict[str, Array] = {}

    def _find_siblings(self, nodes: IntArray, above: IntArray) -> None:
        nobody, order = self._n_nodes, self._order
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

    def mixture(self, template: tuple[LabelAtom, ...]) -> tuple[Array, IntArray | None]:
        """Hashes of a template's features at each word, and how many each has if it is a set."""
        (seed,) = hashes([repr(template)])
        state = mixed(np.full(len(self._direction), seed, dtype=np.uint64), self._direction)
        chosen: IntArray | None = None
        for role, offset, view in template:
            if role == "distance":
                state = mixed(state, self._distance)
            elif role not in SETS:
                state = mixed(state, self._values(view)[self._moved(self.roles[role], offset)])
        for role, _, view in template:
            if role in SETS:
                of, chosen = self._members(SETS[role], role == "sibling")
                state = mixed(state[of], self._values(view)[chosen])
                return state, np.bincount(of, minlength=len(self._direction))
        return state, None

    def _members(self, role: str, not_self: bool) -> tuple[IntArray, IntArray]:
        """All modifiers of each word's `role`: whose they are, and which nodes."""
        owners = self.roles[role]
        counts = self._n_below[owners]
        of = np.repeat(np.arange(len(owners)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        members = self._sorted_nodes[np.repeat(self._begin[owners], counts) + within]
        if not_self:
            others = members != self.roles["modifier"][of]
            of, members = of[others], members[others]
        return of, members

    def _moved(self, nodes: IntArray, offset: int) -> IntArray:
        if offset == 0:
            return nodes
        there = np.clip(nodes + offset, 0, self._n_nodes)
        inside = self._is_word[nodes] & self._is_word[there]
        inside &= self._sentence[nodes] == self._sentence[there]
        return np.where(inside, there, self._n_nodes)

    def _values(self, view: str) -> Array:
        if view not in self._views:
            column = column_of(view)
            values = np.full(self._n_nodes + 1, self._root, dtype=np.uint64)
            hashed = self._lexicon.hashed(self._words, view, column)
            values[self._is_word] = hashed[self._words.columns[column].numbers]
            values[-1] = self._edge
            self._views[view] = values
        return self._views[view]


def one_subject(log_probabilities: FloatArray, owners: IntArray, is_subject: BoolArray) -> IntArray:
    """The best labels of words of which at most one of each owner's has a subject's label.

    Labels are independent, so the best choice gives every word its best label, and then all but
    one of an owner's subjects their best other label: that one stays for which it matters most.
    """
    best: IntArray = log_probabilities.argmax(axis=1)
    rows = np.arange(len(best))
    others = np.where(is_subject, -np.inf, log_probabilities)
    second = others.argmax(axis=1)
    loss = log_probabilities[rows, best] - others[rows, second]
    subjects = np.flatnonzero(is_subject[best])
    # By owner, the one that loses most first.
    order = subjects[np.lexsort((-loss[subjects], owners[subjects]))]
    repeated = order[1:][owners[order][1:] == owners[order][:-1]]
    best[repeated] = second[repeated]
    return best
