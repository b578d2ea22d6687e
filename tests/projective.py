"""All projective trees of a short sentence, by trying all heads; no code of the library."""

import itertools
from functools import lru_cache

import numpy as np


def tree_shape(n_words, n_labels=None):
    """Shape of the scores of the arcs of a sentence."""
    labels = () if n_labels is None else (n_labels,)
    return (n_words + 1, n_words + 1, *labels)


@lru_cache
def all_projective_trees(shape, single_root):
    """Every projective tree with scores of this shape, and its count of each arc, in C order."""
    n_words, labels = shape[0] - 1, shape[2:]
    structures, counts = [], []
    for heads in itertools.product(range(n_words + 1), repeat=n_words):
        if not is_projective_tree(heads) or (single_root and heads.count(0) != 1):
            continue
        for labelling in itertools.product(*(range(n) for n in labels * n_words)):
            count = np.zeros(shape)
            for m, head in enumerate(heads):
                count[(head, m + 1, *labelling[m : m + 1])] = 1
            tree = np.array(heads)
            structures.append((tree, np.array(labelling)) if labels else tree)
            counts.append(count.ravel())
    return structures, np.array(counts)


@lru_cache
def all_sibling_trees(n_words, single_root):
    """Every projective tree, and its counts of arcs and of siblings [head, inner, modifier]."""
    structures, arcs = all_projective_trees((n_words + 1, n_words + 1), single_root)
    counts = []
    for heads, arc_counts in zip(structures, arcs, strict=True):
        siblings = np.zeros((n_words + 1,) * 3)
        for modifier in range(1, n_words + 1):
            head = heads[modifier - 1]
            inside = range(min(head, modifier) + 1, max(head, modifier))
            between = [word for word in inside if heads[word - 1] == head]
            inner = min(between, key=lambda word: abs(word - modifier), default=head)
            siblings[head, inner, modifier] = 1
        counts.append(np.concatenate([arc_counts, siblings.ravel()]))
    return structures, np.array(counts)


def is_projective_tree(heads):
    """Whether every word reaches the root, and so through its head does all that lies between."""
    ancestors = [ancestors_of(word, heads) for word in range(len(heads) + 1)]
    if any(found is None for found in ancestors):
        return False
    return all(
        head in ancestors[between]
        for word, head in enumerate(heads, start=1)
        for between in range(min(head, word) + 1, max(head, word))
    )


def ancestors_of(word, heads):
    """The ancestors of a word up to the root; None for a word on or above which is a cycle."""
    found = []
    while word != 0:
        word = heads[word - 1]
        if len(found) > len(heads):
            return None
        found.append(word)
    return found
