"""Entropies of spans of a tag sequence, and with some tags fixed (Mann & McCallum 2007)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, Values


class EntropyLattices(NamedTuple):
    """Entropy of the tags on either side of a word, given its tag, in nats; each (n, s)."""

    before: Values
    """H(tags before word t | its tag is j): H-alpha in the paper."""
    behind: Values
    """H(tags behind word t | its tag is j): H-beta in the paper."""


class UncertainSpan(NamedTuple):
    """A span of words, first and last included, and the entropy of its tags in nats."""

    first: int
    last: int
    entropy: float


def entropy_of(p: FloatArray, axes: tuple[int, ...]) -> FloatArray:
    """-sum p log p over some axes, with 0 log 0 = 0."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    result: FloatArray = -(p * logs).sum(axis=axes)
    return result


def span_entropies(unary: FloatArray, pairs: FloatArray, n_words: int) -> FloatArray:
    """Entropy of the tags of every span of `n_words` neighbouring words, in O(n s²).

    By the chain rule, that of the pairs of neighbours in the span minus that of the words between.
    """
    words, neighbours = entropy_of(unary, (1,)), entropy_of(pairs, (1, 2))
    if n_words == 1:
        return words
    pair_sums = np.concatenate([[0.0], np.cumsum(neighbours)])
    word_sums = np.concatenate([[0.0], np.cumsum(words)])
    first = np.arange(len(unary) - n_words + 1)
    last = first + n_words - 1
    result: FloatArray = (pair_sums[last] - pair_sums[first]) - (
        word_sums[last] - word_sums[first + 1]
    )
    return result


def span_entropy(unary: FloatArray, pairs: FloatArray, first: int, last: int) -> float:
    """Entropy of the tags of the words from `first` to `last`, both included."""
    check_span(first, last, len(unary))
    return float(span_entropies(unary[first : last + 1], pairs[first:last], last - first + 1)[0])


def span_log_probability(
    unary: FloatArray, pairs: FloatArray, first: int, tags: ArrayLike
) -> float:
    """log p(the words from `first` on have these tags)."""
    fixed = np.asarray(tags)
    if fixed.ndim != 1 or fixed.dtype.kind not in "iu" or not len(fixed):
        raise ValueError(f"tags is {tags!r}; expected a sequence of at least one tag number.")
    if not ((0 <= fixed) & (fixed < unary.shape[1])).all():
        raise ValueError(f"tags is {tags!r}; expected numbers from 0 to {unary.shape[1] - 1}.")
    check_span(first, first + len(fixed) - 1, len(unary))
    positions = first + np.arange(len(fixed))
    words = unary[positions, fixed]
    neighbours = pairs[positions[:-1], fixed[:-1], fixed[1:]]
    if not (words > 0).all() or not (neighbours > 0).all():
        return -np.inf
    if len(fixed) == 1:
        return float(np.log(words[0]))
    return float(np.log(neighbours).sum() - np.log(words[1:-1]).sum())


def constrained_entropy(
    unary: FloatArray,
    pairs: FloatArray,
    before: FloatArray,
    behind: FloatArray,
    first: int,
    tags: ArrayLike,
    *,
    joint: bool,
) -> float:
    """Entropy of the other tags of one sentence, given those from word `first` on."""
    log_probability = span_log_probability(unary, pairs, first, tags)
    if log_probability == -np.inf:
        if joint:
            return 0.0
        raise ValueError(
            f"the tags {tags!r} from word {first} on have probability 0, so nothing is conditional "
            "on them. Check the tags, or ask with joint=True, which is 0 there."
        )
    fixed = np.asarray(tags)
    entropy = float(before[first, fixed[0]] + behind[first + len(fixed) - 1, fixed[-1]])
    if joint:
        return float(np.exp(log_probability)) * (entropy - log_probability)
    return entropy


def check_span(first: int, last: int, n_words: int) -> None:
    """Both ends of a span lie in the sentence, in order."""
    if not 0 <= first <= last < n_words:
        raise ValueError(
            f"the span is words {first} to {last} of a sentence of {n_words}; expected "
            f"0 <= first <= last <= {n_words - 1}, counting from 0 with both ends included."
        )
