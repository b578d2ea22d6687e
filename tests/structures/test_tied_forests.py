"""Forests whose edges share parts: as forests of edges, summed over the edges of a part."""

from collections.abc import Sequence

import numpy as np
import pytest

from partita.structures.forests import Forests
from partita.structures.hypergraph import Hypergraph
from partita.structures.tied_forests import TiedForest, TiedForests

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
# Two kinds of leaf, a node of two leaves or one, and a root over both; edges 0 and 3 share part 0,
# edge 4 has no score and edge 2 is forbidden.
GRAPH = Hypergraph([0, 0, 0, 1, 1, 2, 2], [(), (), (), (0, 0), (0,), (1, 0), (1,)], root=2)
PARTS = np.array([0, 1, 4, 0, 3, 2, 1], dtype=np.int32)
N_PARTS = 3


class Built(Sequence):
    """Forests that are built when they are asked for."""

    def __len__(self):
        return 2

    def __getitem__(self, index):
        if index >= 2:
            raise IndexError(index)
        return TiedForest(Forests([GRAPH]), PARTS, N_PARTS)


@pytest.fixture(params=["list", "built"])
def tied(request):
    forest = TiedForest(Forests([GRAPH]), PARTS, N_PARTS)
    return TiedForests([forest, forest] if request.param == "list" else Built(), [N_PARTS, N_PARTS])


@pytest.mark.parametrize("more", range(5))
def test_parts_that_no_edge_has_count_nothing(more):
    """The last of them, too, though no edge says that they are there."""
    tied = TiedForest(Forests([GRAPH]), np.minimum(PARTS, 2), 3 + more)
    counts = tied.part_counts(np.ones(len(PARTS)))
    assert counts.tolist() == [2.0, 2.0, 3.0] + [0.0] * more
    assert TiedForest(Forests([GRAPH]), PARTS, N_PARTS).part_counts(np.ones(7)).tolist() == [
        2,
        2,
        1,
    ]


def test_sets_that_are_the_same(tied):
    forest = TiedForest(Forests([GRAPH]), PARTS, N_PARTS)
    sizes = [N_PARTS, N_PARTS]
    assert tied.is_same_set(TiedForests([forest, forest], sizes))
    assert not tied.is_same_set(TiedForests([forest], [N_PARTS]))
    others = np.array([0, 1, 4, 0, 3, 2, 2], dtype=np.int32)
    other = TiedForest(Forests([GRAPH]), others, N_PARTS)
    assert not tied.is_same_set(TiedForests([forest, other], sizes))


def test_what_forbids_everything(tied, scores):
    scores[N_PARTS : N_PARTS + 2] = -np.inf
    assert tied.infer(scores).log_partition[1] == -np.inf
    assert tied.why_empty(scores, 1) == Forests([GRAPH]).why_empty(
        np.append(scores[N_PARTS:], [0.0, -np.inf])[PARTS], 0
    )


@pytest.fixture
def scores():
    return np.random.default_rng(3).normal(size=2 * N_PARTS)


def derivations(scores):
    """All derivations of one forest with their scores and counts of parts, by enumeration."""
    edges = np.append(scores, [0.0, -np.inf])[PARTS]
    found = Forests([GRAPH]).k_best(np.where(edges > -np.inf, 0.0, -np.inf), 1000)[0]
    rows = [np.bincount(PARTS[derivation], minlength=5)[:N_PARTS] for derivation, _ in found]
    counts = np.array(rows, dtype=float)
    return [derivation for derivation, _ in found], counts @ scores, counts


def test_log_partition_and_marginals(tied, scores):
    inference = tied.infer(scores)
    for b, mine in enumerate(np.split(scores, 2)):
        _, values, counts = derivations(mine)
        weights = np.exp(values)
        np.testing.assert_allclose(inference.log_partition[b], np.log(weights.sum()), **CLOSE)
        marginals = weights @ counts / weights.sum()
        np.testing.assert_allclose(inference.marginals[3 * b : 3 * b + 3], marginals, **CLOSE)


def test_covariance(tied, scores):
    inference = tied.infer(scores)
    for matrix, mine in zip(tied.covariance(scores, inference), np.split(scores, 2), strict=True):
        _, values, counts = derivations(mine)
        expected = np.cov(counts.T, aweights=np.exp(values), bias=True)
        np.testing.assert_allclose(matrix, expected, **CLOSE)


def test_best_and_counts(tied, scores):
    best = tied.argmax(scores)
    lists = tied.k_best(scores, 3)
    largest = tied.max_marginals(scores)
    for b, mine in enumerate(np.split(scores, 2)):
        _, values, counts = derivations(mine)
        np.testing.assert_allclose(best.scores[b], values.max(), **CLOSE)
        np.testing.assert_allclose([s for _, s in lists[b]], np.sort(values)[::-1][:3], **CLOSE)
        np.testing.assert_array_equal(lists[b][0][0], best.structures[b])
        for part in range(N_PARTS):
            expected = values[counts[:, part] > 0].max()
            np.testing.assert_allclose(largest[3 * b + part], expected, **CLOSE)
    totals = (tied.counts(best.structures) * scores).reshape(2, -1).sum(axis=1)
    np.testing.assert_allclose(totals, best.scores, **CLOSE)


def test_samples_never_use_what_is_forbidden(tied, scores):
    rng = np.random.default_rng(0)
    samples = tied.sample(scores, tied.infer(scores), 50, rng)
    assert [len(drawn) for drawn in samples] == [50, 50]
    assert not any((PARTS[derivation] == N_PARTS + 1).any() for derivation in samples[0])


def test_numbers_of_parts_must_fit():
    with pytest.raises(ValueError, match="0 forests and 1 numbers of parts"):
        TiedForests([], [1])
