"""D(x) of synchronous rules: every rule over every span of a source sentence.

Rules are a trie of source sides in five tables. A state has where its steps by a nonterminal
begin, and the runs of rules that end in it; such a step its nonterminal and the state behind it; a
run, rules with the same head, where it begins among all rules, and that head; steps by
a word are a hash table (`hiero_trie`). A run is one thing until the very end, since all its edges
have the same head and tails. The caller says how much room there is for what is found, and the
kernel whether that was too little.

Whole numbers that are places have no sign, wherever they are kept: at every look into an array at a
place that might be below 0, Numba asks whether it is, which was a third of the time.
"""

import numpy as np

from partita.kernels.bitext.hiero_trie import after
from partita.kernels.jit import borrowing, kernel, step

STEPS, RUNS = 0, 1
"""Columns of a state."""
SYMBOL, BEHIND = 0, 1
"""Of a step."""
FIRST_RULE, HEAD = 0, 1
"""Of a run."""
STATE, N_TAILS, TAILS, N_COLUMNS = 0, 1, 2, 4
"""Of a dotted rule: how many tails it has, and these, at most two; see `rules.MOST_SLOTS`."""
NODE, RUN, N_BELOW, LEFT, RIGHT, WIDTH = 0, 1, 2, 3, 4, 5
"""Of a finished run: its node, which it is, and the tails of the dotted rule that it ends, in whose
place the node itself stands where there are fewer than two. So what reads them need not branch: the
branches of a run are hard to foresee and took longer than its edges."""
NO_ROOM = -1
ONE = np.uint64(1)


@borrowing
def add_item(item, state, n_tails, left, right, states, items, waiting, n_waiting):
    """A dotted rule; if a nonterminal may come next it waits for one. How many wait."""
    at = item * N_COLUMNS
    items[at + STATE], items[at + N_TAILS] = state, n_tails
    items[at + TAILS], items[at + TAILS + 1] = left, right
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
                n_waiting = add_item(n_items, state, 0, 0, 0, states, items, waiting, n_waiting)
                n_items += 1
        return n_items, n_waiting
    for item in range(firsts[last - 1], firsts[last]):
        at = item * N_COLUMNS
        state = after(by_word, items[at + STATE], word)
        if state >= 0:
            n_waiting = add_item(
                n_items, state, items[at + N_TAILS], items[at + TAILS], items[at + TAILS + 1],
                states, items, waiting, n_waiting,
            )  # fmt: skip
            n_items += 1
    return n_items, n_waiting


@borrowing
def add_slots(item, middle, last, n_items, node_of, states, steps, items, waiting, n_waiting):
    """What comes of a dotted rule by a nonterminal over the words from `middle` on.

    How many items there are and wait.
    """
    at = item * N_COLUMNS
    state, n_tails, left = items[at + STATE], items[at + N_TAILS], items[at + TAILS]
    for k in range(states[state, STEPS], states[state + 1, STEPS]):
        node = node_of[middle, last, steps[k, SYMBOL]]
        if node >= 0:
            n_waiting = add_item(
                n_items, steps[k, BEHIND], n_tails + 1, left if n_tails else node, node, states,
                items, waiting, n_waiting,
            )  # fmt: skip
            n_items += 1
    return n_items, n_waiting


@borrowing
def finish(item, first, last, only, states, runs, items, node_of, finished, n_nodes, n_finished):
    """The runs that end with a dotted rule; those of one head `only`, if it is not -1.

    A node gets its number when the first run leads to it. How many nodes and finished runs there
    are then; no nodes (-1) where there was no room.
    """
    at = item * N_COLUMNS
    state, n_tails = items[at + STATE], items[at + N_TAILS]
    begin, end = states[state, RUNS], states[state + 1, RUNS]
    if n_finished + end - begin > len(finished):
        return NO_ROOM, n_finished
    for run in range(begin, end):
        head = runs[run, HEAD]
        if only >= 0 and head != only:
            continue
        node = node_of[first, last, head]
        if node < 0:
            node = n_nodes
            n_nodes += 1
            node_of[first, last, head] = node
        finished[n_finished, NODE], finished[n_finished, RUN] = node, run
        finished[n_finished, N_BELOW] = n_tails
        finished[n_finished, LEFT] = items[at + TAILS] if n_tails > 0 else node
        finished[n_finished, RIGHT] = items[at + TAILS + 1] if n_tails > 1 else node
        n_finished += 1
    return n_nodes, n_finished


@step
def parse(words, alone, start, longest, states, by_word, steps, runs, unary, node_of, finished):
    """Every rule over every span of a sentence: how many nodes and finished runs there are.

    `NO_ROOM` nodes where there was too little room.

    Spans by their first word, backwards, then by their last: what a dotted rule with its dot at m
    needs next begins at m, so all of it is there, but for the span itself. That one only serves a
    dotted rule at its very beginning, and is looked at last, in the order of `unary`. Beyond
    `longest` words only `start` may span. `alone`, if it is not empty, has another symbol for each
    word, by which it is known to rules of that word only, or -1.
    """
    n = len(words)
    # Where the dotted rules that end at a boundary begin, and those of them that wait.
    firsts, waiting_from = np.empty(n + 2, dtype=np.uint32), np.empty(n + 2, dtype=np.uint32)
    most = len(finished)
    items, waiting = np.empty(most * N_COLUMNS, dtype=np.uint32), np.empty(most, dtype=np.uint32)
    for first in range(n + 1):
        for last in range(n + 1):
            for symbol in unary:
                node_of[first, last, symbol] = -1
    n_nodes, n_finished = 0, 0
    for first in range(n - 1, -1, -1):
        n_items, n_waiting = 0, 0
        for last in range(first + 1, n + 1):
            firsts[last], waiting_from[last] = n_items, n_waiting
            only = -1 if last - first <= longest else start
            # Room for every dotted rule that can come of one that is there.
            if n_items + (n_items + 2) * (len(unary) + 1) > most:
                return NO_ROOM, 0
            n_items, n_waiting = add_word(
                words, alone, first, last, firsts, states, by_word, items, waiting, n_waiting
            )
            for middle in range(first + 1, last):
                for w in range(waiting_from[middle], waiting_from[middle + 1]):
                    n_items, n_waiting = add_slots(
                        waiting[w], middle, last, n_items, node_of, states, steps, items, waiting,
                        n_waiting,
                    )  # fmt: skip
            for item in range(firsts[last], n_items):
                n_nodes, n_finished = finish(
                    item, first, last, only, states, runs, items, node_of, finished, n_nodes,
                    n_finished,
                )  # fmt: skip
                if n_nodes < 0:
                    return NO_ROOM, 0
            for symbol in unary:
                node = node_of[first, last, symbol]
                if node < 0:
                    continue
                for k in range(states[0, STEPS], states[1, STEPS]):
                    if steps[k, SYMBOL] == symbol:
                        n_waiting = add_item(
                            n_items, steps[k, BEHIND], 1, node, node, states, items, waiting,
                            n_waiting,
                        )  # fmt: skip
                        n_items += 1
                        n_nodes, n_finished = finish(
                            n_items - 1, first, last, only, states, runs, items, node_of,
                            finished, n_nodes, n_finished,
                        )  # fmt: skip
                        if n_nodes < 0:
                            return NO_ROOM, 0
    return n_nodes, n_finished


@borrowing
def reach(root, runs, finished, n_finished, number):
    """Sets the number of what the root can reach to 0; how many nodes, edges and tails that are.

    Runs into a node are before those out of it, and every node has a derivation, so one way back
    finds what can be reached.
    """
    for node in range(len(number)):
        number[node] = -1
    number[root] = 0
    n_nodes, n_edges, n_tails = 1, 0, 0
    for k in range(n_finished - 1, -1, -1):
        if number[finished[k, NODE]] == 0:
            run = finished[k, RUN]
            size = runs[run + 1, FIRST_RULE] - runs[run, FIRST_RULE]
            n_edges, n_tails = n_edges + size, n_tails + size * finished[k, N_BELOW]
            n_nodes -= number[finished[k, LEFT]]
            number[finished[k, LEFT]] = 0
            n_nodes -= number[finished[k, RIGHT]]
            number[finished[k, RIGHT]] = 0
    return n_nodes, n_edges, n_tails


@borrowing
def write(runs, ends, unary, node_of, finished, n_finished, number, out, n_nodes, n_edges):
    """What can be reached, one array behind the other (see `derive`), tails numbered before heads.

    Edges come in the order in which they were found.
    """
    rule_at, offset_at = np.uint64(n_edges), np.uint64(2 * n_edges)
    symbol_at = offset_at + rule_at + ONE
    span_at, node, n = symbol_at + np.uint64(n_nodes), np.uint64(0), len(node_of) - 1
    for first in range(n - 1, -1, -1):
        for last in range(first + 1, n + 1):
            for symbol in unary:
                found = node_of[first, last, symbol]
                if found >= 0 and number[found] == 0:
                    number[found], out[symbol_at + node] = node, symbol
                    out[span_at + node + node], out[span_at + node + node + ONE] = first, last
                    node += ONE
    tail_at = span_at + node + node
    edge, tail = np.uint64(0), tail_at
    for k in range(n_finished):
        head, run = number[finished[k, NODE]], finished[k, RUN]
        if head >= 0:
            left, right = number[finished[k, LEFT]], number[finished[k, RIGHT]]
            n_below = np.uint64(finished[k, N_BELOW])
            for place in range(runs[run, FIRST_RULE], runs[run + 1, FIRST_RULE]):
                out[edge], out[rule_at + edge] = head, ends[place]
                out[offset_at + edge] = tail - tail_at
                # Where there are fewer, the next edge writes over it.
                out[tail], out[tail + ONE] = left, right
                edge, tail = edge + ONE, tail + n_below
    out[offset_at + edge] = tail - tail_at


@kernel
def derive(words, alone, start, longest, states, by_word, steps, runs, ends, unary, room):
    """D(x): what the root of a sentence derives; see `parse`, of which it gives what is reached.

    Returns one array with, one behind the other, the head of each edge, its rule, where its tails
    begin (and where the last ones end), the nonterminal of each node, its first and last boundary,
    and all tails, with two numbers to spare; then the number of the root (-1 where there is no
    derivation), and how many nodes, edges and tails there are; `NO_ROOM` nodes where there was too
    little. Tails have smaller numbers than heads.

    Unlike other kernels it makes what it returns: how much that is, is known late, and a second
    call took a microsecond.
    """
    n = len(words)
    node_of = np.empty((n + 1, n + 1, len(unary)), dtype=np.int32)
    finished = np.empty((room, WIDTH), dtype=np.uint32)
    n_nodes, n_finished = parse(
        words, alone, start, longest, states, by_word, steps, runs, unary, node_of, finished
    )
    root = -1 if n_nodes < 0 else node_of[0, n, start]
    if root < 0:
        return np.empty(0, dtype=np.int64), root, n_nodes, 0, 0
    number = np.empty(n_nodes, dtype=np.int32)
    n_nodes, n_edges, n_tails = reach(root, runs, finished, n_finished, number)
    out = np.empty(3 * (n_edges + n_nodes) + 1 + n_tails + 2, dtype=np.int64)
    write(runs, ends, unary, node_of, finished, n_finished, number, out, n_nodes, n_edges)
    return out, number[root], n_nodes, n_edges, n_tails
