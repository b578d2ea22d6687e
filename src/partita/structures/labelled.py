"""Labels on the arcs of one sentence: the covariance, and the best labellings of the best trees."""

import heapq
import itertools
from collections.abc import Iterator

import numpy as np

from partita.arrays import FloatArray, IntArray

Labelling = tuple[float, tuple[IntArray, IntArray]]


def labelled_covariance(
    covariance: FloatArray, marginals: FloatArray, arc_marginals: FloatArray
) -> FloatArray:
    """Covariance of labelled arcs out of that of arcs, with q = p(label | arc).

    Cov[(a, l), (b, m)] = q(l|a) q(m|b) Cov[a, b] + [a = b] p(a) (q(l|a) [l = m] - q(l|a) q(m|a))
    """
    n_labels = marginals.shape[-1]
    p = arc_marginals.ravel()
    q = np.zeros((len(p), n_labels))
    np.divide(marginals.reshape(-1, n_labels), p[:, None], out=q, where=p[:, None] > 0)
    result: FloatArray = np.einsum("al,ab,bm->albm", q, covariance, q)
    arcs, labels = np.arange(len(p)), np.arange(n_labels)
    # Advanced indices first: these views are (arc, label, label) and (arc, label).
    result[arcs, :, arcs, :] -= np.einsum("a,al,am->alm", p, q, q)
    result[arcs[:, None], labels, arcs[:, None], labels] += p[:, None] * q
    return result.reshape(p.size * n_labels, -1)


def best_labellings(
    scores: FloatArray, trees: list[tuple[IntArray, float]], k: int
) -> list[tuple[tuple[IntArray, IntArray], float]]:
    """The k best labelled trees with heads among `trees`, best first; scores is (n+1, n+1, L)."""
    streams = [labellings(scores, heads) for heads, _ in trees]
    merged = heapq.merge(*streams, key=lambda item: item[0])
    return [(structure, -loss) for loss, structure in itertools.islice(merged, k)]


def labellings(scores: FloatArray, heads: IntArray) -> Iterator[Labelling]:
    """All allowed labellings of a tree, best first, as (minus score, (heads, labels)).

    A labelling is a rank for each word among the labels of its arc. Each comes from the one with
    its last rank above 0 lowered by one, so that none is met twice.
    """
    words = np.arange(len(heads))
    rows = scores[heads, words + 1]
    order = np.argsort(-rows, axis=1, kind="stable")
    rows = np.take_along_axis(rows, order, axis=1)
    first = (0,) * len(heads)
    queue = [(-float(rows[:, 0].sum()), first, 0)]
    while queue:
        loss, ranks, last = heapq.heappop(queue)
        yield loss, (heads.copy(), order[words, ranks])
        for word in range(last, len(ranks)):
            rank = ranks[word] + 1
            if rank < rows.shape[1] and rows[word, rank] > -np.inf:
                moved = (*ranks[:word], rank, *ranks[word + 1 :])
                heapq.heappush(queue, (-float(rows[words, moved].sum()), moved, word))
