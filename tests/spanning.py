"""Spanning trees by enumeration. It shares no code with the library."""

import itertools
from functools import lru_cache

import numpy as np


def reaches_root(heads, word):
    """Whether the heads lead from a word to the root, which takes at most one step a word."""
    for _ in heads:
        if word == 0:
            return True
        word = heads[word - 1]
    return word == 0


def all_spanning_heads(n_words, single_root=False):
    """The heads of every spanning tree."""
    return [
        heads
        for heads in itertools.product(range(n_words + 1), repeat=n_words)
        if all(reaches_root(heads, word) for word in range(1, n_words + 1))
        and not (single_root and heads.count(0) > 1)
    ]


@lru_cache
def all_spanning_trees(shape, single_root=False):
    """Every tree of arcs of a shape, labelled where it has three axes, and the arcs it uses."""
    n_words, labels = shape[0] - 1, shape[2:]
    structures, counts = [], []
    for heads in all_spanning_heads(n_words, single_root):
        for chosen in itertools.product(range(labels[0] if labels else 1), repeat=n_words):
            used = np.zeros((n_words + 1, n_words + 1, *(labels or (1,))))
            used[heads, range(1, n_words + 1), chosen] = 1
            structures.append((np.array(heads), np.array(chosen)) if labels else np.array(heads))
            counts.append(used.ravel())
    return structures, np.array(counts)
