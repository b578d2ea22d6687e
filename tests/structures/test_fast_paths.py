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

N_WORDS = np.arange(1, 14)
KINDS = {
    "chain, shared": (lambda: Chains(N_WORDS, 5, shared=True), lambda state: state[-1]),
    "chain, by position": (lambda: Chains(N_WORDS, 5, shared=False), lambda state: state[-1]),
    "segments": (lambda: SegmentChains(N_WORDS, 4, 3), lambda state: np.flatnonzero(~state[-1])),
    "spanning": (lambda: SpanningTrees(N_WORDS), lambda state: state[1]),
    "spanning, one root": (
        lambda: SpanningTrees(N_WORDS, single_root=True),
        lambda state: state[1],
    ),
    "projective": (lambda: ProjectiveTrees(N_WORDS), lambda state: state[1]),
    "projective, one root": (
        lambda: ProjectiveTrees(N_WORDS, single_root=True),
        lambda state: state[1],
    ),
    "siblings": (lambda: SiblingTrees(N_WORDS), lambda state: state[1]),
    "siblings, one root": (lambda: SiblingTrees(N_WORDS, single_root=True), lambda state: state[1]),
    "constituents": (
        lambda: ConstituencyTrees(N_WORDS),
        lambda state: [] if state[1] is None else state[1].sentences,
    ),
}


@pytest.mark.parametrize("shift", [0.0, -100.0])
@pytest.mark.parametrize("kind", KINDS)
def test_no_sentence_with_moderate_scores_is_done_again(kind, shift):
    make, unsafe = KINDS[kind]
    structures = make()
    scores = np.random.default_rng(0).normal(size=structures.n_parts) + shift
    structures.clear_unused(scores)
    assert len(unsafe(structures.infer(scores).state)) == 0


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
