"""D(x) of synchronous rules: every rule over every span of a source sentence.

Rules are a trie of source sides in three tables. A state has where its steps begin, those of them
that are words (nonterminals, -1 - k, come before, all ascending), and the rules that end in it; a
step its symbol and the state behind it; a rule at its end its number and its head. The caller gives
room for what is found; the kernel says where there was too little.
"""

import numpy as np

from partita.kernels.jit import borrowing, kernel

STEPS, WORD_STEPS, ENDS = 0, 1, 2
"""Columns of a state."""
SYMBOL, BEHIND = 0, 1
"""Of a step."""
RULE, HEAD = 0, 1
"""Of a rule where it ends."""
STATE, N_TAILS, LAST, BEFORE = 0, 1, 2, 3
"""Of a dotted rule: how many tails it has, the last, and the dotted rule without it."""
N_NODES, N_EDGES, N_ALL_TAILS, KEPT, ROOT = 0, 1, 2, 3, 6
"""What is counted; from `KEPT` on the same of what the root can reach, and what its number is."""


@borrowing
def after(states, steps, state, word):
    """The state behind a word, or -1: binary search."""
    low, end = states[state, WORD_STEPS], states[state + 1, STEPS]
    high = end
    while low < high:
        middle = (low + high) // 2
        if steps[middle, SYMBOL] < word:
            low = middle + 1
        else:
            high = middle
    return steps[low, BEHIND] if low < end and steps[low, SYMBOL] == word else -1


@borrowing
def add_item(item, state, n_tails, last, before, states, items, waiting, n_waiting):
    """A dotted rule; if a nonterminal may come next it waits for one. How many wait."""
    items[item, STATE], items[item, N_TAILS] = state, n_tails
    items[item, LAST], items[item, BEFORE] = last, before
    waiting[n_waiting] = item
    return n_waiting + (states[state, STEPS] < states[state, WORD_STEPS])


@borrowing
def add_word(words, alone, first, last, firsts, states, steps, items, waiting, n_waiting):
    """The dotted rules whose last symbol is the last word; how many there are, and how many wait.

    At the first word the trie begins; see `parse` about `alone`.
    """
    n_items, word = firsts[last], words[last - 1]
    if last == first + 1:
        for symbol in (word, alone[first] if len(alone) else -1):
            state = after(states, steps, 0, symbol) if symbol >= 0 else -1
            if state >= 0:
                n_waiting = add_item(n_items, state, 0, -1, -1, states, items, waiting, n_waiting)
                n_items += 1
        return n_items, n_waiting
    for item in range(firsts[last - 1], firsts[last]):
        state = after(states, steps, items[item, STATE], word)
        if state >= 0:
            n_waiting = add_item(
                n_items, state, items[item, N_TAILS], items[item, LAST], items[item, BEFORE],
                states, items, waiting, n_waiting,
            )  # fmt: skip
            n_items += 1
    return n_items, n_waiting


@borrowing
def add_slots(item, middle, last, n_items, node_of, states, steps, items, waiting, n_waiting):
    """What comes of a dotted rule by a nonterminal over the words from `middle` on."""
    state, n_tails = items[item, STATE], items[item, N_TAILS] + 1
    for k in range(states[state, STEPS], states[state, WORD_STEPS]):
        node = node_of[middle, last, -1 - steps[k, SYMBOL]]
        if node >= 0:
            n_waiting = add_item(
                n_items, steps[k, BEHIND], n_tails, node, item, states, items, waiting, n_waiting
            )
            n_items += 1
    return n_items, n_waiting


@borrowing
def complete(item, first, last, only, states, ends, items, node_of, edges, tails, counts):
    """Edges for the rules that end with a dotted rule; those of one head `only`, if it is not -1.

    A node gets its number when the first edge leads to it. Whether there was room.
    """
    state, n_tails = items[item, STATE], items[item, N_TAILS]
    for k in range(states[state, ENDS], states[state + 1, ENDS]):
        head, edge, tail = ends[k, HEAD], counts[N_EDGES], counts[N_ALL_TAILS]
        if only >= 0 and head != only:
            continue
        if edge >= len(edges) or tail + n_tails > len(tails):
            return False
        node = node_of[first, last, head]
        if node < 0:
            node = counts[N_NODES]
            counts[N_NODES] = node + 1
            node_of[first, last, head] = node
        edges[edge, 0], edges[edge, 1], edges[edge, 2] = node, ends[k, RULE], n_tails
        place = item
        for t in range(tail + n_tails - 1, tail - 1, -1):
            tails[t] = items[place, LAST]
            place = items[place, BEFORE]
        counts[N_EDGES], counts[N_ALL_TAILS] = edge + 1, tail + n_tails
    return True


@borrowing
def reach(root, n, unary, node_of, edges, tails, number, counts):
    """Numbers the nodes that occur in a derivation of the root, and counts their edges and tails.

    Every node has a derivation, and edges come in an order in which those into a node are before
    those out of it; so one way back finds what can be reached. `number` gets -1 for other nodes;
    tails have smaller numbers than heads.
    """
    for node in range(counts[N_NODES]):
        number[node] = -1
    number[root] = 0
    n_edges, n_tails, tail = 0, 0, counts[N_ALL_TAILS]
    for edge in range(counts[N_EDGES] - 1, -1, -1):
        end = tail
        tail -= edges[edge, 2]
        if number[edges[edge, 0]] == 0:
            n_edges += 1
            n_tails += end - tail
            for t in range(tail, end):
                number[tails[t]] = 0
    n_nodes = 0
    for first in range(n - 1, -1, -1):
        for last in range(first + 1, n + 1):
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node >= 0 and number[node] == 0:
                    number[node] = n_nodes
                    n_nodes += 1
    counts[KEPT + N_NODES], counts[KEPT + N_EDGES] = n_nodes, n_edges
    counts[KEPT + N_ALL_TAILS], counts[ROOT] = n_tails, number[root]


@kernel
def parse(words, alone, start, longest, states, steps, ends, unary, node_of, items, edges, tails,
          number, counts):  # fmt: skip
    """Every rule over every span of a sentence; False where there was too little room.

    Spans by their first word, backwards, then by their last: what a dotted rule with its dot at m
    needs next begins at m, so all of it is there, but for the span itself. That one only serves a
    dotted rule at its very beginning, and is looked at last, in the order of `unary`. Beyond
    `longest` words only `start` may span. `alone`, if it is not empty, has another symbol for each
    word, by which it is known to rules of that word only, or -1. An edge is its head, its rule and
    how many tails it has.
    """
    n = len(words)
    # Where the dotted rules that end at a boundary begin, and those of them that wait.
    firsts, waiting_from = np.empty(n + 2, dtype=np.int64), np.empty(n + 2, dtype=np.int64)
    waiting = np.empty(len(items), dtype=np.int64)
    for k in range(len(counts)):
        counts[k] = 0
    for first in range(n + 1):
        for last in range(n + 1):
            for symbol in unary:
                node_of[first, last, symbol] = -1
    for first in range(n - 1, -1, -1):
        n_items, n_waiting = 0, 0
        for last in range(first + 1, n + 1):
            firsts[last], waiting_from[last] = n_items, n_waiting
            only = -1 if last - first <= longest else start
            # Room for every dotted rule that can come of one that is there.
            if n_items + (n_items + 2) * (len(unary) + 1) > len(items):
                return False
            n_items, n_waiting = add_word(
                words, alone, first, last, firsts, states, steps, items, waiting, n_waiting
            )
            for middle in range(first + 1, last):
                for w in range(waiting_from[middle], waiting_from[middle + 1]):
                    n_items, n_waiting = add_slots(
                        waiting[w], middle, last, n_items, node_of, states, steps, items, waiting,
                        n_waiting,
                    )  # fmt: skip
            for item in range(firsts[last], n_items):
                if not complete(
                    item, first, last, only, states, ends, items, node_of, edges, tails, counts
                ):
                    return False
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node < 0:
                    continue
                for k in range(states[0, STEPS], states[0, WORD_STEPS]):
                    if steps[k, SYMBOL] == -1 - symbol:
                        n_waiting = add_item(
                            n_items, steps[k, BEHIND], 1, node, -1, states, items, waiting,
                            n_waiting,
                        )  # fmt: skip
                        n_items += 1
                        if not complete(
                            n_items - 1, first, last, only, states, ends, items, node_of, edges,
                            tails, counts,
                        ):  # fmt: skip
                            return False
    root = node_of[0, n, start]
    if root >= 0:
        reach(root, n, unary, node_of, edges, tails, number, counts)
    return True


@kernel
def keep(unary, node_of, edges, tails, number, counts, heads, rules, tail_offsets, kept_tails,
         symbols, spans):  # fmt: skip
    """What the root can reach, as it was numbered: edges in the order in which they were found."""
    n_edges, n_tails, tail = 0, 0, 0
    tail_offsets[0] = 0
    for edge in range(counts[N_EDGES]):
        end = tail + edges[edge, 2]
        head = number[edges[edge, 0]]
        if head >= 0:
            heads[n_edges], rules[n_edges] = head, edges[edge, 1]
            for t in range(tail, end):
                kept_tails[n_tails] = number[tails[t]]
                n_tails += 1
            n_edges += 1
            tail_offsets[n_edges] = n_tails
        tail = end
    n = len(node_of) - 1
    for first in range(n):
        for last in range(first + 1, n + 1):
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node >= 0 and number[node] >= 0:
                    symbols[number[node]] = symbol
                    spans[number[node], 0], spans[number[node], 1] = first, last
