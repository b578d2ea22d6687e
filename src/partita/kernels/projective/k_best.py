"""The k best projective trees of one sentence, lazily: Huang & Chiang (2005), algorithm 3.

A span is a word with all that it governs on one side, or two such halves that meet under an arc.
It is made of two smaller spans, in a way for each place to split it and each tree of either part.
The trees of a span are found in order, the next one only when it is asked for; every tree has
exactly one derivation, so none is found twice.

The best tree of a part need not have been found: the chart knows its score. It is `BEST`, and the
first tree of the part's list once there is one.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.forests.layout import with_room
from partita.kernels.heaps import N_LINKS, NONE, with_item, without_top
from partita.kernels.jit import inlined, kernel, step
from partita.kernels.projective.log import inside, layout, prepare

RIGHT, LEFT, PAIR = 0, 1, 2
# Columns of `spans`: the top of the heap of ways that may come next, the first and last tree found,
# the state, and which successors of the last tree are not in the heap yet.
HEAP, FIRST, LAST, STATE, PENDING = 0, 1, 2, 3, 4
FRESH, OPEN, EXHAUSTED = 0, 1, 2
INNER_RAISED, OUTER_RAISED = 1, 2
# Columns of `trees` behind the links of their heap: where the span is split, the trees of its two
# parts (of the one under the arc first), and the tree that follows in the list of the span.
SPLIT, INNER, OUTER, NEXT = N_LINKS, N_LINKS + 1, N_LINKS + 2, N_LINKS + 3
N_COLUMNS = N_LINKS + 4
BEST, UNKNOWN = NONE, -2


class TreeSearch(NamedTuple):
    """Everything known about the trees of all spans."""

    spans: np.ndarray
    """(3 (n + 1)², 5) integers: of kind, first and last word."""
    trees: np.ndarray
    """(room, N_COLUMNS) integers: trees found, and ways that may become one."""
    totals: np.ndarray
    """The score of each."""
    n_used: np.ndarray
    """How many there are: one number."""


@inlined
def span_of(at, kind, i, j):
    """The number of a span."""
    return (kind * at.stride + i) * at.stride + j


@inlined
def named(at, span):
    """Its kind, first and last word: the head of RIGHT is the first, that of LEFT the last."""
    rest = span // at.stride
    return rest // at.stride, rest % at.stride, span % at.stride


@inlined
def inner_of(at, kind, i, j, split):
    """The part under the arc; of a pair, its first half."""
    if kind == PAIR:
        return span_of(at, RIGHT, i, split)
    return span_of(at, PAIR, i, split) if kind == RIGHT else span_of(at, PAIR, split, j)


@inlined
def outer_of(at, kind, i, j, split):
    """The part beyond the arc; of a pair, its second half."""
    if kind == PAIR:
        return span_of(at, LEFT, split + 1, j)
    return span_of(at, RIGHT, split, j) if kind == RIGHT else span_of(at, LEFT, i, split)


@inlined
def total_of(values, at, totals, kind, i, j, split, inner, outer):
    """The score of a way to make a span: a term of Eisner's recursion."""
    if kind == PAIR:
        first = values[at.right + i * at.stride + split] if inner == BEST else totals[inner]
        second = values[at.left + j * at.stride + split + 1] if outer == BEST else totals[outer]
        return first + second
    head, end = (i, j) if kind == RIGHT else (j, i)
    arc = head * at.stride + split
    first = values[at.arc + arc] if inner == BEST else values[at.weight + arc] + totals[inner]
    half = at.right if kind == RIGHT else at.left
    return first + (values[half + end * at.stride + split] if outer == BEST else totals[outer])


@inlined
def first_split(kind, i):
    """Splits are from here on, one for each word of the span but one."""
    return i + 1 if kind == RIGHT else i


@inlined
def push(search, values, at, span, split, inner, outer):
    """A way to make a span, unless it is impossible."""
    spans, trees, totals, n_used = search
    kind, i, j = named(at, span)
    total = total_of(values, at, totals, kind, i, j, split, inner, outer)
    if total > -np.inf:
        way = n_used[0]
        n_used[0] += 1
        trees[way, SPLIT] = split
        trees[way, INNER] = inner
        trees[way, OUTER] = outer
        trees[way, NEXT] = NONE
        totals[way] = total
        spans[span, HEAP] = with_item(trees, totals, spans[span, HEAP], way)


@inlined
def tree_after(spans, trees, span, tree):
    """The next tree of a span; NONE behind the last, UNKNOWN if it must be found first."""
    if tree == BEST:
        tree = spans[span, FIRST]
    if tree != NONE and trees[tree, NEXT] != NONE:
        return trees[tree, NEXT]
    return NONE if spans[span, STATE] == EXHAUSTED else UNKNOWN


@inlined
def push_successors(search, values, at, span):
    """Queue what follows the last tree; returns the part of which a tree must be found first.

    The next tree of either part; the outer one moves on with the best inner one. So every pair of
    trees follows exactly one other.
    """
    spans, trees = search.spans, search.trees
    kind, i, j = named(at, span)
    last = spans[span, LAST]
    if spans[span, PENDING] & INNER_RAISED:
        part = inner_of(at, kind, i, j, trees[last, SPLIT])
        following = tree_after(spans, trees, part, trees[last, INNER])
        if following == UNKNOWN:
            return part
        if following != NONE:
            push(search, values, at, span, trees[last, SPLIT], following, trees[last, OUTER])
        spans[span, PENDING] -= INNER_RAISED
    if spans[span, PENDING] & OUTER_RAISED:
        part = outer_of(at, kind, i, j, trees[last, SPLIT])
        following = tree_after(spans, trees, part, trees[last, OUTER])
        if following == UNKNOWN:
            return part
        if following != NONE:
            push(search, values, at, span, trees[last, SPLIT], BEST, following)
        spans[span, PENDING] = 0
    return NONE


@inlined
def take_best(spans, trees, totals, span):
    """The best way becomes the next tree of the span; without one there is none."""
    top, last = spans[span, HEAP], spans[span, LAST]
    if top == NONE:
        spans[span, STATE] = EXHAUSTED
        return
    spans[span, HEAP] = without_top(trees, totals, top)
    if last == NONE:
        spans[span, FIRST] = top
    else:
        trees[last, NEXT] = top
    spans[span, LAST] = top
    spans[span, PENDING] = INNER_RAISED + (OUTER_RAISED if trees[top, INNER] == BEST else 0)


@step
def find_next(search, values, at, whole, stack):
    """One more tree of a span, or its end; False if there is no room for what that takes.

    It needs trees of smaller spans first; these wait on a stack, which can be left at any time and
    begun anew.
    """
    spans, trees, totals, n_used = search
    stack[0], height = whole, 1
    while height > 0:
        span = stack[height - 1]
        if n_used[0] + at.stride + 2 > len(totals):
            return False
        if spans[span, STATE] == FRESH:
            spans[span, STATE] = OPEN
            kind, i, j = named(at, span)
            start = first_split(kind, i)
            for split in range(start, start + j - i):
                push(search, values, at, span, split, BEST, BEST)
        part = push_successors(search, values, at, span)
        if part != NONE:
            stack[height] = part
            height += 1
        else:
            take_best(spans, trees, totals, span)
            height -= 1
    return True


@step
def start_search(at):
    """The search that has found nothing."""
    spans = np.empty((3 * at.stride * at.stride, 5), dtype=np.int64)
    for span in range(len(spans)):
        _, i, j = named(at, span)
        spans[span, HEAP] = NONE
        spans[span, FIRST] = NONE
        spans[span, LAST] = NONE
        # A word alone has one tree, without parts.
        spans[span, STATE] = FRESH if i != j else EXHAUSTED
        spans[span, PENDING] = 0
    room, n_used = 32 * at.stride, np.empty(1, dtype=np.int64)
    n_used[0] = 0
    return TreeSearch(spans, np.empty((room, N_COLUMNS), dtype=np.int64), np.empty(room), n_used)


@step
def grown(search, room):
    """The same search with room for so many trees."""
    totals = with_room(search.totals, room)
    trees = np.empty((len(totals), N_COLUMNS), dtype=np.int64)
    for tree in range(len(search.trees)):
        for column in range(N_COLUMNS):
            trees[tree, column] = search.trees[tree, column]
    return TreeSearch(search.spans, trees, totals, search.n_used)


@kernel
def k_best(arcs, start, n_words, single_root, k):
    """The search that knows the k best trees of a sentence, or all; its charts, how many it found,
    and what is part of the score of every tree.
    """
    at = layout(n_words)
    values = np.empty(at.end)
    shared = prepare(arcs, None, start, at, values, None)
    inside(values, None, at, single_root, True)
    search = start_search(at)
    whole, n_found = span_of(at, RIGHT, 0, n_words), 0
    stack = np.empty(2 * at.stride + 2, dtype=np.int64)
    while n_found < k:
        if not find_next(search, values, at, whole, stack):
            search = grown(search, len(search.totals) + at.stride + 2)
        elif search.spans[whole, STATE] == EXHAUSTED:
            break
        else:
            n_found += 1
    return search, values, n_found, shared


@step
def best_split(values, at, kind, i, j):
    """Where the best tree of a span is split, of which none was found."""
    best, chosen = -np.inf, NONE
    start = first_split(kind, i)
    for split in range(start, start + j - i):
        total = total_of(values, at, values, kind, i, j, split, BEST, BEST)
        if total > best:
            best, chosen = total, split
    return chosen


@kernel
def write_trees(search, values, n_words, shared, heads, scores):
    """The heads and the scores of the trees found, best first."""
    at, (spans, trees, totals, _) = layout(n_words), search
    whole, stack = span_of(at, RIGHT, 0, n_words), np.empty((3 * at.stride, 2), dtype=np.int64)
    found = spans[whole, FIRST]
    for rank in range(len(scores)):
        scores[rank] = shared + totals[found]
        stack[0, 0], stack[0, 1], height = whole, found, 1
        while height > 0:
            height -= 1
            span, tree = stack[height, 0], stack[height, 1]
            kind, i, j = named(at, span)
            if i == j:
                continue
            if tree == BEST:
                tree = spans[span, FIRST]
            split = best_split(values, at, kind, i, j) if tree == NONE else trees[tree, SPLIT]
            if kind != PAIR:
                heads[rank, split - 1] = i if kind == RIGHT else j
            stack[height, 0] = inner_of(at, kind, i, j, split)
            stack[height, 1] = BEST if tree == NONE else trees[tree, INNER]
            stack[height + 1, 0] = outer_of(at, kind, i, j, split)
            stack[height + 1, 1] = BEST if tree == NONE else trees[tree, OUTER]
            height += 2
        found = trees[found, NEXT]
