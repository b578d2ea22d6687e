"""Hashed features of arcs, found on the way: no list of them is kept, only a key for every word.

A template is a pair of keys for each arc, one that the head gives and one that the modifier gives,
32 bits each. Together with the direction of the arc they choose a place in the table of weights:

    place(h, m) = ((head[h] xor modifier[m] xor direction) * ODD) >> shift     (see `hash.place_of`)

Every feature owns two weights, itself and itself at its distance. Both lie in the same group of
eight, so that they come with one line of the cache: the plain one at `place`, the one of distance
slot d (1 to 7) d places further on, around the end of its group.

Four kinds of templates (see `Keys`): of a pair; of a pair and how many words of a kind lie between;
of sets (every word between, every morphological feature); and of one end only. The last are summed
once for each word, direction and distance, not for each arc.

The places of an arc are computed, and asked for, while those of the arc before it are used.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.hash import place_of
from partita.kernels.jit import inlined, kernel
from partita.kernels.simd.prefetch import prefetch

GROUP = 8
"""Weights in a group: a plain one and one for each distance slot."""
INSIDE = np.uint32(GROUP - 1)
OUTSIDE = np.uint32(0xFFFFFFFF - (GROUP - 1))
MOST_COUNTED = 3
"""Words between are counted up to here."""
MOST_KINDS = 64
"""Kinds of words that a set of words between can tell apart: a bit for each."""


class Keys(NamedTuple):
    """The keys of all templates of all nodes; node 0 of each sentence is the root.

    Directions are 0 where the head stands before the modifier, else 1.
    """

    head: Array
    """(n_nodes, n_pairs), uint32: of pair templates, then of templates that count."""
    modifier: Array
    """(n_nodes, n_pairs), uint32."""
    direction: Array
    """(2, n_pairs), uint32."""
    count: Array
    """(n_counting, n_counters, MOST_COUNTED + 1), uint32: of each count, 0 where not used."""
    counter: Array
    """(n_nodes, n_counters), uint8: whether a node is counted."""
    kind: Array
    """(n_nodes,), uint8: the bit of a node in the set of kinds between."""
    set_head: Array
    """All keys that heads give to set templates, uint32, end to end."""
    set_head_ends: Array
    """(n_nodes * n_sets + 1,), int64: where those of each node and template begin, and the end."""
    set_modifier: Array
    """The same of modifiers."""
    set_modifier_ends: Array
    set_direction: Array
    """(2, n_sets), uint32."""
    set_kind: Array
    """(n_sets, MOST_KINDS), uint32: of each kind between."""
    set_between: Array
    """(n_sets,), bool: whether a template takes every kind between."""
    only_head: Array
    """(n_nodes, n_head_templates), uint32: of templates of the head alone."""
    only_head_direction: Array
    only_modifier: Array
    """(n_nodes, n_modifier_templates), uint32."""
    only_modifier_direction: Array


@inlined
def distance_slot(distance):
    """1, 2, 3, 4, 5 to 6, 7 to 10, more: slots 1 to 7."""
    if distance < 5:
        return np.uint32(distance)
    if distance < 7:
        return np.uint32(5)
    return np.uint32(6) if distance < 11 else np.uint32(7)


@inlined
def slot_of(place, slot):
    """Where the weight of a distance slot lies, in the group of the plain one."""
    return np.uint32((place & OUTSIDE) | ((place + slot) & INSIDE))


@inlined
def total_at(table, places, n_places, slot):
    """The sum of the weights at all places, plain and of the slot; four sums side by side."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    for k in range(0, n_places - 1, 2):
        here, there = places[k], places[k + 1]
        first += table[here]
        second += table[slot_of(here, slot)]
        third += table[there]
        fourth += table[slot_of(there, slot)]
    if n_places % 2:
        here = places[n_places - 1]
        first += table[here]
        second += table[slot_of(here, slot)]
    return (first + second) + (third + fourth)


@inlined
def add_at(table, places, n_places, slot, value):
    """Add a value to the weights at all places, plain and of the slot."""
    for k in range(n_places):
        here = places[k]
        table[here] += value
        table[slot_of(here, slot)] += value


@inlined
def ask_for(table, places, n_places):
    """Ask for all groups of weights that will be used."""
    for k in range(n_places):
        here = places[k]
        prefetch(table, np.int64(here))


@inlined
def pair_places(keys, node, base, counts, shift, places):
    """The places of an arc's pair templates; `base` has the keys of head and direction."""
    n_pairs = base.size
    modifier = keys.modifier[node]
    n_plain = n_pairs - len(keys.count)
    for t in range(n_plain):
        places[t] = place_of(np.uint32(base[t] ^ modifier[t]), shift)
    for t in range(n_plain, n_pairs):
        key = np.uint32(base[t] ^ modifier[t])
        for counter in range(counts.size):
            key ^= keys.count[t - n_plain, counter, counts[counter]]
        places[t] = place_of(key, shift)
    return n_pairs


@inlined
def set_places(keys, head, modifier, direction, kinds, shift, places, n_places):
    """Behind them, those of the set templates: every member of one set with every one of others."""
    n_sets = keys.set_between.size
    for t in range(n_sets):
        at_head, at_modifier = head * n_sets + t, modifier * n_sets + t
        for i in range(keys.set_head_ends[at_head], keys.set_head_ends[at_head + 1]):
            first = np.uint32(keys.set_head[i] ^ keys.set_direction[direction, t])
            begin, end = (
                keys.set_modifier_ends[at_modifier],
                keys.set_modifier_ends[at_modifier + 1],
            )
            for j in range(begin, end):
                key = np.uint32(first ^ keys.set_modifier[j])
                if not keys.set_between[t]:
                    places[n_places] = place_of(key, shift)
                    n_places += 1
                    continue
                for k in range(kinds.size):
                    places[n_places] = place_of(np.uint32(key ^ keys.set_kind[t, kinds[k]]), shift)
                    n_places += 1
    return n_places


@kernel
def sum_ends(table, keys, direction_keys, first, n_nodes, shift, sums):
    """sums[i, direction, slot] += the weights of all templates of one end, for that end."""
    for i in range(n_nodes):
        for direction in range(2):
            for t in range(keys.shape[1]):
                key = np.uint32(keys[first + i, t] ^ direction_keys[direction, t])
                place = place_of(key, shift)
                plain = table[place]
                for slot in range(1, GROUP):
                    sums[i, direction, slot] += plain + table[slot_of(place, np.uint32(slot))]


@kernel
def spread_ends(sums, keys, direction_keys, first, n_nodes, shift, table):
    """The transpose: table += what the arcs of each end, direction and slot sum up to."""
    for i in range(n_nodes):
        for direction in range(2):
            plain = 0.0
            for slot in range(1, GROUP):
                plain += sums[i, direction, slot]
            for t in range(keys.shape[1]):
                key = np.uint32(keys[first + i, t] ^ direction_keys[direction, t])
                place = place_of(key, shift)
                table[place] += plain
                for slot in range(1, GROUP):
                    table[slot_of(place, np.uint32(slot))] += sums[i, direction, slot]


@inlined
def clear(sums, n_nodes):
    """All 0."""
    for i in range(n_nodes):
        for direction in range(2):
            for slot in range(GROUP):
                sums[i, direction, slot] = 0.0


@inlined
def finish(table, is_transposed, arcs, arc, places, n_places, slot):
    """Use the weights of one arc: add them to its score, or add its gradient to them."""
    if is_transposed:
        add_at(table, places, n_places, slot, arcs[arc])
    else:
        arcs[arc] += total_at(table, places, n_places, slot)


@kernel
def sweep_heads(table, is_transposed, keys, first, n_words, shift, first_arc, arcs, most_places):
    """All arcs of a sentence, head by head, each time outwards: first to the right.

    What lies between head and modifier grows by a word with each arc.
    """
    n_pairs = keys.head.shape[1]
    places = np.empty((2, most_places), dtype=np.uint32)
    base = np.empty(n_pairs, dtype=np.uint32)
    counts = np.zeros(keys.counter.shape[1], dtype=np.int64)
    kinds = np.empty(MOST_KINDS, dtype=np.uint8)
    waiting, n_waiting, waiting_arc, waiting_slot = 0, 0, np.int64(0), np.uint32(1)
    for head in range(n_words + 1):
        for direction in range(2):
            for t in range(n_pairs):
                base[t] = keys.head[first + head, t] ^ keys.direction[direction, t]
            counts[:] = 0
            between, n_kinds = np.uint64(0), 0
            step = 1 if direction == 0 else -1
            modifier = head + step
            while 1 <= modifier <= n_words:
                node = first + modifier
                slot = distance_slot(abs(modifier - head))
                here = places[1 - waiting]
                n_here = pair_places(keys, node, base, counts, shift, here)
                n_here = set_places(
                    keys, first + head, node, direction, kinds[:n_kinds], shift, here, n_here
                )
                ask_for(table, here, n_here)
                finish(
                    table, is_transposed, arcs, waiting_arc, places[waiting], n_waiting,
                    waiting_slot,
                )  # fmt: skip
                waiting, n_waiting, waiting_slot = 1 - waiting, n_here, slot
                waiting_arc = first_arc + head * (n_words + 1) + modifier
                for counter in range(counts.size):
                    more = counts[counter] + keys.counter[node, counter]
                    counts[counter] = min(more, MOST_COUNTED)
                if not (between >> np.uint64(keys.kind[node])) & np.uint64(1):
                    between |= np.uint64(1) << np.uint64(keys.kind[node])
                    kinds[n_kinds] = keys.kind[node]
                    n_kinds += 1
                modifier += step
    finish(table, is_transposed, arcs, waiting_arc, places[waiting], n_waiting, waiting_slot)


@inlined
def spread_sums(heads, modifiers, n_words, first_arc, arcs):
    """arcs += the sums of their two ends."""
    for head in range(n_words + 1):
        for modifier in range(1, n_words + 1):
            if modifier != head:
                direction = 0 if head < modifier else 1
                slot = distance_slot(abs(modifier - head))
                arcs[first_arc + head * (n_words + 1) + modifier] += (
                    heads[head, direction, slot] + modifiers[modifier, direction, slot]
                )


@inlined
def collect_sums(arcs, n_words, first_arc, heads, modifiers):
    """The transpose: the sums of the arcs of each end, direction and slot."""
    for head in range(n_words + 1):
        for modifier in range(1, n_words + 1):
            if modifier != head:
                direction = 0 if head < modifier else 1
                slot = distance_slot(abs(modifier - head))
                value = arcs[first_arc + head * (n_words + 1) + modifier]
                heads[head, direction, slot] += value
                modifiers[modifier, direction, slot] += value


@kernel
def scores(weights, shift, keys, n_words, first_nodes, first_arcs, most_places, out):
    """out[arc] += the weights of its features, for all sentences; unused cells stay as they are."""
    longest = n_words.max() + 1
    heads, modifiers = np.empty((longest, 2, GROUP)), np.empty((longest, 2, GROUP))
    for sentence in range(n_words.size):
        n, first = n_words[sentence], first_nodes[sentence]
        clear(heads, n + 1)
        clear(modifiers, n + 1)
        sum_ends(weights, keys.only_head, keys.only_head_direction, first, n + 1, shift, heads)
        sum_ends(
            weights, keys.only_modifier, keys.only_modifier_direction, first, n + 1, shift,
            modifiers,
        )  # fmt: skip
        first_arc = first_arcs[sentence]
        spread_sums(heads, modifiers, n, first_arc, out)
        sweep_heads(weights, False, keys, first, n, shift, first_arc, out, most_places)


@kernel
def gradient(score_gradient, shift, keys, n_words, first_nodes, first_arcs, most_places, out):
    """out[weight] += the score gradients of the arcs that have its feature."""
    longest = n_words.max() + 1
    heads, modifiers = np.empty((longest, 2, GROUP)), np.empty((longest, 2, GROUP))
    for sentence in range(n_words.size):
        n, first = n_words[sentence], first_nodes[sentence]
        clear(heads, n + 1)
        clear(modifiers, n + 1)
        first_arc = first_arcs[sentence]
        collect_sums(score_gradient, n, first_arc, heads, modifiers)
        spread_ends(heads, keys.only_head, keys.only_head_direction, first, n + 1, shift, out)
        spread_ends(
            modifiers, keys.only_modifier, keys.only_modifier_direction, first, n + 1, shift, out
        )
        sweep_heads(out, True, keys, first, n, shift, first_arc, score_gradient, most_places)


@kernel
def places_of_arcs(shift, keys, first, n_words, heads, modifiers, most_places, out, n_out):
    """out[a] = the places of an arc's pair and set features, n_out[a] of them, in their order.

    For the few arcs that somebody asks about.
    """
    n_pairs = keys.head.shape[1]
    counts = np.zeros(keys.counter.shape[1], dtype=np.int64)
    kinds = np.empty(MOST_KINDS, dtype=np.uint8)
    for a in range(heads.size):
        head, modifier = heads[a], modifiers[a]
        direction = 0 if head < modifier else 1
        base = np.empty(n_pairs, dtype=np.uint32)
        for t in range(n_pairs):
            base[t] = keys.head[first + head, t] ^ keys.direction[direction, t]
        counts[:] = 0
        between, n_kinds = np.uint64(0), 0
        # Outwards from the head, as `sweep_heads` goes.
        step = 1 if direction == 0 else -1
        for word in range(head + step, modifier, step):
            for counter in range(counts.size):
                more = counts[counter] + keys.counter[first + word, counter]
                counts[counter] = min(more, MOST_COUNTED)
            if not (between >> np.uint64(keys.kind[first + word])) & np.uint64(1):
                between |= np.uint64(1) << np.uint64(keys.kind[first + word])
                kinds[n_kinds] = keys.kind[first + word]
                n_kinds += 1
        n_here = pair_places(keys, first + modifier, base, counts, shift, out[a])
        n_out[a] = set_places(
            keys, first + head, first + modifier, direction, kinds[:n_kinds], shift, out[a], n_here
        )
