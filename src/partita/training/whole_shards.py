"""Sums over shards of tagged sentences, each made by one thread from its first batch to its last.

Such a thread waits for nobody, infers and adds to the gradient in one call, and works in the same
memory all the time. The sums are those of `summation`, to the last bit: each shard adds its batches
in turn, and shards are added up in turn.
"""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeGuard

from partita.arrays import FloatArray
from partita.training.interruption import break_if_interrupted
from partita.training.spare_vectors import SPARE
from partita.training.summation import (
    Part,
    Request,
    SharedWork,
    Sums,
    added,
    merge_into,
    run_together,
    total,
)
from partita.training.tagged_batches import AnyBatch, TaggedBatch, TaggedBatches, room_for

BUSY = 0.8
"""Of the time of all threads, at least: some wait while the last shards grow."""


def are_tagged(batches: Sequence[AnyBatch], request: Request) -> TypeGuard[TaggedBatches]:
    """Whether a gradient is wanted, of tagged batches."""
    return request.slopes is not None and isinstance(batches, TaggedBatches)


def are_enough(n_shards: int, n_threads: int) -> bool:
    """Whether there are shards to keep all threads busy; for others see `turns`."""
    n_rounds = -(-n_shards // n_threads)
    return n_shards >= BUSY * n_threads * n_rounds


def sum_whole_shards(
    batches: Sequence[TaggedBatch],
    request: Request,
    n_shards: int,
    n_threads: int,
    watcher: Callable[[float], None],
) -> Sums:
    """The sum over all batches; `watcher` is told after each batch what share of them is done."""
    assert request.slopes is not None
    shards = _Shards(batches, request, request.slopes, n_shards, watcher)
    run_together(shards, n_threads)
    return total(shards.parts(n_threads), n_threads)


class _Shards(SharedWork):
    """One pass over the shards."""

    def __init__(
        self,
        batches: Sequence[TaggedBatch],
        request: Request,
        slopes: Mapping[str, FloatArray],
        n_shards: int,
        watcher: Callable[[float], None],
    ) -> None:
        self._kept: list[Part] = []
        self._batches, self._n_shards = batches, n_shards
        self._request, self._slopes, self._watcher = request, slopes, watcher
        # `next` on a count is one operation of the interpreter, so two threads never share one.
        self._next: Iterator[int] = itertools.count()
        self._n_done: Iterator[int] = itertools.count(1)
        self._stopped = False
        self._lock = threading.Lock()
        self._waiting: dict[int, Sums] = {}
        self._turn = 0

    def work(self, most_waiting: int) -> None:
        """Take shards until there are none left."""
        while (shard := next(self._next)) < self._n_shards and not self._stopped:
            sums = self._summed(self._batches[shard :: self._n_shards])
            # What others left, before they find this: so whoever is ahead adds it up.
            self._merge()
            self._waiting[shard] = sums

    def parts(self, n_threads: int) -> list[Part]:
        """The sums of all shards, once all threads have ended, in parts in order."""
        self._merge(n_threads)
        return self._kept

    def _merge(self, n_threads: int = 1) -> None:
        """Add up the shards that are there, unless another thread does."""
        if not self._lock.acquire(blocking=False):
            return
        try:
            while self._turn in self._waiting:
                part = Part(self._turn, 1, self._waiting.pop(self._turn))
                merge_into(self._kept, part, n_threads)
                self._turn += 1
        finally:
            self._lock.release()

    def stop(self) -> None:
        """Let all threads end at their next batch."""
        self._stopped = True

    def _summed(self, batches: Sequence[TaggedBatch]) -> Sums:
        """The sums of a shard."""
        weights, objectives = self._request.weights, self._request.objectives
        gradient = SPARE.vector(len(weights))
        gradient.fill(0.0)
        room = room_for(batches)
        statistics = []
        for batch in batches:
            if self._stopped:
                break
            break_if_interrupted()
            statistics.append(batch.learn(weights, objectives, self._slopes, room, gradient))
            self._watcher(next(self._n_done) / len(self._batches))
        return Sums(added(statistics, objectives), gradient)
