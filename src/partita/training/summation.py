"""Sums over batches: by any number of threads or workers, always in the same order.

Batch k belongs to shard k modulo n_shards, a number that depends on the corpus only. Threads work
out the statistics and score gradients of batches in any order, but each shard adds its batches to
its gradient in turn, and shards are added up in turn, in the brackets of a binary tree. While one
thread adds (the scatter to the weights), the others infer; so even one shard, which needs no memory
beyond the result, keeps three threads busy. As many shards as there are threads grow at once: what
a thread adds to then stays in its cache. Many shards of tagged sentences: see `whole_shards`.
"""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from partita.arrays import FloatArray
from partita.objectives.base import Objective
from partita.training import vectors
from partita.training.batches import Batch
from partita.training.interruption import break_if_interrupted
from partita.training.shards import ChosenBatches
from partita.training.spare_vectors import SPARE
from partita.training.tagged_batches import AnyBatch
from partita.training.threads import is_kept_thread, kept_pool


@dataclass(frozen=True)
class Sums:
    """What a pass over batches gathers."""

    statistics: dict[str, FloatArray]
    """The summed statistic of each term."""
    gradient: FloatArray | None
    """With respect to the weights; None if no slopes were given."""


@dataclass(frozen=True)
class Request:
    """What to gather: the terms, and the slope for each where a gradient is wanted."""

    objectives: Mapping[str, Objective]
    weights: FloatArray
    slopes: Mapping[str, FloatArray] | None


@dataclass(frozen=True)
class Part:
    """The sums of neighbouring shards: `size`, a power of two, of them from shard `first` on."""

    first: int
    size: int
    sums: Sums


MOST_ALIVE = 8
"""Shards whose gradients grow at a time, at most; no more than threads that add to them."""


def sum_all(
    batches: Sequence[AnyBatch],
    request: Request,
    n_shards: int,
    n_threads: int,
    watcher: Callable[[float], None],
) -> Sums:
    """The sum over all batches, a few shards at a time; `watcher` is told what share is done."""
    n_done = 0

    def parts() -> Iterator[Part]:
        nonlocal n_done
        for shards in shards_at_once(n_shards, n_threads):
            # The shards of these batches alternate, so that all of them grow at once.
            alive = [k for k in range(len(batches)) if k % n_shards in shards]
            chosen = ChosenBatches(batches, alive)
            before, n_done = n_done, n_done + len(chosen)

            def tell(share: float, before: int = before, size: int = len(chosen)) -> None:
                watcher((before + share * size) / len(batches))

            places = [k % n_shards - shards.start for k in alive]
            found = sum_by_shard(chosen, request, places, n_threads, None, tell)
            for index, sums in enumerate(found):
                yield Part(shards[index], 1, sums)

    return total(parts(), n_threads)


def shards_at_once(n_shards: int, n_threads: int) -> Iterator[range]:
    """All shards, in stretches of those that grow at the same time.

    >>> list(shards_at_once(5, 2))
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    at_once = min(MOST_ALIVE, n_threads)
    for first in range(0, n_shards, at_once):
        yield range(first, min(first + at_once, n_shards))


def sum_by_shard(
    batches: Sequence[AnyBatch],
    request: Request,
    shards: Sequence[int],
    n_threads: int,
    out: FloatArray | None = None,
    watcher: Callable[[float], None] | None = None,
) -> list[Sums]:
    """The sums of each shard, shards in order; the gradient of the first is added to `out`.

    `shards` has the number of each batch's. `watcher` is told after each batch what share of them
    is done.
    """
    n_shards = max(shards, default=0) + 1
    sweep = _Sweep(batches, request, shards, [out, *[None] * (n_shards - 1)], watcher)
    run_together(sweep, min(n_threads, len(batches)))
    own: list[list[dict[str, FloatArray]]] = [[] for _ in range(n_shards)]
    for shard, statistics in zip(shards, sweep.statistics, strict=True):
        own[shard].append(statistics)
    return [
        Sums(added(of_shard, request.objectives), gradient)
        for of_shard, gradient in zip(own, sweep.gradients(), strict=True)
    ]


def feature_counts(
    batches: Iterable[Batch], n_weights: int, weights: FloatArray | None = None
) -> Sums:
    """Fᵀ 1: how often each feature occurs in the parts of some batches, as their gradient.

    With weights a part counts as much as its variance there (see `variances`).
    """
    counts = np.zeros(n_weights)
    for batch in batches:
        break_if_interrupted()
        of_parts = np.ones(batch.features.n_parts)
        if weights is not None:
            of_parts = variances(batch.at(weights).inference.marginals)
        batch.features.add_gradient(of_parts, counts)
    return Sums({}, counts)


def variances(marginals: FloatArray) -> FloatArray:
    """m (1 - m): how much it varies whether a part is there.

    A part that may be there several times, such as a transition that all words share, varies by
    about as much as it is expected.

    >>> variances(np.array([0.0, 0.5, 1.0, 8.0]))
    array([0.  , 0.25, 0.  , 8.  ])
    """
    return np.minimum(np.abs(marginals * (1.0 - marginals)), marginals)


def merged(parts: Iterable[Part], n_threads: int = 1) -> list[Part]:
    """Parts in order -> fewer of them: two neighbours that make up a larger block become one.

    Blocks begin at multiples of their size, as in a binary tree over all shards, so it does not
    matter who merges which of them: the brackets of the sum are always the same. At most one part
    of each size is kept at a time, however many come.
    """
    kept: list[Part] = []
    for part in parts:
        merge_into(kept, part, n_threads)
    return kept


def merge_into(kept: list[Part], part: Part, n_threads: int = 1) -> None:
    """The same as parts come, one by one, in order."""
    kept.append(part)
    while len(kept) > 1 and _are_twins(*kept[-2:]):
        right, left = kept.pop(), kept.pop()
        kept.append(Part(left.first, 2 * left.size, _plus(left.sums, right.sums, n_threads)))


def total(parts: Iterable[Part], n_threads: int = 1) -> Sums:
    """The sum of all shards, from parts in order."""
    first, *others = merged(parts, n_threads)
    sums = first.sums
    for part in others:
        sums = _plus(sums, part.sums, n_threads)
    return sums


def _are_twins(left: Part, right: Part) -> bool:
    return left.size == right.size and left.first % (2 * left.size) == 0


def _plus(left: Sums, right: Sums, n_threads: int) -> Sums:
    """The sum of two; the gradient of the left one is overwritten, if that is possible."""
    statistics = {name: left.statistics[name] + right.statistics[name] for name in left.statistics}
    gradient = left.gradient
    if gradient is not None and right.gradient is not None:
        # What comes from another process is read-only.
        out = gradient if gradient.flags.writeable else None
        gradient = vectors.sum_of(gradient, right.gradient, n_threads, out)
    return Sums(statistics, gradient)


def added(
    statistics: Iterable[Mapping[str, FloatArray]], objectives: Mapping[str, Objective]
) -> dict[str, FloatArray]:
    """The sum of each term's statistics, in order."""
    totals = {name: np.zeros(objective.n_statistics) for name, objective in objectives.items()}
    for found in statistics:
        for name, statistic in found.items():
            totals[name] += statistic
    return totals


class SharedWork(Protocol):
    """What several threads do together."""

    def work(self, most_waiting: int) -> None:
        """Every thread runs this; `most_waiting` is how much may wait for others to go on."""

    def stop(self) -> None:
        """Let all of them end soon."""


class _Sweep(SharedWork):
    """One pass over batches that several threads make together."""

    def __init__(
        self,
        batches: Sequence[AnyBatch],
        request: Request,
        shards: Sequence[int],
        buffers: Sequence[FloatArray | None],
        watcher: Callable[[float], None] | None,
    ) -> None:
        self.statistics: list[dict[str, FloatArray]] = [{} for _ in range(len(batches))]
        self._batches = batches
        self._request = request
        self._watcher = watcher
        self._queues = [_Queue(buffer) for buffer in buffers]
        self._places: list[tuple[_Queue, int]] = []
        turns = Counter[int]()
        for shard in shards:
            self._places.append((self._queues[shard], turns[shard]))
            turns[shard] += 1
        self._next: Iterator[int] = itertools.count()
        self._n_waiting = 0
        self._stopped = False
        self._changed = threading.Condition()

    def work(self, most_waiting: int) -> None:
        """Take batches until there are none left; every thread runs this."""
        # `next` on a count is one operation of the interpreter, so two threads never share one.
        while (index := next(self._next)) < len(self._batches) and not self._stopped:
            break_if_interrupted()
            self._take(index)
            if self._watcher is not None:
                self._watcher((index + 1) / len(self._batches))
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._n_waiting <= most_waiting)

    def gradients(self) -> list[FloatArray | None]:
        """The sum of each shard; None where no slopes were given."""
        if self._request.slopes is None:
            return [None] * len(self._queues)
        return [queue.sum_of(self._request.weights) for queue in self._queues]

    def stop(self) -> None:
        """Let all threads end at their next batch."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _take(self, index: int) -> None:
        batch, request = self._batches[index], self._request
        self.statistics[index], gradient = batch.sums(
            request.weights, request.objectives, request.slopes
        )
        if request.slopes is None:
            return
        queue, turn = self._places[index]
        with self._changed:
            queue.waiting[turn] = batch, gradient
            self._n_waiting += 1
        # Whoever delivers the batch whose turn it is adds it, and all that waited for it.
        while (item := self._claimed(queue)) is not None:
            batch, gradient = item
            if gradient is not None:
                batch.add_gradient(gradient, queue.sum_of(self._request.weights))
            self._release(queue)

    def _claimed(self, queue: "_Queue") -> tuple[AnyBatch, FloatArray | None] | None:
        """The batch whose turn it is, if it is there and nobody else is adding to its shard."""
        with self._changed:
            if queue.is_busy or self._stopped or queue.turn not in queue.waiting:
                return None
            queue.is_busy = True
            return queue.waiting.pop(queue.turn)

    def _release(self, queue: "_Queue") -> None:
        with self._changed:
            queue.is_busy = False
            queue.turn += 1
            self._n_waiting -= 1
            self._changed.notify_all()


@dataclass
class _Queue:
    """The score gradients of a shard that wait for their turn to be added."""

    buffer: FloatArray | None
    turn: int = 0
    is_busy: bool = False
    waiting: dict[int, tuple[AnyBatch, FloatArray | None]] = field(default_factory=dict)

    def sum_of(self, weights: FloatArray) -> FloatArray:
        """What the shard adds up to so far; cleared by whoever is the first to add."""
        # Not beforehand: that would be the work of one thread while the others wait.
        if self.buffer is None:
            self.buffer = SPARE.vector(len(weights))
            self.buffer.fill(0.0)
        return self.buffer


def run_together(sweep: SharedWork, n_threads: int) -> None:
    """Work shared by so many threads."""
    if n_threads <= 1 or is_kept_thread():
        sweep.work(most_waiting=0)
        return
    # This thread works, too: another would have to be woken, which takes as long as a small batch.
    futures = [
        kept_pool(n_threads).submit(_work_or_stop, sweep, 2 * n_threads)
        for _ in range(n_threads - 1)
    ]
    try:
        _work_or_stop(sweep, 2 * n_threads)
        for future in futures:
            future.result()
    except BaseException:
        # Also for a second Ctrl-C: the threads end at their next batch.
        sweep.stop()
        raise
    finally:
        wait(futures)


def _work_or_stop(sweep: SharedWork, most_waiting: int) -> None:
    try:
        sweep.work(most_waiting)
    except BaseException:
        sweep.stop()
        raise
