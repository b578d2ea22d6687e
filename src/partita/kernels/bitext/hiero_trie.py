"""A trie of the source sides of synchronous rules, out of the sides in order.

Symbols from 0 on are words, those below nonterminals: nonterminal k is -1 - k.
"""

from partita.kernels.jit import kernel

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
