# # Write your own structure
#
# A structure owes the library its parts and its dynamic program; everything else follows. This
# page adds **segmentations with tags**, a semi-Markov chain (Sarawagi & Cohen 2004): a sentence of
# n words is cut into segments of at most `longest` words, and each segment gets a tag. Two arrays
# hold the scores: `segments[first, length - 1, tag]`, which may depend on all words of the segment,
# and `pairwise[tag, next tag]` for neighbouring segments. A structure is an array with a row
# (first, end, tag) for each segment. The library has this structure too, with kernels of its own:
# `pt.SegmentChain`.
#
# ## The steps of the dynamic program
#
# Every dynamic program that adds up the ways to build a thing from smaller things is a forest: a
# node for every subproblem, an edge for every step, and each step is scored by a cell of an array,
# or by nothing. `StepStructures` wants to know the arrays, the steps, and how to read and write a
# structure; sums, best ones, samples (also without replacement) and counts follow from that. It is
# fifty lines, and the distribution behind it twenty-five. What it says:
#
# - `PartArray(name, n_axes, inner)`: an array with so many axes along the words, then fixed sizes.
# - `steps`: head, tails and cell of each step. Heads and tails are nodes, by any names; a node
#   without tails is where a derivation ends, and `root` where it begins. Each structure must have
#   one derivation.
# - `structure`: what the caller gets. For each array there comes a matrix with a row for every cell
#   of a derivation. `places` is the way back, and may name the cells in any order.
# - `moved`: only for structures that name words (heads do, tags do not). A batch with
#   a `mask` may have its words at other places.

import numpy as np

from partita.distribution.base import Distribution
from partita.structures.forms import recognise
from partita.structures.part_arrays import PartArray, axes
from partita.structures.step_structures import StepStructures


class Segmentations(StepStructures):
    """All ways to cut sentences into segments of at most `longest` words, with tags."""

    def __init__(self, n_words, longest, n_tags):
        self.longest, self.n_tags = longest, n_tags
        segments = PartArray("segments", n_axes=1, inner=(longest, n_tags))
        super().__init__(n_words, [segments, PartArray("pairwise", 0, inner=(n_tags, n_tags))])

    def forest(self, n_words):
        return self.build(n_words, self.steps(n_words), root="whole")

    def steps(self, n_words):
        """Head, tails and cell of each step.

        ("before", i, tag): the first i words are cut, and a segment with this tag comes next.
        ("after", i, tag): the first i words are cut, and the last segment has this tag.
        """
        for tag in range(self.n_tags):
            yield ("before", 0, tag), [], None
            yield "whole", [("after", n_words, tag)], None
            for first in range(n_words):
                for length in range(1, min(self.longest, n_words - first) + 1):
                    cell = ("segments", first, length - 1, tag)
                    yield ("after", first + length, tag), [("before", first, tag)], cell
                for left in range(self.n_tags) if first else ():
                    cell = ("pairwise", left, tag)
                    yield ("before", first, tag), [("after", first, left)], cell

    def structure(self, n_words, segments, pairwise):
        """Rows (first, end, tag); a derivation begins at the top, so with the last segment."""
        first, length, tag = segments[::-1].T
        return np.stack([first, first + length + 1, tag], axis=1)

    def places(self, n_words, structure, sentence):
        rows = np.asarray(structure)
        if rows.ndim != 2 or rows.shape[1] != 3:
            raise ValueError(
                f"the segments of sentence {sentence} have shape {rows.shape}; expected rows "
                "(first, end, tag)."
            )
        first, end, tag = rows.T
        return np.stack([first, end - first - 1, tag], 1), np.stack([tag[:-1], tag[1:]], 1)

    def moved(self, structure, places):
        """Segments name words, which a padded batch may have at other places."""
        first, end, tag = structure.T
        return np.stack([places[first], places[end - 1] + 1, tag], axis=1)


# ## What the arrays mean
#
# The distribution class says this and nothing else. Entropy, covariances, expectations, Rényi
# entropies are inherited, and so are lists of sentences, padded batches with `n_words` or `mask`,
# and transitions that come once for all sentences. `axes` describes a shape: axes along the n
# words first, then letters for the other sizes.

from typing import Any, NamedTuple


class SegmentParts(NamedTuple):
    """Something for every part: marginals, gradients or directions."""

    segments: Any
    pairwise: Any


class Segmentation(Distribution):
    """p(segments) proportional to exp(sum of their scores and of those of neighbouring tags)."""

    parts_type = SegmentParts

    def __init__(self, segments, pairwise, *, n_words=None, mask=None):
        given = [
            ("segments", segments, axes("n L s", "a score for every segment and tag")),
            ("pairwise", pairwise, axes("s s", "a score for every pair of tags")),
        ]
        form, lengths, sizes = recognise(given, n_words, mask)
        sets = Segmentations(lengths, sizes["L"], sizes["s"])
        super().__init__(sets, form, segments, pairwise)


# ## All questions have answers
#
# Four words, segments of up to three words, one tag, equal scores: there are seven ways to cut them
# (a tribonacci number). With two tags there are more.

p = Segmentation(np.zeros((4, 3, 1)), np.zeros((1, 1)))
print("ways to cut:        ", round(np.exp(p.log_partition)))
two = Segmentation(np.zeros((4, 3, 2)), np.zeros((2, 2)))
print("with two tags:      ", round(np.exp(two.log_partition)))
print("entropy:            ", round(p.entropy, 4), "= log 7 =", round(np.log(7), 4))
print("P(a segment):\n", p.marginals.segments[:, :, 0].round(3))
print("two samples:        ", [rows.tolist() for rows in p.sample(2, np.random.default_rng(0))])

# With scores, the best ones, and how the marginals of the segments move when two equal tags in a
# row become likelier:

rng = np.random.default_rng(1)
p = Segmentation(rng.normal(size=(4, 3, 2)), np.zeros((2, 2)))
for rows, score in p.k_best(3):
    print(rows.tolist(), round(score, 3))
moved = p.covariance_product((None, np.eye(2)))
print("change of P(segment), summed over tags:\n", moved.segments.sum(axis=2).round(3))

# ## It learns
#
# Objectives, corpora and optimisers know no structure by name, so a new one is trained like the
# others. A small job for it: letters without blanks, to be cut into words (tag 0) and other marks
# (tag 1). A segment has two features, its text (if some word of the training data has it) and its
# length, each with the tag; a transition has its own.

from scipy import sparse

from partita import samples
from partita.features import MatrixFeatures
from partita.objectives import Counts, Entropy, Likelihood
from partita.training import Batch, Penalty, build_corpus, train

LONGEST, N_TAGS = 10, 2


def words_of(part, n_sentences):
    sentences = [s.column("FORM") for s in samples.treebank(part)[:n_sentences]]
    return [[word.lower() for word in words if len(word) <= LONGEST] for words in sentences]


def features_of(texts, known):
    """A row for every part: segments of every text at every length and tag, then transitions."""
    n_texts, n_features = len(known) * N_TAGS, (len(known) + LONGEST + N_TAGS) * N_TAGS
    rows, columns, n_parts = [], [], 0
    for text in texts:
        for first in range(len(text)):
            for length in range(1, LONGEST + 1):
                number = known.get(text[first : first + length])
                for tag in range(N_TAGS):
                    rows.append(n_parts)
                    columns.append(n_texts + (length - 1) * N_TAGS + tag)
                    if number is not None:
                        rows.append(n_parts)
                        columns.append(number * N_TAGS + tag)
                    n_parts += 1
        rows.extend(range(n_parts, n_parts + N_TAGS**2))
        columns.extend(range(n_features - N_TAGS**2, n_features))
        n_parts += N_TAGS**2
    ones = np.ones(len(rows))
    return MatrixFeatures(sparse.csr_array((ones, (rows, columns)), shape=(n_parts, n_features)))


def segments_of(words):
    ends = np.cumsum([len(word) for word in words])
    tags = [0 if word[0].isalpha() else 1 for word in words]
    return np.stack([[0, *ends[:-1]], ends, tags], axis=1)


def batch(sentences, known, targets):
    texts = ["".join(words) for words in sentences]
    structures = Segmentations([len(text) for text in texts], LONGEST, N_TAGS)
    return Batch(Segmentation, structures, features_of(texts, known), targets(structures))


training = words_of("train", 200)
known = {word: number for number, word in enumerate(sorted({w for s in training for w in s}))}
labelled = batch(
    training, known, lambda s: {"Likelihood": Counts.of(s, [segments_of(w) for w in training])}
)
unlabelled = batch(words_of("train", 350)[200:], known, lambda s: {"Entropy": None})
corpus = build_corpus(Likelihood() + 0.1 * Entropy(), [labelled, unlabelled], workers=1)
result = train(corpus, penalty=Penalty(l2=0.1))

held_out = words_of("dev", 100)
test = batch(held_out, known, lambda s: {})
cut = test.at(result.weights).argmax
right = sum(
    np.array_equal(rows[:, :2], segments_of(words)[:, :2])
    for rows, words in zip(cut, held_out, strict=True)
)
print(f"{right} of {len(held_out)} sentences are cut as they should be, for instance:")
text = "".join(held_out[0])
print(" ".join(text[first:end] for first, end, _ in cut[0]))

# ## When a kernel of your own pays
#
# The sums run in compiled loops over the edges, and all sentences of a
# batch are one call; sentences of the same length share a forest. Loops of your own in logarithms
# are not faster. What pays is what the library's own kernels do: probabilities that are rescaled
# on the way instead of logarithms, and four sentences side by side in the lanes of a vector unit.
# Then inherit from `ArrayStructures` and write `infer`,
# `covariance_product`, `argmax` and so on; the conformance suite is the same.
#
# One thing to know there: do not compute marginals as exp(score through the part - log-partition).
# Both numbers grow with the sentence, and their difference keeps only what is left: at a
# log-partition of a thousand, twelve digits. The library multiplies conditional probabilities
# instead, p(edge) = p(node) p(edge | node), from the top down; each factor is a ratio of
# neighbouring sums, is right to the last digits however long the sentence is, and the marginals of
# a word add up to 1.
#
# ## Is it right?
#
# The conformance suite in `tests/conformance` compares every structure with enumeration, to 1e-9:
# forbidden parts, ties, scores of ±1000, batches, one long sentence. A new structure needs one
# enumerator and one line there. This one, loaded from this very page, is among them.
