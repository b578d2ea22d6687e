"""Exact samples of projective trees: inside once, then every tree from the top down."""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel
from partita.kernels.projective.log import inside, layout, prepare


@kernel
def draw_split(values, first, second, uniform, logs, weights):
    """An index k with probability proportional to exp(a[k] + b[k]), as many as `logs` holds."""
    for k in range(len(logs)):
        logs[k] = values[first + k] + values[second + k]
    return draw(logs, uniform, weights)


@kernel
def sample_tree(values, at, uniforms, stack, logs, weights, heads):
    """Heads of one tree, drawn with two uniform numbers for every word.

    A head with its dependents on one side is split at the arc to the outermost of them, with
    probability arc * right (or left * arc); under an arc two halves meet, with probability
    right * left. `stack` holds spans (head, end): right of the head if head < end.
    """
    stack[0, 0], stack[0, 1] = 0, at.n_words
    depth, n_drawn = 1, 0
    while depth > 0:
        depth -= 1
        head, end = stack[depth, 0], stack[depth, 1]
        if head == end:
            continue
        uniform, row, column = uniforms[n_drawn], head * at.stride, end * at.stride
        if head < end:
            split = head + 1
            first, second = at.arc + row + split, at.right + column + split
        else:
            split = end
            first, second = at.left + column + split, at.arc + row + split
        modifier = split + draw_split(
            values, first, second, uniform, logs[: abs(end - head)], weights
        )
        heads[modifier - 1] = head
        left, right = min(head, modifier), max(head, modifier)
        middle = left + draw_split(
            values, at.right + left * at.stride + left, at.left + right * at.stride + left + 1,
            uniforms[n_drawn + 1], logs[: right - left], weights,
        )  # fmt: skip
        n_drawn += 2
        stack[depth, 0], stack[depth, 1] = modifier, end
        stack[depth + 1, 0], stack[depth + 1, 1] = left, middle
        stack[depth + 2, 0], stack[depth + 2, 1] = right, middle + 1
        depth += 3


@kernel
def sample(arcs, single_root, uniforms, heads):
    """Fill heads[sample, word] for one sentence, from uniforms[sample, 2 * word]."""
    at = layout(len(arcs) - 1)
    values, means = np.full(at.end, -np.inf), np.zeros(at.end)
    prepare(arcs, np.zeros_like(arcs), at, values, means)
    inside(values, means, at, single_root, False)
    stack = np.empty((3 * at.n_words + 3, 2), dtype=np.int64)
    logs, weights = np.empty(at.n_words + 1), np.empty(at.n_words + 1)
    for item in range(len(heads)):
        sample_tree(values, at, uniforms[item], stack, logs, weights, heads[item])
