"""Labels of arcs: summed or maximised before a tree algorithm, and spread out again behind it.

Arcs lie flat: sentence b has (n+1)² of them from `arc_offsets[b]` on, in C order of
[head, modifier]. The labels of an arc lie side by side: part = arc * n_labels + label. Column 0
and the diagonal belong to no tree; whatever is there is never read.
"""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel
from partita.kernels.simd.small_matrix import share_out


@kernel
def fill_unused(values, n_words, part_offsets, n_labels, value):
    """Write `value` into column 0 and the diagonal of every sentence.

    Returns how many of the numbers there were neither finite nor -inf.
    """
    n_wrong = 0.0
    for sentence in range(len(n_words)):
        width, first = n_words[sentence] + 1, part_offsets[sentence]
        for row in range(width):
            left = first + row * width * n_labels
            for cell in range(left, left + n_labels):
                n_wrong += 0.0 if values[cell] < np.inf else 1.0
                values[cell] = value
            # In row 0 the diagonal is column 0, which counts already.
            for cell in range(left + row * n_labels, left + (row + 1) * n_labels):
                n_wrong += 0.0 if values[cell] < np.inf else 1.0
                values[cell] = value
    return n_wrong


@kernel
def sum_labels(scores, n_words, arc_offsets, n_labels, arcs, weights):
    """arcs[a] = log sum_l exp(scores[a, l]), weights[a, l] = exp(scores[a, l] - arcs[a]).

    An arc without an allowed label is -inf and its weights are 0, as on unused cells.
    """
    for sentence in range(len(n_words)):
        width = n_words[sentence] + 1
        for cell in range(width * width):
            arc = arc_offsets[sentence] + cell
            first = arc * n_labels
            if cell % width != 0 and cell % width != cell // width:
                arcs[arc] = share_out(scores, first, n_labels, weights)
            else:
                arcs[arc] = -np.inf
                for part in range(first, first + n_labels):
                    weights[part] = 0.0


@kernel
def best_labels(scores, n_words, arc_offsets, n_labels, arcs):
    """arcs[a] = max_l scores[a, l]; -inf on unused cells."""
    for sentence in range(len(n_words)):
        width = n_words[sentence] + 1
        for cell in range(width * width):
            arc = arc_offsets[sentence] + cell
            best = -np.inf
            if cell % width != 0 and cell % width != cell // width:
                for part in range(arc * n_labels, (arc + 1) * n_labels):
                    best = max(best, scores[part])
            arcs[arc] = best


@kernel
def spread(arc_values, n_labels, weights):
    """weights[a, l] *= arc_values[a]."""
    for arc in range(len(arc_values)):
        for part in range(arc * n_labels, (arc + 1) * n_labels):
            weights[part] *= arc_values[arc]


@kernel
def mean_direction(marginals, arc_marginals, direction, n_labels, means):
    """means[a] = sum_l q(l | a) direction[a, l], with q = marginals / arc_marginals."""
    for arc in range(len(arc_marginals)):
        mean = 0.0
        if arc_marginals[arc] > 0.0:
            for part in range(arc * n_labels, (arc + 1) * n_labels):
                mean += marginals[part] * direction[part]
            mean /= arc_marginals[arc]
        means[arc] = mean


@kernel
def spread_product(marginals, arc_marginals, direction, means, arc_product, n_labels, out):
    """out[a, l] = q(l | a) (arc_product[a] + arc_marginals[a] (direction[a, l] - means[a]))."""
    for arc in range(len(arc_marginals)):
        if arc_marginals[arc] > 0.0:
            moved = arc_product[arc] / arc_marginals[arc] - means[arc]
            for part in range(arc * n_labels, (arc + 1) * n_labels):
                out[part] = marginals[part] * (moved + direction[part])
        else:
            out[arc * n_labels : (arc + 1) * n_labels] = 0.0


@kernel
def spread_best(scores, arcs, arc_bests, n_labels, out):
    """out[a, l] = arc_bests[a] - arcs[a] + scores[a, l], with arcs[a] = max_l scores[a, l]."""
    for arc in range(len(arcs)):
        for part in range(arc * n_labels, (arc + 1) * n_labels):
            out[part] = -np.inf
            if arc_bests[arc] > -np.inf and scores[part] > -np.inf:
                out[part] = arc_bests[arc] - (arcs[arc] - scores[part])


@kernel
def choose_labels(scores, heads, n_words, arc_offsets, word_offsets, n_labels, labels):
    """The best label of every arc of one tree per sentence."""
    for sentence in range(len(n_words)):
        width = n_words[sentence] + 1
        for word in range(1, width):
            at = word_offsets[sentence] + word - 1
            first = (arc_offsets[sentence] + heads[at] * width + word) * n_labels
            labels[at] = np.argmax(scores[first : first + n_labels])


@kernel
def draw_labels(scores, first_arc, heads, uniforms, n_labels, labels):
    """labels[sample, i] drawn from the label distribution of the arc heads[sample, i] -> i + 1."""
    size, n_words = heads.shape
    weights = np.empty(n_labels)
    for item in range(size):
        for word in range(1, n_words + 1):
            arc = first_arc + heads[item, word - 1] * (n_words + 1) + word
            logs = scores[arc * n_labels : (arc + 1) * n_labels]
            labels[item, word - 1] = draw(logs, uniforms[item, word - 1], weights)
