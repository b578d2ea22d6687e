"""A small demonstration: one library, three kinds of structure, four ways of learning.

Run it with `make demo` or `python -m partita.demo`. All data are made up here, with a fixed seed.
"""

import sys
import time
from collections.abc import Mapping, Sequence

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.distribution.hypergraph import HypergraphDistribution
from partita.distribution.linear_chain import LinearChain
from partita.distribution.projective_tree import ProjectiveTree
from partita.distribution.spanning_tree import SpanningTree
from partita.features import Attributes, tag_constraints, tag_features
from partita.grammars.itg import pair_forest
from partita.objectives import Constraints, Counts, Entropy, GeneralizedExpectation, Likelihood
from partita.structures.chains import Chains
from partita.training import Batch, Penalty, build_corpus, train

TAGS = ("DET", "ADJ", "NOUN", "VERB")
N_TYPES = 60
"""Word types; every fourth is ambiguous between two tags."""


def say(line: str = "") -> None:
    """Print at once, since the next line may take a while."""
    print(line, flush=True)


def make_sentences(rng: np.random.Generator, size: int) -> tuple[list[IntArray], list[IntArray]]:
    """Words and tags from a hidden Markov model over `TAGS`."""
    follow = np.array(
        [[0.0, 0.4, 0.6, 0.0], [0.0, 0.2, 0.8, 0.0], [0.1, 0.0, 0.2, 0.7], [0.7, 0.2, 0.1, 0.0]]
    )
    emit = rng.dirichlet(np.full(N_TYPES, 0.3), size=len(TAGS))
    emit[:, ::4] += 0.01
    emit /= emit.sum(axis=1, keepdims=True)
    words, tags = [], []
    for _ in range(size):
        sequence = [0]
        while len(sequence) < rng.integers(4, 12):
            sequence.append(int(rng.choice(len(TAGS), p=follow[sequence[-1]])))
        tags.append(np.array(sequence))
        words.append(np.array([rng.choice(N_TYPES, p=emit[tag]) for tag in sequence]))
    return words, tags


def make_batch(words: Sequence[IntArray], targets: Mapping[str, object]) -> Batch:
    """Sentences with the features of a tagger: each word's type, and the tag before."""
    chains = Chains([len(sentence) for sentence in words], len(TAGS), shared=True)
    return Batch(LinearChain, chains, tag_features(chains, _attributes(words), N_TYPES), targets)


def accuracy(batch: Batch, weights: FloatArray, tags: Sequence[IntArray]) -> float:
    """Share of words whose tag in the best sequence is right."""
    found = np.concatenate(batch.at(weights).best.structures)
    return float((found == np.concatenate(tags)).mean())


def learn_tagger() -> None:
    """Few labels; few labels and unlabelled text; no labels but what holds on average."""
    rng = np.random.default_rng(1)
    words, tags = make_sentences(rng, 400)
    few, many = slice(0, 20), slice(20, 300)
    test = make_batch(words[300:], {})
    few_batch = make_batch(words[few], {})
    labels = Counts.of(few_batch.structures, tags[few])
    labelled = make_batch(words[few], {"Likelihood": labels})
    unlabelled = make_batch(words[many], {"Entropy": None})
    constrained, goals = _expectations(words[many], tags[many])
    runs = {
        "20 labelled sentences": build_corpus(Likelihood(), [labelled]),
        "from there, 280 more without labels, by entropy": build_corpus(
            Likelihood() + 0.005 * Entropy(), [labelled, unlabelled]
        ),
        "no labels: tag shares of the 20 commonest words": build_corpus(
            1000.0 * GeneralizedExpectation(goals), [constrained]
        ),
    }
    weights = None
    for name, corpus in runs.items():
        start = time.perf_counter()
        result = train(corpus, penalty=Penalty(l2=0.1), weights=weights, progress=False)
        weights = result.weights if weights is None else np.zeros_like(weights)
        share = accuracy(test, result.weights, tags[300:])
        say(f"  {name:<50} {share:6.1%} right, {time.perf_counter() - start:4.1f} s")
    p = test.at(result.weights)
    span = p.most_uncertain_span(3) if isinstance(p, LinearChain) else []
    worst = int(np.argmax([found.entropy for found in span]))
    say(
        f"  most uncertain: words {span[worst].first} to {span[worst].last} of sentence {worst}, "
        f"{span[worst].entropy:.2f} nats; the one to label next"
    )


def show_trees() -> None:
    """John saw Mary: how many trees, and how sure of each arc."""
    for kind in (ProjectiveTree, SpanningTree):
        counts = [
            round(np.exp(kind(np.zeros((4, 4)), single_root=single).log_partition))
            for single in (False, True)
        ]
        say(f"  {kind.__name__:<15} {counts[0]} trees, {counts[1]} of them with one root")
    names = ("root", "John", "saw", "Mary")
    arcs = np.full((4, 4), -np.inf)
    arcs[0, 1:], arcs[1, 2:], arcs[2, [1, 3]], arcs[3, 1:3] = [9, 10, 9], [20, 3], [30, 30], [11, 0]
    p = SpanningTree(arcs / 10.0)
    for word, head in enumerate(p.argmax, start=1):
        say(f"  {names[head]:>4} -> {names[word]:<5} p = {p.marginals[head, word]:.3f}")
    say(f"  entropy of the tree: {p.entropy:.3f} nats of at most {np.log(16):.3f}")


def show_forest() -> None:
    """All ways to link four words with four, one to one, by an inversion transduction grammar."""
    everything, nothing = np.ones((4, 4)), np.zeros(4)
    for name, normal_form in (("plain grammar", False), ("normal form", True)):
        forest = pair_forest(everything, nothing, nothing, normal_form=normal_form)
        p = HypergraphDistribution(forest.hypergraph, np.zeros(forest.hypergraph.n_edges))
        say(f"  {name:<15} {round(np.exp(p.log_partition))} derivations of 22 alignments")


def show_speed() -> None:
    """The entropy gradient by the covariance product, and by the quadratic expectations of 2006."""
    rng = np.random.default_rng(0)
    unary, pairwise = rng.normal(size=(100, 9)), rng.normal(size=(99, 9, 9))
    for name, method in (
        ("covariance product, O(n s²)", "entropy_gradient"),
        ("Mann & McCallum 2007, O(n s²)", "entropy_gradient_by_lattices"),
        ("Jiao et al. 2006, O(n² s³)", "entropy_gradient_by_covariance"),
    ):
        getattr(LinearChain(unary, pairwise), method)()
        start = time.perf_counter()
        getattr(LinearChain(unary, pairwise), method)()
        say(f"  {name:<32} {1e3 * (time.perf_counter() - start):8.2f} ms")


def main() -> int:
    """Run all parts; the first run compiles the kernels, which takes most of its time."""
    parts = [
        ("Learning a tagger of 4 tags, accuracy on 100 new sentences", learn_tagger),
        ("Dependency trees of John saw Mary", show_trees),
        ("Translation forests of four words and four words", show_forest),
        ("Entropy gradient of a sentence of 100 words and 9 tags", show_speed),
    ]
    for title, part in parts:
        say(f"\n{title}")
        part()
    say()
    return 0


def _attributes(words: Sequence[IntArray]) -> Attributes:
    return Attributes.from_lists([[int(word)] for sentence in words for word in sentence])


def _expectations(words: Sequence[IntArray], tags: Sequence[IntArray]) -> tuple[Batch, FloatArray]:
    """A batch whose target is how often each common word has each tag, and those shares."""
    shares = np.zeros((N_TYPES, len(TAGS)))
    np.add.at(shares, (np.concatenate(words), np.concatenate(tags)), 1.0)
    common = np.argsort(-shares.sum(axis=1))[:20]
    shares = shares[common] / shares[common].sum(axis=1, keepdims=True)
    batch = make_batch(words, {})
    assert isinstance(batch.structures, Chains)
    constraints = tag_constraints(
        batch.structures,
        _attributes(words),
        np.repeat(common, len(TAGS)),
        np.tile(np.arange(len(TAGS)), len(common)),
    )
    target = {"GeneralizedExpectation": Constraints(*constraints)}
    return make_batch(words, target), shares.ravel()


if __name__ == "__main__":
    sys.exit(main())
