"""Answers of trained estimators: sentences in batches, by all workers, in order, as they come.

A list in gives a list of answers; a generator in needs no more memory than a few batches, since
sentences are read as answers are taken.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import accumulate, chain, islice, pairwise
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.pieces import PieceModel
from partita.garbage import unsought
from partita.text.sentences import check_sentences, listed, numbering
from partita.training.workers import Workers, in_order

Answer = TypeVar("Answer")

CHUNK = 1000
"""Sentences that are read and encoded together."""
LISTED = 2000
"""The same where all are in memory: what is alike in many is looked at once."""
FEWEST = 16
"""Sentences that are worth a thread of their own."""
ENOUGH = 1000
"""Sentences for each thread that are worth several rounds, the first and the last out of step."""
ANSWERED_PARTS = 2**18
"""Parts that are asked about at once: what Python does for a piece it does for more sentences."""


Turn = AbstractContextManager[Any]
"""Held by the thread that is at what Python does one at a time.

If they took turns at every step of it, they would all come to the end of it together, and then
compute together, while nobody prepares what is next.
"""
Finish = Callable[[], Sequence[Answer]]
"""Makes answers of what was computed: Python's work, for the thread that takes them."""
AtOnce = Callable[[Sequence[Any], Turn], Finish[Answer] | None]


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
    at_once: AtOnce[Answer] | None = None,
    workers: int | str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Answer]:
    """An answer to each sentence, in order; `empty()` for one without words.

    `question` answers all sentences of a piece at once; pieces are answered by threads, or chunks
    by the workers of a cluster, whose number (`workers`, all cores if left out) changes nothing in
    the answers. `finish` gets the encoded sentences of a chunk and their answers, for what is
    better done for many at once. `at_once` answers sentences without any of this, or gives None
    where it cannot; it is given a lock to hold while it does not compute.
    """
    check_sentences(sentences)
    chosen = Workers.of(workers)
    turn: Turn = nullcontext() if chosen.on_ray or chosen.n_threads == 1 else Lock()
    asking = _Asking(model, weights, question, empty, finish, at_once, turn)
    if chosen.on_ray:
        return in_chunks(sentences, asking.of_chunk, workers=workers, chunk=chunk)
    # A thread has sentences from their text to their answers, so that none waits for another.
    parts = _parts(sentences, chunk, chosen.n_threads)
    workers = 1 if chunk < 2 * FEWEST else chosen.n_threads
    found = in_order(asking.of_part, parts, workers=workers)
    return chain.from_iterable(answers() for answers in found)


@dataclass(frozen=True)
class _Asking(Generic[Answer]):
    """A question to a model."""

    model: PieceModel
    weights: FloatArray
    question: Callable[[Asked], Iterable[Any]]
    empty: Callable[[], Answer]
    finish: Callable[[Any, list[Any]], Iterable[Answer]] | None
    at_once: AtOnce[Answer] | None
    turn: Turn

    def of_chunk(self, first: int, read: list[Any]) -> list[Answer]:
        """The answers to neighbouring sentences, the first of which has a number."""
        return list(self.of_part(first, read)())

    def of_part(self, first: int, read: list[Any]) -> Finish[Answer]:
        """What makes them, of what is computed here."""
        sentences = listed(read, first)
        places: Sequence[int] = range(first, first + len(sentences))
        lengths = list(map(len, sentences))
        if 0 not in lengths:
            return self._of_present(places, sentences)
        present = [index for index, n_words in enumerate(lengths) if n_words]
        found = self._of_present(
            [places[index] for index in present], [sentences[index] for index in present]
        )
        return lambda: self._with_empty(found(), lengths)

    def _with_empty(self, found: Sequence[Answer], lengths: Sequence[int]) -> list[Answer]:
        answers = iter(found)
        return [next(answers) if n_words else self.empty() for n_words in lengths]

    def _of_present(self, places: Sequence[int], sentences: Sequence[Any]) -> Finish[Answer]:
        """The answers to sentences that have words."""
        if not sentences:
            return list
        with numbering(places):
            answers = None if self.at_once is None else self.at_once(sentences, self.turn)
            if answers is not None:
                return answers
            with self.turn:
                encoded = self.model.encode(sentences)
        found: list[Any] = []
        for piece in self.model.pieces(encoded, most=ANSWERED_PARTS):
            span = slice(piece.sentences.start, piece.sentences.stop)
            asked = Asked(piece.at(self.weights), places[span], sentences[span])
            found.extend(self.question(asked))
        finished = found if self.finish is None else list(self.finish(encoded, found))
        return lambda: finished


def listed_answers(sentences: Iterable[Any], answers: Iterator[Answer]) -> list[Answer]:
    """All answers; meanwhile, if sentences are in memory anyway, nobody looks for garbage there.

    Answers make lists and texts, and no cycles. What a generator makes on its way is not known.
    """
    with unsought() if isinstance(sentences, Sequence) else nullcontext():
        return list(answers)


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


def _parts(sentences: Iterable[Any], chunk: int, n_threads: int) -> Iterator[tuple[int, list[Any]]]:
    """Chunks in as many parts as there are threads; of a list, parts of the same size."""
    if isinstance(sentences, Sequence):
        yield from _list_parts(sentences, chunk, n_threads)
        return
    size = max(-(-chunk // n_threads), min(FEWEST, chunk))
    for first, read in _chunks(sentences, chunk):
        for start in range(0, len(read), size):
            yield first + start, read[start : start + size]


def _list_parts(
    sentences: Sequence[Any], chunk: int, n_threads: int
) -> Iterator[tuple[int, list[Any]]]:
    """Parts of the same size, as many for each thread; of a long list, two rounds or more.

    There the first ones are shorter, so that threads are out of step from the beginning, and the
    last ones, so that they end together.
    """
    n_rounds = max(-(-len(sentences) // (chunk * n_threads)), 1)
    if n_threads == 1 or len(sentences) < ENOUGH * n_threads:
        size = -(-len(sentences) // (n_rounds * n_threads))
        yield from _chunks(sentences, max(size, min(FEWEST, chunk)))
        return
    n_rounds = max(n_rounds, 2)
    shorter = range(1, n_threads)
    sizes = [*shorter, *[n_threads] * (n_threads * (n_rounds - 1) + 1), *reversed(shorter)]
    share = len(sentences) / (n_rounds * n_threads**2)
    ends = [round(share * total) for total in accumulate(sizes, initial=0)]
    yield from ((start, list(sentences[start:end])) for start, end in pairwise(ends))
