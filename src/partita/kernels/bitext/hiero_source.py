"""D(x) of synchronous rules: every rule over every span of a source sentence.

Rules are a trie of source sides in four tables. A state has where its steps by a nonterminal
begin, and the rules that end in it; such a step its nonterminal k as -1 - k and the state behind
it; a rule at its end its number and its head; steps by a word are a hash table (`hiero_trie`). The
caller gives room for what is found; the kernel says where there was too little.
"""

import numpy as np

from partita.kernels.bitext.hiero_trie import after
from partita.kernels.jit import borrowing, kernel

STEPS, ENDS = 0, 1
"""Columns of a state."""
SYMBOL, BEHIND = 0, 1
"""Of a step."""
RULE, HEAD = 0, 1
"""Of a rule where it ends."""
STATE, N_TAILS, TAILS, N_COLUMNS = 0, 1, 2, 3
"""Of a dotted rule: how many tails it has, and where they begin. What comes of it by a word has the
same ones."""
NODE, EDGE_RULE, N_EDGE_TAILS, EDGE_TAILS = 0, 1, 2, 3
"""Of an edge: its head, its rule, and the tails of the dotted rule that it ends."""
NO_ROOM = (-1, -1, 0, 0)


@borrowing
def add_item(item, state, n_tails, begin, states, items, waiting, n_waiting):
    """A dotted rule; if a nonterminal may come next it waits for one. How many wait."""
    at = item * N_COLUMNS
    items[at + STATE], items[at + N_TAILS], items[at + TAILS] = state, n_tails, begin
    waiting[n_waiting] = item
    return n_waiting + (states[state, STEPS] < states[state + 1, STEPS])


@borrowing
def add_word(words, alone, first, last, firsts, states, by_word, items, waiting, n_waiting):
    """The dotted rules whose last symbol is the last word; how many there are, and how many wait.

    At the first word the trie begins; see `parse` about `alone`.
    """
    n_items, word = firsts[last], words[last - 1]
    if last == first + 1:
        for symbol in (word, alone[first] if len(alone) else -1):
            state = after(by_word, 0, symbol) if symbol >= 0 else -1
            if state >= 0:
                n_waiting = add_item(n_items, state, 0, 0, states, items, waiting, n_waiting)
                n_items += 1
        return n_items, n_waiting
    for item in range(firsts[last - 1], firsts[last]):
        at = item * N_COLUMNS
        state = after(by_word, items[at + STATE], word)
        if state >= 0:
            n_waiting = add_item(
                n_items, state, items[at + N_TAILS], items[at + TAILS], states, items, waiting,
                n_waiting,
            )  # fmt: skip
            n_items += 1
    return n_items, n_waiting


@borrowing
def add_slots(item, middle, last, n_items, end, node_of, states, steps, items, tails, waiting,
              n_waiting):  # fmt: skip
    """What comes of a dotted rule by a nonterminal over the words from `middle` on.

    Its tails are written from `end` on; with how many items there are and wait, where they end.
    """
    at = item * N_COLUMNS
    state, n_tails, begin = items[at + STATE], items[at + N_TAILS], items[at + TAILS]
    for k in range(states[state, STEPS], states[state + 1, STEPS]):
        node = node_of[middle, last, -1 - steps[k, SYMBOL]]
        if node >= 0:
            for t in range(n_tails):
                tails[end + t] = tails[begin + t]
            tails[end + n_tails] = node
            n_waiting = add_item(
                n_items, steps[k, BEHIND], n_tails + 1, end, states, items, waiting, n_waiting
            )
            n_items, end = n_items + 1, end + n_tails + 1
    return n_items, n_waiting, end


@borrowing
def complete(item, first, last, only, states, ends, items, node_of, edges, found):
    """Edges for the rules that end with a dotted rule; those of one head `only`, if it is not -1.

    A node gets its number when the first edge leads to it. How many nodes, edges and tails of edges
    are found then; no nodes (-1) where there was no room.
    """
    n_nodes, n_edges, n_edge_tails = found
    at = item * N_COLUMNS
    state = items[at + STATE]
    begin, end = states[state, ENDS], states[state + 1, ENDS]
    if n_edges + end - begin > len(edges):
        return -1, n_edges, n_edge_tails
    n_tails, tails = items[at + N_TAILS], items[at + TAILS]
    for k in range(begin, end):
        head = ends[k, HEAD]
        if only >= 0 and head != only:
            continue
        node = node_of[first, last, head]
        if node < 0:
            node = n_nodes
            n_nodes += 1
            node_of[first, last, head] = node
        edges[n_edges, NODE], edges[n_edges, EDGE_RULE] = node, ends[k, RULE]
        edges[n_edges, N_EDGE_TAILS], edges[n_edges, EDGE_TAILS] = n_tails, tails
        n_edges, n_edge_tails = n_edges + 1, n_edge_tails + n_tails
    return n_nodes, n_edges, n_edge_tails


@kernel
def parse(words, alone, start, longest, states, by_word, steps, ends, unary, node_of, edges,
          tails):  # fmt: skip
    """Every rule over every span of a sentence.

    Returns the node of the whole sentence, -1 where it has no derivation, and how many nodes, edges
    and tails of edges were found; `NO_ROOM` where there was too little.

    Spans by their first word, backwards, then by their last: what a dotted rule with its dot at m
    needs next begins at m, so all of it is there, but for the span itself. That one only serves a
    dotted rule at its very beginning, and is looked at last, in the order of `unary`. Beyond
    `longest` words only `start` may span. `alone`, if it is not empty, has another symbol for each
    word, by which it is known to rules of that word only, or -1.
    """
    n = len(words)
    # Where the dotted rules that end at a boundary begin, and those of them that wait.
    firsts, waiting_from = np.empty(n + 2, dtype=np.int64), np.empty(n + 2, dtype=np.int64)
    most = len(edges)
    items, waiting = np.empty(most * N_COLUMNS, dtype=np.int32), np.empty(most, dtype=np.int32)
    for first in range(n + 1):
        for last in range(n + 1):
            for symbol in unary:
                node_of[first, last, symbol] = -1
    found, end = (0, 0, 0), 0
    for first in range(n - 1, -1, -1):
        n_items, n_waiting, widest = 0, 0, 0
        for last in range(first + 1, n + 1):
            firsts[last], waiting_from[last] = n_items, n_waiting
            only = -1 if last - first <= longest else start
            # Room for every dotted rule that can come of one that is there, and its tails.
            n_more = (n_items + 2) * (len(unary) + 1)
            if n_items + n_more > most or end + n_more * (widest + 1) > len(tails):
                return NO_ROOM
            n_items, n_waiting = add_word(
                words, alone, first, last, firsts, states, by_word, items, waiting, n_waiting
            )
            for middle in range(first + 1, last):
                for w in range(waiting_from[middle], waiting_from[middle + 1]):
                    n_items, n_waiting, end = add_slots(
                        waiting[w], middle, last, n_items, end, node_of, states, steps, items,
                        tails, waiting, n_waiting,
                    )  # fmt: skip
            for item in range(firsts[last], n_items):
                found = complete(
                    item, first, last, only, states, ends, items, node_of, edges, found
                )
                if found[0] < 0:
                    return NO_ROOM
                widest = max(widest, items[item * N_COLUMNS + N_TAILS])
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node < 0:
                    continue
                for k in range(states[0, STEPS], states[1, STEPS]):
                    if steps[k, SYMBOL] == -1 - symbol:
                        tails[end] = node
                        n_waiting = add_item(
                            n_items, steps[k, BEHIND], 1, end, states, items, waiting, n_waiting
                        )
                        n_items, end, widest = n_items + 1, end + 1, max(widest, 1)
                        found = complete(
                            n_items - 1, first, last, only, states, ends, items, node_of, edges,
                            found,
                        )  # fmt: skip
                        if found[0] < 0:
                            return NO_ROOM
    return node_of[0, n, start], found[0], found[1], found[2]


@kernel
def keep(root, unary, node_of, edges, tails, heads, rules, tail_offsets, kept_tails, symbols,
         spans):  # fmt: skip
    """What the root can reach: its number, and how many nodes there are, edges and tails.

    The caller gives room for all that was found. Edges stand at its end, in the order in which they
    were found: those into a node are before those out of it, and every node has a derivation, so
    one way back finds what can be reached. Nodes, numbered such that tails come before heads, stand
    at its beginning.
    """
    number = np.empty(len(symbols), dtype=np.int64)
    for node in range(len(number)):
        number[node] = -1
    number[root] = 0
    kept, end = len(heads), len(kept_tails)
    tail_offsets[kept] = end
    for edge in range(len(heads) - 1, -1, -1):
        head = edges[edge, NODE]
        if number[head] == 0:
            kept -= 1
            heads[kept], rules[kept] = head, edges[edge, EDGE_RULE]
            for t in range(edges[edge, N_EDGE_TAILS] - 1, -1, -1):
                end -= 1
                tail = tails[edges[edge, EDGE_TAILS] + t]
                kept_tails[end] = tail
                number[tail] = 0
            tail_offsets[kept] = end
    n, n_nodes = len(node_of) - 1, 0
    for first in range(n - 1, -1, -1):
        for last in range(first + 1, n + 1):
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node >= 0 and number[node] == 0:
                    number[node], symbols[n_nodes] = n_nodes, symbol
                    spans[n_nodes, 0], spans[n_nodes, 1] = first, last
                    n_nodes += 1
    for edge in range(kept, len(heads)):
        heads[edge] = number[heads[edge]]
    for edge in range(kept, len(heads) + 1):
        tail_offsets[edge] -= end
    for tail in range(end, len(kept_tails)):
        kept_tails[tail] = number[kept_tails[tail]]
    return number[root], n_nodes, kept, end
