"""Training runs of estimators: stages, a judge on held-out sentences, files of every stage."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from partita.arrays import FloatArray
from partita.estimators.groups import Runs
from partita.estimators.supervision import RISK, Lessons
from partita.memory import give_back_freed_memory
from partita.training import Corpus, Penalty, TrainingResult, build_corpus, train
from partita.training.interruption import heed_interruptions
from partita.training.optimisers import Optimiser
from partita.training.progress import choose_display
from partita.training.trainer import HeldOut, Path
from partita.training.workers import held


@dataclass(frozen=True)
class RunPlan:
    """How to train on lessons, whatever they are."""

    options: Runs
    optimiser: Optimiser[Any]
    penalty: Penalty
    n_shards: int | None = None
    """See `build_corpus`; 1 where a gradient of its own for each shard would cost too much."""
    is_needed: bool = False
    """Whether the model is worthless without; see `train`."""
    is_extra: bool = False
    """Whether the model does without if it is interrupted; see `train`."""


def learn(
    lessons: Lessons,
    way: RunPlan,
    start: FloatArray | None = None,
    held_out: Lessons | None = None,
    first_stage: int = 1,
) -> TrainingResult:
    """The weights that the lessons lead to, in as many stages as they need.

    Unless there are weights to start from, a loss that is not convex follows a stage that is. Every
    stage has a checkpoint and a log of its own, so that `resume` finds finished ones at their end.
    """
    # A signal between two stages ends the later ones, too.
    workers = way.options.workers
    with heed_interruptions(), held(workers), judged(held_out, workers) as judge:
        beginning = None if start is not None else lessons.beginning()
        stages = [lessons] if beginning is None else [beginning, lessons]
        result: TrainingResult | None = None
        for stage, each in enumerate(stages, start=first_stage):
            objective, batches = each.assemble()
            cache = numbered(way.options.cache, stage)
            with build_corpus(
                objective, batches, workers=workers, n_shards=way.n_shards, cache=cache
            ) as corpus:
                found = run(corpus, way, start, judge, stage)
            result = found if result is None else found.after(result)
            if result.interrupted:
                break
            start = result.weights
    assert result is not None
    return result


def n_stages(lessons: Lessons, start: FloatArray | None) -> int:
    """How many stages `learn` takes."""
    return 1 if start is not None or lessons.beginning() is None else 2


def run(
    corpus: Corpus,
    way: RunPlan,
    start: FloatArray | None = None,
    judge: Corpus | HeldOut | None = None,
    stage: int = 1,
) -> TrainingResult:
    """One stage, with files of its own: the only place where estimators call `train`."""
    options = way.options
    give_back_freed_memory()
    return train(
        corpus,
        way.optimiser,
        penalty=way.penalty,
        weights=start,
        held_out=judge,
        patience=options.patience,
        seed=options.seed,
        checkpoint=numbered(options.checkpoint, stage),
        checkpoint_seconds=options.checkpoint_seconds,
        resume=options.resume,
        log=numbered(options.log, stage),
        progress=options.progress,
        is_needed=way.is_needed,
        is_extra=way.is_extra,
    )


def preparing(options: Runs) -> Runs:
    """For what comes before the first stage, and is quickly done again: no checkpoint, no log.

    >>> preparing(Runs(checkpoint="run", cache="encoded", workers=2))
    Runs(cache='encoded.0', workers=2)
    """
    return Runs(
        workers=options.workers, progress=options.progress, cache=numbered(options.cache, 0)
    )


def tell(options: Runs, text: str) -> None:
    """A line for whoever watches: a stage begins, and what it begins with."""
    choose_display(options.progress).say(text)


def numbered(path: Path | None, stage: int) -> Path | None:
    """The file of a stage: the name itself for the first, then with .2, .3 behind it.

    >>> numbered("run.checkpoint", 1), numbered("run.checkpoint", 2)
    ('run.checkpoint', 'run.checkpoint.2')
    """
    return path if path is None or stage == 1 else f"{os.fspath(path)}.{stage}"


@contextmanager
def judged(held_out: Lessons | None, workers: int | str | None) -> Iterator[HeldOut | None]:
    """The share of wrong labels to be expected on held-out sentences, as a function of weights.

    Unlike the share of wrong labels itself it moves with every step, and unlike the likelihood it
    does not punish a model for being sure of what is right.
    """
    if held_out is None:
        yield None
        return
    n_known = held_out.knowledge.n_known()
    if not n_known:
        raise ValueError(f"held_out has no word with known {held_out.what}; expected at least one.")
    objective, batches = replace(held_out, course=RISK).assemble()
    with build_corpus(objective, batches, workers=workers) as corpus:
        yield lambda weights: corpus.value(weights) / n_known
