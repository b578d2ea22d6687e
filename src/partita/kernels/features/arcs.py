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

The places of all arcs of a head are computed first, and asked for while those before are used.
"""

from typing import NamedTuple

import numpy as np

from partita.arrays import Array
from partita.kernels.features.hash import place_of
from partita.kernels.jit import borrowing, inlined, kernel, step
from partita.kernels.simd.prefetch import prefetch

GROUP = 8
"""Weights in a group: a plain one and one for each distance slot."""
INSIDE = np.uint32(GROUP - 1)
OUTSIDE = np.uint32(0xFFFFFFFF - (GROUP - 1))
MOST_COUNTED = 3
"""Words between are counted up to here."""
MOST_KINDS = 64
"""Kinds of words that a set of words between can tell apart."""
AHEAD = np.uint64(100)
"""Places that are asked for before their use: some two arcs; 60 are slower, 200 no faster."""
ONE = np.uint64(1)


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


@borrowing
def total_at(table, places, begin, end, last, slot):
    """The sum of the weights at some places, plain and of the slot; four sums side by side."""
    first, second, third, fourth = 0.0, 0.0, 0.0, 0.0
    k = begin
    while k + ONE < end:
        ask_ahead(table, places, k, last)
        ask_ahead(table, places, k + ONE, last)
        here, there = places[k], places[k + ONE]
        first += table[here]
        second += table[slot_of(here, slot)]
        third += table[there]
        fourth += table[slot_of(there, slot)]
        k += ONE + ONE
    if k < end:
        ask_ahead(table, places, k, last)
        here = places[k]
        first += table[here]
        second += table[slot_of(here, slot)]
    return (first + second) + (third + fourth)


@borrowing
def add_at(table, places, begin, end, last, slot, value):
    """Add a value to the weights at some places, plain and of the slot."""
    k = begin
    while k < end:
        ask_ahead(table, places, k, last)
        here = places[k]
        table[here] += value
        table[slot_of(here, slot)] += value
        k += ONE


@borrowing
def ask_ahead(table, places, k, last):
    """Ask for the group of weights that is `AHEAD` places further on, or for the last one."""
    prefetch(table, np.int64(places[min(k + AHEAD, last)]))


@borrowing
def base_keys(keys, head, direction, counts, base):
    """base[t] = all but the modifier's share of the keys of pair templates, counts included."""
    n_plain = base.size - len(keys.count)
    for t in range(base.size):
        key = keys.head[head, t] ^ keys.direction[direction, t]
        if t >= n_plain:
            for counter in range(counts.size):
                key ^= keys.count[t - n_plain, counter, counts[counter]]
        base[t] = key


@borrowing
def pair_places(keys, modifier, base, shift, places, n_places):
    """Behind `n_places` others, the places of an arc's pair templates; gives how many there are."""
    for t in range(base.size):
        key = np.uint32(base[t] ^ keys.modifier[modifier, t])
        places[n_places + np.uint64(t)] = place_of(key, shift)
    return n_places + np.uint64(base.size)


@borrowing
def set_places(keys, head, modifier, direction, kinds, n_kinds, shift, places, n_places):
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
                    n_places += ONE
                    continue
                for k in range(n_kinds):
                    places[n_places] = place_of(np.uint32(key ^ keys.set_kind[t, kinds[k]]), shift)
                    n_places += ONE
    return n_places


@borrowing
def more_between(keys, node, counts, kinds, n_kinds):
    """Count one more word between; gives the number of kinds, and whether a count has changed."""
    changed = False
    for counter in range(counts.size):
        if keys.counter[node, counter] and counts[counter] < MOST_COUNTED:
            counts[counter] += 1
            changed = True
    for k in range(n_kinds):
        if kinds[k] == keys.kind[node]:
            return n_kinds, changed
    kinds[n_kinds] = keys.kind[node]
    return n_kinds + 1, changed


@borrowing
def places_on_side(
    keys, first, head, direction, last, shift, base, counts, kinds, places, n_places, ends, n_arcs
):
    """The places of all arcs of a head to one side, outwards up to the word `last`.

    What lies between head and modifier grows by a word with each arc. They follow those that are
    there; ends[a] is where those of arc a end. Gives the numbers of places and of arcs.
    """
    step = 1 if direction == 0 else -1
    for counter in range(counts.size):
        counts[counter] = 0
    base_keys(keys, first + head, direction, counts, base)
    n_kinds = 0
    for modifier in range(head + step, last + step, step):
        node = first + modifier
        n_places = pair_places(keys, node, base, shift, places, n_places)
        n_places = set_places(
            keys, first + head, node, direction, kinds, n_kinds, shift, places, n_places
        )
        ends[n_arcs] = n_places
        n_arcs += 1
        n_kinds, changed = more_between(keys, node, counts, kinds, n_kinds)
        if changed:
            base_keys(keys, first + head, direction, counts, base)
    return n_places, n_arcs


@step
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


@step
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


@step
def visit_ends(table, is_transposed, keys, direction_keys, first, n_nodes, shift, sums):
    """`sum_ends`, or `spread_ends`."""
    if is_transposed:
        spread_ends(sums, keys, direction_keys, first, n_nodes, shift, table)
    else:
        sum_ends(table, keys, direction_keys, first, n_nodes, shift, sums)


@inlined
def clear(sums, n_nodes):
    """All 0."""
    for i in range(n_nodes):
        for direction in range(2):
            for slot in range(GROUP):
                sums[i, direction, slot] = 0.0


@step
def sweep_heads(table, is_transposed, keys, first, n_words, shift, first_arc, arcs, most_places):
    """All arcs of a sentence, head by head, each time outwards: first to the right.

    Weights of an arc are added to its score; or transposed, its gradient is added to them.
    """
    places = np.empty(n_words * most_places, dtype=np.uint32)
    ends = np.empty(n_words, dtype=np.uint64)
    base = np.empty(keys.head.shape[1], dtype=np.uint32)
    counts = np.empty(keys.counter.shape[1], dtype=np.int64)
    kinds = np.empty(MOST_KINDS, dtype=np.uint8)
    for head in range(n_words + 1):
        n_places, n_arcs = np.uint64(0), 0
        for direction in range(2):
            end = n_words if direction == 0 else min(1, head)
            n_places, n_arcs = places_on_side(
                keys, first, head, direction, end, shift, base, counts, kinds, places, n_places,
                ends, n_arcs,
            )  # fmt: skip
        for k in range(min(np.int64(AHEAD), np.int64(n_places))):
            prefetch(table, np.int64(places[k]))
        begin, last = np.uint64(0), n_places - ONE
        for arc in range(n_arcs):
            # To the right there are n_words - head of them, then they go to the left.
            modifier = head + 1 + arc if arc < n_words - head else n_words - 1 - arc
            slot = distance_slot(abs(modifier - head))
            cell = first_arc + head * (n_words + 1) + modifier
            if is_transposed:
                add_at(table, places, begin, ends[arc], last, slot, arcs[cell])
            else:
                arcs[cell] += total_at(table, places, begin, ends[arc], last, slot)
            begin = ends[arc]


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


@step
def most_nodes(n_words):
    """Of the longest sentence, the root included."""
    most = 0
    for sentence in range(n_words.size):
        most = max(most, n_words[sentence])
    return most + 1


@kernel
def sweep(
    table, is_transposed, shift, keys, n_words, first_nodes, first_arcs, most_places, arcs
):  # fmt: skip
    """arcs[arc] += the weights of its features, for all sentences; unused cells stay as they are.

    Transposed, table[weight] += the score gradients of the arcs that have its feature. One kernel
    for both, since what they share takes most of the time to compile.
    """
    longest = most_nodes(n_words)
    heads, modifiers = np.empty((longest, 2, GROUP)), np.empty((longest, 2, GROUP))
    for sentence in range(n_words.size):
        n, first, first_arc = n_words[sentence], first_nodes[sentence], first_arcs[sentence]
        clear(heads, n + 1)
        clear(modifiers, n + 1)
        if is_transposed:
            collect_sums(arcs, n, first_arc, heads, modifiers)
        visit_ends(
            table, is_transposed, keys.only_head, keys.only_head_direction, first, n + 1, shift,
            heads,
        )  # fmt: skip
        visit_ends(
            table, is_transposed, keys.only_modifier, keys.only_modifier_direction, first, n + 1,
            shift, modifiers,
        )  # fmt: skip
        if not is_transposed:
            spread_sums(heads, modifiers, n, first_arc, arcs)
        sweep_heads(table, is_transposed, keys, first, n, shift, first_arc, arcs, most_places)


@kernel
def places_of_arcs(shift, keys, first, n_words, heads, modifiers, most_places, out, n_out):
    """out[a] = the places of an arc's pair and set features, n_out[a] of them, in their order.

    For the few arcs that somebody asks about.
    """
    base = np.empty(keys.head.shape[1], dtype=np.uint32)
    counts = np.empty(keys.counter.shape[1], dtype=np.int64)
    kinds = np.empty(MOST_KINDS, dtype=np.uint8)
    found, ends = np.empty(n_words * most_places, dtype=np.uint32), np.empty(n_words, np.uint64)
    for a in range(heads.size):
        direction = 0 if heads[a] < modifiers[a] else 1
        _, n_arcs = places_on_side(
            keys, first, heads[a], direction, modifiers[a], shift, base, counts, kinds, found,
            np.uint64(0), ends, 0,
        )  # fmt: skip
        begin = np.int64(ends[n_arcs - 2]) if n_arcs > 1 else 0
        n_out[a] = np.int64(ends[n_arcs - 1]) - begin
        for k in range(n_out[a]):
            out[a, k] = found[begin + k]
