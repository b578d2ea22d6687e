"""Between the parts of source sentences and the sums over words that `itg_lengths` takes.

The parts of a sentence are links and insertions of all words that might be, deletions, lengths and
splits; `bounds` has where links, deletions, insertions and lengths begin, and the end. The summed
ones are a link and a deletion of each word, an insertion at each of its boundaries, and the rest.
The words of link g are link_offsets[g] to link_offsets[g + 1], counted from the first sentence on;
so for insertions.
"""

import math

import numpy as np

from partita.kernels.jit import inlined, kernel


@inlined
def log_sum(scores, first, end, shares):
    """log sum exp of scores from `first` on, and the share of each; -inf and 0 if none can be."""
    largest = -np.inf
    for part in range(first, end):
        largest = max(largest, scores[part])
    if largest == -np.inf:
        for part in range(first, end):
            shares[part] = 0.0
        return largest
    total = 0.0
    for part in range(first, end):
        shares[part] = math.exp(scores[part] - largest)
        total += shares[part]
    for part in range(first, end):
        shares[part] /= total
    return largest + math.log(total)


@kernel
def gather(
    scores, part_offsets, bounds, link_offsets, insertion_offsets, starts, shares, out
):  # fmt: skip
    """The summed scores of each sentence, from starts[p] on, and what share of them a word has."""
    word = 0
    for p in range(len(bounds)):
        at, to = part_offsets[p], starts[p]
        n = bounds[p, 2] - bounds[p, 1]
        links = at - link_offsets[word]
        for i in range(word, word + n):
            out[to] = log_sum(scores, links + link_offsets[i], links + link_offsets[i + 1], shares)
            to += 1
        for part in range(at + bounds[p, 1], at + bounds[p, 2]):
            out[to] = scores[part]
            to += 1
        # A sentence has one boundary more than words.
        boundary = word + p
        inserted = at + bounds[p, 2] - insertion_offsets[boundary]
        for i in range(boundary, boundary + n + 1):
            first, end = inserted + insertion_offsets[i], inserted + insertion_offsets[i + 1]
            out[to] = log_sum(scores, first, end, shares)
            to += 1
        for part in range(at + bounds[p, 3], at + bounds[p, 4]):
            out[to] = scores[part]
            to += 1
        word += n


@kernel
def scatter(
    counts, shares, part_offsets, bounds, link_offsets, insertion_offsets, starts, out
):  # fmt: skip
    """Expected counts of the parts, from those of the sums and the shares of `gather`."""
    word = 0
    for p in range(len(bounds)):
        at, of = part_offsets[p], starts[p]
        n = bounds[p, 2] - bounds[p, 1]
        links = at - link_offsets[word]
        for i in range(word, word + n):
            for part in range(links + link_offsets[i], links + link_offsets[i + 1]):
                out[part] = counts[of] * shares[part]
            of += 1
        for part in range(at + bounds[p, 1], at + bounds[p, 2]):
            out[part] = counts[of]
            of += 1
        boundary = word + p
        inserted = at + bounds[p, 2] - insertion_offsets[boundary]
        for i in range(boundary, boundary + n + 1):
            for part in range(inserted + insertion_offsets[i], inserted + insertion_offsets[i + 1]):
                out[part] = counts[of] * shares[part]
            of += 1
        for part in range(at + bounds[p, 3], at + bounds[p, 4]):
            out[part] = counts[of]
            of += 1
        word += n
