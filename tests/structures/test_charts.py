"""Charts in blocks: of a batch too large to keep them, everything as of one that is small."""

import numpy as np
import pytest

from partita.structures import charts
from partita.structures.base import Inference
from partita.structures.constituents import ConstituencyTrees
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.sibling_trees import SiblingTrees

N_WORDS = np.array([1, 7, 3, 2, 9, 5, 5, 4, 8, 1, 6, 3, 7])
KINDS = {
    "projective": lambda n_words: ProjectiveTrees(n_words),
    "projective, one root, labels": lambda n_words: ProjectiveTrees(n_words, 2, single_root=True),
    "siblings": lambda n_words: SiblingTrees(n_words),
    "siblings, one root": lambda n_words: SiblingTrees(n_words, single_root=True),
    "constituents": lambda n_words: ConstituencyTrees(n_words),
    "constituents, labels": lambda n_words: ConstituencyTrees(n_words, 2),
}


def cuts(order, sizes):
    """How many sentences each block has."""
    return [len(block) for block in charts.in_blocks(np.array(order, dtype=int), np.array(sizes))]


def test_a_batch_is_cut_between_groups_where_a_block_is_full(monkeypatch):
    monkeypatch.setattr(charts, "MOST_KEPT", 100)
    monkeypatch.setattr(charts, "BLOCK", 16)
    assert cuts(range(10), [10] * 10) == [10]
    assert cuts(range(10), [2] * 10) == [10]
    assert cuts(range(11), [10] * 11) == [4, 4, 3]
    assert cuts(range(33), [4] * 33) == [4] * 8 + [1]
    assert cuts(range(60), [2] * 60) == [8] * 7 + [4]
    assert cuts([], []) == [0]


def kept(inference):
    """The charts, which are behind those of the labels."""
    inner = inference.state[1]
    return inner.state[0] if isinstance(inner, Inference) else inference.state[0]


def test_blocks_keep_the_order(monkeypatch):
    monkeypatch.setattr(charts, "MOST_KEPT", 0)
    monkeypatch.setattr(charts, "BLOCK", 1)
    order = np.random.default_rng(0).permutation(13)
    found = charts.in_blocks(order, np.full(13, 5))
    assert [len(block) for block in found] == [4, 4, 4, 1]
    assert np.array_equal(np.concatenate(found), order)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_give_what_the_whole_batch_gives(kind, monkeypatch):
    rng = np.random.default_rng(1)
    whole, cut = KINDS[kind](N_WORDS), KINDS[kind](N_WORDS)
    scores, direction = rng.normal(size=(2, whole.n_parts))
    # Some underflow in probabilities, and are done again.
    start, end = whole.part_offsets[4:6]
    scores[start:end] *= 1000.0
    for each in (scores, direction):
        whole.clear_unused(each)
    direction[direction == -np.inf] = 0.0
    expected = whole.infer(scores)
    product = whole.covariance_product(scores, expected, direction)

    monkeypatch.setattr(charts, "MOST_KEPT", 0)
    monkeypatch.setattr(charts, "BLOCK", 1)
    found = cut.infer(scores)
    assert kept(found) is None
    assert kept(expected) is not None
    np.testing.assert_array_equal(found.log_partition, expected.log_partition)
    np.testing.assert_array_equal(found.marginals, expected.marginals)
    for _ in range(2):
        np.testing.assert_array_equal(cut.covariance_product(scores, found, direction), product)
    assert product.any()
