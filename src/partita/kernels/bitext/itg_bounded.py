"""The forest D_n(x): all derivations of a source sentence with at most n target words.

Cells are (s, t, length): source boundaries s <= t and a number of target words. Straight and
inverted rules over the same split have the same tails, and two tails may be the same node: three
insertions at one place are one and two of them, in either order. Charts are [s, t, 0, length], as
`put_splits` reads them; XB holds X backwards, [s, t, 0, longest - length], so that the numbers of
words of both tails grow together there.

`n_choices[i]` is the number of terminals x_i/y that are told apart; a single one may stand for the
sum over all target words. An insertion always stands for the sum over all words to be inserted.
Parts are all choices, deletions (n,), an insertion, straight, inverted; edges without a score have
the part behind the last.
"""

import numpy as np

from partita.kernels.bitext.itg_edges import (
    DELETION,
    EDGES,
    INSERTION,
    INVERTED,
    LINK,
    NODES,
    NONE,
    START,
    STRAIGHT,
    put_edge,
    put_if_any,
    put_single,
    put_splits,
    start,
)
from partita.kernels.bitext.itg_normal import put_prefixes, put_top, put_unions
from partita.kernels.jit import inlined, kernel


@inlined
def empty_chart(n, longest):
    """A chart without nodes."""
    return np.full((n + 1, n + 1, 1, longest + 1), NONE, dtype=np.int32)


@inlined
def count_links(n_choices):
    """All choices of all words."""
    total = 0
    for count in n_choices:
        total += count
    return total


@inlined
def put_terminals(edges, counts, first_choice, n_choices, can_delete, can_insert, cell, n_links):
    """next node <- x/y for every choice of y, x/eps or eps/y, where the cell has that form."""
    s, t, length = cell
    node = counts[NODES]
    if t - s == 1 and length == 1:
        for choice in range(n_choices[s]):
            put_edge(edges, counts, node, NONE, NONE, LINK, first_choice[s] + choice)
    if t - s == 1 and length == 0 and can_delete[s]:
        put_edge(edges, counts, node, NONE, NONE, DELETION, n_links + s)
    if t == s and length == 1 and can_insert:
        put_edge(edges, counts, node, NONE, NONE, INSERTION, n_links + len(n_choices))


@inlined
def close(edges, counts, tops, n, straight):
    """The root: S <- X for every allowed number of target words."""
    longest = tops.shape[0] - 1
    before, root = counts[EDGES], counts[NODES]
    for length in range(longest + 1):
        if tops[length] != NONE:
            put_edge(edges, counts, root, tops[length], NONE, START, straight + 2)
    if put_if_any(edges, counts, before, 0, n, 0, longest) == NONE:
        start(edges, counts)


@kernel
def plain(first_choice, n_choices, can_delete, can_insert, longest, edges, counts):
    """All derivations of the plain grammar; no edges if there is none. See `itg_edges`.

    X[s, t, length] <- terminal | [X[s, S, u] X[S, t, length - u]] | <the same two>
    """
    n, n_links = len(n_choices), count_links(n_choices)
    X, XB = empty_chart(n, longest), empty_chart(n, longest)
    straight = n_links + n + 1
    start(edges, counts)
    for t in range(n + 1):
        for s in range(t, -1, -1):
            for length in range(longest + 1):
                before, node = counts[EDGES], counts[NODES]
                put_terminals(
                    edges, counts, first_choice, n_choices, can_delete, can_insert,
                    (s, t, length), n_links,
                )  # fmt: skip
                cell, shift = (s, t, 0, 0, 0, length), longest - length
                put_splits(edges, counts, node, X, XB, cell, shift, 0, STRAIGHT, straight)
                put_splits(edges, counts, node, X, XB, cell, shift, 0, INVERTED, straight + 1)
                node = put_if_any(edges, counts, before, s, t, 0, length)
                X[s, t, 0, length], XB[s, t, 0, shift] = node, node
    close(edges, counts, X[0, n, 0], n, straight)


@inlined
def put_nulls(can_delete, can_insert, edges, counts, X, longest, n_links):
    """A node for the deletion of each word, and for an insertion at each source boundary."""
    n = len(can_delete)
    for i in range(n + 1):
        if i < n and can_delete[i]:
            X[i, i + 1, 0, 0] = put_single(
                edges, counts, NONE, NONE, DELETION, n_links + i, (i, i + 1, 0, 0)
            )
        if can_insert and longest > 0:
            X[i, i, 0, 1] = put_single(
                edges, counts, NONE, NONE, INSERTION, n_links + n, (i, i, 0, 1)
            )


@inlined
def put_block(first_choice, n_choices, edges, counts, L, X, s, t, length, straight):
    """A link of word s, the words behind it up to t deleted, then length - 1 insertions.

    L[s, t, length] <- [L[s, t, length-1] insertion] or, for length 1, [L[s, t-1, 1] deletion].
    """
    span = (s, t, 0, length)
    if length > 1:
        left, right = L[s, t, 0, length - 1], X[t, t, 0, 1]
        return put_single(edges, counts, left, right, STRAIGHT, straight, span)
    if t > s + 1:
        left, right = L[s, t - 1, 0, 1], X[t - 1, t, 0, 0]
        return put_single(edges, counts, left, right, STRAIGHT, straight, span)
    if n_choices[s] == 0:
        return NONE
    node = put_single(edges, counts, NONE, NONE, LINK, first_choice[s], span)
    for choice in range(1, n_choices[s]):
        put_edge(edges, counts, node, NONE, NONE, LINK, first_choice[s] + choice)
    return node


@inlined
def put_cell(edges, counts, L, X, XB, C, D, s, t, length, straight):
    """Straight and inverted rules over a cell, and the unions that leave one of them out.

    D = straight or L,   C = inverted or L,   X = straight or C;   [C X],   <D X>.
    """
    span, leaf, unit = (s, t, 0, length), L[s, t, 0, length], straight + 2
    cell, shift = (s, t, 0, 0, 0, length), X.shape[3] - 1 - length
    before, node = counts[EDGES], counts[NODES]
    put_splits(edges, counts, node, C, XB, cell, shift, 1, STRAIGHT, straight)
    in_order = put_if_any(edges, counts, before, s, t, 0, length)
    before, node = counts[EDGES], counts[NODES]
    put_splits(edges, counts, node, D, XB, cell, shift, 1, INVERTED, straight + 1)
    inverted = put_if_any(edges, counts, before, s, t, 0, length)
    C[s, t, 0, length], D[s, t, 0, length], whole = put_unions(
        edges, counts, in_order, inverted, leaf, unit, span
    )
    X[s, t, 0, length], XB[s, t, 0, shift] = whole, whole


@kernel
def normal(first_choice, n_choices, can_delete, can_insert, longest, edges, counts):
    """One derivation for every alignment and number of words; see `itg_pair.normal`."""
    n, n_links = len(n_choices), count_links(n_choices)
    L, C, D = empty_chart(n, longest), empty_chart(n, longest), empty_chart(n, longest)
    X, XB = empty_chart(n, longest), empty_chart(n, longest)
    straight = n_links + n + 1
    start(edges, counts)
    put_nulls(can_delete, can_insert, edges, counts, X, longest, n_links)
    for t in range(1, n + 1):
        for s in range(t - 1, -1, -1):
            for length in range(1, longest + 1):
                L[s, t, 0, length] = put_block(
                    first_choice, n_choices, edges, counts, L, X, s, t, length, straight
                )
                put_cell(edges, counts, L, X, XB, C, D, s, t, length, straight)
    P = put_prefixes(edges, counts, X, n, longest, 0, straight)
    tops = np.empty(longest + 1, dtype=np.int32)
    for length in range(longest + 1):
        tops[length] = put_top(edges, counts, P, X, n, length, 0, straight)
    close(edges, counts, tops, n, straight)
