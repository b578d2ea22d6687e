"""Classes of words that make bigrams likely: every word in turn moves to where it fits best.

With N[g, h] pairs of neighbours whose words are of the classes g and h, and n[g] words of class g,
p(word | word before) = p(class | class before) p(word | class) makes the text likely by

    sum_gh f(N[g, h]) - 2 sum_g f(n[g]) + what no class changes,        f(n) = n log n

(Brown et al. 1992; Martin, Liermann & Ney 1998). A word that has left its class adds to class h

    sum over c != h of f(N[h, c] + right[c]) - f(N[h, c]) + f(N[c, h] + left[c]) - f(N[c, h])
    + f(N[h, h] + right[h] + left[h] + own) - f(N[h, h]) - 2 (f(n[h] + n) - f(n[h]))

where right[c] words of class c stand behind it and left[c] before it, and `own` times itself. The
classes beside a rare word are few, so that a pass costs O(pairs of neighbours x classes).
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from partita.arrays import IntArray
from partita.kernels.jit import inlined, kernel, step


class Neighbours(NamedTuple):
    """The different words that stand behind each word, or before it, and how often they do."""

    firsts: IntArray
    """(n_words + 1,): those of word w are at firsts[w] to firsts[w + 1]."""
    words: IntArray
    counts: IntArray


class ClassCounts(NamedTuple):
    """How often classes follow each other; the last class is the boundary of sentences."""

    after: NDArray[np.int64]
    """[class, class behind it]."""
    before: NDArray[np.int64]
    """[class, class before it]: the same, so that both are read in the order of memory."""
    sizes: IntArray
    """Occurrences of each class."""


class Beside(NamedTuple):
    """Room for the classes on one side of a word."""

    counts: IntArray
    """(n_classes,); zeros between words."""
    classes: IntArray
    """Which of them are not 0."""


@inlined
def information(terms, n):
    """n log n; `terms` has the first of them."""
    return terms[n] if n < len(terms) else n * math.log(n)


@step
def look(neighbours, word, classes, beside):
    """The classes beside a word, without the word itself; how many classes, and how often itself.

    Fills `beside`.
    """
    n_classes = own = 0
    for place in range(neighbours.firsts[word], neighbours.firsts[word + 1]):
        other = neighbours.words[place]
        if other == word:
            own = neighbours.counts[place]
            continue
        its = classes[other]
        if beside.counts[its] == 0:
            beside.classes[n_classes] = its
            n_classes += 1
        beside.counts[its] += neighbours.counts[place]
    return n_classes, own


@inlined
def shift(counts, its, right, n_right, left, n_left, own, size, sign):
    """Add a word to class `its`, or take it away (sign -1)."""
    for place in range(n_right):
        other = right.classes[place]
        counts.after[its, other] += sign * right.counts[other]
        counts.before[other, its] += sign * right.counts[other]
    for place in range(n_left):
        other = left.classes[place]
        counts.after[other, its] += sign * left.counts[other]
        counts.before[its, other] += sign * left.counts[other]
    counts.after[its, its] += sign * own
    counts.before[its, its] += sign * own
    counts.sizes[its] += sign * size


@inlined
def add_side(table, beside, n_beside, terms, gains):
    """gains[h] += sum over classes c beside the word of f(table[c, h] + count) - f(table[c, h])."""
    for place in range(n_beside):
        other = beside.classes[place]
        more = beside.counts[other]
        for its in range(len(gains)):
            n = table[other, its]
            gains[its] += information(terms, n + more) - information(terms, n)


@step
def gain(counts, right, n_right, left, n_left, own, size, terms, gains):
    """What a word adds to the likelihood in each class; `gains` leaves out the boundary."""
    for its in range(len(gains)):
        n = counts.sizes[its]
        gains[its] = -2.0 * (information(terms, n + size) - information(terms, n))
    add_side(counts.before, right, n_right, terms, gains)
    add_side(counts.after, left, n_left, terms, gains)
    for its in range(len(gains)):
        behind, ahead = right.counts[its], left.counts[its]
        if behind + ahead + own == 0:
            continue
        # Both sides meet in the cell of the class with itself, which was counted for each alone.
        n = counts.after[its, its]
        together = information(terms, n + behind + ahead + own) + information(terms, n)
        apart = information(terms, n + behind) + information(terms, n + ahead)
        gains[its] += together - apart


@kernel
def exchange(order, behind, ahead, sizes, classes, counts, right, left, terms, gains):
    """One pass: each word of `order` moves to the class where it adds most; how many moved.

    `behind` and `ahead` are the neighbours of words, `sizes` their occurrences, `classes` their
    classes and `counts` those of classes; these two are changed.
    """
    n_moved = 0
    for word in order:
        n_right, own = look(behind, word, classes, right)
        n_left, _ = look(ahead, word, classes, left)
        its, size = classes[word], sizes[word]
        shift(counts, its, right, n_right, left, n_left, own, size, -1)
        gain(counts, right, n_right, left, n_left, own, size, terms, gains)
        best = its
        for other in range(len(gains)):
            if gains[other] > gains[best]:
                best = other
        n_moved += best != its
        classes[word] = best
        shift(counts, best, right, n_right, left, n_left, own, size, 1)
        for place in range(n_right):
            right.counts[right.classes[place]] = 0
        for place in range(n_left):
            left.counts[left.classes[place]] = 0
    return n_moved
