"""Moderate scores are summed in probabilities: the safe path would hide that the fast one is wrong.

A fast recursion that goes wrong mostly ends in numbers that are called unsafe, and the same sums
are done again in logarithms: right, and many times slower. So these tests ask which path was taken.
"""

import numpy as np
import pytest

from partita.structures.chains import Chains
from partita.structures.constituents import ConstituencyTrees
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.segments import SegmentChains
from partita.structures.sibling_trees import SiblingTrees
from partita.structures.spanning_trees import SpanningTrees

N_WORDS = range(1, 14)
GROUPS = {"together": [N_WORDS], "alone": [[n_words] for n_words in N_WORDS]}


def second(state):
    return state[1]


def chain(n_tags, *, shared):
    return lambda n_words: Chains(n_words, n_tags, shared=shared), lambda state: state[-1]


KINDS = {
    "chain, shared": chain(5, shared=True),
    "chain of one tag": chain(1, shared=True),
    "chain of two tags": chain(2, shared=True),
    "chain, by position": chain(5, shared=False),
    "chain of two tags, by position": chain(2, shared=False),
    "segments": (lambda n: SegmentChains(n, 4, 3), lambda state: np.flatnonzero(~state[-1])),
    "spanning": (SpanningTrees, second),
    "spanning, one root": (lambda n: SpanningTrees(n, single_root=True), second),
    "projective": (ProjectiveTrees, second),
    "projective, one root": (lambda n: ProjectiveTrees(n, single_root=True), second),
    "siblings": (SiblingTrees, second),
    "siblings, one root": (lambda n: SiblingTrees(n, single_root=True), second),
    "constituents": (
        ConstituencyTrees,
        lambda state: [] if state[1] is None else state[1].sentences,
    ),
}


@pytest.mark.parametrize("shift", [0.0, -100.0])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_with_moderate_scores_is_done_again(kind, groups, shift):
    make, unsafe = KINDS[kind]
    rng = np.random.default_rng(0)
    for n_words in GROUPS[groups]:
        structures = make(np.array(n_words))
        scores = rng.normal(size=structures.n_parts) + shift
        structures.clear_unused(scores)
        assert len(unsafe(structures.infer(scores).state)) == 0


@pytest.mark.parametrize("root", [1, 2, 3])
@pytest.mark.parametrize("n_sentences", [1, 4])
def test_elimination_ends_with_a_root_that_leads_to_all_words(root, n_sentences):
    """Others can be the root as well, but what hangs on them is too unlikely for a double."""
    arcs = np.full((4, 4), -1000.0)
    arcs[0], arcs[root] = -10.0, 0.0
    arcs[0, root] = 0.0
    structures = SpanningTrees([3] * n_sentences, single_root=True)
    inference = structures.infer(np.tile(arcs.reshape(-1), n_sentences))
    assert len(inference.state[1]) == 0
    np.testing.assert_allclose(inference.log_partition, 0.0, atol=1e-12)


def test_steps_of_markov_chains_keep_the_segments_that_came():
    """No step: what comes back is what came, sentences of several segments and all."""
    structures = SegmentChains([5, 1, 4], 3, 2)
    given = [
        np.array([[0, 2, 1], [2, 5, 0]]),
        np.array([[0, 1, 1]]),
        np.array([[0, 1, 0], [1, 3, 1], [3, 4, 1]]),
    ]
    scores = np.zeros(structures.n_parts)
    structures.clear_unused(scores)
    found = structures.resampled(scores, given, 0, np.random.default_rng(0))
    for mine, came in zip(found, given, strict=True):
        np.testing.assert_array_equal(mine, came)
