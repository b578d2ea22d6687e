"""A binary tree over classes of words: the two whose union loses least are merged, again and again.

The union of g and h loses, of the likelihood in `kernels.classes.exchange`,

    sum over other classes c of f(N[g, c]) + f(N[h, c]) - f(N[g, c] + N[h, c]), both ways,
    + the same of their own four cells - 2 (f(n[g]) + f(n[h]) - f(n[g] + n[h]))

A merger changes the losses of two other classes by its own column only, so that the tree costs
O(classes^3).
"""

import numpy as np

from partita.kernels.classes.exchange import information
from partita.kernels.jit import inlined, kernel, step


@inlined
def union(terms, m, n):
    """f(m) + f(n) - f(m + n)."""
    return information(terms, m) + information(terms, n) - information(terms, m + n)


@inlined
def column(counts, terms, g, h, other):
    """What the union of g and h loses beside another class."""
    return union(terms, counts.after[g, other], counts.after[h, other]) + union(
        terms, counts.before[g, other], counts.before[h, other]
    )


@step
def loss(counts, terms, is_there, g, h):
    """What the union of g and h loses."""
    lost = -2.0 * union(terms, counts.sizes[g], counts.sizes[h])
    for other in range(len(is_there)):
        if is_there[other] and other != g and other != h:
            lost += column(counts, terms, g, h, other)
    N, total = counts.after, 0
    for i in (g, h):
        for j in (g, h):
            lost += information(terms, N[i, j])
            total += N[i, j]
    return lost - information(terms, total)


@step
def add_column(counts, terms, is_there, n_classes, chosen, sign, losses):
    """Add what all unions of others lose beside one class to their losses, or take it away."""
    for g in range(n_classes):
        for h in range(g):
            if is_there[g] and is_there[h] and g != chosen and h != chosen:
                losses[g, h] += sign * column(counts, terms, g, h, chosen)


@step
def pour(table, one, other):
    """Add row and column `other` to those of `one`, and clear them."""
    for its in range(len(table)):
        table[one, its] += table[other, its]
        table[other, its] = 0
    for its in range(len(table)):
        table[its, one] += table[its, other]
        table[its, other] = 0


@kernel
def merge(counts, terms, is_there, losses, mergers):
    """Fill `mergers`, rows (class, class that joins it), (n_classes - 1, 2), in their order.

    `counts` are changed; `is_there`, all true, has room for the boundary, which is never merged;
    `losses` is room, (n_classes, n_classes).
    """
    n_classes = len(losses)
    for g in range(n_classes):
        for h in range(g):
            losses[g, h] = loss(counts, terms, is_there, g, h)
    for number in range(n_classes - 1):
        least, one, other = np.inf, -1, -1
        for g in range(n_classes):
            for h in range(g):
                if is_there[g] and is_there[h] and losses[g, h] < least:
                    least, one, other = losses[g, h], h, g
        mergers[number, 0], mergers[number, 1] = one, other
        add_column(counts, terms, is_there, n_classes, one, -1.0, losses)
        add_column(counts, terms, is_there, n_classes, other, -1.0, losses)
        pour(counts.after, one, other)
        pour(counts.before, one, other)
        counts.sizes[one] += counts.sizes[other]
        counts.sizes[other] = 0
        is_there[other] = False
        add_column(counts, terms, is_there, n_classes, one, 1.0, losses)
        for g in range(n_classes):
            if is_there[g] and g != one:
                losses[max(g, one), min(g, one)] = loss(counts, terms, is_there, g, one)
