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
from projective import all_projective_trees, all_sibling_trees, tree_shape
from spanning import all_spanning_trees

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
HAS_ALL_SIZES = IS_COMPILED or os.environ.get("PARTITA_ALL_SIZES", "0") not in ("", "0")
"""Without compilation small sizes do, except for `make mutation`, which asks for all of them."""


@dataclass(frozen=True)
class Case:
    """One structure: how to make scores of a size, a distribution of them, and the truth."""

    name: str
    random_scores: Callable
    """(rng, n_words) -> standard normal scores of one sentence: an array or a tuple of arrays."""
    build: Callable
    """scores -> distribution; a list or padded array in each place makes a batch, with options."""
    enumerate: Callable
    """scores -> (all structures, matrix of part counts in C order of the scores)."""
    sizes: tuple[int, ...]
    """Numbers of words small enough to enumerate."""
    n_words_long: int = 2000
    is_padded: bool = True
    """Whether it takes padded batches."""
    once: tuple[int, ...] = ()
    """Which arrays may be given once for all sentences of a batch."""

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


def magnified(case, rng):
    """Scores of a small sentence with large ones among them, in one of several ways."""
    sizes = [size for size in case.sizes if size <= (8 if case.name == "forest" else 3)]
    base = case.random_scores(rng, int(rng.choice(sizes)))
    vector, size = flat(base), 10.0 ** rng.choice([10, 12, 15, 16, 17, 20, 100, 300, 307])
    signs = rng.integers(-1, 2, size=vector.size)
    return like(
        base,
        [
            lambda: vector * size,
            lambda: vector + size,
            lambda: vector + size * signs,
            lambda: vector + size * signs * (rng.random(vector.size) < 0.3),
            lambda: rng.choice([size, -size, -np.inf, 0.0, 3.0], size=vector.size),
        ][rng.integers(5)](),
    )


def padded(arrays, part_array, places, n_padded):
    """One array for all sentences, with word i of sentence b at places[b][i], NaN elsewhere."""
    shape = part_array.shape(n_padded)
    rows = np.full((len(arrays), *shape), np.nan)
    for row, array, words in zip(rows, arrays, places, strict=True):
        row[np.ix_(*[cells(words, part_array)] * part_array.n_axes)] = array
    return rows


def unpadded(rows, part_array, places):
    """The arrays of the sentences out of a padded one, and a mask of the cells they leave."""
    arrays, rest = [], np.ones(rows.shape, dtype=bool)
    for row, words, free in zip(rows, places, rest, strict=True):
        index = np.ix_(*[cells(words, part_array)] * part_array.n_axes)
        arrays.append(row[index])
        free[index] = False
    return arrays, rest


def cells(words, part_array):
    """Where words lie on an axis: behind the root, or as tables that lead to them."""
    words = np.asarray(words)
    if part_array.extra == 1:
        return np.concatenate([[0], words + 1])
    return words[1:] - 1 if part_array.extra == -1 else words


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


def forest(scores, **options):
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
        lambda scores, **options: pt.ProjectiveTree(
            scores, single_root=single_root, labelled=n_labels is not None, **options
        ),
        lambda scores: all_projective_trees(scores.shape, single_root),
    )


def spanning_trees(single_root, n_labels=None):
    """Scores, distribution and enumeration for a case of spanning trees."""
    return (
        lambda rng, n_words: rng.normal(size=tree_shape(n_words, n_labels)),
        lambda scores, **options: pt.SpanningTree(
            scores, single_root=single_root, labelled=n_labels is not None, **options
        ),
        lambda scores: all_spanning_trees(scores.shape, single_root),
    )


def sibling_trees(single_root):
    """Scores, distribution and enumeration for a case of second-order trees."""
    return (
        lambda rng, n: (rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1,) * 3)),
        lambda scores, **options: pt.SiblingTree(*scores, single_root=single_root, **options),
        lambda scores: all_sibling_trees(len(scores[0]) - 1, single_root),
    )


def segmentation(scores, **options):
    """The distribution that the tutorial "Write your own structure" defines."""
    return own_structure()["Segmentation"](*scores, **options)


@functools.cache
def own_structure():
    """The names of the tutorial's script, which is run as far as it defines the structure."""
    path = Path(__file__).parents[2] / "docs" / "tutorials" / "own-structure.py"
    names = {}
    exec(compile(path.read_text().split("# ## All questions")[0], str(path), "exec"), names)
    return names


def all_segmentations(scores):
    """Every way to cut a sentence into segments with tags, as rows (first, end, tag)."""
    segments, pairwise = scores
    n_words, longest, n_tags = segments.shape
    structures, counts = [], []
    for inner in itertools.product((False, True), repeat=n_words - 1):
        ends = [word + 1 for word, is_end in enumerate([*inner, True]) if is_end]
        firsts = [0, *ends[:-1]]
        if max(end - first for first, end in zip(firsts, ends, strict=True)) > longest:
            continue
        for tags in itertools.product(range(n_tags), repeat=len(ends)):
            used, transitions = np.zeros_like(segments), np.zeros_like(pairwise)
            for first, end, tag in zip(firsts, ends, tags, strict=True):
                used[first, end - first - 1, tag] += 1
            for left, right in itertools.pairwise(tags):
                transitions[left, right] += 1
            structures.append(np.array([firsts, ends, tags]).T)
            counts.append(flat((used, transitions)))
    return structures, counts


def binary_trees(first, last):
    """Every binary tree over some words, as its spans from the top down."""
    if first == last:
        yield [(first, last)]
    for cut in range(first, last):
        for left in binary_trees(first, cut):
            for right in binary_trees(cut + 1, last):
                yield [(first, last), *left, *right]


def constituency_trees(n_labels=None):
    """Scores, distribution and enumerator."""

    def all_trees(scores):
        structures, counts = [], []
        for spans in binary_trees(0, len(scores) - 1):
            for labels in itertools.product(range(n_labels or 1), repeat=len(spans)):
                rows = np.array(spans)
                if n_labels is not None:
                    rows = np.column_stack([rows, labels])
                used = np.zeros_like(scores)
                used[tuple(rows.T)] = 1
                structures.append(rows)
                counts.append(used.ravel())
        return structures, counts

    return (
        lambda rng, n_words: rng.normal(size=(n_words,) * 2 + (n_labels,) * (n_labels is not None)),
        lambda scores, **options: pt.ConstituencyTree(
            scores, labelled=n_labels is not None, **options
        ),
        all_trees,
    )


CHAIN_SIZES = (1, 2, 3, 5) if HAS_ALL_SIZES else (1, 3)
TREE_SIZES = (1, 2, 3, 4, 5) if HAS_ALL_SIZES else (1, 3)
SPANNING_SIZES = (1, 2, 3, 5) if HAS_ALL_SIZES else (1, 3)
SIBLING_SIZES = (1, 2, 3, 5) if HAS_ALL_SIZES else (1, 3)
LABELLED_SIZES = (1, 2, 4) if HAS_ALL_SIZES else (1, 2)
FEW_SIZES = (1, 2, 3) if HAS_ALL_SIZES else (1, 2)
CONSTITUENT_SIZES = (1, 2, 5, 6) if HAS_ALL_SIZES else (1, 3)

CASES = [
    Case(
        "chain-shared",
        chain_scores(lambda n, s: (s, s)),
        lambda scores, **options: pt.LinearChain(*scores, **options),
        all_chains,
        CHAIN_SIZES,
        once=(1,),
    ),
    Case(
        "chain-by-position",
        chain_scores(lambda n, s: (n - 1, s, s)),
        lambda scores, **options: pt.LinearChain(*scores, **options),
        all_chains,
        CHAIN_SIZES,
    ),
    Case(
        "forest",
        lambda rng, n_edges: rng.normal(size=n_edges),
        forest,
        all_forest_derivations,
        (5, 8, 15, 16, 17) if HAS_ALL_SIZES else (5, 16),
        is_padded=False,
    ),
    Case("projective", *projective_trees(False), TREE_SIZES, n_words_long=200),
    Case("projective-one-root", *projective_trees(True), TREE_SIZES, n_words_long=200),
    Case("projective-labelled", *projective_trees(False, 2), LABELLED_SIZES, n_words_long=100),
    Case("projective-labelled-one-root", *projective_trees(True, 3), FEW_SIZES, n_words_long=50),
    Case("siblings", *sibling_trees(False), SIBLING_SIZES, n_words_long=40),
    Case("siblings-one-root", *sibling_trees(True), SIBLING_SIZES, n_words_long=40),
    Case("spanning", *spanning_trees(False), SPANNING_SIZES, n_words_long=200),
    Case("spanning-one-root", *spanning_trees(True), SPANNING_SIZES, n_words_long=200),
    Case("spanning-labelled", *spanning_trees(False, 2), LABELLED_SIZES, n_words_long=100),
    Case("spanning-labelled-one-root", *spanning_trees(True, 3), FEW_SIZES, n_words_long=50),
    Case(
        "segments",
        lambda rng, n_words: (rng.normal(size=(n_words, 3, 2)), rng.normal(size=(2, 2))),
        lambda scores, **options: pt.SegmentChain(*scores, **options),
        all_segmentations,
        (1, 2, 4, 5) if HAS_ALL_SIZES else (1, 3),
        n_words_long=500,
        once=(1,),
    ),
    Case(
        "segments-of-five-tags",
        lambda rng, n_words: (rng.normal(size=(n_words, 4, 5)), rng.normal(size=(5, 5))),
        lambda scores, **options: pt.SegmentChain(*scores, **options),
        all_segmentations,
        FEW_SIZES,
        n_words_long=100,
        once=(1,),
    ),
    Case("constituents", *constituency_trees(), CONSTITUENT_SIZES, n_words_long=60),
    Case("constituents-labelled", *constituency_trees(2), LABELLED_SIZES, n_words_long=40),
    Case(
        "own-structure",
        lambda rng, n_words: (rng.normal(size=(n_words, 3, 2)), rng.normal(size=(2, 2))),
        segmentation,
        all_segmentations,
        (1, 2, 4, 5) if HAS_ALL_SIZES else (1, 3),
        n_words_long=500,
        once=(1,),
    ),
]
