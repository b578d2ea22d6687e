"""Eisner's algorithm, inside in logarithms and down in probabilities: never underflows.

It takes the sentences whose numbers `projective.scaled` cannot hold, and is slower. Inside values
say how likely each split of an item is, given the item, so that from the top down every item gets
the number of times that it is expected in a tree, its count. Counts are sums of products of such
shares, hence those of one distribution over trees whatever the size of the scores, even where the
rounding of their sums is more than a nat.

For the covariance product stands beside the logarithm of each item its mean: the expected
direction of the arcs in it, given the item, which is the derivative of the logarithm; and beside
each count its derivative. The means stay as small as the direction. Without a direction `means` is
None, and nothing of this is compiled.

With `best_only` every sum becomes a maximum, and the same charts hold scores of best trees.
One sentence has all its charts in one flat array, as in `side_by_side` but with one lane; the
counts of a span stand at [i, j] only, i < j, and those of an arc at [head, modifier].
"""

import math

import numpy as np

from partita.kernels.jit import kernel, pasted, step
from partita.kernels.projective.side_by_side import ChartLayout
from partita.kernels.simd.lanes import N_LANES, broadcast, exponential, fma, load, maximum
from partita.kernels.simd.lanes import total as lane_total
from partita.kernels.simd.small_matrix import highest_lane


@pasted
def layout(n_words):
    """The layout of one sentence."""
    stride = n_words + 1
    size = stride * stride
    return ChartLayout(
        0, size, 2 * size, 3 * size, 4 * size, 5 * size, 6 * size, 7 * size, 8 * size, 9 * size,
        stride, n_words,
    )  # fmt: skip


@step
def log_dot(values, means, first, second, n_terms, best_only):
    """log sum_k exp(a[k] + b[k]) of two rows of `values`, and the mean of the k-th means.

    The rows start at `first` and `second`; no mass at all gives -inf, with mean 0.
    """
    whole = n_terms - n_terms % N_LANES
    lanes = broadcast(-np.inf)
    for k in range(0, whole, N_LANES):
        lanes = maximum(lanes, load(values, first + k) + load(values, second + k))
    highest = highest_lane(lanes)
    for k in range(whole, n_terms):
        highest = max(highest, values[first + k] + values[second + k])
    if best_only or highest == -np.inf:
        return highest, 0.0
    total_lanes, moment_lanes = broadcast(0.0), broadcast(0.0)
    for k in range(0, whole, N_LANES):
        weight = exponential(load(values, first + k) + load(values, second + k) - highest)
        total_lanes = total_lanes + weight
        if means is not None:
            mean = load(means, first + k) + load(means, second + k)
            moment_lanes = fma(weight, mean, moment_lanes)
    total, moment = lane_total(total_lanes), lane_total(moment_lanes)
    for k in range(whole, n_terms):
        weight = exponential(values[first + k] + values[second + k] - highest)
        total += weight
        if means is not None:
            moment += weight * (means[first + k] + means[second + k])
    return highest + math.log(total), moment / total


@pasted
def put(values, means, at, start, i, j, value, mean):
    """Store an item of a span at [i, j] and [j, i] of the chart at `start`."""
    ahead, back = start + i * at.stride + j, start + j * at.stride + i
    values[ahead], values[back] = value, value
    if means is not None:
        means[ahead], means[back] = mean, mean


@pasted
def put_arc(values, means, at, head, modifier, pair, mean):
    """Store an arc over two halves that meet, both ways round."""
    ahead, back = head * at.stride + modifier, modifier * at.stride + head
    pair = pair + values[at.weight + ahead]
    values[at.arc + ahead], values[at.arc_to + back] = pair, pair
    if means is not None:
        mean = mean + means[at.weight + ahead]
        means[at.arc + ahead], means[at.arc_to + back] = mean, mean


@step
def inside_span(values, means, at, i, j, single_root, best_only):
    """The recursion at the head of `projective.scaled`, for i < j."""
    row, column = i * at.stride, j * at.stride
    n_terms = 1 if single_root and i == 0 else j - i
    pair, mean = log_dot(
        values, means, at.right + row + i, at.left + column + i + 1, n_terms, best_only
    )
    put_arc(values, means, at, i, j, pair, mean)
    put_arc(values, means, at, j, i, pair, mean)
    right, mean = log_dot(
        values, means, at.arc + row + i + 1, at.right + column + i + 1, j - i, best_only
    )
    if single_root and i == 0 and j < at.n_words:
        right = -np.inf
    put(values, means, at, at.right, i, j, right, mean)
    left, mean = log_dot(values, means, at.left + row + i, at.arc + column + i, j - i, best_only)
    put(values, means, at, at.left, i, j, left, mean)


@step
def inside(values, means, at, single_root, best_only):
    """All spans; returns the log-partition of the weights."""
    for i in range(at.n_words, -1, -1):
        put(values, means, at, at.right, i, i, 0.0, 0.0)
        put(values, means, at, at.left, i, i, 0.0, 0.0)
        for j in range(i + 1, at.n_words + 1):
            inside_span(values, means, at, i, j, single_root, best_only)
    return values[at.right + at.n_words]


@step
def share_down(values, means, count, moved, first, second, to_first, to_second, n_terms):
    """An item's count goes to the two parts of each split, in proportion to w[k] = e^(a[k] + b[k]).

    The rows a and b of `values` start at `first` and `second`; split k adds count * w[k], for
    shares w that sum to 1, to the cell k steps behind each of the places `to_first` and
    `to_second`, (cell, step). Since w'[k] = w[k] (mean[k] - mean), the derivative is

        count' w[k] + count w[k] (mean[k] - mean),     mean = sum_k w[k] mean[k]
    """
    highest, total, mean = -np.inf, 0.0, 0.0
    for k in range(n_terms):
        highest = max(highest, values[first + k] + values[second + k])
    for k in range(n_terms):
        weight = exponential(values[first + k] + values[second + k] - highest)
        total += weight
        if means is not None:
            mean += weight * (means[first + k] + means[second + k])
    for k in range(n_terms):
        share = exponential(values[first + k] + values[second + k] - highest) / total
        a, b = to_first[0] + k * to_first[1], to_second[0] + k * to_second[1]
        values[a] += count * share
        values[b] += count * share
        if means is not None:
            change = share * (moved + count * (means[first + k] + means[second + k] - mean / total))
            means[a] += change
            means[b] += change


@step
def reach_down(values, reached, first, second, to_first, to_second, n_terms):
    """The same for best trees: a split costs the tree that reached the item what it lacks."""
    highest = -np.inf
    for k in range(n_terms):
        highest = max(highest, values[first + k] + values[second + k])
    for k in range(n_terms):
        score = reached + (values[first + k] + values[second + k] - highest)
        a, b = to_first[0] + k * to_first[1], to_second[0] + k * to_second[1]
        values[a] = max(values[a], score)
        values[b] = max(values[b], score)


@step
def take_apart(values, means, cell, first, second, to_first, to_second, n_terms, best_only):
    """`share_down` or `reach_down` of the item whose count stands at `cell`, if it is in a tree."""
    if best_only:
        if values[cell] > -np.inf:
            reach_down(values, values[cell], first, second, to_first, to_second, n_terms)
    elif values[cell] > 0.0:
        moved = 0.0 if means is None else means[cell]
        share_down(values, means, values[cell], moved, first, second, to_first, to_second, n_terms)


@step
def outside_span(values, means, at, i, j, single_root, best_only):
    """Take the items of the span i < j apart: their counts are complete; see `inside_span`."""
    row, column, stride = i * at.stride, j * at.stride, at.stride
    take_apart(
        values, means, at.outer_right + row + j, at.arc + row + i + 1, at.right + column + i + 1,
        (at.outer_arc + row + i + 1, 1), (at.outer_right + row + stride + j, stride),
        j - i, best_only,
    )  # fmt: skip
    take_apart(
        values, means, at.outer_left + row + j, at.left + row + i, at.arc + column + i,
        (at.outer_left + row + i, 1), (at.outer_arc + column + i, 1), j - i, best_only,
    )  # fmt: skip
    # Two halves that meet belong to the arc either way.
    pair, ahead, back = at.outer_pair + row + j, at.outer_arc + row + j, at.outer_arc + column + i
    if best_only:
        values[pair] = max(values[ahead], values[back])
    else:
        values[pair] = values[ahead] + values[back]
        if means is not None:
            means[pair] = means[ahead] + means[back]
    take_apart(
        values, means, pair, at.right + row + i, at.left + column + i + 1,
        (at.outer_right + row + i, 1), (at.outer_left + row + stride + j, stride),
        1 if single_root and i == 0 else j - i, best_only,
    )  # fmt: skip


@step
def outside(values, means, at, single_root, best_only):
    """All counts, from the widest span to the narrowest; the whole sentence counts once.

    With `best_only` the score of the best tree with each item, -inf where there is none.
    """
    whole = at.right + at.n_words
    for cell in range(at.outer_right, at.end):
        values[cell] = -np.inf if best_only else 0.0
    values[at.outer_right + at.n_words] = values[whole] if best_only else 1.0
    for i in range(at.n_words):
        for j in range(at.n_words, i, -1):
            outside_span(values, means, at, i, j, single_root, best_only)


@step
def prepare(scores, direction, start, at, values, means):
    """Scores relative to each word's best arc, as weights; returns what was taken out.

    Every word has exactly one head, so the same amount is taken out of every tree, and likewise of
    the direction, which leaves less to cancel. The charts have
    as many cells as the sentence has arcs, which start at `start`.
    """
    values[:] = -np.inf
    if means is not None:
        means[:] = 0.0
    shift = 0.0
    for modifier in range(1, at.stride):
        best, best_cell = -np.inf, start
        for head in range(at.stride):
            cell = start + head * at.stride + modifier
            if head != modifier and scores[cell] > best:
                best, best_cell = scores[cell], cell
        if best > -np.inf:
            shift += best
            for head in range(at.stride):
                if head != modifier:
                    cell = head * at.stride + modifier
                    values[cell] = scores[start + cell] - best
                    if means is not None:
                        means[cell] = direction[start + cell] - direction[best_cell]
    return shift


@step
def sum_trees(scores, direction, start, at, single_root, values, means, marginals, product):
    """Log-partition and marginals of one sentence, and the product along a direction if given."""
    for part in range(start, start + at.right):
        marginals[part] = 0.0
        if means is not None:
            product[part] = 0.0
    shift = prepare(scores, direction, start, at, values, means)
    total = inside(values, means, at, single_root, False)
    if total > -np.inf:
        outside(values, means, at, single_root, False)
        for cell in range(at.right):
            marginals[start + cell] = values[at.outer_arc + cell]
            if means is not None:
                product[start + cell] = means[at.outer_arc + cell]
    return shift + total


@kernel
def marginals(scores, part_offsets, n_words, single_root, sentences, log_partition, out):
    """Log-partition and marginals of the named sentences of a batch."""
    for sentence in sentences:
        start, at = part_offsets[sentence], layout(n_words[sentence])
        log_partition[sentence] = sum_trees(
            scores, None, start, at, single_root, np.empty(at.end), None, out, None
        )


@kernel
def covariance_product(
    scores, direction, part_offsets, n_words, single_root, sentences, marginals, out
):
    """The covariance product of the named sentences, and their marginals again."""
    for sentence in sentences:
        start, at = part_offsets[sentence], layout(n_words[sentence])
        values, means = np.empty(at.end), np.empty(at.end)
        sum_trees(scores, direction, start, at, single_root, values, means, marginals, out)


@kernel
def max_marginals(scores, part_offsets, n_words, single_root, out):
    """For each arc the score of the best tree that uses it; -inf where none does."""
    for sentence in range(len(n_words)):
        start, at = part_offsets[sentence], layout(n_words[sentence])
        values = np.empty(at.end)
        shift = prepare(scores, None, start, at, values, None)
        inside(values, None, at, single_root, True)
        outside(values, None, at, single_root, True)
        for cell in range(at.right):
            out[start + cell] = shift + values[at.outer_arc + cell]
