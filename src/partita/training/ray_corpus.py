"""The corpus on a cluster: Ray workers that each hold some of the shards.

Rules that were measured to matter: a worker loads its own shards from files in its constructor, so
that Ray can start it again by itself when its process or machine dies; its method is pure, so that
Ray can repeat a call; the restarts and the repeats, which are 0 by default, are asked for; sums are
taken in the order of the shards; and all that must survive is with the driver, which checkpoints.
"""

import logging
import os
import pickle
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from partita.arrays import FloatArray
from partita.objectives.base import Objective, Sum, as_sum
from partita.training.batches import Batch, check_batches
from partita.training.corpus import Corpus, n_cores
from partita.training.digests import digest
from partita.training.interruption import break_if_interrupted
from partita.training.summation import Part, Request, Sums, merged, sum_by_shard, total

N_SHARDS = 64
"""Enough for as many workers; a worker adds up its own, so it sends few gradients."""
N_RESTARTS = 100
"""For each worker. A machine that fails this often needs its owner."""

SECONDS_TO_HEED = 0.2
"""How long Ctrl-C may have to wait while workers compute."""


class RayCorpus(Corpus):
    """Batches in Ray workers.

    Parameters
    ----------
    objective, batches
        As for any corpus. The batches are written to a file per shard and not kept.
    n_workers
        Number of Ray workers, each on one core; results do not depend on it.
    n_shards
        Number of files, shared out among the workers; the most workers that can be of use.
    directory
        Where the files go; every machine must see it. Left out, a temporary directory that
        `close` deletes, which serves a cluster of one machine.

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
        self.objective = as_sum(objective)
        check_batches(batches, self.objective.names)
        self.n_threads = n_cores()
        self.n_weights = batches[0].features.n_weights
        self.n_sentences = sum(batch.structures.n_sentences for batch in batches)
        self.n_words = sum(int(batch.structures.n_words.sum()) for batch in batches)
        self._digest = digest(list(batches))
        n_shards = min(n_shards or N_SHARDS, len(batches))
        self._started = _start_ray(n_workers)
        _check_cores(n_workers)
        self._temporary = tempfile.mkdtemp(prefix="partita-") if directory is None else None
        paths = _write_shards(batches, Path(directory or str(self._temporary)), n_shards)
        count = min(n_workers, n_shards)
        # Neighbouring shards go to one worker, so that it can add them up.
        bounds = [n_shards * worker // count for worker in range(count + 1)]
        self.workers = [
            _worker_class().remote(start, paths[start:end], self.terms)
            for start, end in zip(bounds[:-1], bounds[1:], strict=True)
        ]

    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Statistics of the named terms over all batches, and the gradient if slopes are given."""
        ray = _ray()
        shared = ray.put(weights)
        answers = [worker.sums.remote(shared, list(names), slopes) for worker in self.workers]
        unheard = answers
        while unheard:
            break_if_interrupted()
            _, unheard = ray.wait(unheard, num_returns=len(unheard), timeout=SECONDS_TO_HEED)
            self.watcher(1.0 - len(unheard) / len(answers))
        # Workers are asked all at once and heard in order, not as they finish.
        sums = total(part for answer in answers for part in ray.get(answer))
        if sums.gradient is None or sums.gradient.flags.writeable:
            return sums
        return Sums(sums.statistics, sums.gradient.copy())

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
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


def _worker_class() -> Any:
    """The class of the workers; made when it is needed, since it needs Ray."""
    ray = _ray()

    @ray.remote(
        num_cpus=1,
        max_restarts=N_RESTARTS,
        max_task_retries=N_RESTARTS,
        scheduling_strategy="SPREAD",
    )
    class Worker:
        """Holds shards that it loaded itself, and sums over them."""

        def __init__(
            self, first: int, paths: Sequence[str], objectives: Mapping[str, Objective]
        ) -> None:
            self._first = first
            self._shards = [_read_shard(path) for path in paths]
            self._objectives = objectives

        def sums(
            self,
            weights: FloatArray,
            names: Sequence[str],
            slopes: Mapping[str, FloatArray] | None,
        ) -> list[Part]:
            """The sums of its shards, added up where they make up larger blocks."""
            chosen = {name: self._objectives[name] for name in self._objectives if name in names}
            request = Request(chosen, weights, slopes)
            shards = (
                sum_by_shard(batches, request, n_shards=1, n_threads=1)[0]
                for batches in self._shards
            )
            return merged(Part(index, 1, sums) for index, sums in enumerate(shards, self._first))

        def process(self) -> int:
            """The process that the worker runs in."""
            return os.getpid()

    return Worker


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


def _write_shards(batches: Sequence[Batch], directory: Path, n_shards: int) -> list[str]:
    """One file per shard, batch k in shard k modulo n_shards, and their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = [str(directory / f"shard-{shard:04d}") for shard in range(n_shards)]
    for shard, path in enumerate(paths):
        with open(path, "wb") as file:
            pickle.dump(batches[shard::n_shards], file, protocol=pickle.HIGHEST_PROTOCOL)
    return paths


def _read_shard(path: str) -> Sequence[Batch]:
    """The batches of a shard. Pickle is safe here: this run wrote the file itself."""
    with open(path, "rb") as file:
        batches: list[Batch] = pickle.load(file)
    return batches
