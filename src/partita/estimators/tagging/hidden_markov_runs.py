"""What all ways to train a hidden Markov model share: several starts, and what sentences count."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.runs import RunPlan, run
from partita.estimators.tagging.hidden_markov_layout import HiddenMarkovLayout
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel
from partita.text.columns import Column
from partita.text.neighbour_classes import neighbour_classes
from partita.training import Corpus, TrainingResult
from partita.training.trainer import HeldOut

MOST_ITERATIONS = 100
"""Of expectation-maximisation, by default."""
MISSING_WORD = "\0"
"""No word is called so."""
CLASS_PASSES = 20
"""Over all words, to find their classes."""
UNLABELLED_SHARE = 0.3
"""What all sentences without labels count beside those with; measured on English."""


@dataclass(frozen=True)
class LearntHiddenMarkov:
    """What a hidden Markov model learnt, and how."""

    model: HiddenMarkovModel
    training: TrainingResult
    histories: list[FloatArray]
    """For each start minus the loss after each iteration: a log-likelihood, with the prior."""
    reasons: list[str]


def best_of_starts(
    corpus: Corpus,
    way: RunPlan,
    start: Callable[[int], FloatArray],
    n_restarts: int,
    judge: HeldOut | None,
    first_stage: int = 1,
) -> tuple[TrainingResult, list[FloatArray], list[str]]:
    """The best of several starts: on held-out data if there is a judge, else by the loss."""
    histories, reasons = [], []
    best: tuple[float, TrainingResult] | None = None
    for restart in range(n_restarts):
        result = run(corpus, way, start(restart), judge, stage=first_stage + restart)
        histories.append(np.array([-record.loss for record in result.history]))
        reasons.append(result.reason)
        loss = result.loss if judge is None else judge(result.weights)
        if best is None or loss < best[0]:
            best = loss, result
        if result.interrupted:
            best = best[0], replace(best[1], interrupted=True)
            break
    assert best is not None
    return best[1], histories, reasons


def class_tags(
    words: Sequence[str | None], n_words: IntArray, n_tags: int, rng: np.random.Generator
) -> IntArray:
    """A tag for every word by its class, see `partita.text.neighbour_classes`; -1 for none.

    Classes start by chance, and words that stand beside the same words end in the same one, in
    capitals or not.
    """
    column = Column.of(MISSING_WORD if word is None else word.lower() for word in words)
    found = neighbour_classes(column, n_words, n_tags, max_passes=CLASS_PASSES, rng=rng)
    tags: IntArray = found.classes[column.numbers]
    return np.where([word is None for word in words], -1, tags)


def unlabelled_weight(
    given: float | None, layout: HiddenMarkovLayout, n_others: int, labelled: FloatArray
) -> float:
    """What a sentence without labels counts, of those that have `n_others` words together.

    `labelled` are the counts of those with labels.
    """
    if given is not None:
        return given
    _, _, emissions = layout.split(labelled)
    n_labelled = float(emissions.sum())
    return min(1.0, UNLABELLED_SHARE * n_labelled / n_others) if n_labelled else 1.0
