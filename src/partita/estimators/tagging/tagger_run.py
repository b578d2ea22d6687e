"""From a tagger's lessons to its weights: one run or two, held-out data, checkpoints."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from partita.arrays import FloatArray
from partita.estimators.tagging.tagger_training import Lessons
from partita.training import Penalty, TrainingResult, build_corpus, train
from partita.training.checkpoint import checkpoint_about
from partita.training.optimisers import Optimiser
from partita.training.trainer import HeldOut, Path

FIRST = ".first"
"""The log of the first of two runs has this behind its name."""


@dataclass(frozen=True)
class RunOptions:
    """How to train; see `partita.training.train`."""

    optimiser: Optimiser[Any]
    penalty: Penalty
    patience: int
    checkpoint: Path | None
    checkpoint_seconds: float
    resume: bool
    log: Path | None
    seed: int
    n_threads: int | None
    progress: bool | None


def run_lessons(
    lessons: Lessons,
    options: RunOptions,
    start: FloatArray | None,
    *,
    risk: bool,
    held_out: Lessons | None,
) -> TrainingResult:
    """The weights that the lessons lead to.

    Neither risk nor entropy is convex: unless there are weights to start from, a first run without
    either of them makes the labels likely, and a second one starts from there. Both write their
    checkpoints to the same file, whose objective tells which of them it is of.
    """
    plain = replace(lessons, entropy_weight=0.0)
    with _judge(held_out, options) as judge:
        if start is None and _needs_start(lessons, risk) and not _is_second(options, plain):
            log = None if options.log is None else os.fspath(options.log) + FIRST
            first = _run(plain, replace(options, log=log), None, risk=False, judge=judge)
            if first.interrupted:
                return first
            start, options = first.weights, replace(options, resume=False)
        return _run(lessons, options, start, risk=risk, judge=judge)


def _needs_start(lessons: Lessons, risk: bool) -> bool:
    labels_teach = lessons.n_full + lessons.n_partial > 0 or bool(lessons.expectations)
    return labels_teach and (risk or lessons.entropy_weight > 0)


def _is_second(options: RunOptions, plain: Lessons) -> bool:
    """Whether the checkpoint to resume from is of the second run."""
    if not options.resume or options.checkpoint is None or not os.path.exists(options.checkpoint):
        return False
    objective, _ = plain.assemble(risk=False)
    return checkpoint_about(options.checkpoint).get("objective") != list(objective.names)


def _run(
    lessons: Lessons,
    options: RunOptions,
    start: FloatArray | None,
    *,
    risk: bool,
    judge: HeldOut | None,
) -> TrainingResult:
    objective, batches = lessons.assemble(risk=risk)
    with build_corpus(objective, batches, workers=options.n_threads) as corpus:
        return train(
            corpus,
            options.optimiser,
            penalty=options.penalty,
            weights=start,
            held_out=judge,
            patience=options.patience,
            checkpoint=options.checkpoint,
            checkpoint_seconds=options.checkpoint_seconds,
            resume=options.resume,
            log=options.log,
            seed=options.seed,
            progress=options.progress,
        )


@contextmanager
def _judge(held_out: Lessons | None, options: RunOptions) -> Iterator[HeldOut | None]:
    """The share of wrong tags to be expected on held-out sentences, as a function of weights.

    Unlike the share of wrong tags itself it moves with every step, and unlike the likelihood it
    does not punish a model for being sure of what is right.
    """
    if held_out is None:
        yield None
        return
    n_known = sum(int((tags >= 0).sum()) for tags in held_out.tags)
    objective, batches = held_out.assemble(risk=True)
    with build_corpus(objective, batches, workers=options.n_threads) as corpus:
        yield lambda weights: corpus.value(weights) / n_known
