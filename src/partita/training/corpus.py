"""The training set: batches, and the loss and gradient of an objective summed over them.

Sums are taken in an order that depends only on the corpus (see `summation`), so results are the
same, bit for bit, for any number of threads or workers.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.objectives.base import Objective, Sum, as_sum
from partita.objectives.likelihood import Likelihood
from partita.training.batches import Batch, BatchSizes, check_batches, pulled_back
from partita.training.chain_steps import ChainBatches, chain_batches
from partita.training.digests import digest
from partita.training.running import RunningTotals
from partita.training.shards import StoredBatches
from partita.training.summation import (
    Part,
    Request,
    Sums,
    added,
    feature_counts,
    sum_all,
    sum_by_shard,
    total,
)
from partita.training.support import BatchColumns, Support, find_support
from partita.training.tagged_batches import ENOUGH, AnyBatch, TaggedBatch
from partita.training.threads import in_threads, n_cores
from partita.training.whole_shards import are_for_whole_shards, sum_whole_shards
from partita.training.workers import Workers

MOST_SHARDS = 1024
"""As many workers of a cluster can be of use."""
MANY_SHARDS = 64
"""Of more than these, the gradients together are to be a sixteenth of the scores at most."""

Watcher = Callable[[float], None]
"""Is told how much of a pass is done, 0 to 1; from any thread."""


def unwatched(share: float) -> None:
    """Nobody looks."""


class Corpus(ABC):
    """A data set with an objective: a pure function of the weights.

    A subclass knows where the batches are and who adds them up (`sums`). Use it in a `with`
    statement, or `close` it, to give back what it holds: workers of a cluster, files.
    """

    objective: Sum
    n_weights: int
    n_sentences: int
    n_words: int
    n_parts: int
    n_threads: int
    """How many threads may be used in this process."""
    batch_sizes: IntArray
    """The number of sentences of each batch."""
    watcher: Watcher = staticmethod(unwatched)
    """Is told of every pass; for the time of a run, by its display."""

    def __init__(self, objective: Objective | Sum, batches: Sequence[Batch]) -> None:
        self.objective = as_sum(objective)
        if isinstance(batches, StoredBatches):
            sizes = BatchSizes(batches.sizes, batches.names)
        else:
            sizes = BatchSizes.of(batches)
        check_batches(sizes, self.objective.names)
        self.batch_sizes = sizes.rows[:, 0]
        self.n_sentences, self.n_words, self.n_parts = sizes.rows[:, :3].sum(axis=0).tolist()
        self.n_weights = int(sizes.rows[0, 3])

    @abstractmethod
    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Statistics of the named terms over all batches, and the gradient if slopes are given."""

    @abstractmethod
    def feature_counts(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ 1: how often each feature occurs in the parts of the corpus, (n_weights,).

        With weights a part counts as much as its variance there: what the loss curves by.
        """

    @abstractmethod
    def add_gradient(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        names: Sequence[str],
        slopes: Mapping[str, FloatArray],
        out: FloatArray,
    ) -> dict[str, FloatArray]:
        """For mini-batches: statistics of some batches; adds the gradient to `out`, one by one."""

    @abstractmethod
    def statistics_by_batch(
        self, weights: FloatArray, names: Sequence[str]
    ) -> list[dict[str, FloatArray]]:
        """For mini-batches: the statistics of the named terms of each batch."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """For mini-batches: which weights each batch touches."""

    @property
    def columns(self) -> BatchColumns | None:
        """For mini-batches: the features of each batch by attribute, where that serves them."""
        return None

    def chain_batches(self, iteration: int) -> ChainBatches | None:
        """For mini-batches: as compiled steps want them, if that is all there is."""
        return None

    @property
    def touches_all(self) -> bool:
        """For mini-batches: whether each batch touches weights all over."""
        return False

    def score_gradients(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        iteration: int,
        running: RunningTotals,
    ) -> tuple[float, list[FloatArray | None]]:
        """As `add_mini_batch`, with the gradients by the scores; of a corpus with `columns`."""
        raise NotImplementedError

    @property
    @abstractmethod
    def digest(self) -> str:
        """Tells its batches from others: structures, features, targets, sample weights."""

    @abstractmethod
    def close(self) -> None:
        """Give back threads, workers and temporary files."""

    def value_and_gradient(
        self, weights: FloatArray, iteration: int = 0
    ) -> tuple[float, FloatArray]:
        """Loss at the weights and its gradient, (n_weights,), with an iteration's term weights.

        One pass; two where a term's slope depends on its total (generalized expectation): the
        first then takes that term's statistics only.
        """
        self._check(weights)
        active = self._active(iteration)
        late = self._late(iteration)
        first = self.sums(weights, late, None).statistics if late else {}
        _, slopes = self._loss(first, iteration)
        if not active:
            return 0.0, np.zeros(self.n_weights)
        sums = self.sums(weights, active, {name: slopes[name] for name in active})
        assert sums.gradient is not None
        return self._loss(sums.statistics, iteration)[0], sums.gradient

    def value(self, weights: FloatArray, iteration: int = 0) -> float:
        """The loss alone: one pass, without the way back to the weights."""
        self._check(weights)
        statistics = self.sums(weights, self._active(iteration), None).statistics
        return self._loss(statistics, iteration)[0]

    def running_totals(self, weights: FloatArray, iteration: int) -> RunningTotals:
        """For mini-batches: totals of the terms that depend on them; a pass if there are any."""
        late = self._late(iteration)
        each = self.statistics_by_batch(weights, late) if late else []
        return RunningTotals(
            {name: np.array([statistics[name] for statistics in each]) for name in late}
        )

    def add_mini_batch(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        iteration: int,
        running: RunningTotals,
        out: FloatArray,
    ) -> float:
        """The loss of some batches; adds its gradient to `out`, batch by batch.

        Terms whose slope depends on their totals have that of the running ones, which are brought
        up to date; their loss, in which no batch has a share, is left out (`running_loss`).
        """
        return self._loss_of_visit(
            indices,
            iteration,
            running,
            lambda names, slopes: self.add_gradient(weights, indices, names, slopes, out),
        )

    def _loss_of_visit(
        self,
        indices: Sequence[int],
        iteration: int,
        running: RunningTotals,
        ask: Callable[[Sequence[str], Mapping[str, FloatArray]], dict[str, FloatArray]],
    ) -> float:
        """The loss of some batches, whose statistics are asked for with slopes."""
        _, slopes = self._loss(running.totals, iteration)
        statistics = ask(self._active(iteration), slopes)
        running.visit(indices, statistics)
        own = {name: found for name, found in statistics.items() if name not in running.totals}
        return self._loss(own, iteration)[0]

    def running_loss(self, running: RunningTotals, iteration: int) -> float:
        """The loss of the terms that depend on their totals."""
        return self._loss(running.totals, iteration)[0]

    def default_shards(self) -> int:
        """As many shards as leave their gradients together no longer than the scores of the corpus.

        Each shard has a gradient of its own, to be cleared and added up in every pass. With many
        sentences for each weight that is nothing; with few, one shard is the fastest (see
        `summation`). The number depends on the corpus alone: results are the same for threads and
        for a cluster.
        """
        ratio = self.n_parts // self.n_weights
        wanted = max(min(ratio, MANY_SHARDS), min(ratio // 16, MOST_SHARDS))
        return max(1, min(wanted, len(self.batch_sizes)))

    @cached_property
    def terms(self) -> dict[str, Objective]:
        """The objective of each term, by name."""
        objectives = (term.objective for term in self.objective.terms)
        return dict(zip(self.objective.names, objectives, strict=True))

    def _active(self, iteration: int) -> list[str]:
        """The names of the terms whose weight is not 0 in an iteration."""
        weights = self.objective.weights_at(iteration)
        return [name for name, weight in zip(self.terms, weights, strict=True) if weight]

    def _late(self, iteration: int) -> list[str]:
        """Those of them whose slope is known only after a pass."""
        return [name for name in self._active(iteration) if self.terms[name].needs_total]

    def _loss(
        self, statistics: Mapping[str, FloatArray], iteration: int
    ) -> tuple[float, dict[str, FloatArray]]:
        """The loss and its slopes, by name of the term; what has no statistic (yet) counts as 0."""
        totals = [
            statistics[name] if name in statistics else np.zeros(term.n_statistics)
            for name, term in self.terms.items()
        ]
        loss, slopes = self.objective.loss(totals, iteration)
        return loss, dict(zip(self.terms, slopes, strict=True))

    def _check(self, weights: FloatArray) -> None:
        if weights.shape != (self.n_weights,):
            raise ValueError(
                f"weights has shape {weights.shape}; expected ({self.n_weights},), one number for "
                "each feature."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


MOST_FINDING = 2
"""Threads that look for which weights batches touch: each needs a vector as long as these."""


class MemoryCorpus(Corpus):
    """Batches in this process, summed over by threads.

    Those that are stored in files are read in every pass, the next ones while the last ones are
    computed with, and not kept: memory is needed for a few batches, whatever their number.
    """

    def __init__(
        self,
        objective: Objective | Sum,
        batches: Sequence[Batch],
        *,
        n_threads: int | None = None,
        n_shards: int | None = None,
    ) -> None:
        super().__init__(objective, batches)
        self.batches = batches if isinstance(batches, StoredBatches) else list(batches)
        self.n_threads = n_threads or n_cores()
        self.n_shards = n_shards or self.default_shards()

    def sums(
        self, weights: FloatArray, names: Sequence[str], slopes: Mapping[str, FloatArray] | None
    ) -> Sums:
        """Statistics of the named terms over all batches, and the gradient if slopes are given."""
        request = Request({name: self.terms[name] for name in names}, weights, slopes)
        rest = request, self.n_shards, self.n_threads, self.watcher
        if are_for_whole_shards(self._quick, *rest[:-1]):
            found = sum_whole_shards(self._quick, *rest)
        else:
            found = sum_all(self._quick, *rest)
        if found.gradient is not None:
            found.gradient[self._no_pairs] = 0.0
        return found

    def feature_counts(self, weights: FloatArray | None = None) -> FloatArray:
        """Fᵀ 1, or Fᵀ times variances."""

        def of_shard(shard: int) -> Part:
            batches = self.batches[shard :: self.n_shards]
            return Part(shard, 1, feature_counts(batches, self.n_weights, weights))

        def parts() -> Iterator[Part]:
            # No more at a time than there are threads, as in every pass.
            for first in range(0, self.n_shards, self.n_threads):
                shards = range(first, min(first + self.n_threads, self.n_shards))
                yield from in_threads(of_shard, shards, n_threads=self.n_threads)

        counts = total(parts()).gradient
        assert counts is not None
        return counts

    def add_gradient(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        names: Sequence[str],
        slopes: Mapping[str, FloatArray],
        out: FloatArray,
    ) -> dict[str, FloatArray]:
        """The statistics of some batches; adds the gradient to `out`, batch by batch."""
        request = Request({name: self.terms[name] for name in names}, weights, slopes)
        batches = [self.batches[index] for index in indices]
        (sums,) = sum_by_shard(batches, request, [0] * len(batches), self.n_threads, out)
        return sums.statistics

    def statistics_by_batch(
        self, weights: FloatArray, names: Sequence[str]
    ) -> list[dict[str, FloatArray]]:
        """The statistics of the named terms of each batch."""
        request = Request({name: self.terms[name] for name in names}, weights, None)
        shards = range(len(self.batches))
        each = sum_by_shard(self.batches, request, shards, self.n_threads)
        return [sums.statistics for sums in each]

    @cached_property
    def _quick(self) -> Sequence[AnyBatch]:
        """The batches, those as `TaggedBatch` for which there is that way."""
        if isinstance(self.batches, StoredBatches) or len(self.batches) < ENOUGH:
            return self.batches
        return [TaggedBatch.of(batch, self.terms) for batch in self.batches]

    @cached_property
    def _no_pairs(self) -> IntArray:
        """The weights that no feature has, where the batches do not see to these themselves."""
        if isinstance(self._quick, StoredBatches):
            return np.zeros(0, dtype=np.int64)
        found = (batch.no_pairs for batch in self._quick if isinstance(batch, TaggedBatch))
        return next(found, np.zeros(0, dtype=np.int64))

    @cached_property
    def digest(self) -> str:
        """Tells its batches from others; worked out once, in less time than a pass."""
        return (
            self.batches.digest if isinstance(self.batches, StoredBatches) else digest(self.batches)
        )

    def score_gradients(
        self,
        weights: FloatArray,
        indices: Sequence[int],
        iteration: int,
        running: RunningTotals,
    ) -> tuple[float, list[FloatArray | None]]:
        """The loss of some batches, and their gradients with respect to the scores."""
        gradients: list[FloatArray | None] = []

        def ask(names: Sequence[str], slopes: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
            objectives = {name: self.terms[name] for name in names}
            each = in_threads(
                lambda index: self.batches[index].statistics(weights, objectives),
                indices,
                n_threads=self.n_threads,
            )
            gradients.extend(pulled_back(found, slopes) if found else None for found in each)
            only = ({name: value for name, (value, _) in found.items()} for found in each)
            return added(only, objectives)

        return self._loss_of_visit(indices, iteration, running, ask), gradients

    @cached_property
    def columns(self) -> BatchColumns | None:
        """The features by attribute, if they are rows of attributes, and in memory."""
        if isinstance(self.batches, StoredBatches):
            return None
        return BatchColumns.of(batch.features for batch in self.batches)

    def chain_batches(self, iteration: int) -> ChainBatches | None:
        """Where the likelihood is the only term."""
        (first, *others) = self.objective.terms
        is_likelihood = type(first.objective) is Likelihood and first.weight_at(iteration) == 1.0
        return self._chain_batches if is_likelihood and not others else None

    @cached_property
    def _chain_batches(self) -> ChainBatches | None:
        (name,) = self.terms
        return None if self.columns is None else chain_batches(self.batches, name, self.columns)

    @property
    def touches_all(self) -> bool:
        """Whether each batch touches weights all over."""
        return self.batches[0].features.is_spread

    @cached_property
    def support(self) -> Support:
        """Which weights each batch touches."""
        maps = (batch.features for batch in self.batches)
        return find_support(maps, self.n_weights, min(self.n_threads, MOST_FINDING))

    def close(self) -> None:
        """Nothing to give back: threads live for one pass."""


def build_corpus(
    objective: Objective | Sum,
    batches: Iterable[Batch],
    *,
    workers: int | str | None = None,
    n_shards: int | None = None,
    cache: str | os.PathLike[str] | None = None,
) -> Corpus:
    """A corpus of batches, summed over by threads or by a Ray cluster.

    `workers` is a number of threads (all cores if left out), or "ray:4" for four Ray workers
    ("ray" for as many as the cluster has cores). `n_shards` is best left out; results depend on it
    in the last bits, and on `workers` not at all. `cache` is a folder to which batches are written
    as they come (they may be a generator, then) and from which they are read in every pass, so that
    there may be more of them than memory; every machine of a cluster must see it.

    >>> from partita import LinearChain
    >>> from partita.features import Attributes, tag_features
    >>> from partita.objectives import Counts, Likelihood
    >>> from partita.structures.chains import Chains
    >>> from partita.training import Batch
    >>> chains = Chains([2, 1], n_tags=2, shared=True)  # two words, and one
    >>> features = tag_features(chains, Attributes.from_lists([[0], [1], [0]]), n_attributes=2)
    >>> tags = Counts.of(chains, [[0, 1], [0]])
    >>> batch = Batch(LinearChain, chains, features, {"Likelihood": tags})
    >>> corpus = build_corpus(Likelihood(), [batch], workers=2)
    >>> loss, gradient = corpus.value_and_gradient(np.zeros(8))
    >>> round(loss, 3), gradient[:4]
    (2.079, array([-1. ,  1. ,  0.5, -0.5]))
    """
    chosen = Workers.of(workers)
    if cache is not None and not isinstance(batches, StoredBatches):
        batches = StoredBatches.write(batches, cache)
    elif not isinstance(batches, Sequence):
        batches = list(batches)
    if chosen.on_ray:
        # Ray is an optional extra, so its module is imported only when it is asked for.
        from partita.training.ray_corpus import RayCorpus

        return RayCorpus(objective, batches, n_workers=chosen.n_workers, n_shards=n_shards)
    return MemoryCorpus(objective, batches, n_threads=chosen.n_workers, n_shards=n_shards)
