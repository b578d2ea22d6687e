"""Charts in blocks: of a batch too large to keep them, everything as of one that is small."""

from functools import partial

import numpy as np
import pytest

from partita.structures import charts
from partita.structures.base import Inference
from partita.structures.charts import Blocks, each_block, n_in_eights
from partita.structures.constituents import ConstituencyTrees
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.spanning_trees import SpanningTrees
from partita.training.threads import in_threads

N_WORDS = np.array([1, 7, 3, 2, 9, 5, 5, 4, 8, 1, 6, 3, 7])
KINDS = {
    "projective": lambda n_words: ProjectiveTrees(n_words),
    "projective, one root, labels": lambda n_words: ProjectiveTrees(n_words, 2, single_root=True),
    "siblings": lambda n_words: SiblingTrees(n_words),
    "siblings, one root": lambda n_words: SiblingTrees(n_words, single_root=True),
    "spanning": lambda n_words: SpanningTrees(n_words),
    "spanning, one root, labels": lambda n_words: SpanningTrees(n_words, 2, single_root=True),
    "constituents": lambda n_words: ConstituencyTrees(n_words),
    "constituents, labels": lambda n_words: ConstituencyTrees(n_words, 2),
}


def cuts(sizes):
    """How many sentences each block has."""
    sizes = np.array(sizes, dtype=int)
    return [len(block.order) for block in Blocks(np.arange(len(sizes)), sizes).cut]


def test_a_batch_is_cut_between_groups_into_an_even_number_of_like_blocks(monkeypatch):
    monkeypatch.setattr(charts, "BLOCK", 16)
    assert cuts([2] * 8) == [8]
    assert cuts([3] * 8) == [4, 4]
    assert cuts([2] * 16) == [8, 8]
    assert cuts([2] * 17) == [8, 4, 4, 1]
    assert cuts([10] * 11) == [4, 4, 3]
    assert cuts([1000]) == [1]
    assert cuts([]) == [0]


def test_few_charts_are_kept(monkeypatch):
    monkeypatch.setattr(charts, "MOST_KEPT", 100)
    order = np.arange(10)
    assert Blocks(order, np.full(10, 10)).is_kept
    assert not Blocks(order, np.full(10, 11)).is_kept


@pytest.mark.parametrize("most_kept", [19, 20])
def test_what_is_not_kept_is_dropped_at_once(most_kept, monkeypatch):
    """And made again when it is used; what is kept is made once."""
    monkeypatch.setattr(charts, "MOST_KEPT", most_kept)
    made, used = [], []

    def fill(order, offsets):
        made.append(order.tolist())
        return np.zeros(1)

    blocks = Blocks(np.arange(4), np.full(4, 5))
    found = blocks.fill(fill)
    assert [block.charts is not None for block in found] == [most_kept == 20]
    each_block(lambda order, charts: used.append(order.tolist()), fill, found)
    assert used == [[0, 1, 2, 3]]
    assert made == [[0, 1, 2, 3]] * (1 if most_kept == 20 else 2)


@pytest.mark.parametrize("keep", [False, True])
def test_charts_that_had_one_place_are_made_again_block_by_block(keep, monkeypatch):
    """All of a large batch at once would take many times the memory of its scores."""
    monkeypatch.setattr(charts, "MOST_KEPT", 0)
    monkeypatch.setattr(charts, "BLOCK", 1)
    made = []

    def fill(order, offsets):
        made.append(order.tolist())
        return np.zeros(1)

    blocks = Blocks(np.arange(8), np.full(8, 5), is_reused=True)
    found = blocks.fill(fill, keep=keep)
    assert made == [[0, 1, 2, 3, 4, 5, 6, 7]]
    made.clear()
    each_block(lambda order, charts: None, fill, found)
    assert made == [[0, 1, 2, 3], [4, 5, 6, 7]]


def kept(inference):
    """The charts, which are behind those of the labels."""
    inner = inference.state[1]
    state = inner.state if isinstance(inner, Inference) else inference.state
    # Those of spanning trees are the last.
    return state[0] if isinstance(state[0], list) else state[-1]


def test_blocks_keep_the_order(monkeypatch):
    monkeypatch.setattr(charts, "BLOCK", 1)
    order = np.random.default_rng(0).permutation(13)
    found = [block.order for block in Blocks(order, np.full(13, 5)).cut]
    assert [len(block) for block in found] == [4, 4, 4, 1]
    assert np.array_equal(np.concatenate(found), order)


def test_blocks_of_eights_come_first():
    blocks = Blocks(np.arange(20), np.full(20, 5), n_wide=16)
    assert [(len(block.order), block.n_lanes) for block in blocks.whole] == [(16, 8), (4, 4)]


def test_sentences_are_taken_in_eights_where_that_pays(monkeypatch):
    def n_wide(n_words):
        n_words = np.array(n_words)
        return n_in_eights(n_words, 6 * (n_words + 1) ** 2)

    monkeypatch.setattr(charts, "IS_LONG", True)
    assert n_wide([]) == n_wide([10] * 7) == 0
    assert n_wide([10] * 15) == 8
    assert n_wide([10] * 16) == 16
    assert n_wide([10] * 8 + [60] * 8) == 8  # the charts of those are too large
    assert n_wide([2] * 4 + [20] * 4) == 0
    monkeypatch.setattr(charts, "IS_LONG", False)
    assert n_wide([10] * 16) == 0


@pytest.mark.parametrize("most_kept", [0, 2**30])
@pytest.mark.parametrize("kind", KINDS)
def test_blocks_give_what_the_whole_batch_gives(kind, most_kept, monkeypatch):
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
    assert product.any()
    assert len(kept(expected)) == 1

    monkeypatch.setattr(charts, "MOST_KEPT", most_kept)
    monkeypatch.setattr(charts, "BLOCK", 1)
    cut.run = partial(in_threads, n_threads=2)
    found = cut.infer(scores)
    assert [block.charts is None for block in kept(found)] == [most_kept == 0] * 4
    np.testing.assert_array_equal(found.log_partition, expected.log_partition)
    np.testing.assert_array_equal(found.marginals, expected.marginals)
    for _ in range(2):
        np.testing.assert_array_equal(cut.covariance_product(scores, found, direction), product)


EIGHTS = {
    "many roots": lambda n_words: ProjectiveTrees(n_words),
    "one root": lambda n_words: ProjectiveTrees(n_words, single_root=True),
    "labels": lambda n_words: ProjectiveTrees(n_words, 2),
    "constituents": lambda n_words: ConstituencyTrees(n_words),
    "constituents, labels": lambda n_words: ConstituencyTrees(n_words, 2),
    "spanning, many roots": lambda n_words: SpanningTrees(n_words),
    "spanning, one root": lambda n_words: SpanningTrees(n_words, single_root=True),
    "spanning, labels": lambda n_words: SpanningTrees(n_words, 2),
}


@pytest.mark.parametrize("kind", EIGHTS)
def test_eights_give_what_fours_give(kind, monkeypatch):
    n_words = np.array([4, 5, 6, 4, 4, 1, 5, 6, 6, 5, 6, 4, 3, 5, 5, 6, 6, 1, 2])
    rng, found = np.random.default_rng(2), []
    for has_eight in (False, True):
        monkeypatch.setattr(charts, "IS_LONG", has_eight)
        monkeypatch.setattr(charts, "COST_OF_EIGHT", 0.0)
        trees = EIGHTS[kind](n_words)
        if not has_eight:
            scores, direction = rng.normal(size=(2, trees.n_parts))
            # Weights that are lost, and arcs that are forbidden.
            scores[::7] *= 300.0
            scores[5::50] = -np.inf
            direction[5::50] = 0.0
            trees.clear_unused(scores)
            direction[scores == -np.inf] = 0.0
        inference = trees.infer(scores)
        assert [block.n_lanes for block in kept(inference)] == ([8, 4] if has_eight else [4])
        found.append((*inference[:2], trees.covariance_product(scores, inference, direction)))
        once = trees.infer_once(scores)
        assert {block.charts for block in kept(once)} == {None}
        found.append((*once[:2], trees.covariance_product(scores, once, direction)))
    for others in found[1:]:
        for mine, its in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(its, mine)
