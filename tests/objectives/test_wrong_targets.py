"""Targets of the wrong kind, or of other structures: a sentence, never a number or a traceback."""

import numpy as np
import pytest
from scipy import sparse

import partita as pt
from partita.objectives import (
    Constraints,
    ContrastiveDivergence,
    ContrastiveEstimation,
    CostedCounts,
    Counts,
    Entropy,
    EvidenceContrast,
    ExpectedCost,
    ExponentialCost,
    GeneralizedExpectation,
    Likelihood,
    LocalLikelihood,
    MarginalLikelihood,
    Neighbourhoods,
    Observed,
    OtherStructures,
    RenyiEntropy,
    SampledLikelihood,
    SoftmaxMargin,
    StructuredPerceptron,
    known_heads,
    known_tags,
    piecewise_choices,
    pseudo_choices,
    tag_choices,
    wrong_parts,
)
from partita.objectives.evidence import Evidence
from partita.structures.chains import Chains
from partita.structures.projective_trees import ProjectiveTrees
from partita.structures.spanning_trees import SpanningTrees

RNG = np.random.default_rng(0)
OBJECTIVES = [
    Likelihood(),
    StructuredPerceptron(),
    SampledLikelihood(2, RNG),
    ContrastiveDivergence(1, RNG),
    SoftmaxMargin(),
    ExpectedCost(),
    ExponentialCost(),
    MarginalLikelihood(),
    LocalLikelihood(),
    ContrastiveEstimation(),
    EvidenceContrast(),
    GeneralizedExpectation([0.5]),
]
WRONG = {
    "nothing": None,
    "tags": [[0, 1]],
    "tags as an array": np.array([[0, 1]]),
    "a word": "Likelihood",
    "a number": 1.0,
    "a function": len,
    "a dictionary": {"tags": [0, 1]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("objective", OBJECTIVES, ids=lambda o: type(o).__name__)
def test_a_target_of_the_wrong_kind(objective, wrong):
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"expected .*\.$"):
        objective(p, wrong)


@pytest.mark.parametrize("wrong", [each for each in WRONG if each != "nothing"])
@pytest.mark.parametrize(
    "objective", [Entropy(), RenyiEntropy(2.0), Evidence()], ids=lambda o: type(o).__name__
)
def test_objectives_that_compare_with_nothing(objective, wrong):
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="expected None: it compares with nothing"):
        objective(p, WRONG[wrong])


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_choices_of_the_wrong_kind(wrong):
    chains = Chains([2], 2, shared=True)
    with pytest.raises(
        ValueError, match=r"target of piecewise_choices is a .* expected Counts\.of"
    ):
        piecewise_choices(np.zeros(8, dtype=np.int64), wrong)
    with pytest.raises(ValueError, match=r"pieces is .* expected \(8,\) whole numbers"):
        piecewise_choices(wrong, Counts.of(chains, [[0, 1]]))
    for places in (wrong, [wrong]):
        with pytest.raises(ValueError, match="expected"):
            pseudo_choices(chains, places)


def counted(structures, given):
    return Counts.of(structures, given)


OTHERS = {
    "more words": counted(Chains([3], 2, shared=True), [[0, 1, 1]]),
    "fewer words": counted(Chains([1], 2, shared=True), [[0]]),
    "more tags": counted(Chains([2], 3, shared=True), [[0, 2]]),
    "tables by position": counted(Chains([2], 2, shared=False), [[0, 1]]),
    "two sentences": counted(Chains([1, 1], 2, shared=True), [[0], [1]]),
    "trees": counted(ProjectiveTrees([2]), [[0, 1]]),
}


@pytest.mark.parametrize("counts", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize(
    "ask",
    [
        Likelihood(),
        StructuredPerceptron(),
        ExpectedCost(),
        SampledLikelihood(2, RNG),
        lambda p, counts: SoftmaxMargin()(p, CostedCounts(counts, np.zeros(8))),
        lambda p, counts: ContrastiveDivergence(1, RNG)(p, Observed(counts, ([0, 1],))),
    ],
)
def test_counts_of_other_structures(ask, counts):
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="Count with Counts.of"):
        ask(p, counts)


@pytest.mark.parametrize(
    "trees, given",
    [
        (SpanningTrees([4]), [[3, 4, 0, 3]]),  # a tree with crossing arcs
        (ProjectiveTrees([4], single_root=False), [[0, 0, 0, 0]]),
    ],
)
def test_counts_of_another_kind_of_tree(trees, given):
    """The parts are the same, but such a tree has probability 0, not exp(score - A)."""
    p = pt.ProjectiveTree(np.zeros((5, 5)), single_root=True)
    with pytest.raises(ValueError, match="or other structures of these"):
        Likelihood()(p, Counts.of(trees, given))


def test_counts_of_an_equal_set_are_fine():
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    statistic, _ = Likelihood()(p, Counts.of(Chains([2], 2, shared=True), [[0, 1]]))
    assert statistic[0] == pytest.approx(2 * np.log(2))


@pytest.mark.parametrize(
    "tags, message",
    [
        ([0, -1], r"tags\[1\] is -1; expected 0 to 1: pseudo-likelihood needs every tag"),
        ([2, 0], r"tags\[0\] is 2; expected 0 to 1"),
        ([0], r"shape \(1,\); expected \(2,\)"),
        ([0, 1, 1], r"shape \(3,\); expected \(2,\)"),
        ([0.0, 1.0], "array of float64"),
        ([[0, 1]], r"shape \(1, 2\)"),
    ],
)
def test_tags_that_are_none(tags, message):
    with pytest.raises(ValueError, match=message):
        tag_choices(Chains([2], 2, shared=True), tags)


def test_as_many_structures_as_sentences():
    chains, trees = Chains([2, 1], 2, shared=True), ProjectiveTrees([2, 1])
    for make in (Counts.of, Observed.of, known_tags):
        with pytest.raises(ValueError, match="came for a batch of 2 sentences"):
            make(chains, [[0, 1]])
    with pytest.raises(ValueError, match="1 heads came for a batch of 2"):
        known_heads(trees, [[0, 0]])
    with pytest.raises(ValueError, match="expected places of 2 sentences"):
        pseudo_choices(chains, [[[[0, 1]]]])
    with pytest.raises(ValueError, match=r"places\[1\]\[0\] is \[\]; expected places of 2"):
        pseudo_choices(chains, [[[[0, 1]]], [[]]])


def test_vectors_that_do_not_fit():
    chains = Chains([2], 2, shared=True)
    counts = Counts.of(chains, [[0, 1]])
    with pytest.raises(ValueError, match=r"pieces is .* of shape \(3,\); expected \(8,\)"):
        piecewise_choices(np.zeros(3, dtype=np.int64), counts)
    with pytest.raises(ValueError, match=r"counts has shape \(3,\)"):
        Counts.from_flat(chains, np.zeros(3))
    with pytest.raises(ValueError, match="among has type int64"):
        wrong_parts(counts, np.ones(8, dtype=np.int64))
    with pytest.raises(ValueError, match=r"among has shape \(3,\)"):
        wrong_parts(counts, np.ones(3, dtype=bool))
    p = pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="the cost of ExpectedCost is NaN at part 1"):
        ExpectedCost()(p, np.array([0.0, np.nan, 0, 0, 0, 0, 0, 0]))
    choices = tag_choices(Chains([3], 2, shared=True), [0, 1, 0])
    with pytest.raises(ValueError, match="the choices are among 10 parts; the batch has 8"):
        LocalLikelihood()(p, choices)
    with pytest.raises(ValueError, match=r"groups of the neighbourhoods has shape \(2,\)"):
        ContrastiveEstimation()(p, Neighbourhoods.of([2]))
    other = OtherStructures(pt.LinearChain, p.structures, sparse.csr_array((8, 3)))
    with pytest.raises(ValueError, match=r"has shape \(8, 3\); expected \(8, 8\)"):
        MarginalLikelihood()(p, other)
    with pytest.raises(ValueError, match="features of the constraints are a list"):
        GeneralizedExpectation([0.5])(p, Constraints([[1.0] * 8]))
