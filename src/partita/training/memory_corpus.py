"""Batches in this process, in memory or in files, summed over by threads."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.objectives.base import Objective, Sum
from partita.objectives.contrastive import ContrastiveEstimation
from partita.objectives.likelihood import Likelihood
from partita.training import pair_steps
from partita.training.batches import Batch, pulled_back
from partita.training.chain_steps import ChainBatches, chain_batches
from partita.training.corpus import Corpus
from partita.training.digests import digest
from partita.training.pair_steps import PairBatches
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
from partita.training.tagged_batches import ENOUGH, AnyBatch, TaggedBatch, TaggedBatches
from partita.training.threads import in_threads, n_cores
from partita.training.turns import sum_in_turn
from partita.training.whole_shards import are_enough, are_tagged, sum_whole_shards

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
        if not are_tagged(self._quick, request):
            found = sum_all(self._quick, *rest)
        elif are_enough(self.n_shards, self.n_threads):
            found = sum_whole_shards(self._quick, *rest)
        else:
            found = sum_in_turn(self._quick, *rest)
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
        found = [TaggedBatch.of(batch, self.terms) for batch in self.batches]
        return TaggedBatches.of(found) or found

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
        return self._chain_batches if self._learns_by(Likelihood, iteration) else None

    def _learns_by(self, objective: type[Objective], iteration: int) -> bool:
        """Whether an objective is the only term, with a weight of 1."""
        (first, *others) = self.objective.terms
        return type(first.objective) is objective and first.weight_at(iteration) == 1 and not others

    @cached_property
    def _chain_batches(self) -> ChainBatches | None:
        (name,) = self.terms
        return None if self.columns is None else chain_batches(self.batches, name, self.columns)

    def pair_batches(self, iteration: int) -> PairBatches | None:
        """Where contrastive estimation is the only term."""
        return self._pair_batches if self._learns_by(ContrastiveEstimation, iteration) else None

    @cached_property
    def _pair_batches(self) -> PairBatches | None:
        if isinstance(self.batches, StoredBatches) or len(self.batches) < pair_steps.ENOUGH:
            return None
        if not pair_steps.is_for_pairs(self.batches[0]):
            return None
        (name,) = self.terms
        return PairBatches.of(self.batches, name, self.support)

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
