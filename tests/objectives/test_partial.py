"""Masks of what is known, against the structures that agree with it."""

import numpy as np
import pytest

from partita.objectives import MarginalLikelihood, known_heads, known_tags
from partita.structures.chains import Chains
from partita.structures.projective_trees import ProjectiveTrees
from problems import CASES, close, make_problem

CHAINS = [case for case in CASES if case.name.startswith("chain")]
TREES = [case for case in CASES if case.name.startswith(("projective", "spanning"))]


def heads_of(structure):
    """The tags of a chain, the heads of a tree."""
    return np.asarray(structure[0] if isinstance(structure, tuple) else structure)


@pytest.mark.parametrize("case", [*CHAINS, *TREES], ids=str)
def test_the_probability_of_what_is_known(case):
    problem = make_problem(case)
    known, expected = [], 0.0
    for truth, target in zip(problem.truths, problem.targets, strict=True):
        word = np.arange(len(heads_of(target)))
        known.append(np.where(word % 2 == 0, heads_of(target), -1))
        agrees = [(heads_of(s)[::2] == known[-1][::2]).all() for s in truth.structures]
        expected -= np.log(truth.probabilities[np.array(agrees)].sum())
    mask = (known_tags if case in CHAINS else known_heads)(problem.p.structures, known)
    close(MarginalLikelihood()(problem.p, mask)[0][0], expected)


def test_tag_0_and_the_root_are_known_like_others():
    [words, _] = Chains([3], n_tags=2, shared=True).split(
        known_tags(Chains([3], n_tags=2, shared=True), [[0, -1, 1]])
    )
    assert words[0].tolist() == [[True, False], [True, True], [False, True]]
    arcs = known_heads(ProjectiveTrees([2]), [[0, -1]]).reshape(3, 3)
    assert arcs[:, 1].tolist() == [True, False, False]
    assert arcs[:, 2].all()


def test_tags_that_do_not_fit():
    problem = make_problem(CHAINS[0])
    tags = [np.full(n, -1) for n in problem.p.structures.n_words]
    with pytest.raises(ValueError, match="tags of sentence 0 range from 99"):
        known_tags(problem.p.structures, [tags[0] + 100, *tags[1:]])
    with pytest.raises(ValueError, match="-1 where one is not known"):
        known_tags(problem.p.structures, [tags[0][:-1], *tags[1:]])


@pytest.mark.parametrize("beyond", [-3, -2, 2, 3])
def test_numbers_just_beyond_what_there_is(beyond):
    """Two tags, and heads of two words: 0, 1 and 2."""
    chains, trees = Chains([2], n_tags=2, shared=True), ProjectiveTrees([2])
    for place in (0, 1):
        tags, heads = [1, 1], [0, 0]
        tags[place], heads[place] = beyond, beyond + (beyond > 0)
        with pytest.raises(ValueError, match="tags of sentence 0 range from"):
            known_tags(chains, [tags])
        with pytest.raises(ValueError, match="heads of sentence 0 range from"):
            known_heads(trees, [heads])
    assert known_tags(chains, [[1, 0]]).sum() == 2 + 4
    assert known_heads(trees, [[2, 0]]).reshape(3, 3)[:, 1:].sum() == 2
