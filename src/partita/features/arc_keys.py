"""Keys of words: what each template says about a word as head or as modifier, in 32 bits.

A key mixes the hashes of what the template's fields see, one after the other, beginning with the
hash of the template's own text; so it depends on nothing but the words and the template, and
weights mean the same in every model.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partita.arrays import Array, IntArray
from partita.features.nodes import Looks, Nodes, within_groups
from partita.kept import kept_texts
from partita.kernels.features import mixtures as kernels
from partita.kernels.features.arcs import MOST_COUNTED, MOST_KINDS, Keys
from partita.structures.batch import offsets
from partita.text.arc_templates import (
    ArcTemplate,
    is_counted,
    is_set,
    parse_arc_templates,
    set_between,
)
from partita.text.fields import Field, RoleField, RoleTemplate
from partita.text.hashing import Keys32, States, hashes, keys_of, mixed
from partita.text.known_values import NONE, KnownValues
from partita.text.views import find_view
from partita.text.words import CountedWords, Words

KINDS = ("pair", "count", "set", "head", "modifier")
"""Of templates, in the kernel's order."""


@dataclass(frozen=True)
class KeyMaker:
    """Makes the keys of sentences, for fixed templates and values that can be told apart."""

    templates: tuple[ArcTemplate, ...]
    known: KnownValues
    kinds: tuple[str, ...]
    """Values that the set of words between can have, at most 63; others share the last bit."""

    @classmethod
    def learn(
        cls, templates: Sequence[ArcTemplate], words: Words | CountedWords, min_count: int
    ) -> "KeyMaker":
        """From the words of the training sentences."""
        fields = [each.field for template in templates for each in template.fields]
        known = KnownValues.learn(words, fields, min_count)
        between = set_between(templates)
        kinds: tuple[str, ...] = ()
        if between is not None:
            column = words.columns[str(between.column)]
            counts: dict[str, int] = {}
            for value, count in zip(
                _raw(between, column.values), column.counts.tolist(), strict=True
            ):
                counts[value] = counts.get(value, 0) + count
            order = sorted(counts, key=lambda value: (-counts[value], value))
            kinds = tuple(order[: MOST_KINDS - 1])
        return cls(tuple(templates), known, kinds)

    def header(self) -> dict[str, Any]:
        """What a model file keeps."""
        return {
            "templates": [template.text for template in self.templates],
            "known": self.known.header(),
            "kinds": list(self.kinds),
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any]) -> "KeyMaker":
        """From what a model file kept."""
        templates = parse_arc_templates("\n".join(kept_texts(header["templates"], "templates")))
        fields = [each.field for template in templates for each in template.fields]
        known = KnownValues.restored(header["known"], fields)
        return cls(templates, known, tuple(kept_texts(header["kinds"], "kinds")))

    @cached_property
    def groups(self) -> dict[str, list[ArcTemplate]]:
        """The templates by the kernel's order: pair, count, set, head, modifier."""
        return {kind: [t for t in self.templates if t.kind == kind] for kind in KINDS}

    @cached_property
    def counters(self) -> list[tuple[Field, str]]:
        """Field and value of what is counted between."""
        fields = [f for t in self.groups["count"] for f in t.at("between")]
        return list(dict.fromkeys((f.field, f.value) for f in fields if f.value is not None))

    @property
    def ordered(self) -> list[ArcTemplate]:
        """The templates in the order in which the kernel has their features."""
        return [template for group in self.groups.values() for template in group]

    def keys(self, words: Words) -> Keys:
        """The keys of all nodes."""
        nodes, looks = Nodes(words, self.known), self._looks
        set_head, set_head_ends = self._set_keys(nodes, "head")
        set_modifier, set_modifier_ends = self._set_keys(nodes, "modifier")
        return Keys(
            head=keys_at(nodes, looks["pair", "head"]),
            modifier=keys_at(nodes, looks["pair", "modifier"]),
            counter=self._counter(nodes),
            kind=self._kind(nodes),
            set_head=set_head,
            set_head_ends=set_head_ends,
            set_modifier=set_modifier,
            set_modifier_ends=set_modifier_ends,
            only_head=keys_at(nodes, looks["head", "head"]),
            only_modifier=keys_at(nodes, looks["modifier", "modifier"]),
            **self._fixed,
        )

    @cached_property
    def _looks(self) -> dict[tuple[str, str], Looks]:
        """By kind and role where templates look; those that count do so at ends as pairs do."""
        groups = self.groups
        pairs = groups["pair"] + groups["count"]
        return {
            ("pair", "head"): looks_from(pairs, "head"),
            ("pair", "modifier"): looks_from(pairs, "modifier"),
            ("head", "head"): looks_from(groups["head"], "head"),
            ("modifier", "modifier"): looks_from(groups["modifier"], "modifier"),
        }

    @cached_property
    def _fixed(self) -> dict[str, Array]:
        """Those of the keys that are the same for all sentences."""
        groups = self.groups
        sets = groups["set"]
        return {
            "direction": direction_keys(groups["pair"] + groups["count"]),
            "count": self._count_keys(),
            "set_direction": direction_keys(sets),
            "set_kind": self._kind_keys(),
            "set_between": np.array([bool(t.at("between")) for t in sets], dtype=np.bool_),
            "only_head_direction": direction_keys(groups["head"]),
            "only_modifier_direction": direction_keys(groups["modifier"]),
        }

    def _set_keys(self, nodes: Nodes, side: str) -> tuple[Keys32, IntArray]:
        """Keys of set templates, one or many for each node and template, and their ends."""
        sets = self.groups["set"]
        counts = np.ones((nodes.n_nodes, len(sets)), dtype=np.int64)
        many = {}
        for column, template in enumerate(sets):
            field = next((f for f in template.at(side) if is_set(f)), None)
            if field is not None:
                counts[:, column], many[column] = self._members(nodes, field)
        ends = np.zeros(counts.size + 1, dtype=np.int64)
        np.cumsum(counts, out=ends[1:])
        keys = np.empty(ends[-1], dtype=np.uint32)
        starts = ends[:-1].reshape(counts.shape)
        for column, template in enumerate(sets):
            states, n_each = _mixture(nodes, template, side), counts[:, column]
            states = np.repeat(states, n_each)
            if column in many:
                states = mixed(states, many[column])
            places = np.repeat(starts[:, column], n_each) + within_groups(n_each)
            keys[places] = keys_of(states)
        return keys, ends

    def _members(self, nodes: Nodes, field: RoleField) -> tuple[IntArray, States]:
        """How many members a set has at each node, and the hashes of all of them, end to end."""
        values = nodes.words.columns[field.column].values
        lists = self.known.members((field.column, field.field.view), values)
        sizes = np.array([*map(len, lists), 0], dtype=np.int64)
        flat = hashes([item for each in lists for item in each])
        numbers = nodes.numbers(field.column)[
            nodes.moved(np.arange(nodes.n_nodes), field.field.offset)
        ]
        counts = sizes[numbers]
        starts = (np.cumsum(sizes) - sizes)[numbers]
        return counts, flat[np.repeat(starts, counts) + within_groups(counts)]

    def _count_keys(self) -> Array:
        counting = self.groups["count"]
        keys = np.zeros((len(counting), len(self.counters), MOST_COUNTED + 1), dtype=np.uint32)
        for row, template in enumerate(counting):
            for field in template.at("between"):
                counter = self.counters.index((field.field, field.value or ""))
                names = [f"{template.text}\0{field.text}\0{n}" for n in range(MOST_COUNTED + 1)]
                keys[row, counter] = keys_of(hashes(names))
        return keys

    def _counter(self, nodes: Nodes) -> Array:
        flags = np.zeros((nodes.n_nodes, len(self.counters)), dtype=np.uint8)
        for place, (field, value) in enumerate(self.counters):
            column = nodes.words.columns[str(field.column)]
            seen = _raw(field, column.values)
            holds = np.array([is_counted(field, value, each) for each in seen], dtype=np.uint8)
            flags[nodes.is_word[:-1], place] = holds[column.numbers]
        return flags

    def _kind(self, nodes: Nodes) -> Array:
        kinds = np.zeros(nodes.n_nodes, dtype=np.uint8)
        between = set_between(self.templates)
        if between is not None:
            column = nodes.words.columns[str(between.column)]
            numbers = {kind: number for number, kind in enumerate(self.kinds)}
            values = _raw(between, column.values)
            codes = np.array([numbers.get(v, MOST_KINDS - 1) for v in values], dtype=np.uint8)
            kinds[nodes.is_word[:-1]] = codes[column.numbers]
        return kinds

    def _kind_keys(self) -> Array:
        sets = self.groups["set"]
        kinds = list(self.kinds)
        kinds += [f"\0{number}" for number in range(len(kinds), MOST_KINDS)]
        keys = np.zeros((len(sets), MOST_KINDS), dtype=np.uint32)
        for row, template in enumerate(sets):
            if template.at("between"):
                keys[row] = keys_of(hashes([f"{template.text}\0{kind}" for kind in kinds]))
        return keys


def keys_of_nodes(keys: Keys, nodes: IntArray) -> Keys:
    """The keys of some nodes alone, in their order: all that a batch of sentences needs."""
    set_head, set_head_ends = _chosen_sets(keys.set_head, keys.set_head_ends, nodes, keys)
    set_modifier, ends = _chosen_sets(keys.set_modifier, keys.set_modifier_ends, nodes, keys)
    return keys._replace(
        head=keys.head[nodes],
        modifier=keys.modifier[nodes],
        counter=keys.counter[nodes],
        kind=keys.kind[nodes],
        set_head=set_head,
        set_head_ends=set_head_ends,
        set_modifier=set_modifier,
        set_modifier_ends=ends,
        only_head=keys.only_head[nodes],
        only_modifier=keys.only_modifier[nodes],
    )


def _chosen_sets(
    members: Keys32, ends: IntArray, nodes: IntArray, keys: Keys
) -> tuple[Keys32, IntArray]:
    n_sets = len(keys.set_between)
    starts = ends[:-1].reshape(-1, n_sets)[nodes].ravel() if n_sets else ends[:0]
    sizes = np.diff(ends).reshape(-1, n_sets)[nodes].ravel() if n_sets else ends[:0]
    places = np.repeat(starts, sizes) + within_groups(sizes)
    return members[places], offsets(sizes)


def own_nodes(first_nodes: IntArray, n_words: IntArray) -> tuple[IntArray, IntArray]:
    """The nodes of some sentences, end to end, and where those of each then begin."""
    sizes = n_words + 1
    nodes = np.repeat(first_nodes, sizes) + within_groups(sizes)
    return nodes, offsets(sizes)[:-1]


def _raw(field: Field, values: Sequence[str]) -> list[str]:
    """What a field sees in values of its column, however rare it is."""
    view = find_view(field.view)
    return [NONE if (seen := view(value)) is None else seen for value in values]


def _mixture(nodes: Nodes, template: RoleTemplate, side: str) -> States:
    """What the fields of one side of a template make of each node, those that are sets left out."""
    (seed,) = hashes([f"{template.text}\0{side}"])
    state = np.full(nodes.n_nodes, seed, dtype=np.uint64)
    for field in template.at(side):
        if not is_set(field):
            state = mixed(state, nodes.seen(field.field))
    return state


def looks_from(templates: Sequence[RoleTemplate], side: str) -> Looks:
    """Where templates look from a node in a role, sets left out."""
    seeds = hashes([f"{template.text}\0{side}" for template in templates])
    fields = [
        [(0, each.field) for each in template.at(side) if not is_set(each)]
        for template in templates
    ]
    return Looks.of(seeds, fields)


def keys_at(nodes: Nodes, looks: Looks) -> Keys32:
    """(n_nodes, n_templates): what each template says of each node in a role."""
    keys = np.empty((nodes.n_nodes, len(looks.mixtures.seeds)), dtype=np.uint32)
    # The hash is meant to wrap around.
    with np.errstate(over="ignore"):
        everywhere = np.arange(nodes.n_nodes)[None]
        states = np.empty(kernels.TOGETHER, dtype=np.uint64)
        kernels.keys(looks.mixtures, nodes.seen_by(looks), everywhere, states, keys)
    return keys


def direction_keys(templates: Sequence[RoleTemplate]) -> Array:
    """(2, n_templates): what tells arcs to the right from arcs to the left."""
    keys = [keys_of(hashes([f"{t.text}\0{side}" for t in templates])) for side in "RL"]
    return np.array(keys, dtype=np.uint32).reshape(2, len(templates))
