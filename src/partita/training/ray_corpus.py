"""The corpus on a cluster: Ray workers that each hold some of the shards.

Rules that were measured to matter: a worker reads its own batches from files when it needs them, so
that Ray can start it again by itself when its process or machine dies; its methods are pure, so
that Ray can repeat a call; the restarts and the repeats, which are 0 by default, are asked for;
sums are taken in the order of the shards; and all that must survive is with the driver, which
checkpoints.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap
from partita.files import ScratchFolder
from partita.objectives.base import Objective, Sum
from partita.training import cluster
from partita.training.batches import Batch, without_pullbacks
from partita.training.corpus import Corpus
from partita.training.shards import StoredBatches
from partita.training.summation import (
    Part,
    Request,
    Sums,
    added,
    feature_counts,
    merged,
    sum_by_shard,
    total,
)
from partita.training.support import Support, find_support
from partita.training.threads import n_cores


class RayCorpus(Corpus):
    """Batches in Ray workers; the same sums as `MemoryCorpus`, to the last bit.

    Parameters
    ----------
    objective, batches
        As for any corpus. Unless they are stored already, in a folder that every machine sees,
        batches are written to a temporary file, which serves a cluster of one machine.
    n_workers
        Number of Ray workers, each on one core, as many as the cluster has if left out; results do
        not depend on it.
    n_shards
        Best left out; see `default_shards`. The most workers that can be of use in a whole pass.

    Whole passes (L-BFGS, OWL-QN, expectation-maximisation) are shared out by shards: a worker
    scores, infers and adds up, and sends gradients of its shards. Mini-batches are shared out by
    batches: the driver scores and adds up, since it has the weights, and a worker infers; that
    pays where inference is what takes long.

    A running Ray is used as it is, see `cluster.start`; `close` stops one that was started here.
    """

    def __init__(
        self,
        objective: Objective | Sum,
        batches: Sequence[Batch],
        *,
        n_workers: int | None = None,
        n_shards: int | None = None,
    ) -> None:
        super().__init__(objective, batches)
        self.n_threads = n_cores()
        self.n_shards = min(n_shards or self.default_shards(), len(batches))
        n_workers, self._started = cluster.start(n_workers)
        self._scratch: ScratchFolder | None = None
        if isinstance(batches, StoredBatches):
            self._stored = batches
        else:
            self._scratch = ScratchFolder("partita-shards-")
            self._stored = StoredBatches.write(batches, self._scratch.path)
        maker = partial(ShardWorker, self._stored, self.terms, self.n_shards)
        self._kept: dict[int, FeatureMap] = {}
        self.team = cluster.Team(maker, min(n_workers, len(batches)))

    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Statistics of the named terms over all batches, and the gradient if slopes are given."""
        shared = cluster.ray_module().put(weights)
        return self._total(
            lambda member, shards: self.team.ask(
                member, "sums", shared, list(names), slopes, shards
            )
        )

    def feature_counts(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ 1, or Fᵀ times variances."""
        shared = None if weights is None else cluster.ray_module().put(weights)
        counts = self._total(
            lambda member, shards: self.team.ask(member, "counts", self.n_weights, shared, shards)
        ).gradient
        assert counts is not None
        return counts

    def _total(self, ask: Callable[[int, range], Any]) -> Sums:
        """The sum of what all workers say of their shards."""
        count = min(len(self.team), self.n_shards)
        # Neighbouring shards go to one worker, so that it can add them up.
        bounds = [self.n_shards * worker // count for worker in range(count + 1)]
        answers = [ask(member, range(*bounds[member : member + 2])) for member in range(count)]
        # Neighbours are brought together by the workers, two by two, so that one gradient comes
        # here, however many they are; in which order they finish does not matter.
        joined = by_pairs(answers, lambda place, *both: self.team.ask(place, "joined", *both))
        self._wait([joined])
        sums = total(map(opened, cluster.ray_module().get(joined)))
        if sums.gradient is None or sums.gradient.flags.writeable:
            return sums
        return Sums(sums.statistics, sums.gradient.copy())

    def add_gradient(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        names: Sequence[str],
        slopes: Mapping[str, FloatArray],
        out: FloatArray,
    ) -> dict[str, FloatArray]:
        """The statistics of some batches; adds the gradient to `out`, batch by batch."""
        statistics = []
        for index, (found, gradient) in self._visited(weights, indices, names, slopes):
            statistics.append(found)
            if gradient is not None:
                # What comes from another process is read-only, and kernels are not made for it.
                self._features(index).add_gradient(gradient.copy(), out)
        return added(statistics, {name: self.terms[name] for name in names})

    def statistics_by_batch(
        self, weights: FloatArray, names: Sequence[str]
    ) -> list[dict[str, FloatArray]]:
        """The statistics of the named terms of each batch."""
        objectives = {name: self.terms[name] for name in names}
        every = self._visited(weights, range(len(self.batch_sizes)), names, None)
        return [added([found], objectives) for _, (found, _) in every]

    def _visited(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        names: Sequence[str],
        slopes: Mapping[str, FloatArray] | None,
    ) -> Iterator[tuple[int, tuple[dict[str, FloatArray], FloatArray | None]]]:
        """Statistics of some batches and their gradients if slopes are given; in order."""
        answers = []
        for index in indices:
            scores = self._features(index).scores(weights)
            answers.append(
                self.team.ask(
                    index % len(self.team), "pulled_back", index, scores, list(names), slopes
                )
            )
        for index, answer in zip(indices, answers, strict=True):
            self._wait([answer])
            yield index, cluster.ray_module().get(answer)

    @cached_property
    def support(self) -> Support:
        """Which weights each batch touches."""
        return find_support((batch.features for batch in self._stored), self.n_weights)

    @property
    def digest(self) -> str:
        """Tells its batches from others; the same as if they were in memory."""
        return self._stored.digest

    def close(self) -> None:
        """Stop the workers, and Ray itself if it was started here; delete temporary files."""
        self.team.close()
        if self._started:
            cluster.ray_module().shutdown()
            self._started = False
        if self._scratch is not None:
            self._scratch.close()

    def _features(self, index: int) -> FeatureMap:
        """Of a batch; only mini-batches need them here. Kept, unless they may be beyond memory."""
        found = self._kept.get(index)
        if found is None:
            found = self._stored[index].features
            if self._scratch is not None:
                self._kept[index] = found
        return found

    def _wait(self, answers: Sequence[Any]) -> None:
        cluster.wait(answers, self.watcher)


class ShardWorker:
    """Reads batches itself, keeps them, and answers questions about them."""

    def __init__(
        self, stored: StoredBatches, objectives: Mapping[str, Objective], n_shards: int
    ) -> None:
        self._stored = stored
        self._n_shards = n_shards
        self._objectives = objectives
        self._shards: dict[int, list[Batch]] = {}
        self._batches: dict[int, Batch] = {}

    def sums(
        self,
        weights: FloatArray,
        names: Sequence[str],
        slopes: Mapping[str, FloatArray] | None,
        shards: range,
    ) -> list[Part]:
        """The sums of some shards, added up where they make up larger blocks."""
        # What comes from another process is read-only, and kernels are not made for it.
        request = Request(self._chosen(names), weights.copy(), slopes)
        parts = merged(_part(number, self._shard(number), request) for number in shards)
        return list(map(closed, parts))

    def joined(self, left: Sequence[Part], right: Sequence[Part]) -> list[Part]:
        """The sums of two workers, added up where they make up larger blocks."""
        return list(map(closed, merged(map(opened, (*left, *right)))))

    def counts(self, n_weights: int, weights: FloatArray | None, shards: range) -> list[Part]:
        """How often each feature occurs in some shards, or how much the parts that have it vary."""
        own = None if weights is None else weights.copy()  # see `sums`
        found = merged(
            Part(number, 1, feature_counts(self._shard(number), n_weights, own))
            for number in shards
        )
        return list(map(closed, found))

    def pulled_back(
        self,
        index: int,
        scores: FloatArray,
        names: Sequence[str],
        slopes: Mapping[str, FloatArray] | None,
    ) -> tuple[dict[str, FloatArray], FloatArray | None]:
        """The statistics of a batch at some scores, and the gradient with respect to these."""
        batch = self._batch(index)
        p = batch.distribution.from_flat(batch.structures, scores.copy())
        found = batch.compared(p, self._chosen(names), with_gradient=slopes is not None)
        return without_pullbacks(found, slopes)

    def _chosen(self, names: Sequence[str]) -> dict[str, Objective]:
        return {name: self._objectives[name] for name in self._objectives if name in names}

    def _shard(self, number: int) -> list[Batch]:
        if number not in self._shards:
            own = range(number, len(self._stored), self._n_shards)
            self._shards[number] = [self._stored[index] for index in own]
        return self._shards[number]

    def _batch(self, index: int) -> Batch:
        if index not in self._batches:
            batch = self._stored[index]
            features = _NoFeatures(batch.structures.n_parts, batch.features.n_weights)
            self._batches[index] = replace(batch, features=features)
        return self._batches[index]


class SparseVector(NamedTuple):
    """A vector by the places that are not zero, for the way between machines."""

    size: int
    places: IntArray
    values: FloatArray

    @classmethod
    def of(cls, vector: FloatArray) -> "SparseVector | None":
        """None where that would be no shorter. Zeros are told by their bits: -0.0 is none."""
        places = np.flatnonzero(vector.view(np.int64))
        if 3 * len(places) > len(vector):
            return None
        return cls(len(vector), places.astype(np.int32), vector[places])

    @property
    def dense(self) -> FloatArray:
        """The vector itself."""
        vector = np.zeros(self.size)
        vector[self.places] = self.values
        return vector


def closed(part: Part) -> Part:
    """For the way: a gradient that is sparse as such.

    >>> part = closed(Part(0, 1, Sums({}, np.array([0.0, 2.0, 0.0, 0.0]))))
    >>> part.sums.gradient
    SparseVector(size=4, places=array([1], dtype=int32), values=array([2.]))
    >>> opened(part).sums.gradient
    array([0., 2., 0., 0.])
    """
    gradient = part.sums.gradient
    sparse: Any = None if gradient is None else SparseVector.of(gradient)
    return part if sparse is None else replace(part, sums=replace(part.sums, gradient=sparse))


def opened(part: Part) -> Part:
    """Behind the way."""
    gradient: Any = part.sums.gradient
    if not isinstance(gradient, SparseVector):
        return part
    return replace(part, sums=replace(part.sums, gradient=gradient.dense))


def by_pairs(items: Sequence[Any], join: Callable[[int, Any, Any], Any]) -> Any:
    """One item out of many: neighbours are joined, then their neighbours; `join` gets a place, too.

    >>> by_pairs("abcde", lambda place, left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    step = 1
    joined = list(items)
    while len(joined) > 1:
        step *= 2
        pairs = range(0, len(joined) - 1, 2)
        odd = joined[len(joined) - len(joined) % 2 :]
        joined = [join(first * step // 2, *joined[first : first + 2]) for first in pairs] + odd
    return joined[0]


def _part(number: int, batches: Sequence[Batch], request: Request) -> Part:
    """The sums of one shard."""
    return Part(number, 1, sum_by_shard(batches, request, [0] * len(batches), n_threads=1)[0])


class _NoFeatures(FeatureMap):
    """In place of features that are not needed, since somebody else scores."""

    def __init__(self, n_parts: int, n_weights: int) -> None:
        self.n_parts = n_parts
        self.n_weights = n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """All scores are 0."""

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """No weight has a part in them."""
