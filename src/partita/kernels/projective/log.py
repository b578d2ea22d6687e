"""Eisner's inside-outside in logarithms: never underflows; slower than `projective.scaled`.

For the covariance product stands beside the logarithm of each item its mean: the expected
direction of the arcs in it (or around it), given the item. Means are averages, so they stay as
small as the direction; with them,

    product(arc) = p(arc) (mean inside + mean outside - E),

where E is the same sum, expected over the heads of the word. Without a direction `means` is None,
and nothing of this is compiled.

With `best_only` every sum becomes a maximum, and the same charts hold scores of best trees.
One sentence has all its charts in one flat array, as in `side_by_side` but with one lane.
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


@step
def log_add(a, mean_a, b, mean_b, best_only):
    """log(e^a + e^b), and the mean of both means."""
    highest = max(a, b)
    if best_only or highest == -np.inf:
        return highest, 0.0
    weight_a, weight_b = math.exp(a - highest), math.exp(b - highest)
    total = weight_a + weight_b
    return highest + math.log(total), (weight_a * mean_a + weight_b * mean_b) / total


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
def outer_right(values, means, at, i, j, best_only):
    """right'[i, j] = sum_(k>j) pair'[i, k] left[j+1, k] + sum_(k<i) right'[k, j] arc_to[i, k]."""
    row, column = i * at.stride, j * at.stride
    n_after = at.n_words - j
    a, mean_a = log_dot(
        values, means, at.outer_pair + row + j + 1, at.left + column + at.stride + j + 1,
        n_after, best_only,
    )  # fmt: skip
    b, mean_b = log_dot(values, means, at.outer_right + column, at.arc_to + row, i, best_only)
    return log_add(a, mean_a, b, mean_b, best_only)


@step
def outer_left(values, means, at, i, j, best_only):
    """left'[i, j] = sum_(k>j) left'[i, k] arc_to[j, k] + sum_(k<i) pair'[k, j] right[k, i-1]."""
    row, column = i * at.stride, j * at.stride
    n_after = at.n_words - j
    a, mean_a = log_dot(
        values, means, at.outer_left + row + j + 1, at.arc_to + column + j + 1, n_after, best_only
    )
    b, mean_b = log_dot(
        values, means, at.outer_pair + column, at.right + row - at.stride, i, best_only
    )
    return log_add(a, mean_a, b, mean_b, best_only)


@pasted
def put_outer_arc(values, means, cell, value, mean):
    """Store the outside value of an arc."""
    values[cell] = value
    if means is not None:
        means[cell] = mean


@step
def outside_span(values, means, at, i, j, best_only):
    """arc'[i, j] = sum_(k>=j) right'[i, k] right[j, k], its mirror image, and pair'[i, j]."""
    row, column = i * at.stride, j * at.stride
    left, mean = outer_left(values, means, at, i, j, best_only)
    put(values, means, at, at.outer_left, i, j, left, mean)
    ahead, mean_ahead = log_dot(
        values, means, at.outer_right + row + j, at.right + column + j,
        at.n_words - j + 1, best_only,
    )  # fmt: skip
    back, mean_back = log_dot(
        values, means, at.outer_left + column, at.left + row, i + 1, best_only
    )
    put_outer_arc(values, means, at.outer_arc + row + j, ahead, mean_ahead)
    put_outer_arc(values, means, at.outer_arc + column + i, back, mean_back)
    ahead, back = ahead + values[at.weight + row + j], back + values[at.weight + column + i]
    if means is not None:
        mean_ahead += means[at.weight + row + j]
        mean_back += means[at.weight + column + i]
    pair, mean = log_add(ahead, mean_ahead, back, mean_back, best_only)
    put(values, means, at, at.outer_pair, i, j, pair, mean)


@step
def outside(values, means, at, single_root, best_only):
    """All spans from the widest to the narrowest; the whole sentence has outside value 1."""
    for i in range(at.n_words):
        for j in range(at.n_words, i, -1):
            right, mean = 0.0, 0.0
            if i > 0 or j < at.n_words:
                right, mean = outer_right(values, means, at, i, j, best_only)
            if single_root and i == 0 and j < at.n_words:
                right = -np.inf
            put(values, means, at, at.outer_right, i, j, right, mean)
            outside_span(values, means, at, i, j, best_only)


@step
def prepare(scores, direction, start, at, values, means):
    """Scores relative to each word's best arc, as weights; returns what was taken out.

    Every word has exactly one head, so the same amount is taken out of every tree. The charts have
    as many cells as the sentence has arcs, which start at `start`.
    """
    values[:] = -np.inf
    if means is not None:
        means[:] = 0.0
    shift = 0.0
    for modifier in range(1, at.stride):
        best = -np.inf
        for head in range(at.stride):
            if head != modifier:
                best = max(best, scores[start + head * at.stride + modifier])
        if best > -np.inf:
            shift += best
            for head in range(at.stride):
                if head != modifier:
                    cell = head * at.stride + modifier
                    values[cell] = scores[start + cell] - best
                    if means is not None:
                        means[cell] = direction[start + cell]
    return shift


@step
def share_out(values, means, at, start, marginals, product):
    """Marginals and covariance product, from arcs and their outside values.

    The heads of a word share a probability of 1 exactly, even where the logarithms are so large
    that their own rounding shows.
    """
    for modifier in range(1, at.stride):
        highest, total, expected = -np.inf, 0.0, 0.0
        for cell in range(modifier, at.right, at.stride):
            highest = max(highest, values[at.arc + cell] + values[at.outer_arc + cell])
        for cell in range(modifier, at.right, at.stride):
            weight = math.exp(values[at.arc + cell] + values[at.outer_arc + cell] - highest)
            marginals[start + cell] = weight
            total += weight
            if means is not None:
                expected += weight * (means[at.arc + cell] + means[at.outer_arc + cell])
        for cell in range(modifier, at.right, at.stride):
            p = marginals[start + cell] / total
            marginals[start + cell] = p
            if means is not None:
                mean = means[at.arc + cell] + means[at.outer_arc + cell]
                product[start + cell] = p * (mean - expected / total)


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
        share_out(values, means, at, start, marginals, product)
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
    """For each arc the score of the best tree that uses it: best inside plus best outside."""
    for sentence in range(len(n_words)):
        start, at = part_offsets[sentence], layout(n_words[sentence])
        values = np.empty(at.end)
        shift = prepare(scores, None, start, at, values, None)
        inside(values, None, at, single_root, True)
        outside(values, None, at, single_root, True)
        for cell in range(at.right):
            out[start + cell] = shift + (values[at.arc + cell] + values[at.outer_arc + cell])


@kernel
def best_charts(arcs, n_words, single_root, values):
    """Inside charts of best scores of one sentence, flat; returns what was taken out of every tree.

    `values` has room for `N_CHARTS` charts, of as many numbers as there are arcs.
    """
    at = layout(n_words)
    shift = prepare(arcs, None, 0, at, values, None)
    inside(values, None, at, single_root, True)
    return shift
