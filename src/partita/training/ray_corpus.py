"""The corpus on a cluster: Ray workers that each hold some of the shards.

Rules that were measured to matter: a worker reads its own batches from files when it needs them, so
that Ray can start it again by itself when its process or machine dies; its methods are pure, so
that Ray can repeat a call; the restarts and the repeats, which are 0 by default, are asked for;
sums are taken in the order of the shards; and all that must survive is with the driver, which
checkpoints.
"""

import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from partita.arrays import FloatArray
from partita.features.base import FeatureMap
from partita.files import ScratchFolder
from partita.objectives.base import Objective, Sum
from partita.training.batches import Batch, pulled_back
from partita.training.corpus import Corpus, default_shards
from partita.training.digests import digest
from partita.training.interruption import break_if_interrupted
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

N_RESTARTS = 100
"""For each worker. A machine that fails this often needs its owner."""
SECONDS_TO_HEED = 0.2
"""How long Ctrl-C may have to wait while workers compute."""


class RayCorpus(Corpus):
    """Batches in Ray workers; the same sums as `MemoryCorpus`, to the last bit.

    Parameters
    ----------
    objective, batches
        As for any corpus. The batches are written to a file per shard and not kept.
    n_workers
        Number of Ray workers, each on one core; results do not depend on it.
    n_shards
        Best left out; see `default_shards`. The most workers that can be of use in a whole pass.
    directory
        Where the files go; every machine must see it. Left out, a temporary directory that
        `close` deletes, which serves a cluster of one machine.

    Whole passes (L-BFGS, OWL-QN, expectation-maximisation) are shared out by shards: a worker
    scores, infers and adds up, and sends gradients of its shards. Mini-batches are shared out by
    batches: the driver scores and adds up, since it has the weights, and a worker infers; that
    pays where inference is what takes long.

    A running Ray is used as it is; otherwise one is started (at the address in RAY_ADDRESS, or on
    this machine) and `close` stops it.
    """

    def __init__(
        self,
        objective: Objective | Sum,
        batches: Sequence[Batch],
        *,
        n_workers: int,
        n_shards: int | None = None,
        directory: str | os.PathLike[str] | None = None,
    ) -> None:
        super().__init__(objective, batches)
        self.n_threads = n_cores()
        self._digest = digest(list(batches))
        self.n_shards = min(n_shards or default_shards(batches), len(batches))
        self._started = _start_ray(n_workers)
        _check_cores(n_workers)
        self._scratch = ScratchFolder("partita-shards-") if directory is None else None
        folder = self._scratch.path if self._scratch is not None else directory
        self._stored = StoredBatches.write(batches, str(folder), self.n_shards)
        self.workers = [
            _worker_class().remote(self._stored, self.terms)
            for _ in range(min(n_workers, len(batches)))
        ]

    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Statistics of the named terms over all batches, and the gradient if slopes are given."""
        shared = _ray().put(weights)
        return self._total(
            lambda worker, shards: worker.sums.remote(shared, list(names), slopes, shards)
        )

    def feature_counts(self) -> FloatArray:
        """Fᵀ 1: how often each feature occurs in the parts of the corpus."""
        counts = self._total(
            lambda worker, shards: worker.counts.remote(self.n_weights, shards)
        ).gradient
        assert counts is not None
        return counts

    def _total(self, ask: Callable[[Any, range], Any]) -> Sums:
        """The sum of what all workers say of their shards."""
        count = min(len(self.workers), self.n_shards)
        # Neighbouring shards go to one worker, so that it can add them up.
        bounds = [self.n_shards * worker // count for worker in range(count + 1)]
        answers = [
            ask(worker, range(bounds[place], bounds[place + 1]))
            for place, worker in enumerate(self.workers[:count])
        ]
        self._wait(answers)
        # Workers are asked all at once and heard in order, not as they finish.
        sums = total(part for answer in answers for part in _ray().get(answer))
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
                self._features[index].add_gradient(gradient.copy(), out)
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
            scores = self._features[index].scores(weights)
            worker = self.workers[index % len(self.workers)]
            answers.append(worker.pulled_back.remote(index, scores, list(names), slopes))
        for index, answer in zip(indices, answers, strict=True):
            self._wait([answer])
            yield index, _ray().get(answer)

    @cached_property
    def support(self) -> Support:
        """Which weights each batch touches."""
        return find_support(self._features)

    @property
    def digest(self) -> str:
        """Tells its batches from others; the same as if they were in memory."""
        return self._digest

    def close(self) -> None:
        """Stop the workers, and Ray itself if it was started here; delete temporary files."""
        ray = _ray()
        for worker in self.workers:
            ray.kill(worker)
        self.workers = []
        if self._started:
            ray.shutdown()
            self._started = False
        if self._scratch is not None:
            self._scratch.close()

    @cached_property
    def _features(self) -> list[FeatureMap]:
        """Of all batches; only mini-batches need them here."""
        return [self._stored.read(index).features for index in range(len(self.batch_sizes))]

    def _wait(self, answers: Sequence[Any]) -> None:
        """Until all have come, or the run is to end; then they come in vain."""
        unheard = list(answers)
        while unheard:
            break_if_interrupted()
            _, unheard = _ray().wait(unheard, num_returns=len(unheard), timeout=SECONDS_TO_HEED)
            self.watcher(1.0 - len(unheard) / len(answers))


def _worker_class() -> Any:
    """The class of the workers; made when it is needed, since it needs Ray."""
    ray = _ray()

    # Without `num_cpus`, which would reserve a core for as long as a worker lives: a corpus to
    # train on and one to judge by take turns, and the second would wait for ever.
    @ray.remote(
        max_restarts=N_RESTARTS,
        max_task_retries=N_RESTARTS,
        scheduling_strategy="SPREAD",
    )
    class Worker:
        """Reads batches itself, keeps them, and answers questions about them."""

        def __init__(self, stored: StoredBatches, objectives: Mapping[str, Objective]) -> None:
            # Both are small: Ray keeps them with the worker, for when it must be started again.
            self._stored = stored
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
            return merged(_part(number, self._shard(number), request) for number in shards)

        def counts(self, n_weights: int, shards: range) -> list[Part]:
            """How often each feature occurs in some shards."""
            return merged(
                Part(number, 1, feature_counts(self._shard(number), n_weights)) for number in shards
            )

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
            found = batch.compared(p, self._chosen(names))
            statistics = {name: statistic for name, (statistic, _) in found.items()}
            return statistics, pulled_back(found, slopes) if found and slopes is not None else None

        def process(self) -> int:
            """The process that the worker runs in."""
            return os.getpid()

        def _chosen(self, names: Sequence[str]) -> dict[str, Objective]:
            return {name: self._objectives[name] for name in self._objectives if name in names}

        def _shard(self, number: int) -> list[Batch]:
            if number not in self._shards:
                self._shards[number] = self._stored.shard(number)
            return self._shards[number]

        def _batch(self, index: int) -> Batch:
            if index not in self._batches:
                batch = self._stored.read(index)
                features = _NoFeatures(batch.structures.n_parts, batch.features.n_weights)
                self._batches[index] = replace(batch, features=features)
            return self._batches[index]

    return Worker


def _part(number: int, batches: Sequence[Batch], request: Request) -> Part:
    """The sums of one shard."""
    return Part(number, 1, sum_by_shard(batches, request, n_shards=1, n_threads=1)[0])


class _NoFeatures(FeatureMap):
    """In place of features that are not needed, since somebody else scores."""

    def __init__(self, n_parts: int, n_weights: int) -> None:
        self.n_parts = n_parts
        self.n_weights = n_weights

    def add_scores(self, weights: FloatArray, out: FloatArray) -> None:
        """All scores are 0."""

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """No weight has a part in them."""


def _ray() -> Any:
    """The optional package, imported only where it is used."""
    try:
        import ray
    except ImportError:
        raise ImportError(
            "workers on a cluster need Ray, which is not installed. Install it with "
            "`pip install 'partita[ray]'`, or use threads: workers=4."
        ) from None
    return ray


def _start_ray(n_workers: int) -> bool:
    """Make sure that Ray runs; True if it was started, or connected to, here."""
    ray = _ray()
    if ray.is_initialized():
        return False
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False, logging_level=logging.WARNING)
    else:
        ray.init(
            num_cpus=n_workers,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.WARNING,
        )
    return True


def _check_cores(n_workers: int) -> None:
    """There is a core for every worker; otherwise Ray would wait for one without a word."""
    n_available = int(_ray().cluster_resources().get("CPU", 0))
    if n_available < n_workers:
        raise ValueError(
            f"{n_workers} Ray workers were asked for, and the running Ray has {n_available} cores. "
            "Ask for fewer workers, or give Ray more cores or machines."
        )
