"""A trie of the source sides of synchronous rules, out of the sides in order.

Symbols from 0 on are words, those below nonterminals: nonterminal k is -1 - k. Steps by a word are
a hash table, whose rows are a state, a word and the state behind it; free rows begin with -1.
"""

import numpy as np

from partita.kernels.jit import borrowing, kernel

MISSING = -(2**31)
"""Behind the end of a side."""


@kernel
def states(rows, parents, symbols, ends):
    """The states of a trie, numbered as they are first met; state 0 is the beginning of all sides.

    `rows` has the sides, sorted, each with `MISSING`, the smallest number, behind its end. Fills
    the state before each state and the symbol between them, and the state in which each side ends;
    returns the number of states. O(symbols).
    """
    n_rows, width = rows.shape
    n_states = 1
    for row in range(n_rows):
        state, depth = 0, 0
        if row > 0:
            # What it shares with the side before it; states on that one's way end in order.
            while depth < width and rows[row, depth] == rows[row - 1, depth]:
                depth += 1
            last = width
            while last > depth and rows[row - 1, last - 1] == MISSING:
                last -= 1
            state = ends[row - 1]
            for _ in range(depth, last):
                state = parents[state]
        while depth < width and rows[row, depth] != MISSING:
            parents[n_states] = state
            symbols[n_states] = rows[row, depth]
            state = n_states
            n_states += 1
            depth += 1
        ends[row] = state
    return n_states


@borrowing
def row_of(state, word, n_rows):
    """Where the step of a state by a word is looked for first, n_rows being a power of two."""
    # Two odd numbers of 31 bits, so that no product with what is below 2^31 overflows.
    mixed = np.int64(state) * 1640531527 ^ np.int64(word) * 1367130551
    return (mixed >> 11) & (n_rows - 1)


@kernel
def hash_words(parents, symbols, table):
    """Fills the table with the steps by a word; parents[s] and symbols[s] lead to state s."""
    for row in range(len(table)):
        table[row, 0] = -1
    for state in range(1, len(parents)):
        if symbols[state] >= 0:
            row = row_of(parents[state], symbols[state], len(table))
            while table[row, 0] >= 0:
                row = (row + 1) & (len(table) - 1)
            table[row, 0], table[row, 1], table[row, 2] = parents[state], symbols[state], state


@borrowing
def after(table, state, word):
    """The state behind a word, or -1."""
    row = row_of(state, word, len(table))
    while table[row, 0] >= 0:
        if table[row, 0] == state and table[row, 1] == word:
            return table[row, 2]
        row = (row + 1) & (len(table) - 1)
    return -1
