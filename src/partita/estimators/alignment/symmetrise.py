"""One alignment out of those of two directions, and links out of probabilities."""

from collections.abc import Iterable

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.alignments import SYMMETRISATIONS, Link, Symmetrisation
from partita.kernels.bitext import symmetrise as kernels

_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


def symmetrise(
    forward: Iterable[Link], backward: Iterable[Link], method: Symmetrisation
) -> list[Link]:
    """The links of both directions, (source, target) each, as one set; ascending.

    `grow-diag` begins with the intersection and adds neighbours (also diagonal ones) that are in
    the union while one of their words has no link; `-final` then adds links of either direction
    with a word that has none, and `-final-and` those of which both words have none (Koehn, Och &
    Marcu 2003). Neighbours are added in order of the links that they neighbour, to the end.

    >>> forward, backward = [(0, 0), (1, 1), (2, 1)], [(0, 0), (1, 1), (2, 3)]
    >>> symmetrise(forward, backward, "intersection")
    [(0, 0), (1, 1)]
    >>> symmetrise(forward, backward, "grow-diag")
    [(0, 0), (1, 1), (2, 1)]
    >>> symmetrise(forward, backward, "union")
    [(0, 0), (1, 1), (2, 1), (2, 3)]
    """
    one, two = set(forward), set(backward)
    if method == "forward":
        return sorted(one)
    if method == "backward":
        return sorted(two)
    if method == "intersection":
        return sorted(one & two)
    if method == "union":
        return sorted(one | two)
    if not method.startswith("grow-diag"):
        raise ValueError(
            f"links of two directions cannot be symmetrised by {method!r}; expected one of "
            f"{', '.join(name for name in SYMMETRISATIONS if name != 'mean')}."
        )
    links = _grown(one, two)
    if method != "grow-diag":
        both = method == "grow-diag-final-and"
        _finish(links, sorted(one), both)
        _finish(links, sorted(two), both)
    return sorted(links)


def grown(
    forward: IntArray, backward: IntArray, source_offsets: IntArray, target_offsets: IntArray
) -> tuple[IntArray, IntArray]:
    """The links of many pairs by "grow-diag": rows (source, target), and where each pair's end.

    `forward` has the source place of each target word, or -1, of all pairs end to end, `backward`
    the target place of each source word.

    >>> ends = np.array([0, 2])
    >>> grown(np.array([0, 0]), np.array([0, -1]), ends, ends)
    (array([[0, 0],
           [0, 1]]), array([0, 2]))
    """
    links = np.empty((len(forward) + len(backward), 2), dtype=np.int64)
    ends = np.empty(len(source_offsets), dtype=np.int64)
    n_links = kernels.grow_diagonally(
        forward, backward, source_offsets, target_offsets, links, ends
    )
    return links[:n_links], ends


def _grown(one: set[Link], two: set[Link]) -> set[Link]:
    links, union = one & two, one | two
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    waiting = sorted(links)
    # Whatever is added may have neighbours of its own, so it joins the end of the queue.
    for i, j in waiting:
        for down, right in _NEIGHBOURS:
            link = i + down, j + right
            is_free = link[0] not in rows or link[1] not in columns
            if is_free and link in union and link not in links:
                links.add(link)
                rows.add(link[0])
                columns.add(link[1])
                waiting.append(link)
    return links


def _finish(links: set[Link], candidates: list[Link], both: bool) -> None:
    rows, columns = {i for i, _ in links}, {j for _, j in links}
    for i, j in candidates:
        free = (i not in rows, j not in columns)
        if all(free) if both else any(free):
            links.add((i, j))
            rows.add(i)
            columns.add(j)


def combined(forward: FloatArray, backward: FloatArray, method: Symmetrisation) -> FloatArray:
    """The probabilities of links, (n, m), out of those of two directions, both (n, m).

    `intersection` is their product, the probability that both have the link; `union` that at least
    one has it; anything that grows, and `mean`, their mean.

    >>> combined(np.array([[0.5]]), np.array([[0.8]]), "intersection")
    array([[0.4]])
    """
    if method == "forward":
        return forward
    if method == "backward":
        return backward
    if method == "intersection":
        return forward * backward
    if method == "union":
        return 1 - (1 - forward) * (1 - backward)
    return (forward + backward) / 2


def above(probabilities: FloatArray, threshold: float) -> list[Link]:
    """The links whose probability is at least a threshold, ascending.

    >>> above(np.array([[0.9, 0.2], [0.4, 0.6]]), 0.5)
    [(0, 0), (1, 1)]
    """
    rows, columns = np.nonzero(probabilities >= threshold)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def least_risk(probabilities: FloatArray) -> list[Link]:
    """The links A with the best expected balance of precision and recall; ascending.

    Maximises F = 2 sum_(A) p / (|A| + sum p), the ratio of expectations of which F1 is made (and
    1 - AER where all links are sure). The best A of each size has the likeliest links, so that
    sorting finds it: O(n m log n m). Ties go to fewer links.

    >>> least_risk(np.array([[0.9, 0.2], [0.3, 0.6]]))
    [(0, 0), (1, 1)]
    >>> least_risk(np.array([[0.3, 0.2], [0.1, 0.0]]))
    [(0, 0), (0, 1)]
    """
    flat = probabilities.ravel()
    order = np.argsort(-flat, kind="stable")
    gains = np.cumsum(flat[order])
    if not len(gains) or gains[-1] == 0:
        return []
    values = 2 * gains / (np.arange(1, len(flat) + 1) + gains[-1])
    chosen = np.sort(order[: int(np.argmax(values)) + 1])
    rows, columns = np.divmod(chosen, probabilities.shape[1])
    return list(zip(rows.tolist(), columns.tolist(), strict=True))
