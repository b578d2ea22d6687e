"""D(x, y) in normal form without a hypergraph: sums over alignments by matrix products."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.grammars.forest import EmptyForestError
from partita.grammars.parts import RuleScores, checked_pair
from partita.kernels.bitext import itg_log, itg_outside
from partita.structures.batch import offsets


class PairInference(NamedTuple):
    """Log-partition and expected rule counts of a batch of pairs."""

    log_partition: FloatArray
    """log Z(x, y) of each pair, (n_pairs,)."""
    counts: list[RuleScores]
    """How often each rule is used in expectation: the gradient of log Z(x, y), for each pair."""


def infer_pairs(scores: Sequence[RuleScores]) -> PairInference:
    """log Z(x, y) = log sum over alignments of exp(score), and the expected count of every rule.

    The same numbers as the `Forest` of each pair in normal form gives, O(n³ m³) too, but ten to
    seventy times faster, and nothing is built: a chain of small matrix products over target
    boundaries. Where weights would underflow, a pair is computed in logarithms. A pair without
    derivations is an `EmptyForestError`.

    >>> pair = RuleScores(np.zeros((3, 3)), np.zeros(3), np.zeros(3), 0.0, 0.0)
    >>> alignments = infer_pairs([pair])
    >>> np.exp(alignments.log_partition).round(6)
    array([34.])
    >>> (34 * alignments.counts[0].links).round(6)  # alignments that have each link
    array([[7., 7., 7.],
           [7., 7., 7.],
           [7., 7., 7.]])
    """
    checked = [checked_pair(pair, index) for index, pair in enumerate(scores)]
    n_source, n_target = _sizes(checked)
    part_offsets = _part_offsets(n_source, n_target)
    parts = np.concatenate([pair.flat() for pair in checked]) if checked else np.zeros(0)
    log_partition, counts = infer_flat(parts, n_source, n_target)
    _check_support(log_partition)
    return PairInference(
        log_partition,
        [
            RuleScores.from_flat(counts[start:end], pair.links.shape, len(pair.deletions))
            for start, end, pair in zip(part_offsets[:-1], part_offsets[1:], checked, strict=True)
        ],
    )


def log_partitions(scores: Sequence[RuleScores]) -> FloatArray:
    """log Z(x, y) of each pair, (n_pairs,), at a third of the cost of `infer_pairs`.

    >>> word = RuleScores(np.log([[0.5]]), np.log([0.5]), np.log([0.5]), 0.0, 0.0)
    >>> np.exp(log_partitions([word])).round(9)  # a link, or both null
    array([0.75])
    """
    checked = [checked_pair(pair, index) for index, pair in enumerate(scores)]
    n_source, n_target = _sizes(checked)
    part_offsets = _part_offsets(n_source, n_target)
    parts = np.concatenate([pair.flat() for pair in checked]) if checked else np.zeros(0)
    log_partition = np.empty(len(checked))
    safe = np.empty(len(checked), dtype=np.bool_)
    shape = (part_offsets, n_source, n_target)
    itg_outside.infer(parts, *shape, None, log_partition, None, safe)
    unsafe = np.flatnonzero(~safe)
    if unsafe.size:
        itg_log.marginals(parts, *shape, unsafe, log_partition, np.empty_like(parts))
    _check_support(log_partition)
    return log_partition


def infer_flat(
    parts: FloatArray, n_source: IntArray, n_target: IntArray
) -> tuple[FloatArray, FloatArray]:
    """`infer_pairs` for callers in a hurry: flat `RuleScores` of all pairs, end to end.

    Nothing is checked, and the log-partition of a pair without derivations is -inf. Releases the
    GIL.
    """
    part_offsets = _part_offsets(n_source, n_target)
    log_partition, counts = np.empty(len(n_source)), np.empty(len(parts))
    safe = np.empty(len(n_source), dtype=np.bool_)
    shape = (part_offsets, n_source, n_target)
    itg_outside.infer(parts, *shape, None, log_partition, counts, safe)
    unsafe = np.flatnonzero(~safe)
    if unsafe.size:
        itg_log.marginals(parts, *shape, unsafe, log_partition, counts)
    return log_partition, counts


def _sizes(pairs: Sequence[RuleScores]) -> tuple[IntArray, IntArray]:
    sizes = np.array([pair.links.shape for pair in pairs], dtype=np.int64).reshape(-1, 2)
    return np.ascontiguousarray(sizes[:, 0]), np.ascontiguousarray(sizes[:, 1])


def _part_offsets(n_source: IntArray, n_target: IntArray) -> IntArray:
    return offsets(n_source * n_target + n_source + n_target + 2)


def _check_support(log_partition: FloatArray) -> None:
    empty = np.flatnonzero(log_partition == -np.inf)
    if empty.size:
        raise EmptyForestError(
            f"pair {empty[0]} (counting from 0) has no derivation: each one uses a rule whose "
            "score is -inf. Allow more links, deletions or insertions, or leave the pair out."
        )
