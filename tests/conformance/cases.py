"""The structures that the suite runs on: to add one, write an enumerator and append a line."""

import functools
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import partita as pt
from hypergraphs import all_derivations, edge_counts, random_edges
from oracle import Oracle
from projective import all_projective_trees, tree_shape
from spanning import all_spanning_trees

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


@dataclass(frozen=True)
class Case:
    """One structure: how to make scores of a size, a distribution of them, and the truth."""

    name: str
    random_scores: Callable
    """(rng, n_words) -> standard normal scores of one sentence: an array or a tuple of arrays."""
    build: Callable
    """scores -> distribution; a list of arrays in each place makes a batch."""
    enumerate: Callable
    """scores -> (all structures, matrix of part counts in C order of the scores)."""
    sizes: tuple[int, ...]
    """Numbers of words small enough to enumerate."""
    n_words_long: int = 2000

    def oracle(self, scores):
        structures, counts = self.enumerate(scores)
        return Oracle(structures, np.asarray(counts, dtype=np.float64), flat(scores))

    def __str__(self):
        return self.name


def flat(values):
    """Scores, marginals or directions of one sentence as a vector, parts in C order."""
    if isinstance(values, tuple):
        return np.concatenate([flat(value) for value in values])
    return np.asarray(values).ravel()


def like(values, vector):
    """A vector over parts in the form of `values`."""
    if not isinstance(values, tuple):
        return vector.reshape(values.shape)
    ends = np.cumsum([value.size for value in values])[:-1]
    return tuple(like(v, part) for v, part in zip(values, np.split(vector, ends), strict=True))


def batch(list_of_scores):
    """Scores of several sentences in the form of a batch."""
    if isinstance(list_of_scores[0], tuple):
        return tuple(list(arrays) for arrays in zip(*list_of_scores, strict=True))
    return list(list_of_scores)


def chain_scores(shape_of_tables):
    def random_scores(rng, n_words, n_tags=3):
        unary = rng.normal(size=(n_words, n_tags))
        return unary, rng.normal(size=shape_of_tables(n_words, n_tags))

    return random_scores


def all_chains(scores):
    """Every tag sequence, with a count for each (word, tag) and each transition."""
    unary, pairwise = scores
    n_words, n_tags = unary.shape
    structures, counts = [], []
    for tags in itertools.product(range(n_tags), repeat=n_words):
        words, transitions = np.zeros_like(unary), np.zeros_like(pairwise)
        for t, tag in enumerate(tags):
            words[t, tag] += 1
            if t > 0:
                cell = (tags[t - 1], tag) if pairwise.ndim == 2 else (t - 1, tags[t - 1], tag)
                transitions[cell] += 1
        structures.append(np.array(tags))
        counts.append(flat((words, transitions)))
    return structures, counts


def forest(scores):
    """The distribution over a hypergraph that depends on its number of edges alone."""
    if isinstance(scores, list):
        graphs = [pt.Hypergraph(*random_edges(len(vector))) for vector in scores]
        return pt.HypergraphDistribution(graphs, scores)
    return pt.HypergraphDistribution(pt.Hypergraph(*random_edges(len(scores))), scores)


def all_forest_derivations(scores):
    """Every derivation of that hypergraph, with a count for each edge."""
    derivations = all_derivations(*random_edges(len(scores)))
    return [np.array(edges) for edges in derivations], edge_counts(derivations, len(scores))


def projective_trees(single_root, n_labels=None):
    """Scores, distribution and enumeration for a case of projective trees."""
    return (
        lambda rng, n_words: rng.normal(size=tree_shape(n_words, n_labels)),
        lambda scores: pt.ProjectiveTree(
            scores, single_root=single_root, labelled=n_labels is not None
        ),
        lambda scores: all_projective_trees(scores.shape, single_root),
    )


def spanning_trees(single_root, n_labels=None):
    """Scores, distribution and enumeration for a case of spanning trees."""
    return (
        lambda rng, n_words: rng.normal(size=tree_shape(n_words, n_labels)),
        lambda scores: pt.SpanningTree(
            scores, single_root=single_root, labelled=n_labels is not None
        ),
        lambda scores: all_spanning_trees(scores.shape, single_root),
    )


def segmentation(scores):
    """The distribution that the tutorial "Write your own structure" defines."""
    return own_structure()["Segmentation"](scores)


@functools.cache
def own_structure():
    """The names of the tutorial's script, which is run as far as it defines the structure."""
    path = Path(__file__).parents[2] / "docs" / "tutorials" / "own-structure.py"
    names = {}
    exec(compile(path.read_text().split("# ## All questions")[0], str(path), "exec"), names)
    return names


def all_segmentations(scores):
    """Every way to cut a sentence into segments, with a count for each (first word, length)."""
    n_words, longest = scores.shape
    structures, counts = [], []
    for inner in itertools.product((0, 1), repeat=n_words - 1):
        ends = np.array([*inner, 1])
        used, first = np.zeros_like(scores), 0
        for stop in np.flatnonzero(ends):
            if stop - first >= longest:
                break
            used[first, stop - first] = 1
            first = stop + 1
        else:
            structures.append(ends)
            counts.append(flat(used))
    return structures, counts


CHAIN_SIZES = (1, 2, 3, 5) if IS_COMPILED else (1, 3)
TREE_SIZES = (1, 2, 3, 4, 5) if IS_COMPILED else (1, 3)
SPANNING_SIZES = (1, 2, 3, 5) if IS_COMPILED else (1, 3)
LABELLED_SIZES = (1, 2, 4) if IS_COMPILED else (1, 2)

CASES = [
    Case(
        "chain-shared",
        chain_scores(lambda n, s: (s, s)),
        lambda scores: pt.LinearChain(*scores),
        all_chains,
        CHAIN_SIZES,
    ),
    Case(
        "chain-by-position",
        chain_scores(lambda n, s: (n - 1, s, s)),
        lambda scores: pt.LinearChain(*scores),
        all_chains,
        CHAIN_SIZES,
    ),
    Case(
        "forest",
        lambda rng, n_edges: rng.normal(size=n_edges),
        forest,
        all_forest_derivations,
        (5, 8, 15, 16, 17) if IS_COMPILED else (5, 16),
    ),
    Case("projective", *projective_trees(False), TREE_SIZES, n_words_long=200),
    Case("projective-one-root", *projective_trees(True), TREE_SIZES, n_words_long=200),
    Case("projective-labelled", *projective_trees(False, 2), LABELLED_SIZES, n_words_long=100),
    Case("projective-labelled-one-root", *projective_trees(True, 3), (1, 2, 3), n_words_long=50),
    Case("spanning", *spanning_trees(False), SPANNING_SIZES, n_words_long=200),
    Case("spanning-one-root", *spanning_trees(True), SPANNING_SIZES, n_words_long=200),
    Case("spanning-labelled", *spanning_trees(False, 2), LABELLED_SIZES, n_words_long=100),
    Case("spanning-labelled-one-root", *spanning_trees(True, 3), (1, 2, 3), n_words_long=50),
    Case(
        "own-structure",
        lambda rng, n_words: rng.normal(size=(n_words, 3)),
        segmentation,
        all_segmentations,
        (1, 2, 4, 6) if IS_COMPILED else (1, 3),
        n_words_long=500,
    ),
]
