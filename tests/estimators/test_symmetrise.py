"""Two directions as one alignment; links out of probabilities, beside enumeration."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from partita.data.alignments import SYMMETRISATIONS
from partita.estimators.alignment.symmetrise import (
    above,
    combined,
    grown,
    least_risk,
    symmetrise,
)
from partita.structures.batch import offsets


def plain_grow_diag(one, two, final):
    """Koehn's pseudo-code: sweeps over the grid until nothing changes."""
    neighbours = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]
    links = one & two
    aligned_e = {i for i, _ in links}
    aligned_f = {j for _, j in links}
    changed = True
    while changed:
        changed = False
        for i, j in sorted(links):
            for di, dj in neighbours:
                new = i + di, j + dj
                if (new[0] not in aligned_e or new[1] not in aligned_f) and new in one | two:
                    links.add(new)
                    aligned_e.add(new[0])
                    aligned_f.add(new[1])
                    changed = True
    for links_of in (one, two) if final else ():
        for i, j in sorted(links_of):
            free = i not in aligned_e, j not in aligned_f
            if all(free) if final == "and" else any(free):
                links.add((i, j))
                aligned_e.add(i)
                aligned_f.add(j)
    return links


def random_links(rng):
    n, m = rng.integers(1, 7, size=2)
    forward = {(int(rng.integers(n)), j) for j in range(m) if rng.random() < 0.8}
    backward = {(i, int(rng.integers(m))) for i in range(n) if rng.random() < 0.8}
    return forward, backward


def test_many_pairs_grow_as_each_alone():
    rng = np.random.default_rng(0)
    shapes = rng.integers(1, 9, size=(300, 2))
    best = [
        [np.where(rng.random(one) < 0.8, rng.integers(other, size=one), -1) for one, other in sides]
        for sides in ((shape[::-1], shape) for shape in shapes)
    ]
    forward, backward = (np.concatenate(side) for side in zip(*best, strict=True))
    links, ends = grown(forward, backward, *map(offsets, shapes.T))
    assert len(ends) == 301
    for pair, (there, back) in enumerate(best):
        expected = symmetrise(
            [(int(i), j) for j, i in enumerate(there) if i >= 0],
            [(i, int(j)) for i, j in enumerate(back) if j >= 0],
            "grow-diag",
        )
        assert [tuple(link) for link in links[ends[pair] : ends[pair + 1]].tolist()] == expected


def test_sets():
    one, two = {(0, 0), (1, 1)}, {(1, 1), (2, 0)}
    assert symmetrise(one, two, "intersection") == [(1, 1)]
    assert symmetrise(one, two, "union") == [(0, 0), (1, 1), (2, 0)]
    assert symmetrise(one, two, "forward") == [(0, 0), (1, 1)]
    assert symmetrise(one, two, "backward") == [(1, 1), (2, 0)]
    with pytest.raises(ValueError, match="cannot be symmetrised by 'mean'"):
        symmetrise(one, two, "mean")


def test_growing_keeps_its_promises():
    rng = np.random.default_rng(0)
    n_equal = 0
    for _ in range(200):
        one, two = random_links(rng)
        grown = set(symmetrise(one, two, "grow-diag"))
        final = set(symmetrise(one, two, "grow-diag-final"))
        final_and = set(symmetrise(one, two, "grow-diag-final-and"))
        assert one & two <= grown <= final_and | grown <= one | two
        assert grown <= final <= one | two
        # Every word with a link in either direction has one at last.
        for axis in (0, 1):
            assert {link[axis] for link in final} == {link[axis] for link in one | two}
        # The order of additions is ours, so the sets may differ where neighbours compete.
        n_equal += grown == plain_grow_diag(one, two, "")
        if grown == plain_grow_diag(one, two, ""):
            assert final == plain_grow_diag(one, two, "or")
            assert final_and == plain_grow_diag(one, two, "and")
    assert n_equal > 180


def test_probabilities():
    rng = np.random.default_rng(1)
    p, q = rng.random((2, 3, 4))
    np.testing.assert_array_equal(combined(p, q, "forward"), p)
    np.testing.assert_array_equal(combined(p, q, "backward"), q)
    np.testing.assert_allclose(combined(p, q, "intersection"), p * q, rtol=1e-12)
    np.testing.assert_allclose(combined(p, q, "union"), p + q - p * q, rtol=1e-12)
    for name in SYMMETRISATIONS:
        assert ((0 <= combined(p, q, name)) & (combined(p, q, name) <= 1)).all()
    assert above(p, 0.5) == [tuple(map(int, place)) for place in np.argwhere(p >= 0.5)]


def test_least_risk_by_enumeration():
    rng = np.random.default_rng(2)
    for _ in range(20):
        p = rng.random((2, 4)) ** 3
        places = list(product(range(2), range(4)))
        everything = chain.from_iterable(combinations(places, k) for k in range(1, 9))

        def expected(links, p=p):
            return 2 * sum(p[link] for link in links) / (len(links) + p.sum())

        best = max(everything, key=expected)
        assert least_risk(p) == sorted(best)


def test_nothing_to_link():
    assert least_risk(np.zeros((2, 3))) == []
    assert least_risk(np.zeros((0, 3))) == []
    assert above(np.zeros((2, 3)), 0.5) == []
