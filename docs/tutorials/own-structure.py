# # Write your own structure
#
# A structure owes the library its parts and its dynamic program; everything else follows. This
# page adds one that Partita does not have: **segmentations**. A sentence of n words is cut into
# segments of at most `longest` words, a part is a segment, and its score may depend on all of its
# words (Sarawagi & Cohen 2004). The scores come as an array `(n_words, longest)`, where
# `[first, length - 1]` is the segment of `length` words that begins with word `first`. A
# segmentation is a vector of zeros and ones, one where a segment ends.
#
# ## The parts, and the dynamic program
#
# Every dynamic program that adds up the ways to build a thing from smaller things is a hypergraph:
# a node for every subproblem, an edge for every step. Here node i is "the first i words are cut",
# and the segment from word i to word j is an edge from node i to node j. So the new class lays out
# a graph, hands the sums to `Forests`, and translates: edges of a derivation to ends of segments,
# and back. (A structure that must be as fast as it can be has kernels of its own instead; see
# CONTRIBUTING.md.)

import numpy as np

import partita as pt
from partita.distribution.base import SUM, Distribution
from partita.structures.base import ALL_FORBIDDEN, Best, Structures
from partita.structures.batch import check_scores, recognise
from partita.structures.forests import Forests


def lattice(n_words, longest):
    """Edge first * longest + length - 1 is a segment; those past the end lead to a dead node."""
    heads, tails = [], []
    for first in range(n_words):
        for end in range(first + 1, first + longest + 1):
            heads.append(end if end <= n_words else n_words + 1)
            tails.append([first] if first > 0 else [])
    return pt.Hypergraph(heads, tails, root=n_words)


class Segmentations(Structures):
    """All ways to cut sentences into segments of at most `longest` words."""

    def __init__(self, n_words, longest):
        self.n_words, self.longest = np.array(n_words, dtype=np.int64), longest
        self._forests = Forests([lattice(n, longest) for n in n_words])
        self.part_offsets = self._forests.part_offsets

    # The sums are those of the lattice, part for part.
    def infer(self, scores):
        return self._forests.infer(scores)

    def covariance_product(self, scores, inference, direction):
        return self._forests.covariance_product(scores, inference, direction)

    def covariance(self, scores, inference):
        return self._forests.covariance(scores, inference)

    def max_marginals(self, scores):
        return self._forests.max_marginals(scores)

    def is_choice(self):
        return self._forests.is_choice()

    def is_same_set(self, other):
        return self.longest == other.longest and np.array_equal(self.n_words, other.n_words)

    def argmax(self, scores):
        edges, best = self._forests.argmax(scores)
        return Best(list(map(self._ends, edges, self.n_words)), best)

    def k_best(self, scores, k):
        found = self._forests.k_best(scores, k)
        return [
            [(self._ends(edges, n), score) for edges, score in sentence]
            for sentence, n in zip(found, self.n_words, strict=True)
        ]

    def sample(self, scores, inference, size, rng):
        found = self._forests.sample(scores, inference, size, rng)
        return [
            np.array([self._ends(edges, n) for edges in sentence]).reshape(size, n)
            for sentence, n in zip(found, self.n_words, strict=True)
        ]

    def why_empty(self, scores, sentence):
        return ALL_FORBIDDEN

    def counts(self, structures):
        counts = np.zeros(self.n_parts)
        for start, ends in zip(self.part_offsets, structures, strict=False):
            stops = np.flatnonzero(ends) + 1
            first = np.concatenate([[0], stops[:-1]])
            counts[start + first * self.longest + stops - first - 1] = 1
        return counts

    def _ends(self, edges, n_words):
        first, length = np.divmod(edges, self.longest)
        ends = np.zeros(n_words, dtype=np.int64)
        ends[first + length] = 1
        return ends


# ## How arrays go in and come out
#
# The distribution class says this and nothing else: entropy, covariances, expectations,
# restrictions, Rényi entropies are inherited.


class Segmentation(Distribution):
    """p(segmentation) proportional to exp(sum of the scores of its segments)."""

    def __init__(self, scores):
        expected = "(n_words, longest), a score for every segment"
        form, arrays = recognise("scores", scores, [2], None, expected)
        for array in arrays:
            check_scores("scores", array)
        structures = Segmentations([len(array) for array in arrays], arrays[0].shape[1])
        super().__init__(structures, np.concatenate([array.ravel() for array in arrays]), form)

    def _flatten(self, values, dtype):
        shapes = [(n, self.structures.longest) for n in self.structures.n_words]
        arrays = self._form.split("values", values, shapes, dtype)
        return np.concatenate([array.ravel() for array in arrays])

    def _shaped(self, parts, combine=SUM):
        rows = np.split(parts, self.structures.part_offsets[1:-1])
        arrays = [row.reshape(-1, self.structures.longest) for row in rows]
        return self._form.join(arrays, lambda n: (n, self.structures.longest))

    def _drawings(self, sentence):
        return []


# ## All questions have answers
#
# Four words with equal scores for all segments of up to three words: there are seven ways to cut
# them (a tribonacci number).

p = Segmentation(np.zeros((4, 3)))
print("ways to cut:        ", round(np.exp(p.log_partition)))
print("entropy:            ", round(p.entropy, 4), "= log 7 =", round(np.log(7), 4))
print("P(a segment):\n", p.marginals.round(3))
print("three samples:      ", p.sample(3, np.random.default_rng(0)).tolist())

# With scores, the best ones, the probability of a cut after the second word, and how the marginals
# move when the score of the first two words as one segment moves:

scores = np.random.default_rng(1).normal(size=(4, 3))
p = Segmentation(scores)
for ends, score in p.k_best(3):
    print(ends, round(score, 3))
direction = np.zeros((4, 3))
direction[0, 1] = 1.0
print("dP / dscore[0, 1]:\n", p.covariance_product(direction).round(3))

# ## It learns
#
# Objectives, corpora and optimisers know no structure by name, so a new one is trained like the
# others. A small job for it: letters without blanks, to be cut into words. A segment has two
# features, its text (if some word of the training data has it) and its length.

from scipy import sparse

from partita import samples
from partita.features import MatrixFeatures
from partita.objectives import Counts, Entropy, Likelihood
from partita.training import Batch, Penalty, build_corpus, train

LONGEST = 10


def words_of(part, n_sentences):
    sentences = [s.column("FORM") for s in samples.treebank(part)[:n_sentences]]
    return [[word.lower() for word in words if len(word) <= LONGEST] for words in sentences]


def features_of(texts, known):
    """A row for every segment of every text: its own weight if it is known, and its length's."""
    rows, columns, n_parts = [], [], 0
    for text in texts:
        for first in range(len(text)):
            for length in range(1, LONGEST + 1):
                rows.append(n_parts)
                columns.append(len(known) + length - 1)
                if text[first : first + length] in known:
                    rows.append(n_parts)
                    columns.append(known[text[first : first + length]])
                n_parts += 1
    ones = np.ones(len(rows))
    return MatrixFeatures(
        sparse.csr_array((ones, (rows, columns)), shape=(n_parts, len(known) + LONGEST))
    )


def ends_of(words):
    ends = np.zeros(sum(map(len, words)), dtype=np.int64)
    ends[np.cumsum([len(word) for word in words]) - 1] = 1
    return ends


def batch(sentences, known, targets):
    texts = ["".join(words) for words in sentences]
    structures = Segmentations([len(text) for text in texts], LONGEST)
    return Batch(Segmentation, structures, features_of(texts, known), targets(structures))


training = words_of("train", 200)
known = {word: number for number, word in enumerate(sorted({w for s in training for w in s}))}
labelled = batch(
    training, known, lambda s: {"Likelihood": Counts.of(s, [ends_of(w) for w in training])}
)
unlabelled = batch(words_of("train", 350)[200:], known, lambda s: {"Entropy": None})
corpus = build_corpus(Likelihood() + 0.1 * Entropy(), [labelled, unlabelled], workers=1)
result = train(corpus, penalty=Penalty(l2=0.1))

held_out = words_of("dev", 100)
test = batch(held_out, known, lambda s: {})
cut = test.at(result.weights).argmax
right = sum(np.array_equal(ends, ends_of(words)) for ends, words in zip(cut, held_out, strict=True))
print(f"{right} of {len(held_out)} sentences are cut as they should be, for instance:")
text = "".join(held_out[0])
print("".join(letter + " " * end for letter, end in zip(text, cut[0], strict=True)))

# ## Is it right?
#
# The conformance suite in `tests/conformance` compares every structure with enumeration, to 1e-9:
# forbidden parts, ties, scores of ±1000, batches, one long sentence. A new structure needs one
# enumerator and one line there. This one, loaded from this very page, is among them.
