"""Keys of words: what each template says about a word as head or as modifier, in 32 bits.

A key mixes the hashes of the values of the template's atoms, one after the other, beginning with
the hash of the template's own text; so it depends on nothing but the words and the template, and
weights mean the same in every model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from partita.arrays import Array
from partita.estimators.parsing.templates import Atom, Template
from partita.estimators.parsing.words import EDGE, ROOT, Lexicon, Words, members
from partita.kernels.features.arcs import MOST_COUNTED, MOST_KINDS, Keys
from partita.text.vocabulary import hashes

_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_HALF = np.uint64(32)


def mixed(state: Array, value: Array | np.uint64) -> Array:
    """The next state of a mixture: ((state xor value * A) * B), its halves folded."""
    with np.errstate(over="ignore"):
        product = (state ^ (value * _FIRST)) * _SECOND
    return product ^ (product >> _HALF)


def finished(state: Array) -> Array:
    """32 bits of a mixture."""
    return (mixed(state, np.uint64(1)) >> _HALF).astype(np.uint32)


@dataclass
class KeyMaker:
    """Makes the keys of sentences, for fixed templates and a fixed lexicon."""

    templates: Sequence[Template]
    lexicon: Lexicon
    groups: dict[str, list[Template]] = field(init=False)
    """By the kernel's order: pair, count, set, head, modifier."""
    counters: list[tuple[str, str, str]] = field(init=False)
    """View, column and value of what is counted between."""

    def __post_init__(self) -> None:
        kinds = ("pair", "count", "set", "head", "modifier")
        self.groups = {k: [t for t in self.templates if t.kind == k] for k in kinds}
        atoms = [a for t in self.groups["count"] for a in t.at("between")]
        self.counters = list(
            dict.fromkeys((a.view, a.column, a.value) for a in atoms if a.value is not None)
        )

    @property
    def ordered(self) -> list[Template]:
        """The templates in the order in which the kernel has their features."""
        return [template for group in self.groups.values() for template in group]

    def keys(self, words: Words) -> Keys:
        """The keys of all nodes."""
        nodes = _Nodes(words, self.lexicon)
        pairs = self.groups["pair"] + self.groups["count"]
        sets = self.groups["set"]
        set_head, set_head_ends = self._set_keys(nodes, "head")
        set_modifier, set_modifier_ends = self._set_keys(nodes, "modifier")
        return Keys(
            head=self._matrix(nodes, pairs, "head"),
            modifier=self._matrix(nodes, pairs, "modifier"),
            direction=_direction_keys(pairs),
            count=self._count_keys(),
            counter=self._counter(nodes),
            kind=self._kind(nodes),
            set_head=set_head,
            set_head_ends=set_head_ends,
            set_modifier=set_modifier,
            set_modifier_ends=set_modifier_ends,
            set_direction=_direction_keys(sets),
            set_kind=self._kind_keys(),
            set_between=np.array([bool(t.at("between")) for t in sets], dtype=np.bool_),
            only_head=self._matrix(nodes, self.groups["head"], "head"),
            only_head_direction=_direction_keys(self.groups["head"]),
            only_modifier=self._matrix(nodes, self.groups["modifier"], "modifier"),
            only_modifier_direction=_direction_keys(self.groups["modifier"]),
        )

    def _matrix(self, nodes: "_Nodes", templates: Sequence[Template], side: str) -> Array:
        keys = np.empty((nodes.n_nodes, len(templates)), dtype=np.uint32)
        for column, template in enumerate(templates):
            keys[:, column] = finished(nodes.mixture(template, side))
        return keys

    def _set_keys(self, nodes: "_Nodes", side: str) -> tuple[Array, Array]:
        """Keys of set templates, one or many for each node and template, and their ends."""
        sets = self.groups["set"]
        counts = np.ones((nodes.n_nodes, len(sets)), dtype=np.int64)
        many = {}
        for column, template in enumerate(sets):
            atom = next((a for a in template.at(side) if a.is_set), None)
            if atom is not None:
                counts[:, column], values = nodes.members(atom)
                many[column] = values
        ends = np.zeros(counts.size + 1, dtype=np.int64)
        np.cumsum(counts, out=ends[1:])
        keys = np.empty(ends[-1], dtype=np.uint32)
        starts = ends[:-1].reshape(counts.shape)
        for column, template in enumerate(sets):
            states, n_each = nodes.mixture(template, side), counts[:, column]
            first = np.cumsum(n_each) - n_each
            within = np.arange(n_each.sum()) - np.repeat(first, n_each)
            states = np.repeat(states, n_each)
            if column in many:
                states = mixed(states, many[column])
            keys[np.repeat(starts[:, column], n_each) + within] = finished(states)
        return keys, ends

    def _count_keys(self) -> Array:
        counting = self.groups["count"]
        keys = np.zeros((len(counting), len(self.counters), MOST_COUNTED + 1), dtype=np.uint32)
        for row, template in enumerate(counting):
            for atom in template.at("between"):
                counter = self.counters.index((atom.view, atom.column, atom.value or ""))
                names = [f"{template.text}\0{atom.text}\0{n}" for n in range(MOST_COUNTED + 1)]
                keys[row, counter] = finished(hashes(names))
        return keys

    def _counter(self, nodes: "_Nodes") -> Array:
        flags = np.zeros((nodes.n_nodes, len(self.counters)), dtype=np.uint8)
        for column, (view, name, value) in enumerate(self.counters):
            names = self.lexicon.names(nodes.words, view, name)
            holds = np.array([each == value for each in names], dtype=np.uint8)
            flags[nodes.is_word, column] = holds[nodes.words.columns[name].numbers]
        return flags

    def _kind(self, nodes: "_Nodes") -> Array:
        kinds = np.zeros(nodes.n_nodes, dtype=np.uint8)
        column = self.kind_column
        if column:
            values = nodes.words.columns[column].values
            numbers = {kind: number for number, kind in enumerate(self.lexicon.kinds)}
            codes = np.array([numbers.get(v, MOST_KINDS - 1) for v in values], dtype=np.uint8)
            kinds[nodes.is_word] = codes[nodes.words.columns[column].numbers]
        return kinds

    def _kind_keys(self) -> Array:
        sets = self.groups["set"]
        kinds = list(self.lexicon.kinds)
        kinds += [f"\0{number}" for number in range(len(kinds), MOST_KINDS)]
        keys = np.zeros((len(sets), MOST_KINDS), dtype=np.uint32)
        for row, template in enumerate(sets):
            if template.at("between"):
                keys[row] = finished(hashes([f"{template.text}\0{kind}" for kind in kinds]))
        return keys

    @property
    def kind_column(self) -> str:
        """The column whose values between are a set; "" if no template has one."""
        return kind_column(self.templates)


def kind_column(templates: Sequence[Template]) -> str:
    """The column whose values between are a set; "" if no template has one."""
    columns = {a.column for t in templates for a in t.at("between") if a.is_set}
    if len(columns) > 1:
        raise ValueError(
            "the templates have between.upos and between.xpos; expected one of them. Count some "
            "tags of the other, as in between.xpos=IN."
        )
    return columns.pop() if columns else ""


class _Nodes:
    """Roots and words of all sentences, and the values that atoms have there."""

    def __init__(self, words: Words, lexicon: Lexicon) -> None:
        self.words, self._lexicon = words, lexicon
        starts = words.first_nodes
        self.n_nodes = int(starts[-1])
        self.is_word = np.ones(self.n_nodes, dtype=np.bool_)
        self.is_word[starts[:-1]] = False
        self._sentence = np.repeat(np.arange(len(words.n_words)), words.n_words + 1)
        self._root, self._edge = hashes([ROOT, EDGE])
        self._views: dict[tuple[str, str], Array] = {}
        self._shifted: dict[tuple[str, int], Array] = {}

    def mixture(self, template: Template, side: str) -> Array:
        """What the plain atoms of one side of a template make of each node."""
        (seed,) = hashes([f"{template.text}\0{side}"])
        state = np.full(self.n_nodes, seed, dtype=np.uint64)
        for atom in template.at(side):
            if not atom.is_set:
                state = mixed(state, self.values(atom))
        return state

    def values(self, atom: Atom) -> Array:
        """The hash of an atom's value at each node."""
        key = atom.view, atom.offset
        if key not in self._shifted:
            self._shifted[key] = self._moved(self._plain(atom), atom.offset)
        return self._shifted[key]

    def members(self, atom: Atom) -> tuple[Array, Array]:
        """How many members a set has at each node, and the hashes of all of them, end to end."""
        column = self.words.columns[atom.column]
        lists = [members(value) for value in column.values]
        sizes = np.array([*map(len, lists), 0], dtype=np.int64)
        flat = hashes([item for each in lists for item in each])
        numbers = np.full(self.n_nodes, len(lists), dtype=np.int64)
        numbers[self.is_word] = column.numbers
        numbers = self._moved(numbers, atom.offset, len(lists))
        counts = sizes[numbers]
        starts = (np.cumsum(sizes) - sizes)[numbers]
        first = np.cumsum(counts) - counts
        within = np.arange(counts.sum()) - np.repeat(first, counts)
        return counts, flat[np.repeat(starts, counts) + within]

    def _plain(self, atom: Atom) -> Array:
        key = atom.view, atom.column
        if key not in self._views:
            hashed = self._lexicon.hashed(self.words, *key)
            values = np.full(self.n_nodes, self._root, dtype=np.uint64)
            values[self.is_word] = hashed[self.words.columns[atom.column].numbers]
            self._views[key] = values
        return self._views[key]

    def _moved(self, values: Array, offset: int, beyond: int | None = None) -> Array:
        """values[node + offset] where that is a word of the same sentence, and a word looks."""
        if offset == 0:
            return values
        there = np.arange(self.n_nodes) + offset
        inside = (there >= 0) & (there < self.n_nodes)
        there = np.clip(there, 0, self.n_nodes - 1)
        inside &= self.is_word & self.is_word[there]
        inside &= self._sentence == self._sentence[there]
        return np.where(inside, values[there], self._edge if beyond is None else beyond)


def _direction_keys(templates: Sequence[Template]) -> Array:
    """(2, n_templates): what tells arcs to the right from arcs to the left."""
    keys = [finished(hashes([f"{t.text}\0{side}" for t in templates])) for side in "RL"]
    return np.array(keys, dtype=np.uint32).reshape(2, len(templates))
