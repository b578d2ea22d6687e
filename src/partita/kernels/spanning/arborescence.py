"""The best spanning tree: Chu-Liu-Edmonds on a dense matrix in O(n²), by growing a path.

Scores are stored by modifier, `rows[node, head]`, in whole SIMD lanes with -inf behind the last
head. From a word outside the tree, follow best arcs from modifier to head. Where the path meets the
tree, all of it joins the tree. Where it meets itself, the cycle is contracted into a new node that
is entered, through any of its nodes v, with

    rows[new, u] = max_v (rows[v, u] - the best arc into v)

and the path goes on from the new node. Every contraction costs O(n) for each node that vanishes.
In the end contracted nodes are opened, newest first: the arc that enters a node replaces the best
arcs of all nodes inside it that it enters.

With a single root, trees are compared by the number of root arcs first, and then by score. So a
root arc is taken only by a node that no arc from a word enters, and if two nodes take one, there
is no tree. Nothing is subtracted from root arcs, so no digits are lost.

Nodes are 0, the root, the words 1 .. n, and contracted nodes from n + 1 on.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.simd.lanes import N_LANES, load, maximum, select, store, transpose
from partita.kernels.simd.small_matrix import highest_lane, padded_width

# Rows of the integer scratch: one cell for each node, or each word.
ROW, PARENT, HEAD, MODIFIER, STATE, PATH, TOP, REPLACED = 0, 1, 2, 3, 4, 5, 6, 7
# States of nodes.
NEW, ON_PATH, IN_TREE = 0, 1, 2


class Scratch(NamedTuple):
    """What `arborescence` works in."""

    rows: np.ndarray
    """Scores, [node, head]; to be loaded."""
    enter: np.ndarray
    """The word through which an arc from a head enters a node, [node, head]; as a double."""
    nodes: np.ndarray
    """Whole numbers, (8, 2 n + 1)."""
    best: np.ndarray
    """The score of the arc into each node."""


@step
def scratch(n_words):
    """Arrays for sentences of up to `n_words` words."""
    size = (n_words + 1) * padded_width(n_words + 1)
    n_nodes = 2 * n_words + 1
    return Scratch(
        np.empty(size), np.empty(size), np.empty((8, n_nodes), dtype=np.int64), np.empty(n_nodes)
    )


@step
def load_rows(arcs, first, n_words, single_root, rows):
    """rows[modifier, head] = arcs[head, modifier], with -inf on the diagonal; row 0 is not used.

    Four by four arcs at a time; the last four overlap those before them. Every tree with a single
    root has one arc from it, so the best of these is taken out: however large they are, differences
    between trees keep their digits.
    """
    size, width = n_words + 1, padded_width(n_words + 1)
    if size < N_LANES:
        for i in range(size):
            for j in range(1, size):
                rows[j * width + i] = arcs[first + i * size + j]
    else:
        for head in range(0, size, N_LANES):
            i = min(head, size - N_LANES)
            row = first + i * size
            for modifier in range(0, size, N_LANES):
                j = min(modifier, size - N_LANES)
                a, b, c, d = transpose(
                    load(arcs, row + j),
                    load(arcs, row + size + j),
                    load(arcs, row + 2 * size + j),
                    load(arcs, row + 3 * size + j),
                )
                cell = j * width + i
                store(rows, cell, a)
                store(rows, cell + width, b)
                store(rows, cell + 2 * width, c)
                store(rows, cell + 3 * width, d)
    highest = -np.inf
    for j in range(1, size):
        for behind in range(j * width + size, (j + 1) * width):
            rows[behind] = -np.inf
        rows[j * width + j] = -np.inf
        highest = max(highest, rows[j * width])
    if single_root and highest > -np.inf:
        for j in range(1, size):
            rows[j * width] -= highest


@step
def tree_score(arcs, first, n_words, heads, at):
    """Sum of the arcs of a tree, whose heads are at heads[at:]."""
    total = 0.0
    for j in range(n_words):
        total += arcs[first + heads[at + j] * (n_words + 1) + j + 1]
    return total


@step
def best_arc(rows, at, width, single_root):
    """The best head in a row and its score; a root arc only where it must be, if `single_root`.

    The maximum first, in lanes, and then where it is: the first of several.
    """
    best = max(max(rows[at + 1], rows[at + 2]), rows[at + 3])
    if width > N_LANES:
        lanes = load(rows, at + N_LANES)
        for u in range(at + 2 * N_LANES, at + width, N_LANES):
            lanes = maximum(lanes, load(rows, u))
        best = max(best, highest_lane(lanes))
    if rows[at] > best and not (single_root and best > -np.inf):
        return 0, rows[at]
    head = 1
    while rows[at + head] != best:
        head += 1
    return head, best


@step
def contract(work, n_words, start, length, new):
    """Merge the nodes path[start:length] into the node `new`, which keeps the first one's row."""
    rows, enter, nodes, width = work.rows, work.enter, work.nodes, padded_width(n_words + 1)
    into = nodes[ROW, nodes[PATH, start]]
    to = into * width
    nodes[ROW, new] = into
    for position in range(start, length):
        node = nodes[PATH, position]
        row, lost = nodes[ROW, node] * width, work.best[node]
        nodes[PARENT, node] = new
        for u in range(0, width, N_LANES):
            value = load(rows, row + u) - lost
            if position > start:
                old, words = load(rows, to + u), load(enter, to + u)
                is_better = value > old
                store(enter, to + u, select(is_better, load(enter, row + u), words))
                value = select(is_better, value, old)
            store(rows, to + u, value)
    for word in range(1, n_words + 1):
        top = nodes[TOP, word]
        if nodes[PARENT, top] == new:
            nodes[TOP, word] = new
            rows[to + word] = -np.inf


@step
def open_nodes(nodes, last, heads, at):
    """Heads of the words, to heads[at:], out of the best arcs of all nodes up to `last`."""
    for node in range(last + 1):
        nodes[REPLACED, node] = 0
    for node in range(last, 0, -1):
        if not nodes[REPLACED, node]:
            word = nodes[MODIFIER, node]
            heads[at + word - 1] = nodes[HEAD, node]
            while word != node:
                nodes[REPLACED, word] = 1
                word = nodes[PARENT, word]


@step
def prepare(work, n_words):
    """Every word a node of its own, entered through itself."""
    nodes, width = work.nodes, padded_width(n_words + 1)
    for node in range(2 * n_words + 1):
        nodes[STATE, node], nodes[PARENT, node] = NEW, 0
    for word in range(n_words + 1):
        nodes[ROW, word], nodes[TOP, word] = word, word
        for cell in range(word * width, (word + 1) * width):
            work.enter[cell] = word
    nodes[STATE, 0] = IN_TREE


@step
def arborescence(work, n_words, single_root, heads, at):
    """Heads of the best tree, to heads[at:]; the rows are used up. Returns whether there is one."""
    rows, nodes, best, width = work.rows, work.nodes, work.best, padded_width(n_words + 1)
    prepare(work, n_words)
    last, n_roots = n_words, 0
    for start in range(1, n_words + 1):
        length, node = 0, nodes[TOP, start]
        while nodes[STATE, node] != IN_TREE:
            if nodes[STATE, node] == ON_PATH:
                position = length - 1
                while nodes[PATH, position] != node:
                    position -= 1
                last += 1
                contract(work, n_words, position, length, last)
                length, node = position, last
            nodes[PATH, length], nodes[STATE, node] = node, ON_PATH
            length += 1
            row = nodes[ROW, node] * width
            head, score = best_arc(rows, row, width, single_root)
            best[node] = score
            if score == -np.inf:
                return False
            nodes[HEAD, node], nodes[MODIFIER, node] = head, int(work.enter[row + head])
            n_roots += head == 0
            node = nodes[TOP, head]
        for position in range(length):
            nodes[STATE, nodes[PATH, position]] = IN_TREE
    open_nodes(nodes, last, heads, at)
    return not single_root or n_roots == 1


@kernel
def best_trees(arcs, arc_offsets, word_offsets, n_words, single_root, heads, scores):
    """Heads and score of the best tree of each sentence; -inf where there is none."""
    most = 0
    for b in range(len(n_words)):
        most = max(most, n_words[b])
    work = scratch(most)
    for b in range(len(n_words)):
        n, first, at = n_words[b], arc_offsets[b], word_offsets[b]
        load_rows(arcs, first, n, single_root, work.rows)
        scores[b] = -np.inf
        for word in range(at, at + n):
            heads[word] = 0
        if arborescence(work, n, single_root, heads, at):
            scores[b] = tree_score(arcs, first, n, heads, at)


@pasted
def copy(values, n_values, out):
    """out = values."""
    for cell in range(n_values):
        out[cell] = values[cell]


@step
def keep_only(rows, modifier, head, width):
    """Forbid all arcs into a modifier but that from a head."""
    kept = rows[modifier * width + head]
    for cell in range(modifier * width, (modifier + 1) * width):
        rows[cell] = -np.inf
    rows[modifier * width + head] = kept


@step
def choose_among(rows, modifier, is_open, width):
    """Let a modifier choose among some heads, at no cost."""
    for head in range(width):
        rows[modifier * width + head] = -np.inf
    for head in range(len(is_open)):
        if is_open[head]:
            rows[modifier * width + head] = 0.0


@step
def is_below(heads, node, top):
    """Whether a node of a tree is `top`, or hangs below it."""
    while node != top and node != 0:
        node = heads[node - 1]
    return node == top


@kernel
def max_marginals(arcs, arc_offsets, n_words, single_root, out):
    """For each arc the score of the best tree that uses it.

    A modifier j that may choose among some heads at no cost leaves the best of all other arcs. With
    them j can hang on the head that it chose, and as well on each of the others that is not below
    it: these are answered, and it chooses among the rest. A root that has one word is asked alone.
    The arcs of the best tree of all need nothing. At most O(n²) decodings, mostly far fewer.
    """
    for b in range(len(n_words)):
        n, first = n_words[b], arc_offsets[b]
        for cell in range(first, arc_offsets[b + 1]):
            out[cell] = -np.inf
        width, size = padded_width(n + 1), (n + 1) * padded_width(n + 1)
        work, kept = scratch(n), np.empty(size)
        load_rows(arcs, first, n, single_root, kept)
        found, heads = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        is_open = np.empty(n + 1, dtype=np.bool_)
        copy(kept, size, work.rows)
        if not arborescence(work, n, single_root, found, 0):
            continue
        highest = tree_score(arcs, first, n, found, 0)
        for j in range(1, n + 1):
            out[first + found[j - 1] * (n + 1) + j] = highest
            if single_root and found[j - 1] != 0 and kept[j * width] > -np.inf:
                copy(kept, size, work.rows)
                keep_only(work.rows, j, 0, width)
                if arborescence(work, n, single_root, heads, 0):
                    out[first + j] = tree_score(arcs, first, n, heads, 0)
            n_open = 0
            for i in range(n + 1):
                is_open[i] = kept[j * width + i] > -np.inf and found[j - 1] != i
                if single_root and i == 0:
                    is_open[i] = False
                n_open += is_open[i]
            while n_open > 0:
                copy(kept, size, work.rows)
                choose_among(work.rows, j, is_open, width)
                if not arborescence(work, n, single_root, heads, 0):
                    break
                for i in range(n + 1):
                    if is_open[i] and not is_below(heads, i, j):
                        heads[j - 1] = i
                        out[first + i * (n + 1) + j] = tree_score(arcs, first, n, heads, 0)
                        is_open[i] = False
                        n_open -= 1


@kernel
def branches(arcs, first, n_words, single_root, tree, branch, forbidden, heads, scores):
    """The best trees of the parts into which a set of trees falls when its best one is taken out.

    The set keeps the heads of `tree` for words up to `branch`, and at the next word excludes the
    heads marked in `forbidden`, which the tree's own is added to. Part m keeps the heads of words
    up to m and excludes the tree's own at word m + 1; its best tree goes to row m of the flat
    `heads`, with its score, -inf where the part is empty.
    """
    width, size = padded_width(n_words + 1), (n_words + 1) * padded_width(n_words + 1)
    work, kept = scratch(n_words), np.empty(size)
    load_rows(arcs, first, n_words, single_root, kept)
    for j in range(branch):
        keep_only(kept, j + 1, tree[j], width)
        scores[j] = -np.inf
    for i in range(n_words + 1):
        if forbidden[i]:
            kept[(branch + 1) * width + i] = -np.inf
    for m in range(branch, n_words):
        copy(kept, size, work.rows)
        work.rows[(m + 1) * width + tree[m]] = -np.inf
        scores[m] = -np.inf
        if arborescence(work, n_words, single_root, heads, m * n_words):
            scores[m] = tree_score(arcs, first, n_words, heads, m * n_words)
        keep_only(kept, m + 1, tree[m], width)
