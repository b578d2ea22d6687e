"""Charts of binary trees side by side: four sentences of like length, one in each SIMD lane.

A chart is a square of lanes over the words 0 .. n-1. What belongs to a span is stored twice, at
[i, j] and at [j, i], so that every sum of the recursions reads two rows. All charts of a group have
the size of its longest sentence, rounded up to an even number of words, since spans are computed in
tiles of two by two. Spans that a shorter sentence lacks have weight 0, which changes nothing. A
lane for which there is no sentence repeats the last one.
"""

from typing import NamedTuple

import numpy as np

from partita.kernels.jit import pasted, step
from partita.kernels.simd.exponential import LOWEST, exponential
from partita.kernels.simd.lanes import N_LANES, broadcast, load, maximum, select, store


class SpanLayout(NamedTuple):
    """Where the charts of a group start in one flat array, in doubles.

    A derivative of the charts has the same layout, with the direction in place of the weights.
    """

    weight: int
    """[i, j], i < j: of the span alone; at [j, i] its outside value over the sum of all trees."""
    inner: int
    """[i, j]: all trees of the words i .. j."""
    outer: int
    """[i, j], i < j: outside value times weight, which is what its two halves see."""
    end: int
    """Number of doubles in all charts."""
    stride: int
    """Number of doubles in a row of a chart."""
    n_words: int
    """Number of words of the longest sentence, rounded up to whole tiles."""


@pasted
def span_layout(n_words):
    """The layout of a group whose longest sentence has `n_words` words."""
    n_words = (n_words + 1) // 2 * 2
    size = n_words * n_words * N_LANES
    return SpanLayout(0, size, 2 * size, 3 * size, n_words * N_LANES, n_words)


@step
def fill_spans(values, part_offsets, n_words, order, first, at, fill, charts):
    """Weights [i, j], i < j, from the scores of four sentences, with `fill` where there is none."""
    for index in range(N_LANES):
        sentence = order[min(first + index, len(order) - 1)]
        words, start = n_words[sentence], part_offsets[sentence]
        for i in range(at.n_words):
            row = at.weight + i * at.stride + index
            for j in range(i + 1, at.n_words):
                inside = j < words
                charts[row + j * N_LANES] = values[start + i * words + j] if inside else fill


@step
def exponentiate_spans(charts, at):
    """Weights = exp(score - best), in place, with best the highest score of a span of each lane.

    Every tree of n words has n - 2 spans of more than one word and less than all, so that the same
    amount is taken out of all. Returns the best ones (0 where no span is allowed), and
    which lanes have scores whose weight has become 0.
    """
    highest, n_lost = broadcast(-np.inf), broadcast(0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.stride, N_LANES):
            highest = maximum(load(charts, cell), highest)
    highest = select(highest > -np.inf, highest, 0.0)
    for i in range(at.n_words):
        row = at.weight + i * at.stride
        for cell in range(row + (i + 1) * N_LANES, row + at.stride, N_LANES):
            score = load(charts, cell) - highest
            is_finite = select(score > -np.inf, 1.0, broadcast(0.0))
            n_lost = n_lost + select(score < LOWEST, is_finite, 0.0)
            store(charts, cell, exponential(score))
    return highest, n_lost


@step
def write_spans(still, moved, at, part_offsets, n_words, order, first, end, out):
    """Marginals of all spans to their sentences, inner * outside, or the derivative of them.

    A word is in every tree, so its marginal is 1 and does not move.
    """
    for index in range(end - first):
        sentence = order[first + index]
        words, start = n_words[sentence], part_offsets[sentence]
        for i in range(words):
            for j in range(i):
                out[start + i * words + j] = 0.0
            out[start + i * words + i] = 1.0 if moved is None else 0.0
            for j in range(i + 1, words):
                inner = at.inner + i * at.stride + j * N_LANES + index
                outside = at.weight + j * at.stride + i * N_LANES + index
                if moved is None:
                    value = still[inner] * still[outside]
                else:
                    value = moved[inner] * still[outside] + still[inner] * moved[outside]
                out[start + i * words + j] = value
