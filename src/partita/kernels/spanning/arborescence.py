"""The best spanning tree: Chu-Liu-Edmonds on a dense matrix in O(n²), by growing a path.

Scores are stored by modifier, `rows[node, head]`. From a word outside the tree, follow best
arcs from modifier to head. Where the path meets the tree, all of it joins the tree. Where it meets
itself, the cycle is contracted into a new node that is entered, through any of its nodes v, with

    rows[new, u] = max_v (rows[v, u] - the best arc into v)

and the path goes on from the new node. Every contraction costs O(n) for each node that vanishes.
In the end contracted nodes are opened, newest first: the arc that enters a node replaces the best
arcs of all nodes inside it that it enters.

With a single root, trees are compared by the number of root arcs first, and then by score. So a
root arc is taken only by a node that no arc from a word enters, and if two nodes take one, there
is no tree. Nothing is subtracted from root arcs, so no digits are lost.

Nodes are 0, the root, the words 1 .. n, and contracted nodes from n + 1 on.
"""

import numpy as np

from partita.kernels.jit import kernel

# Rows of the integer scratch: one cell for each node, or each word.
ROW, PARENT, HEAD, MODIFIER, STATE, PATH, TOP, REPLACED = 0, 1, 2, 3, 4, 5, 6, 7
# States of nodes.
NEW, ON_PATH, IN_TREE = 0, 1, 2


@kernel
def load_rows(arcs, first, n_words, single_root, rows):
    """rows[modifier, head] = arcs[head, modifier], with -inf on the diagonal; row 0 is not used.

    Every tree with a single root has one arc from it, so the best of these is taken out: however
    large they are, differences between trees keep their digits.
    """
    width = n_words + 1
    for i in range(width):
        for j in range(1, width):
            rows[j, i] = arcs[first + i * width + j]
    highest = -np.inf
    for j in range(1, width):
        rows[j, j] = -np.inf
        highest = max(highest, rows[j, 0])
    if single_root and highest > -np.inf:
        for j in range(1, width):
            rows[j, 0] -= highest


@kernel
def tree_score(arcs, first, n_words, heads):
    """Sum of the arcs of a tree."""
    total = 0.0
    for j in range(n_words):
        total += arcs[first + heads[j] * (n_words + 1) + j + 1]
    return total


@kernel
def best_arc(row, single_root):
    """The best head in a row and its score; a root arc only where it must be, if `single_root`."""
    head, best = 0, -np.inf
    for u in range(1, len(row)):
        if row[u] > best:
            head, best = u, row[u]
    if row[0] > best and not (single_root and best > -np.inf):
        head, best = 0, row[0]
    return head, best


@kernel
def contract(rows, enter, nodes, best, start, length, new):
    """Merge the nodes path[start:length] into the node `new`, which keeps the first one's row."""
    n_words = rows.shape[0] - 1
    into = nodes[ROW, nodes[PATH, start]]
    nodes[ROW, new] = into
    for position in range(start, length):
        node = nodes[PATH, position]
        row, lost = nodes[ROW, node], best[node]
        nodes[PARENT, node] = new
        if position == start:
            for u in range(n_words + 1):
                rows[into, u] -= lost
        else:
            for u in range(n_words + 1):
                if rows[row, u] - lost > rows[into, u]:
                    rows[into, u] = rows[row, u] - lost
                    enter[into, u] = enter[row, u]
    for word in range(1, n_words + 1):
        top = nodes[TOP, word]
        if nodes[PARENT, top] == new:
            nodes[TOP, word] = new
            rows[into, word] = -np.inf


@kernel
def open_nodes(nodes, last, heads):
    """Heads of the words out of the best arcs of all nodes up to `last`."""
    nodes[REPLACED, : last + 1] = 0
    for node in range(last, 0, -1):
        if not nodes[REPLACED, node]:
            word = nodes[MODIFIER, node]
            heads[word - 1] = nodes[HEAD, node]
            while word != node:
                nodes[REPLACED, word] = 1
                word = nodes[PARENT, word]


@kernel
def arborescence(rows, single_root, enter, nodes, best, heads):
    """Heads of the best tree; `rows` is used up. Returns whether there is a tree.

    Scratch: enter (n+1, n+1) and nodes (8, 2 n) integers, best (2 n) numbers.
    """
    n_words = rows.shape[0] - 1
    nodes[STATE, :], nodes[PARENT, :] = NEW, 0
    for word in range(n_words + 1):
        nodes[ROW, word], nodes[TOP, word] = word, word
        enter[word, :] = word
    nodes[STATE, 0] = IN_TREE
    last, n_roots = n_words, 0
    for start in range(1, n_words + 1):
        if nodes[STATE, nodes[TOP, start]] == IN_TREE:
            continue
        length, node = 0, nodes[TOP, start]
        while nodes[STATE, node] != IN_TREE:
            if nodes[STATE, node] == ON_PATH:
                position = length - 1
                while nodes[PATH, position] != node:
                    position -= 1
                last += 1
                contract(rows, enter, nodes, best, position, length, last)
                length, node = position, last
            nodes[PATH, length], nodes[STATE, node] = node, ON_PATH
            length += 1
            row = nodes[ROW, node]
            head, best[node] = best_arc(rows[row], single_root)
            if best[node] == -np.inf:
                return False
            nodes[HEAD, node], nodes[MODIFIER, node] = head, enter[row, head]
            n_roots += head == 0
            node = nodes[TOP, head]
        for position in range(length):
            nodes[STATE, nodes[PATH, position]] = IN_TREE
    open_nodes(nodes, last, heads)
    return not single_root or n_roots == 1


@kernel
def best_trees(arcs, arc_offsets, word_offsets, n_words, single_root, heads, scores):
    """Heads and score of the best tree of each sentence; -inf where there is none."""
    for b in range(len(n_words)):
        n, first = n_words[b], arc_offsets[b]
        rows, enter, nodes, best = scratch(n)
        found = heads[word_offsets[b] : word_offsets[b + 1]]
        load_rows(arcs, first, n, single_root, rows)
        scores[b] = -np.inf
        found[:] = 0
        if arborescence(rows, single_root, enter, nodes, best, found):
            scores[b] = tree_score(arcs, first, n, found)


@kernel
def scratch(n_words):
    """Arrays for `arborescence` on sentences of `n_words` words."""
    rows = np.empty((n_words + 1, n_words + 1))
    enter = np.empty((n_words + 1, n_words + 1), dtype=np.int64)
    return rows, enter, np.empty((8, 2 * n_words + 1), dtype=np.int64), np.empty(2 * n_words + 1)


@kernel
def max_marginals(arcs, arc_offsets, n_words, single_root, out):
    """For each arc the score of the best tree that uses it: O(n²) decodings with the arc forced.

    The arcs of the best tree of all need none.
    """
    for b in range(len(n_words)):
        n, first = n_words[b], arc_offsets[b]
        out[first : arc_offsets[b + 1]] = -np.inf
        rows, enter, nodes, best = scratch(n)
        kept = np.empty_like(rows)
        load_rows(arcs, first, n, single_root, kept)
        found, heads = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        rows[:] = kept
        if not arborescence(rows, single_root, enter, nodes, best, found):
            continue
        highest = tree_score(arcs, first, n, found)
        for j in range(1, n + 1):
            for i in range(n + 1):
                cell = first + i * (n + 1) + j
                if found[j - 1] == i:
                    out[cell] = highest
                elif kept[j, i] > -np.inf:
                    rows[:] = kept
                    rows[j, :] = -np.inf
                    rows[j, i] = kept[j, i]
                    if arborescence(rows, single_root, enter, nodes, best, heads):
                        out[cell] = tree_score(arcs, first, n, heads)


@kernel
def branches(arcs, first, n_words, single_root, tree, branch, forbidden, heads, scores):
    """The best trees of the parts into which a set of trees falls when its best one is taken out.

    The set keeps the heads of `tree` for words up to `branch`, and at the next word excludes the
    heads marked in `forbidden`, which the tree's own is added to. Part m keeps the heads of words
    up to m and excludes the tree's own at word m + 1; its best tree goes to heads[m], with its
    score, -inf where the part is empty.
    """
    rows, enter, nodes, best = scratch(n_words)
    kept = np.empty_like(rows)
    load_rows(arcs, first, n_words, single_root, kept)
    for j in range(branch):
        value = kept[j + 1, tree[j]]
        kept[j + 1, :] = -np.inf
        kept[j + 1, tree[j]] = value
    for i in range(n_words + 1):
        if forbidden[i]:
            kept[branch + 1, i] = -np.inf
    scores[:] = -np.inf
    for m in range(branch, n_words):
        rows[:] = kept
        rows[m + 1, tree[m]] = -np.inf
        if arborescence(rows, single_root, enter, nodes, best, heads[m]):
            scores[m] = tree_score(arcs, first, n_words, heads[m])
        value = kept[m + 1, tree[m]]
        kept[m + 1, :] = -np.inf
        kept[m + 1, tree[m]] = value
