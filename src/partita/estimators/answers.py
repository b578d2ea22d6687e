"""Answers of trained estimators: sentences in batches, by all workers, in order, as they come.

A list in gives a list of answers; a generator in needs no more memory than a few batches, since
sentences are read as answers are taken.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.pieces import PieceModel
from partita.text.sentences import listed, numbering
from partita.training.workers import Workers, in_order

Answer = TypeVar("Answer")

CHUNK = 1000
"""Sentences that are read and encoded together."""
AHEAD = 2
"""Chunks that are encoded while others are asked about; of those, the answers to one wait."""


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

    `question` answers all sentences of a piece at once; pieces are answered by threads, or chunks
    by the workers of a cluster, whose number (`workers`, all cores if left out) changes nothing in
    the answers. `finish` gets the encoded sentences of a chunk and their answers, for what is
    better done for many at once.
    """
    asking = _Asking(model, weights, question, empty, finish)
    chosen = Workers.of(workers)
    if chosen.on_ray:
        return in_chunks(sentences, asking.of_chunk, workers=workers, chunk=chunk)
    return asking.answers(_chunks(sentences, chunk), chosen.n_threads)


class _EncodedRun(NamedTuple):
    """Sentences that were encoded together."""

    is_present: Sequence[bool]
    """Whether each has words."""
    places: Sequence[int]
    """The numbers of those that have, among all that were asked about."""
    present: Sequence[Any]
    encoded: Any


@dataclass(frozen=True)
class _Asking(Generic[Answer]):
    """A question to a model."""

    model: PieceModel
    weights: FloatArray
    question: Callable[[Asked], Iterable[Any]]
    empty: Callable[[], Answer]
    finish: Callable[[Any, list[Any]], Iterable[Answer]] | None

    def of_chunk(self, first: int, read: list[Any]) -> list[Answer]:
        """The answers to neighbouring sentences, the first of which has a number."""
        return list(self.answers([(first, read)], n_threads=1))

    def answers(self, chunks: Iterable[tuple[int, list[Any]]], n_threads: int) -> Iterator[Answer]:
        """The answers to all sentences, in order, a few chunks ahead of what is taken."""
        if n_threads == 1:
            for first, read in chunks:
                yield from self._asked(self._encoded(first, read), None, n_threads)
            return
        with ThreadPoolExecutor(n_threads) as pool:
            # Chunks are encoded by all threads, then asked about by all: never does a thread wait
            # for another, and a single chunk is work for more than one.
            encoding: deque[Future[_EncodedRun]] = deque()
            waiting: deque[Iterator[Answer]] = deque()
            for first, read in chunks:
                encoding.append(pool.submit(self._encoded, first, read))
                if len(encoding) > AHEAD:
                    waiting.append(self._asked(encoding.popleft().result(), pool, n_threads))
                if len(waiting) > 1:
                    yield from waiting.popleft()
            while encoding:
                waiting.append(self._asked(encoding.popleft().result(), pool, n_threads))
            while waiting:
                yield from waiting.popleft()

    def _encoded(self, first: int, read: list[Any]) -> "_EncodedRun":
        sentences = listed(read, first)
        is_present = [len(each) > 0 for each in sentences]
        places = [first + index for index, here in enumerate(is_present) if here]
        present = [each for each, here in zip(sentences, is_present, strict=True) if here]
        with numbering(places):
            encoded = self.model.encode(present) if present else None
        return _EncodedRun(is_present, places, present, encoded)

    def _asked(
        self, chunk: "_EncodedRun", pool: ThreadPoolExecutor | None, n_threads: int
    ) -> Iterator[Answer]:
        """Ask about a chunk now; the answers are heard when they are taken."""
        pieces = list(self.model.pieces(chunk.encoded)) if chunk.present else []
        found: list[Future[list[Any]] | list[Any]] = []
        # Few groups: threads that come and go in no time wait for each other most of it.
        size = max(len(pieces) // n_threads, 1)
        for start in range(0, len(pieces), size):
            group = pieces[start : start + size]
            if pool is None:
                found.append(self._of_pieces(group, chunk))
            else:
                found.append(pool.submit(self._of_pieces, group, chunk))
        last = partial(self.finish, chunk.encoded) if self.finish and chunk.present else None
        return _in_order(chunk.is_present, found, last, self.empty)

    def _of_pieces(self, pieces: Sequence[Any], chunk: "_EncodedRun") -> list[Any]:
        return [answer for piece in pieces for answer in self._of_piece(piece, chunk)]

    def _of_piece(self, piece: Any, chunk: "_EncodedRun") -> Iterable[Any]:
        span = slice(piece.sentences.start, piece.sentences.stop)
        asked = Asked(piece.at(self.weights), chunk.places[span], chunk.present[span])
        return self.question(asked)


def in_chunks(
    items: Iterable[Any],
    answer: Callable[[int, list[Any]], list[Answer]],
    *,
    workers: int | str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Answer]:
    """An answer to each item, in order: `answer` gets the first one's number and a chunk of them.

    For models that are no `PieceModel`. Chunks are answered by threads or by a cluster, a few ahead
    of what is taken; `workers` changes nothing.

    >>> list(in_chunks("abc", lambda first, read: [each * 2 for each in read], chunk=2))
    ['aa', 'bb', 'cc']
    """
    return chain.from_iterable(in_order(answer, _chunks(items, chunk), workers=workers))


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
