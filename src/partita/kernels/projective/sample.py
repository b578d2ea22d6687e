"""Exact samples of projective trees: inside once, then every tree from the top down."""

import numpy as np

from partita.kernels.chains.sample import draw
from partita.kernels.jit import kernel, step
from partita.kernels.projective.log import inside, layout, prepare


@step
def draw_split(values, first, second, n_terms, uniform, logs, weights):
    """An index k < n_terms with probability proportional to exp(a[k] + b[k])."""
    for k in range(n_terms):
        logs[k] = values[first + k] + values[second + k]
    return draw(logs[:n_terms], uniform, weights)


@step
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
            values, first, second, abs(end - head), uniform, logs, weights
        )
        heads[modifier - 1] = head
        left, right = min(head, modifier), max(head, modifier)
        middle = left + draw_split(
            values, at.right + left * at.stride + left, at.left + right * at.stride + left + 1,
            right - left, uniforms[n_drawn + 1], logs, weights,
        )  # fmt: skip
        n_drawn += 2
        stack[depth, 0], stack[depth, 1] = modifier, end
        stack[depth + 1, 0], stack[depth + 1, 1] = left, middle
        stack[depth + 2, 0], stack[depth + 2, 1] = right, middle + 1
        depth += 3


@kernel
def sample(arcs, n_words, single_root, uniforms, stack, heads):
    """Fill heads[sample, word] for one sentence, from uniforms[sample, 2 * word].

    `stack` has room for 3 n + 3 pairs of numbers.
    """
    at = layout(n_words)
    values = np.empty(at.end)
    prepare(arcs, None, 0, at, values, None)
    inside(values, None, at, single_root, False)
    logs, weights = np.empty(at.stride), np.empty(at.stride)
    for item in range(len(heads)):
        sample_tree(values, at, uniforms[item], stack, logs, weights, heads[item])
