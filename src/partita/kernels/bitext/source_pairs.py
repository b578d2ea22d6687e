"""Between the parts of source sentences and the dense arrays of D(x, y) that `itg_outside` takes.

The parts of a pair are links and insertions of all words that might be, deletions, lengths and
splits; `bounds` has where deletions, insertions, lengths and splits begin. The dense array has the
links (n, m), deletions (n,), insertions (n + 1, m) of the words that the target has, and splits;
`gathered` says which part each link and insertion is, -1 for none.
"""

import numpy as np

from partita.kernels.jit import inlined, kernel


@inlined
def find_in(words, offsets, group, n_groups, first, target, begin, m, at, out):
    """out[at + k m + j] = the part of word j of a target in group k of some, -1 where it is none.

    Parts are counted from `first` on, which is that of the first word of the first group.
    """
    before = offsets[group]
    for k in range(n_groups):
        for j in range(m):
            out[at] = -1
            for place in range(offsets[group + k], offsets[group + k + 1]):
                if words[place] == target[begin + j]:
                    out[at] = first + place - before
            at += 1


@kernel
def find(choices, n_source, bounds, target, n_target, out):
    """Which part each link (n, m) and then each insertion (n + 1, m) of each pair is, -1 for none.

    `choices` are the links of all words of all sentences, where those of each word begin, and the
    same of the insertions of all boundaries; `target` has all targets end to end.
    """
    links, link_offsets, insertions, insertion_offsets = choices
    word, begin, at = 0, 0, 0
    for pair in range(len(n_target)):
        n, m = n_source[pair], n_target[pair]
        find_in(links, link_offsets, word, n, 0, target, begin, m, at, out)
        at += n * m
        # A sentence has one boundary more than words.
        find_in(
            insertions, insertion_offsets, word + pair, n + 1, bounds[pair, 1], target, begin, m,
            at, out,
        )  # fmt: skip
        at += (n + 1) * m
        word += n
        begin += m


@kernel
def gather(scores, part_offsets, bounds, n_target, gathered, gathered_offsets, starts, out):
    """The scores of each pair as a dense array, which begins at starts[pair]."""
    for pair in range(len(n_target)):
        at, end, m = part_offsets[pair], part_offsets[pair + 1], n_target[pair]
        deletion, insertion, split = bounds[pair, 0], bounds[pair, 1], bounds[pair, 3]
        n, which, to = insertion - deletion, gathered_offsets[pair], starts[pair]
        for k in range((2 * n + 1) * m):
            # Deletions stand between links and insertions.
            place = to + k if k < n * m else to + n + k
            part = gathered[which + k]
            out[place] = scores[at + part] if part >= 0 else -np.inf
        for i in range(n):
            out[to + n * m + i] = scores[at + deletion + i]
        for k in range(end - at - split):
            out[to + (2 * n + 1) * m + n + k] = scores[at + split + k]


@kernel
def scatter(counts, part_offsets, bounds, n_target, gathered, gathered_offsets, starts, kept, out):
    """The transpose, for the pairs that are kept; the length of the target counts once."""
    for pair in range(len(n_target)):
        at, end, m = part_offsets[pair], part_offsets[pair + 1], n_target[pair]
        for part in range(at, end):
            out[part] = 0.0
        if not kept[pair]:
            continue
        deletion, insertion = bounds[pair, 0], bounds[pair, 1]
        length, split = bounds[pair, 2], bounds[pair, 3]
        n, which, to = insertion - deletion, gathered_offsets[pair], starts[pair]
        for k in range((2 * n + 1) * m):
            place = to + k if k < n * m else to + n + k
            part = gathered[which + k]
            if part >= 0:
                out[at + part] += counts[place]
        for i in range(n):
            out[at + deletion + i] = counts[to + n * m + i]
        out[at + length + m] = 1.0
        for k in range(end - at - split):
            out[at + split + k] = counts[to + (2 * n + 1) * m + n + k]
