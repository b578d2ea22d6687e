"""Answers of trained estimators: sentences in batches, by threads, in order, as they come.

A list in gives a list of answers; a generator in needs no more memory than a few batches, since
sentences are read as answers are taken.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.pieces import PieceModel
from partita.text.sentences import listed
from partita.training.threads import n_threads_of

Answer = TypeVar("Answer")

CHUNK = 1000
"""Sentences that are read and encoded together."""
AHEAD = 2
"""Chunks that are encoded before the answers to the first of them are taken."""


class Asked(NamedTuple):
    """A distribution over the structures of some sentences, and which sentences these are."""

    p: Any
    places: Sequence[int]
    """Their numbers among all that were asked about."""
    sentences: Sequence[Any]


def drawn(p: Any, size: int, rng: np.random.Generator, replace: bool) -> Any:
    """Samples of the structures of each sentence; without replacement, as many as there are."""
    return p.sample(size, rng) if replace else p.flat_distinct(size, rng)


def ask(
    model: PieceModel,
    weights: FloatArray,
    sentences: Iterable[Any],
    question: Callable[[Asked], Iterable[Any]],
    *,
    empty: Callable[[], Answer],
    finish: Callable[[Any, list[Any]], Iterable[Answer]] | None = None,
    workers: int | str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Answer]:
    """An answer to each sentence, in order; `empty()` for one without words.

    `question` answers all sentences of a piece at once; pieces are answered by threads, whose
    number (`workers`, all cores if left out) changes nothing in the answers. `finish` gets the
    encoded sentences of a chunk and their answers, for what is better done for many at once.
    """

    def answers(piece: Any, places: Sequence[int], present: Sequence[Any]) -> list[Any]:
        span = slice(piece.sentences.start, piece.sentences.stop)
        return list(question(Asked(piece.at(weights), places[span], present[span])))

    n_threads = n_threads_of(workers)
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        waiting: deque[Callable[[], Iterator[Answer]]] = deque()
        for first, read in _chunks(sentences, chunk):
            read = listed(read, first)
            is_present = [len(each) > 0 for each in read]
            places = [first + index for index, here in enumerate(is_present) if here]
            present = [each for each, here in zip(read, is_present, strict=True) if here]
            encoded = model.encode(present) if present else None
            found: list[Future[list[Any]] | list[Any]] = []
            for piece in model.pieces(encoded) if present else ():
                if pool is None:
                    found.append(answers(piece, places, present))
                else:
                    found.append(pool.submit(answers, piece, places, present))
            last = None if finish is None or not present else partial(finish, encoded)
            waiting.append(partial(_in_order, is_present, found, last, empty))
            if len(waiting) > (0 if pool is None else AHEAD):
                yield from waiting.popleft()()
        while waiting:
            yield from waiting.popleft()()


def in_chunks(
    items: Iterable[Any],
    answer: Callable[[int, list[Any]], list[Answer]],
    *,
    workers: int | str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Answer]:
    """An answer to each item, in order: `answer` gets the first one's number and a chunk of them.

    For models that are no `PieceModel`. Chunks are answered by threads, a few ahead of what is
    taken; their number changes nothing.

    >>> list(in_chunks("abc", lambda first, read: [each * 2 for each in read], chunk=2))
    ['aa', 'bb', 'cc']
    """
    n_threads = n_threads_of(workers)
    if n_threads == 1:
        for first, read in _chunks(items, chunk):
            yield from answer(first, read)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        waiting: deque[Future[list[Answer]]] = deque()
        for first, read in _chunks(items, chunk):
            waiting.append(pool.submit(answer, first, read))
            if len(waiting) > AHEAD:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _chunks(sentences: Iterable[Any], size: int) -> Iterator[tuple[int, list[Any]]]:
    iterator, first = iter(sentences), 0
    while read := list(islice(iterator, size)):
        yield first, read
        first += len(read)


def _in_order(
    is_present: Sequence[bool],
    found: Sequence["Future[list[Any]] | list[Any]"],
    finish: Callable[[list[Any]], Iterable[Answer]] | None,
    empty: Callable[[], Answer],
) -> Iterator[Answer]:
    answers = chain.from_iterable(
        each.result() if isinstance(each, Future) else each for each in found
    )
    present = answers if finish is None else iter(finish(list(answers)))
    for here in is_present:
        yield next(present) if here else empty()
