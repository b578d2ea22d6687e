"""Sums over tagged sentences in fewer shards than keep threads busy.

One thread adds up what all infer, batch by batch, and infers itself while nothing is ready: the
gradient stays in its cache. (In turns, which was tried, each line goes back and forth between
cores: adding takes 1.7 times as long.) That is a few compiled calls for the thread that adds, and
one for each of the others. As many shards grow at once as there are threads. The sums are those of
`summation`, to the last bit.
"""

from collections.abc import Callable, Iterator

import numpy as np

from partita.arrays import FloatArray
from partita.kernels.jit import is_ready
from partita.kernels.weights import turns as kernels
from partita.kernels.weights.tagged import TaggedRoom
from partita.training.addressed import Addressed
from partita.training.interruption import break_if_interrupted
from partita.training.spare_vectors import SPARE
from partita.training.summation import Part, Request, Sums, added, shards_at_once, total
from partita.training.tagged_batches import TaggedBatches, room_for
from partita.training.threads import Helpers

STRETCH = 16
"""Batches of one call: signals, and whoever watches, have to wait for it."""


def sum_in_turn(
    batches: TaggedBatches,
    request: Request,
    n_shards: int,
    n_threads: int,
    watcher: Callable[[float], None],
) -> Sums:
    """The sum over all batches; `watcher` is told after each batch what share of them is done."""
    n_done = 0

    def tell() -> None:
        nonlocal n_done
        n_done += 1
        watcher(n_done / len(batches))

    def parts() -> Iterator[Part]:
        for shards in shards_at_once(n_shards, n_threads):
            growing = _Growing(batches, request, shards, n_shards, n_threads)
            growing.run(tell)
            for shard, sums in zip(shards, growing.sums(), strict=True):
                yield Part(shard, 1, sums)

    return total(parts(), n_threads)


class _Growing:
    """A pass over the batches of some shards, which alternate, so that all of them grow at once."""

    def __init__(
        self,
        batches: TaggedBatches,
        request: Request,
        shards: range,
        n_shards: int,
        n_threads: int,
    ) -> None:
        assert request.slopes is not None
        order = [number for number in range(len(batches)) if number % n_shards in shards]
        self._batches, self._largest = [batches[number] for number in order], batches.largest
        self._request, self._n_threads = request, n_threads
        self._places = [number % n_shards - shards.start for number in order]
        self._statistics: list[dict[str, FloatArray]] = []
        self._totals = [SPARE.vector(len(request.weights)) for _ in shards]
        totals = Addressed([kernels.Total(each) for each in self._totals])
        addressed = batches.addressed
        self._offsets = np.concatenate([[0], np.cumsum(batches.n_sentences[order])])
        self._work = kernels.Pass(
            addressed.table,
            addressed.like,
            np.array(order),
            np.array(self._places),
            batches.slopes_in(request.objectives, request.slopes)[order],
            self._offsets,
            totals.table,
            totals.like,
            request.weights,
        )
        n_parts = max(each.batch.structures.n_parts for each in batches.largest)
        has_entropy = any(each.entropy for each in batches.largest)
        # Twice as many as there are threads: fewer make them wait, more do not stay in a cache.
        self._found = kernels.Inferred(
            np.empty((2 * n_threads if n_threads > 1 else 1, n_parts)),
            np.empty(self._offsets[-1]),
            np.empty(self._offsets[-1]) if has_entropy else None,
        )
        self._counters = kernels.new_counters(len(self._batches))

    def run(self, tell: Callable[[], None]) -> None:
        """Add up all batches."""
        # Who waits for a batch is busy looking, which costs a core while that is compiled.
        helpers = self._call_helpers() if is_ready(kernels.share_turns) else None
        number, n_batches, room = 0, len(self._batches), room_for(self._largest)
        try:
            # While the others begin. Not by all of them: memory that the system has to find for two
            # threads at once takes it three times as long.
            for gradient in self._totals:
                gradient.fill(0.0)
            while number < n_batches:
                break_if_interrupted()
                after = self._share(number, min(number + STRETCH, n_batches), 0, room)
                if helpers is None:
                    helpers = self._call_helpers()
                if after < 0:
                    helpers.check()
                for each in range(number, after):
                    self._statistics.append(self._statistics_of(each))
                    tell()
                if after == number:
                    self._add_otherwise(number)
                    tell()
                    after = number + 1
                number = after
        finally:
            # Also for a second Ctrl-C: the others end at their next batch.
            kernels.stop(self._counters)
            if helpers is not None:
                helpers.wait()

    def sums(self) -> Iterator[Sums]:
        """Those of each shard."""
        for place, gradient in enumerate(self._totals):
            own = [
                found
                for found, of in zip(self._statistics, self._places, strict=True)
                if of == place
            ]
            yield Sums(added(own, self._request.objectives), gradient)

    def _call_helpers(self) -> Helpers:
        n_helpers = Helpers.possible(self._n_threads, self._n_threads - 1)
        return Helpers(self._help, n_helpers, self._n_threads)

    def _share(self, begin: int, end: int, thread: int, room: TaggedRoom) -> int:
        found: int = kernels.share_turns(
            begin, end, thread, self._work, room, self._found, self._counters
        )
        return found

    def _help(self) -> None:
        try:
            self._share(0, len(self._batches), 1, room_for(self._largest))
        except BaseException:
            # The first would wait for ever for what was taken and not done.
            kernels.stop(self._counters)
            raise

    def _statistics_of(self, number: int) -> dict[str, FloatArray]:
        here = slice(self._offsets[number], self._offsets[number + 1])
        entropies = None if self._found.entropies is None else self._found.entropies[here]
        return self._batches[number].statistics(
            self._request.objectives, self._found.losses[here], entropies
        )

    def _add_otherwise(self, number: int) -> None:
        """A batch for which the fast recursion does not do, or which has nothing that is wanted."""
        batch = self._batches[number].batch
        statistics, gradient = batch.sums(
            self._request.weights, self._request.objectives, self._request.slopes
        )
        self._statistics.append(statistics)
        if gradient is not None:
            self._batches[number].add_gradient(gradient, self._totals[self._places[number]])
        kernels.has_added(self._counters)
