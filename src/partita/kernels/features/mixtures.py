"""States of what templates see at the nodes of trees, mixed field by field.

A template is a seed and the fields from `starts[t]` to `starts[t + 1]`. A field looks from a node
with a role (arcs have one such, labels several), moved by some words, at one of the rows of
`values`: the hashes of what views see, with nobody in the last column.
"""

from typing import NamedTuple

from partita.arrays import Array, BoolArray, IntArray
from partita.kernels.features.hash import bucket_of, key_of, mixed
from partita.kernels.jit import borrowing, kernel

TOGETHER = 32
"""Nodes that are looked at from by one template after the other: what they see stays in a cache."""


class SeenValues(NamedTuple):
    """What there is to be seen, and from where."""

    values: Array
    """(n_sights, n_nodes + 1), 64 bits each."""
    moved: IntArray
    """(n_offsets, n_nodes + 1): the node so many words further on."""


class Mixtures(NamedTuple):
    """Templates and their fields, end to end."""

    seeds: Array
    """(n_templates,), 64 bits each."""
    starts: IntArray
    """(n_templates + 1,)."""
    roles: IntArray
    """(n_fields,): rows of the nodes that have a role."""
    moves: IntArray
    """(n_fields,): rows of `SeenValues.moved`."""
    sights: IntArray
    """(n_fields,): rows of `SeenValues.values`."""


class LabelSeeds(NamedTuple):
    """What the label of an arc is about, beside fields, and whose modifiers a template looks at."""

    direction: Array
    """(n_words,): mixed into every state first."""
    distance: Array
    """(n_words,): mixed behind it where `has_distance`."""
    has_distance: BoolArray
    """(n_templates,)."""
    owner: IntArray
    """(n_templates,): the role of whose modifiers each is a feature; -1 for none."""
    sight: IntArray
    """(n_templates,): what is seen of them."""


class Families(NamedTuple):
    """The modifiers of each node, end to end."""

    members: IntArray
    begin: IntArray
    """(n_nodes + 1,)."""
    size: IntArray
    """(n_nodes + 1,)."""


@borrowing
def mix_fields(first, last, template, mixtures, seen, nodes, states):
    """The states of some nodes after what the fields of a template see from there."""
    for k in range(mixtures.starts[template], mixtures.starts[template + 1]):
        role, move, sight = mixtures.roles[k], mixtures.moves[k], mixtures.sights[k]
        for place in range(first, last):
            there = seen.moved[move, nodes[role, place]]
            states[place - first] = mixed(states[place - first], seen.values[sight, there])


@kernel
def keys(mixtures, seen, nodes, states, out):
    """out[node, template] = the key of the template's fields, looked at from the node.

    `nodes` are all, in one row; `states` have room for `TOGETHER`.
    """
    n_nodes, n_templates = out.shape
    for first in range(0, n_nodes, TOGETHER):
        last = min(first + TOGETHER, n_nodes)
        for template in range(n_templates):
            states[:] = mixtures.seeds[template]
            mix_fields(first, last, template, mixtures, seen, nodes, states)
            for node in range(first, last):
                out[node, template] = key_of(states[node - first])


@borrowing
def mix_labels(first, last, template, mixtures, about, seen, nodes, states):
    """The states of a template at some words, members of sets left out."""
    for word in range(first, last):
        states[word - first] = mixed(mixtures.seeds[template], about.direction[word])
    if about.has_distance[template]:
        for word in range(first, last):
            states[word - first] = mixed(states[word - first], about.distance[word])
    mix_fields(first, last, template, mixtures, seen, nodes, states)


@borrowing
def add_members(word, template, state, about, seen, nodes, families, n_buckets, at, out):
    """A feature for each member of a template's set but the word itself; where they end."""
    owner = nodes[about.owner[template], word]
    for k in range(families.begin[owner], families.begin[owner] + families.size[owner]):
        member = families.members[k]
        if member != nodes[0, word]:
            own = mixed(state, seen.values[about.sight[template], member])
            out[at] = bucket_of(key_of(own), n_buckets)
            at += 1
    return at


@borrowing
def add_label_rows(
    first, last, mixtures, about, seen, nodes, families, n_buckets, states, ends, out
):  # fmt: skip
    """The features of the labels of some words; `ends` are behind what each has so far."""
    for template in range(len(mixtures.seeds)):
        if about.owner[template] < 0:
            mix_labels(first, last, template, mixtures, about, seen, nodes, states)
            for word in range(first, last):
                out[ends[word]] = bucket_of(key_of(states[word - first]), n_buckets)
                ends[word] += 1
    for template in range(len(mixtures.seeds)):
        if about.owner[template] >= 0:
            mix_labels(first, last, template, mixtures, about, seen, nodes, states)
            for word in range(first, last):
                ends[word] = add_members(
                    word, template, states[word - first], about, seen, nodes, families, n_buckets,
                    ends[word], out,
                )  # fmt: skip


@kernel
def label_rows(mixtures, about, seen, nodes, families, n_buckets, states, ends, out):
    """The features of the labels of all words' arcs; those of each word begin where `ends` says.

    `nodes` are those of each role, (n_roles, n_words), the word itself in row 0, who is no member
    of a set of its own. `states` have room for `TOGETHER`.
    """
    n_words = nodes.shape[1]
    for first in range(0, n_words, TOGETHER):
        last = min(first + TOGETHER, n_words)
        add_label_rows(
            first, last, mixtures, about, seen, nodes, families, n_buckets, states, ends, out
        )
