"""Answers to a long input: a batch at a time, in order, in constant memory, by all workers."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from partita.cli.models import Model
from partita.cli.options import Argument, Options
from partita.cli.parser import Parser

Answer = TypeVar("Answer")

WORKERS = Argument(
    "workers",
    lambda text: int(text) if text.isdigit() else text,
    None,
    "threads (default: all cores), or ray or ray:4 for a cluster; answers are the same",
)


def add_workers(parser: Parser) -> None:
    """Who answers."""
    parser.add_argument("--workers", type=WORKERS.read, metavar="N", help=WORKERS.help)


@contextmanager
def by_workers(model: Model, options: Options) -> Iterator[None]:
    """The model answers by these workers; a cluster is kept for the time of the command."""
    from partita.training.workers import held

    with held(options.workers):
        model.estimator.set_params(workers=options.workers)
        yield


def answered(
    model: Model,
    answer: Callable[[Model, Any, Options], Answer],
    batches: Iterable[Any],
    options: Options,
) -> Iterator[Answer]:
    """What `answer` makes of each batch of the input, in order, as batches are read.

    Threads share the sentences of a batch; workers of a cluster have a batch each. The first batch
    is answered here in any case, so that what is wrong with the input, and notes on how it is read,
    come at once.
    """
    from partita.training.workers import Workers, in_order

    workers = getattr(options, "workers", None)
    if not Workers.of(workers).on_ray:
        model.estimator.set_params(workers=workers)
        for batch in batches:
            yield answer(model, batch, options)
        return
    model.estimator.set_params(workers=1)
    others = iter(batches)
    for first in others:
        yield answer(model, first, options)
        break
    alone = partial(_alone, answer, model, options)
    yield from in_order(alone, ((batch,) for batch in others), workers=workers)


def _alone(
    answer: Callable[[Model, Any, Options], Answer], model: Model, options: Options, batch: Any
) -> Answer:
    return answer(model, batch, options)
