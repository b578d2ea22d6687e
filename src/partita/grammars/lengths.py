"""D_n(x) without a hypergraph: log-partition and expected rule counts by convolutions."""

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.grammars.forest import EmptyForestError
from partita.grammars.itg import bounded_forest
from partita.grammars.parts import RuleScores
from partita.kernels.bitext import itg_lengths
from partita.structures.batch import offsets
from partita.structures.forests import Forests

ANY_WORD = -1


def infer_lengths(
    parts: FloatArray, n_source: IntArray, longest: IntArray
) -> tuple[FloatArray, FloatArray]:
    """log Z_n(x) of the normal form and the expected count of every rule, for many sentences.

    Flat `RuleScores` of all sentences, end to end: `links` (n,), for each word the log sum over its
    translations, `deletions` (n,), `insertions` (1,), the log sum over all words, straight and
    inverted. Sentence p has `n_source[p]` words, and targets at most `longest[p]`. The same numbers
    as the `bounded_forest` of each sentence gives, O(n³ longest²) too, but nothing is built, and it
    is some thirty times faster. Where weights would underflow, that forest takes over. Nothing is
    checked, and the log-partition of a sentence without derivations is -inf.

    >>> word = RuleScores(np.zeros(1), np.zeros(1), np.full(1, -np.inf), 0.0, 0.0)
    >>> log_partition, counts = infer_lengths(word.flat(), np.array([1]), np.array([2]))
    >>> np.exp(log_partition).round(9), counts  # linked or deleted
    (array([2.]), array([0.5, 0.5, 0. , 0. , 0. ]))
    """
    log_partition, counts = np.empty(len(n_source)), np.empty(len(parts))
    safe = np.empty(len(n_source), dtype=np.bool_)
    starts = offsets(2 * n_source + 3)
    itg_lengths.infer(parts, starts, n_source, longest, False, log_partition, counts, safe)
    for sentence in np.flatnonzero(~safe).tolist():
        mine = slice(starts[sentence], starts[sentence + 1])
        log_partition[sentence], counts[mine] = _by_forest(
            parts[mine], int(n_source[sentence]), int(longest[sentence])
        )
    return log_partition, counts


def _by_forest(parts: FloatArray, n: int, longest: int) -> tuple[float, FloatArray]:
    """The same for one sentence, by the hypergraph, whose sums cannot underflow."""
    scores = RuleScores.from_flat(parts, (n,), n)
    can_delete, can_insert = scores.deletions > -np.inf, bool(scores.insertions[0] > -np.inf)
    choices = [[ANY_WORD]] * n
    try:
        forest = bounded_forest(choices, can_delete, can_insert, longest, normal_form=True)
    except EmptyForestError:
        return -np.inf, np.zeros_like(parts)
    inference = Forests([forest.hypergraph]).infer(forest.edge_scores(scores))
    return float(inference.log_partition[0]), forest.rule_counts(inference.marginals).flat()
