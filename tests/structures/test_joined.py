"""Structures of several kinds in one batch: each member answers for its own sentences."""

import numpy as np
import pytest

from partita.structures.chains import Chains
from partita.structures.joined import JoinedStructures
from partita.structures.projective_trees import ProjectiveTrees


@pytest.fixture
def members():
    return Chains([2, 1], n_tags=2, shared=True), ProjectiveTrees([2])


def test_the_best_of_all(members):
    joined = JoinedStructures(members)
    scores = np.random.default_rng(0).normal(size=joined.n_parts)
    best = joined.argmax(scores)
    ends = joined.part_offsets[joined.n_sentences - 1]
    alone = [members[0].argmax(scores[:ends]), members[1].argmax(scores[ends:])]
    np.testing.assert_array_equal(best.scores, np.concatenate([each.scores for each in alone]))
    structures = [*alone[0].structures, *alone[1].structures]
    for mine, theirs in zip(best.structures, structures, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    np.testing.assert_array_equal(joined.n_words, [2, 1, 2])


def test_the_same_members_in_the_same_order(members):
    joined = JoinedStructures(members)
    assert joined.is_same_set(JoinedStructures(members))
    assert joined.is_same_set(JoinedStructures([Chains([2, 1], 2, shared=True), members[1]]))
    assert not joined.is_same_set(JoinedStructures(members[:1]))
    assert not joined.is_same_set(JoinedStructures(members[::-1]))
    assert not joined.is_same_set(JoinedStructures([members[0], ProjectiveTrees([3])]))


def test_who_says_why_there_is_nothing(members):
    joined = JoinedStructures(members)
    scores = np.full(joined.n_parts, -np.inf)
    ends = joined.part_offsets[joined.n_sentences - 1]
    for sentence, (member, mine) in enumerate(
        [(members[0], scores[:ends])] * 2 + [(members[1], scores[ends:])]
    ):
        own = sentence if sentence < 2 else 0
        assert joined.why_empty(scores, sentence) == member.why_empty(mine, own)
    with pytest.raises(IndexError):
        joined.why_empty(scores, 3)
