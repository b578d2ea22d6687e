"""How many structures there are: the recursions of each kind in whole numbers, however large.

Nothing is rounded, so these are exact where floating-point numbers, which end at 2^53, are not.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from partita.arrays import Array, BoolArray
from partita.kernels.spanning.remainders import determinant
from partita.structures.hypergraph import Hypergraph

BASE = 2**32
"""Of the digits of large numbers."""
PRIMES_BELOW = 2**25
"""What the kernel of determinants can take."""


def count_sequences(unary: BoolArray, pairwise: BoolArray) -> int:
    """Tag sequences with allowed tags, (n, s), and transitions, (s, s) or (n-1, s, s): O(n s²).

    >>> count_sequences(np.ones((70, 2), dtype=bool), np.ones((2, 2), dtype=bool)) == 2**70
    True
    """
    # The digits of a number for each tag, in base 2^32, the lowest first. What is carried goes one
    # place up and no further, so a digit is below 2^32 + s, and a sum of s digits below 2^53, up to
    # which doubles are exact.
    tables = np.asarray(pairwise, dtype=np.float64)
    digits = np.asarray(unary[0], dtype=np.float64)[None]
    for position, allowed in enumerate(unary[1:]):
        sums = (digits @ (tables if tables.ndim == 2 else tables[position])) * allowed
        carries = np.floor(sums / BASE)
        digits = sums - carries * BASE
        digits[1:] += carries[:-1]
        if carries[-1].any():
            digits = np.concatenate([digits, carries[-1:]])
    totals = digits.sum(axis=1).tolist()
    return sum(int(total) * BASE**place for place, total in enumerate(totals))


def count_segmentations(segments: BoolArray, pairwise: BoolArray) -> int:
    """Ways to cut and tag a sentence by allowed segments, (n, L, s), and transitions: O(n L s²).

    >>> count_segmentations(np.ones((4, 2, 1), dtype=bool), np.ones((1, 1), dtype=bool))
    5
    """
    allowed, transitions = as_whole(segments), as_whole(pairwise)
    n_words, longest, n_tags = allowed.shape
    ends = as_whole(np.zeros((n_words + 1, n_tags)))
    for first in range(n_words):
        n_ways = ends[first] @ transitions if first else as_whole(np.ones(n_tags))
        for length in range(1, min(longest, n_words - first) + 1):
            ends[first + length] += n_ways * allowed[first, length - 1]
    return int(ends[n_words].sum())


def count_projective_trees(arcs: Array, *, single_root: bool) -> int:
    """Projective trees, each as often as the product of arcs[head, modifier] says: O(n³).

    These are 1 where an arc is allowed, or the number of its labels. Eisner's algorithm.

    >>> count_projective_trees(np.ones((4, 4), dtype=int), single_root=False)
    12
    """
    n_ways, n_words = as_whole(arcs), len(arcs) - 1
    # Spans with their head at the left end, or at the right end.
    right, left = as_whole(np.eye(n_words + 1)), as_whole(np.eye(n_words + 1))
    arc_right, arc_left = as_whole(np.zeros((2, n_words + 1, n_words + 1)))
    for width in range(1, n_words):
        for i in range(1, n_words + 1 - width):
            j = i + width
            pair = right[i, i:j] @ left[i + 1 : j + 1, j]
            arc_right[i, j], arc_left[i, j] = n_ways[i, j] * pair, n_ways[j, i] * pair
            right[i, j] = arc_right[i, i + 1 : j + 1] @ right[i + 1 : j + 1, j]
            left[i, j] = left[i, i:j] @ arc_left[i:j, j]
    # The root's words share out the sentence among them.
    ends = as_whole(np.zeros(n_words + 1))
    ends[0] = 1
    for j in range(1, n_words + 1):
        for root in range(1, j + 1):
            before = sum(
                (ends[i] if not single_root or i == 0 else 0) * left[i + 1, root]
                for i in range(root)
            )
            ends[j] += before * n_ways[0, root] * right[root, j]
    return int(ends[n_words])


def count_spanning_trees(arcs: Array, *, single_root: bool) -> int:
    """Trees, crossing arcs allowed, each as often as the product of its arcs says.

    The determinant of the Laplacian matrix; with a single root its first row is that of the arcs of
    the root (Koo et al. 2007). It is computed modulo primes, O(n³) for 25 bits, whose product is
    more than the ways to choose a head for each word: trees are some of these.

    >>> [count_spanning_trees(np.ones((4, 4)), single_root=single) for single in (False, True)]
    [16, 9]
    """
    n_ways = np.asarray(arcs).astype(np.int64)
    words = n_ways[1:, 1:].copy()
    np.fill_diagonal(words, 0)
    laplacian = -words
    np.fill_diagonal(laplacian, words.sum(axis=0) + (0 if single_root else n_ways[0, 1:]))
    if single_root:
        laplacian[0] = n_ways[0, 1:]
    most = math.prod((words.sum(axis=0) + n_ways[0, 1:]).tolist())
    found, product = 0, 1
    for prime in _large_primes():
        if product > most:
            break
        rest = int(determinant((laplacian % prime).astype(np.float64), float(prime)))
        # The number below product * prime that leaves both remainders.
        found += product * ((rest - found) * pow(product, -1, prime) % prime)
        product *= prime
    return found


def _large_primes() -> Iterator[int]:
    """Primes below 2^25, the largest first."""
    divisors = np.arange(3, math.isqrt(PRIMES_BELOW) + 1, 2)
    candidates = range(PRIMES_BELOW - 1, PRIMES_BELOW // 2, -2)
    return (number for number in candidates if (number % divisors).all())


def count_derivations(graph: Hypergraph, allowed: BoolArray) -> int:
    """Derivations of the root by allowed edges, (n_edges,): O(edges + tails).

    >>> graph = Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    >>> count_derivations(graph, np.array([True, True, True]))
    4
    """
    n_ways: list[int] = [0] * graph.n_nodes
    tails, ends = graph.tails_flat.tolist(), graph.tail_offsets.tolist()
    edges, starts = graph.backward_edges.tolist(), graph.backward_offsets.tolist()
    is_allowed = allowed.tolist()
    for node in graph.order.tolist():
        for edge in edges[starts[node] : starts[node + 1]]:
            if is_allowed[edge]:
                product = 1
                for tail in tails[ends[edge] : ends[edge + 1]]:
                    product *= n_ways[tail]
                n_ways[node] += product
    return n_ways[graph.root]


def as_whole(values: Any) -> Array:
    """An array of Python's whole numbers, which have no largest one."""
    numbers: Array = np.asarray(values).astype(np.int64).astype(object)
    return numbers
