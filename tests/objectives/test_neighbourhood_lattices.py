"""Neighbourhoods as lattices, against lists of all neighbours."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

import partita as pt
from partita.distribution.parts import PartDistribution
from partita.features import Attributes, lattice_features
from partita.objectives import (
    NEIGHBOURHOODS,
    ContrastiveEstimation,
    EvidenceContrast,
    Neighbourhoods,
    deletions,
    deletions_and_transpositions,
    dynasearch_lattice,
    length_lattice,
    sentence_lattice,
    subsequence_deletions,
    transpositions,
)
from partita.structures.lattice_chains import LatticeChains
from problems import check_gradient

SENTENCES = ["a", "aa", "ab", "aba", "abb", "aaaa", "abcd", "abcab", "abcdef"]


def dynasearch(tokens):
    """By the definition: choose pairs to exchange, no two of which overlap."""
    found = {}
    for chosen in itertools.product([False, True], repeat=max(len(tokens) - 1, 0)):
        if any(a and b for a, b in itertools.pairwise(chosen)):
            continue
        words = list(tokens)
        for place, exchanged in enumerate(chosen):
            if exchanged:
                words[place], words[place + 1] = words[place + 1], words[place]
        found[tuple(words)] = words
    return list(found.values())


LISTS = {
    "del1": deletions,
    "trans1": transpositions,
    "delortrans1": deletions_and_transpositions,
    "del1subseq": subsequence_deletions,
    "dynasearch": dynasearch,
}


@pytest.mark.parametrize("tokens", SENTENCES)
@pytest.mark.parametrize("name", LISTS)
def test_every_neighbour_once(name, tokens):
    listed = [tuple(words) for words in LISTS[name](tokens)]
    found = [
        "".join(tokens[p] for p in words) for words in NEIGHBOURHOODS[name](tokens).sentences()
    ]
    assert sorted(found) == sorted("".join(words) for words in listed)
    assert len(set(found)) == len(found)


def model(n_types, n_tags, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_types, n_tags)), rng.normal(size=(n_tags, n_tags))


def flat(chains, tokens_of_items, unary, pairwise):
    """Scores of a word wherever it stands, and of transitions."""
    scores = np.empty(chains.n_parts)
    for item, tokens in zip(chains.split(scores), tokens_of_items, strict=True):
        item.unary[...] = [unary[ord(token) - ord("a")] for token in tokens]
        item.pairwise[...] = pairwise
    return scores


@pytest.mark.parametrize("scale", [1.0, 300.0])
@pytest.mark.parametrize("tokens", SENTENCES)
@pytest.mark.parametrize("name", LISTS)
def test_the_sum_is_that_of_the_list(name, tokens, scale):
    unary, pairwise = (scale * table for table in model(6, 3, len(tokens)))
    chains = LatticeChains([NEIGHBOURHOODS[name](tokens)], 3, n_choices=[len(tokens)])
    p = PartDistribution.from_flat(chains, flat(chains, [tokens], unary, pairwise))
    rows = [np.array([unary[ord(t) - ord("a")] for t in words]) for words in LISTS[name](tokens)]
    listed = pt.LinearChain(rows, pairwise)
    expected = logsumexp(listed.log_partition)
    np.testing.assert_allclose(p.log_partition, [expected], rtol=1e-12, atol=1e-9)
    shares = np.exp(listed.log_partition - expected)
    transitions = sum(
        share * pt.LinearChain(row, pairwise).marginals.pairwise
        for share, row in zip(shares, rows, strict=True)
    )
    found = chains.split(p.inference.marginals)[0]
    np.testing.assert_allclose(found.pairwise, transitions, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", LISTS)
def test_the_contrast_is_contrastive_estimation(name):
    tokens = ["abcb", "aab", "c"]
    unary, pairwise = model(3, 2, 0)
    lattices = [sentence_lattice(t) for t in tokens] + [NEIGHBOURHOODS[name](t) for t in tokens]
    chains = LatticeChains(lattices, 2, n_choices=[len(t) for t in tokens] * 2)
    p = PartDistribution.from_flat(chains, flat(chains, tokens * 2, unary, pairwise))
    observed = np.arange(6) < 3
    statistic, pullback = EvidenceContrast()(p, observed)
    listed = [LISTS[name](t) for t in tokens]
    rows = [[unary[ord(t) - ord("a")] for t in words] for each in listed for words in each]
    q = pt.LinearChain([np.array(row) for row in rows], pairwise)
    expected, pull = ContrastiveEstimation()(q, Neighbourhoods.of([len(each) for each in listed]))
    np.testing.assert_allclose(statistic, expected, atol=1e-9)
    mine = sum(item.pairwise for item in chains.split(pullback(np.ones(1))))
    theirs = sum(q.structures.split(pull(np.ones(1)))[1])
    np.testing.assert_allclose(mine, theirs, atol=1e-9)
    with pytest.raises(ValueError, match="target has shape"):
        EvidenceContrast()(p, np.array([True]))


@pytest.mark.parametrize("ends", [False, True])
def test_all_sentences_of_a_length(ends):
    """LENGTH of two sentences in one item, which shares the vocabulary."""
    n_choices, n_tags, lengths = 3, 2, [2, 3]
    item = [length_lattice(n, n_choices) for n in lengths]
    chains = LatticeChains([item], n_tags, ends=ends)
    scores = np.random.default_rng(1).normal(size=chains.n_parts)
    parts = chains.split(scores)[0]
    start, stop = (parts.start, parts.stop) if ends else (np.zeros(2), np.zeros(2))
    expected = 0.0
    for n in lengths:
        every = itertools.product(range(n_choices), repeat=n)
        each = [
            pt.LinearChain(parts.unary[list(words)], parts.pairwise, start=start, stop=stop)
            for words in every
        ]
        expected += logsumexp([p.log_partition for p in each])
    inference = chains.infer(scores)
    np.testing.assert_allclose(inference.log_partition, [expected], atol=1e-9)
    assert inference.marginals[: n_choices * n_tags].sum() == pytest.approx(sum(lengths), abs=1e-9)


def test_a_neighbourhood_too_large_for_a_list():
    """The Fibonacci number of 61: 2.5 million million sentences."""
    n = 60
    tokens = [chr(ord("a") + place) for place in range(n)]
    lattice = dynasearch_lattice(tokens)
    assert lattice.n_states <= 2 * n
    chains = LatticeChains([lattice], 3)
    fibonacci = [1, 1]
    while len(fibonacci) <= n:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    found = chains.infer(np.zeros(chains.n_parts)).log_partition
    assert found[0] == pytest.approx(math.log(fibonacci[n]) + n * math.log(3), rel=1e-12)


@pytest.mark.parametrize("ends", [False, True])
def test_a_tagger_with_a_dictionary(ends):
    """Features of words and tags, shared by observed sentences and neighbourhoods; gradients."""
    tokens = ["abca", "cb"]
    lattices = [sentence_lattice(t) for t in tokens] + [dynasearch_lattice(t) for t in tokens]
    n_choices = [len(t) for t in tokens] * 2
    chains = LatticeChains(lattices, 3, n_choices=n_choices, ends=ends)
    types = np.array([ord(t) - ord("a") for t in "".join(tokens * 2)])
    words = Attributes.from_lists([[t, 3 + t % 2] for t in types])
    dictionary = np.array([[True, True, False], [False, True, True], [True, True, True]])
    features = lattice_features(chains, words, 5, allowed=dictionary[types])
    weights = np.random.default_rng(2).normal(size=features.n_weights)
    assert features.n_weights == 5 * 3 + 9 + (6 if ends else 0)
    observed = np.arange(4) < 2

    def loss_and_gradient(at):
        p = PartDistribution.from_flat(chains, features.scores(at))
        statistic, pullback = EvidenceContrast()(p, observed)
        return statistic[0], features.gradient(pullback(np.ones(1)))

    check_gradient(loss_and_gradient, weights, np.random.default_rng(3))
    best = PartDistribution.from_flat(chains, features.scores(weights)).argmax
    for rows, t in zip(best, tokens * 2, strict=True):
        assert all(dictionary[ord(t[word]) - ord("a"), tag] for _, word, tag in rows)


def test_rows_that_do_not_fit():
    chains = LatticeChains([sentence_lattice("ab")], 2)
    with pytest.raises(ValueError, match="words has 1 rows; expected 2"):
        lattice_features(chains, Attributes.from_lists([[0]]), 1)
    two = Attributes.from_lists([[0], [0]])
    with pytest.raises(ValueError, match=r"allowed has shape \(1, 2\)"):
        lattice_features(chains, two, 1, allowed=np.ones((1, 2), dtype=bool))


@pytest.mark.parametrize("name", NEIGHBOURHOODS)
def test_no_words(name):
    with pytest.raises(ValueError, match="an empty sentence came"):
        NEIGHBOURHOODS[name]("")
