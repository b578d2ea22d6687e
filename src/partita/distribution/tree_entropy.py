"""The entropy of some words' heads, whatever the rest of the tree is."""

from collections.abc import Sequence

import numpy as np

from partita.distribution.trees import Tree

NEGLIGIBLE = 1e-13
"""Choices of heads that are less likely add less than rounding does."""


def head_entropy(p: Tree, words: Sequence[int]) -> float:
    """H of the heads of `words` together, in nats; p has one sentence, whose words count from 1.

    By the chain rule, p(h₁ … hₖ) = p(h₁) p(h₂ | h₁) …, each factor a marginal of the trees that
    have the heads before it: 1 + n + … + n^(k-1) inferences, in one batch for each word.

    >>> from partita import SpanningTree
    >>> p = SpanningTree(np.zeros((3, 3)), single_root=True)
    >>> round(head_entropy(p, [1]), 6), round(head_entropy(p, [1, 2]), 6), round(p.entropy, 6)
    (0.693147, 0.693147, 0.693147)
    """
    (scores,) = p.structures.split(p.scores)
    trees, weights = scores[None], np.ones(1)
    for place, word in enumerate(words):
        given = type(p)(trees, p.structures.single_root)
        weights = weights[:, None] * np.asarray(given.marginals)[:, :, word]
        rows, heads = np.nonzero(weights > NEGLIGIBLE)
        weights = weights[rows, heads]
        if place + 1 < len(words):
            trees = trees[rows]
            kept = trees[np.arange(len(rows)), heads, word]
            trees[:, :, word] = -np.inf
            trees[np.arange(len(rows)), heads, word] = kept
    return float(-(weights * np.log(weights)).sum())
