"""Answers to a long input: a batch at a time, in order, in constant memory, by all workers."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import chain, islice
from typing import Any, TypeVar

from partita.cli.models import Model
from partita.cli.options import Argument, Options, Tally, read_documents, read_texts
from partita.cli.parser import Parser
from partita.data.formats import Document
from partita.data.streams import DocumentText
from partita.data.text import source_name
from partita.garbage import unsought

Answer = TypeVar("Answer")
LONG = 2**21
"""Bytes of a file from which on it is shared out among processes."""
MOST_BATCH = 10**4
"""Sentences of a batch up to which a file may be shared out by its pieces."""

WORKERS = Argument(
    "workers",
    lambda text: int(text) if text.isdigit() else text,
    None,
    "threads (default: all cores), or ray or ray:4 for a cluster; answers are the same. `predict` "
    "has processes in place of threads for a long file",
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
    come at once. What is made on the way from a batch to its text has no cycles, and nobody looks
    for some.
    """
    from partita.training.workers import Workers, in_order

    workers = getattr(options, "workers", None)
    if not Workers.of(workers).on_ray:
        model.estimator.set_params(workers=workers)
        for batch in batches:
            with unsought():
                found = answer(model, batch, options)
            yield found
        return
    model.estimator.set_params(workers=1)
    others = iter(batches)
    for first in others:
        yield answer(model, first, options)
        break
    alone = partial(_alone, answer, model, options)
    yield from in_order(alone, ((batch,) for batch in others), workers=workers)


def answered_documents(
    model: Model, answer: Callable[[Model, Document, Options], Answer], options: Options
) -> Iterator[Answer]:
    """What `answer` makes of the input, a batch of sentences at a time, in order.

    Reading and writing are Python's work, which threads of a process do one at a time: of a long
    file several workers are copies of this process, each of which reads, answers and writes pieces.
    """
    from partita.training.workers import Workers, can_copy, in_processes

    chosen = Workers.of(options.workers)
    is_alone = chosen.on_ray or chosen.n_threads == 1 or not can_copy()
    if is_alone or not _is_long(options.input, options.batch):
        yield from answered(model, answer, read_documents(options.input, options), options)
        return
    model.estimator.set_params(workers=1)
    tally = Tally()

    def answers(text: DocumentText) -> tuple[list[Answer], int, int]:
        with unsought():
            found = [answer(model, each, options) for each in text.documents(options.batch)]
        return found, len(text.document), text.document.n_words

    texts = read_texts(options.input, options)
    # As with a cluster; and what the first answer has to load, the copies have then.
    here = map(answers, islice(texts, 1))
    for found, n_sentences, n_words in chain(
        here, in_processes(answers, ((text,) for text in texts), chosen.n_threads)
    ):
        tally.add(n_sentences, n_words)
        yield from found
    tally.say(source_name(options.input))


def _is_long(path: str, batch: int) -> bool:
    """Whether a file is worth the start of processes, and may be answered in pieces."""
    return batch <= MOST_BATCH and os.path.isfile(path) and os.path.getsize(path) >= LONG


def _alone(
    answer: Callable[[Model, Any, Options], Answer], model: Model, options: Options, batch: Any
) -> Answer:
    return answer(model, batch, options)
