"""Sums over tagged sentences in fewer shards than keep threads busy.

One thread adds up what all infer, batch by batch, and infers itself while nothing is ready: the
gradient stays in its cache. (In turns, which was tried, each line goes back and forth between
cores: adding takes 1.7 times as long.) Who has to wait does so in compiled code, since waking a
thread takes as long as a batch. As many shards grow at once as there are threads. The sums are
those of `summation`, to the last bit.
"""

import itertools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.weights import turns as kernels
from partita.kernels.weights.tagged import TaggedRoom
from partita.training.interruption import break_if_interrupted
from partita.training.spare_vectors import SPARE
from partita.training.summation import (
    Part,
    Request,
    SharedWork,
    Sums,
    added,
    run_together,
    shards_at_once,
    total,
)
from partita.training.tagged_batches import TaggedBatch, room_for


def sum_in_turn(
    batches: Sequence[TaggedBatch],
    request: Request,
    n_shards: int,
    n_threads: int,
    watcher: Callable[[float], None],
) -> Sums:
    """The sum over all batches; `watcher` is told after each batch what share of them is done."""
    assert request.slopes is not None
    slopes = request.slopes
    n_done: Iterator[int] = itertools.count(1)

    def tell() -> None:
        watcher(next(n_done) / len(batches))

    def parts() -> Iterator[Part]:
        for shards in shards_at_once(n_shards, n_threads):
            # The shards of these batches alternate, so that all of them grow at once.
            numbers = [number for number in range(len(batches)) if number % n_shards in shards]
            places = [number % n_shards - shards.start for number in numbers]
            chosen = [batches[number] for number in numbers]
            growing = _Growing(chosen, places, request, slopes, 2 * n_threads, tell)
            run_together(growing, n_threads)
            for shard, sums in zip(shards, growing.sums(len(shards)), strict=True):
                yield Part(shard, 1, sums)

    return total(parts(), n_threads)


class _Growing(SharedWork):
    """One pass over batches; at most `n_ahead` of them are inferred and not yet added."""

    def __init__(
        self,
        batches: Sequence[TaggedBatch],
        places: Sequence[int],
        request: Request,
        slopes: Mapping[str, FloatArray],
        n_ahead: int,
        tell: Callable[[], None],
    ) -> None:
        self._batches, self._places = batches, places
        self._request, self._slopes, self._tell = request, slopes, tell
        nothing: tuple[dict[str, FloatArray], FloatArray | None] = ({}, None)
        self._found = [nothing] * len(batches)
        self._sums: dict[int, FloatArray] = {}
        n_parts = max(batch.batch.structures.n_parts for batch in batches)
        self._gradients = [np.empty(n_parts) for _ in range(n_ahead)]
        # Whether each batch was inferred, and at last how many were added.
        self._counters = kernels.new_counters(len(batches) + 1)
        self._lock = threading.Lock()
        self._n_threads, self._n_taken = 0, 0

    def work(self, most_waiting: int) -> None:
        """The first thread adds, all others infer."""
        room = room_for(self._batches)
        with self._lock:
            self._n_threads += 1
            is_first = self._n_threads == 1
        if is_first:
            self._add_all(room)
            return
        while (index := self._taken(len(self._batches))) is not None:
            if not self._waits_for(len(self._batches), index + 1 - len(self._gradients)):
                return
            self._infer(index, room)

    def stop(self) -> None:
        """Let all threads end at their next batch."""
        kernels.stop(self._counters)

    def sums(self, n_shards: int) -> Iterator[Sums]:
        """Those of each shard."""
        for place in range(n_shards):
            own = [
                found for found, of in zip(self._found, self._places, strict=True) if of == place
            ]
            statistics = added((each for each, _ in own), self._request.objectives)
            yield Sums(statistics, self._sum_of(place))

    def _add_all(self, room: TaggedRoom) -> None:
        for index, (batch, place) in enumerate(zip(self._batches, self._places, strict=True)):
            most = index + len(self._gradients)
            while not self._is_inferred(index) and (other := self._taken(most)) is not None:
                self._infer(other, room)
            if not self._waits_for(index, 1):
                return
            _, gradient = self._found[index]
            if gradient is not None:
                batch.add_gradient(gradient, self._sum_of(place))
            kernels.count(self._counters, len(self._batches))
            self._tell()

    def _taken(self, end: int) -> int | None:
        """The next batch before `end` that nobody has inferred; None if there is none."""
        with self._lock:
            if self._n_taken >= min(end, len(self._batches)):
                return None
            self._n_taken += 1
            return self._n_taken - 1

    def _infer(self, index: int, room: TaggedRoom) -> None:
        break_if_interrupted()
        own = room._replace(gradient=self._gradients[index % len(self._gradients)])
        self._found[index] = self._batches[index].sums(
            self._request.weights, self._request.objectives, self._slopes, own
        )
        kernels.count(self._counters, index)

    def _is_inferred(self, index: int) -> bool:
        return bool(self._counters[kernels.FIRST + kernels.LINE * index])

    def _waits_for(self, number: int, least: int) -> bool:
        return bool(kernels.wait_until(self._counters, number, least))

    def _sum_of(self, place: int) -> FloatArray:
        """What a shard adds up to so far."""
        if place not in self._sums:
            self._sums[place] = SPARE.vector(len(self._request.weights))
            self._sums[place].fill(0.0)
        return self._sums[place]
