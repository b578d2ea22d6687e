"""All derivations of a pair by plain recursion. Shares no code with the library."""

import math
from functools import cache

import numpy as np


def all_trees(links, deletions, insertions):
    """Every derivation: ("link", i, k), ("delete", i), ("insert", k), ("[]" or "<>", a, b).

    Children are in the order of the source.
    """

    @cache
    def over(i, j, k, l):  # noqa: E741
        trees = []
        if (j - i, l - k) == (1, 1) and links[i][k]:
            trees.append(("link", i, k))
        if (j - i, l - k) == (1, 0) and deletions[i]:
            trees.append(("delete", i))
        if (j - i, l - k) == (0, 1) and insertions[k]:
            trees.append(("insert", k))
        for s in range(i, j + 1):
            for u in range(k, l + 1):
                for kind, first, second in (
                    ("[]", (i, s, k, u), (s, j, u, l)),
                    ("<>", (i, s, u, l), (s, j, k, u)),
                ):
                    if is_empty(first) or is_empty(second):
                        continue
                    for left in over(*first):
                        for right in over(*second):
                            trees.append((kind, left, right))
        return trees

    return over(0, len(deletions), 0, len(insertions))


def is_empty(span):
    return span[0] == span[1] and span[2] == span[3]


def leaves(tree):
    """Terminals in the order of the source."""
    if tree[0] in ("[]", "<>"):
        return leaves(tree[1]) + leaves(tree[2])
    return [tree]


def alignment(tree):
    return frozenset(leaf[1:] for leaf in leaves(tree) if leaf[0] == "link")


def rule_counts(tree, n, m):
    """Counts in the order of the parts: links, deletions, insertions, straight, inverted."""
    counts = np.zeros(n * m + n + m + 2)

    def visit(node):
        if node[0] == "link":
            counts[node[1] * m + node[2]] += 1
        elif node[0] == "delete":
            counts[n * m + node[1]] += 1
        elif node[0] == "insert":
            counts[n * m + n + node[1]] += 1
        else:
            counts[-2 if node[0] == "[]" else -1] += 1
            visit(node[1])
            visit(node[2])

    visit(tree)
    return counts


def log_sum(scores):
    largest = max(scores)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(score - largest) for score in scores))


def total_and_counts(trees, parts, n, m):
    """log Z and expected rule counts, from a list of trees."""
    rows = np.array([rule_counts(tree, n, m) for tree in trees])
    scores = [math.fsum(c * p for c, p in zip(row, parts, strict=True) if c) for row in rows]
    total = log_sum(scores)
    return total, np.exp(np.array(scores) - total) @ rows


def forest_trees(forest):
    """The trees of a Forest, from its arrays alone; unit edges and the start are left out."""
    graph = forest.hypergraph
    names = {1: "[]", 2: "<>"}

    @cache
    def below(node):
        trees = []
        for edge in graph.backward_star(node).tolist():
            rule, tails = int(forest.rule[edge]), graph.tails(edge).tolist()
            if rule in names:
                trees += [
                    (names[rule], left, right)
                    for left in below(tails[0])
                    for right in below(tails[1])
                ]
            elif rule == 3:
                trees.append(("link", int(forest.source_word[edge]), int(forest.target_word[edge])))
            elif rule == 4:
                trees.append(("delete", int(forest.source_word[edge])))
            elif rule == 5:
                trees.append(("insert", int(forest.target_word[edge])))
            else:
                trees += below(tails[0])
        return trees

    return below(graph.root)


def schroeder(k):
    """Large Schröder numbers S_0, S_1, ... = 1, 2, 6, 22, ...; S_{-1} is 1 here."""
    values = [1, 2]
    for n in range(2, k + 1):
        values.append(((6 * n - 3) * values[n - 1] - (n - 2) * values[n - 2]) // (n + 1))
    return values[max(k, 0)]


def n_alignments(n, m):
    return sum(math.comb(n, k) * math.comb(m, k) * schroeder(k - 1) for k in range(min(n, m) + 1))
