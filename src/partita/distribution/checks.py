"""Errors of distributions: what structures return, what has no structure, what is no pair."""

from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.structures.base import Inference, Structures


def check_shapes(sets: Structures, inference: Inference) -> None:
    """What `infer` returns fits the batch."""
    check_shape(sets, "infer", "log-partitions", inference.log_partition, by_sentence=True)
    check_shape(sets, "infer", "marginals", inference.marginals)


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
    # The square of a number beyond 1e154 is infinite too: then the second test decides.
    if values.dot(values) < np.inf or np.isfinite(values).all():
        return
    sentence = int(np.flatnonzero(~np.isfinite(values))[0])
    if values[sentence] == -np.inf:
        raise ValueError(
            f"sentence {sentence} (counting from 0) has no structure: "
            f"{sets.why_empty(scores, sentence)}. Allow more parts, or leave the sentence out."
        )
    mine = scores[sets.part_offsets[sentence] : sets.part_offsets[sentence + 1]]
    largest = np.abs(mine[np.isfinite(mine)]).max(initial=0.0)
    raise ValueError(
        f"the scores of sentence {sentence} (counting from 0) are too large to be added up: one "
        f"is {largest:.3g}. Scores are natural logarithms; subtract a constant, or scale them."
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
