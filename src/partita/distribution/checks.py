"""Errors of distributions: what structures return, what has no structure, what is no pair."""

from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.structures.base import Inference, Structures, too_large
from partita.structures.batch import pieces, whole_number
from partita.structures.settling import PRECISE

DOUBLE = np.dtype(np.float64)
COARSEST = 2.0**-20
"""The rounding in nats up to which a small difference of large sums is given, not refused."""


def check_shapes(sets: Structures, inference: Inference) -> None:
    """What `infer` returns fits the batch."""
    log_partition, marginals, _ = inference
    are_right = log_partition.dtype == marginals.dtype == DOUBLE
    if are_right and log_partition.shape + marginals.shape == (sets.n_sentences, sets.n_parts):
        return
    check_shape(sets, "infer", "log-partitions", log_partition, by_sentence=True)
    check_shape(sets, "infer", "marginals", marginals)


def check_shape(
    sets: Structures, method: str, what: str, found: FloatArray, *, by_sentence: bool = False
) -> None:
    """What a structure returns fits the batch: kernels would read beyond the end of less."""
    shape = (sets.n_sentences if by_sentence else sets.n_parts,)
    if found.shape != shape or found.dtype != np.float64:
        raise ValueError(
            f"{type(sets).__name__}.{method} gave {what} of shape {found.shape} and type "
            f"{found.dtype}; expected {shape} of float64, one for each "
            f"{'sentence' if by_sentence else 'part'}. Mend that method."
        )


def check_support(sets: Structures, scores: FloatArray, values: FloatArray) -> None:
    """Every sentence has a structure, and sums of its scores that are numbers."""
    is_finite = np.isfinite(values)
    # As `where_false` looks, without a list of places.
    if 0 not in is_finite.tobytes():
        return
    wrong = np.flatnonzero(~is_finite)
    sentence = int(wrong[0])
    if values[sentence] == -np.inf:
        raise ValueError(
            f"sentence {sentence} (counting from 0) has no structure: "
            f"{sets.why_empty(scores, sentence)}. Allow more parts, or leave the sentence out."
        )
    raise too_large(sets, scores, sentence)


def check_largest(sets: Structures, scores: FloatArray, values: FloatArray) -> None:
    """Of values for all parts, each sentence has one that is more than -inf."""
    each = pieces(values, sets.part_offsets)
    check_support(sets, scores, np.array([part.max(initial=-np.inf) for part in each]))


def check_addition(name: str, words: FloatArray, scores: FloatArray) -> None:
    """Scores of an end, (n_tags,), can be added to those of words, a row a sentence.

    A sum that drops more than a trace of either is an error, since nobody could tell later.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sums = words + scores
        added = sums - words
        dropped = np.abs((words - (sums - added)) + (scores - added))
    is_finite = (words > -np.inf) & (scores > -np.inf)
    is_lost = is_finite & ~(dropped <= COARSEST)
    if is_lost.any():
        cell = tuple(np.argwhere(is_lost)[0])
        given = np.broadcast_to(scores, words.shape)[cell]
        raise ValueError(
            f"{name} has a score of {given:.3g} where the word's own is {words[cell]:.3g} "
            f"(sentence {cell[0]}, counting from 0), and their sum has not the digits for both. "
            "Scores are natural logarithms; subtract a constant, or scale them."
        )


def check_settled(sizes: FloatArray) -> None:
    """The largest score of each sentence lets sums keep their digits, now that all is settled."""
    is_lost = ~(sizes <= PRECISE)
    if is_lost.any():
        sentence = int(np.flatnonzero(is_lost)[0])
        size = sizes[sentence]
        raise ValueError(
            f"the structures of sentence {sentence} (counting from 0) cannot be told apart: what "
            f"they differ by is lost in rounding, since their scores add up and cancel numbers "
            f"such as {size:.3g}, whose last digit is worth {2.0**-52 * size:.2g} nats. Scores are "
            "natural logarithms; scale them, or forbid by -inf what cannot be."
        )


def check_precision(sets: Structures, what: str, found: FloatArray, added: FloatArray) -> None:
    """A difference of sums, found for each sentence, is a number and more than their rounding.

    `added` is the larger sum of absolute values; 0 where a difference is meant to be infinite.
    """
    rounding = 2.0**-52 * added
    is_lost = rounding > COARSEST * np.maximum(1.0, np.abs(found))
    is_lost |= (added > 0.0) & np.isinf(found)
    if is_lost.any():
        sentence = int(np.flatnonzero(is_lost)[0])
        raise ValueError(
            f"{what} of sentence {sentence} (counting from 0) is lost in rounding: scores add up "
            f"to {added[sentence]:.3g}, whose last digit is worth {rounding[sentence]:.2g} nats. "
            "Scores are natural logarithms; subtract a constant, or scale them."
        )


def restored(what: str, values: Any, unit: float) -> Any:
    """Values in a unit, as numbers of their own; what is then beyond the doubles is an error."""
    if unit == 1.0:
        return values
    with np.errstate(over="ignore"):
        result = values * unit
    if (np.isfinite(values) & ~np.isfinite(result)).any():
        raise beyond_doubles(what)
    return result


def beyond_doubles(what: str) -> ValueError:
    """The error for a number that no double holds."""
    return ValueError(
        f"{what} is beyond the largest double, {np.finfo(np.float64).max:.3g}: the scores or "
        "values it is a sum of are too large. Subtract a constant from them, or scale them."
    )


def check_comparable(p: Any, other: Any) -> None:
    """Both are over the same set of structures, of the same parts."""
    if type(p) is not type(other) or not p.structures.is_same_set(other.structures):
        raise ValueError(
            f"{_described(p)} was compared with {_described(other)}; expected two distributions "
            "over the same parts and the same set of structures. Forbid by -inf what only one of "
            "them allows."
        )


def _described(other: Any) -> str:
    sets = getattr(other, "structures", None)
    if not isinstance(sets, Structures):
        return f"a {type(other).__name__}"
    return f"a {type(other).__name__} ({sets.n_sentences} sentences, {sets.n_parts} parts)"


def checked_draw(size: int, rng: np.random.Generator) -> tuple[int, np.random.Generator]:
    """The number of samples and the generator, or an error that says what is wrong with them."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(
            f"rng is {rng!r}; expected a NumPy Generator, such as np.random.default_rng(0)."
        )
    return whole_number("size", size, 0), rng
