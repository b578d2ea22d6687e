"""Small tagging corpora that the tests of training share."""

from dataclasses import replace

import numpy as np
from scipy import sparse

from partita.distribution.linear_chain import LinearChain
from partita.features.chains import tag_features
from partita.objectives import Constraints, Counts, SentenceObjective
from partita.structures.chains import Chains
from partita.text.attributes import Attributes
from partita.training.batches import Batch

N_TAGS = 3
N_ATTRIBUTES = 12
N_WEIGHTS = N_ATTRIBUTES * N_TAGS + N_TAGS**2


def chain_batches(
    n_sentences=24, per_batch=3, terms=("Likelihood",), seed=0, n_attributes=N_ATTRIBUTES
):
    """Batches of a random corpus whose tags depend on the attributes of the words."""
    rng = np.random.default_rng(seed)
    n_words = rng.integers(1, 7, n_sentences)
    batches = []
    for start in range(0, n_sentences, per_batch):
        chains = Chains(n_words[start : start + per_batch], N_TAGS, shared=True)
        n = int(chains.n_words.sum())
        attributes = rng.integers(n_attributes, size=(n, 2))
        noisy = np.where(rng.random(n) < 0.2, rng.integers(N_TAGS, size=n), attributes[:, 0])
        tags = np.split(noisy % N_TAGS, chains.word_offsets[1:-1])
        words = Attributes(attributes.ravel().astype(np.int32), 2 * np.arange(n + 1))
        targets = {
            "Likelihood": Counts.of(chains, tags),
            "Entropy": None,
            "GeneralizedExpectation": tag_frequencies(chains),
        }
        features = tag_features(chains, words, n_attributes)
        chosen = {name: targets[name] for name in terms}
        batches.append(Batch(LinearChain, chains, features, chosen))
    return batches


def tag_frequencies(chains):
    """Constraints: how often each tag is used, out of all words."""
    features = sparse.lil_array((N_TAGS, chains.n_parts))
    for start, n in zip(chains.part_offsets[:-1], chains.n_words, strict=True):
        for tag in range(N_TAGS):
            features[tag, start + tag : start + n * N_TAGS : N_TAGS] = 1.0
    occurrences = np.tile(chains.n_words.astype(float), (N_TAGS, 1))
    return Constraints(features.tocsr(), sparse.csr_array(occurrences))


def finite_differences(function, weights, step=1e-5):
    """Central differences of a function of the weights."""
    gradient = np.empty_like(weights)
    for index in range(len(weights)):
        moved = weights.copy()
        moved[index] += step
        above = function(moved)
        moved[index] -= 2 * step
        gradient[index] = (above - function(moved)) / (2 * step)
    return gradient


class Evidence(SentenceObjective):
    """-A: minus the log-likelihood of the words of a generative model."""

    def losses(self, p, target):
        return -p.inference.log_partition, lambda: -p.inference.marginals


def most_likely(counts):
    """The weights of a hidden Markov model that make expected counts most likely."""
    split = N_WEIGHTS - N_TAGS**2
    emissions = counts[:split].reshape(-1, N_TAGS)
    transitions = counts[split:].reshape(N_TAGS, N_TAGS)
    with np.errstate(divide="ignore"):
        return np.concatenate(
            [
                np.log(emissions / emissions.sum(axis=0)).ravel(),
                np.log(transitions / transitions.sum(axis=1, keepdims=True)).ravel(),
            ]
        )


def evidence_batches():
    """Sentences without tags, for `Evidence`."""
    return [replace(batch, targets={"Evidence": None}) for batch in chain_batches(40, 4)]


def first_weights():
    """Those of a random hidden Markov model."""
    return most_likely(np.random.default_rng(0).uniform(1, 2, N_WEIGHTS))
