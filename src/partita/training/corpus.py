"""The training set: batches, and the loss and gradient of an objective summed over them.

Sums are taken in an order that depends only on the corpus (see `summation`), so results are the
same, bit for bit, for any number of threads or workers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Self

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.objectives.base import Objective, Sum, as_sum
from partita.training.batches import Batch, BatchSizes, check_batches
from partita.training.chain_steps import ChainBatches
from partita.training.pair_steps import PairBatches
from partita.training.running import RunningTotals
from partita.training.shards import StoredBatches
from partita.training.summation import Sums
from partita.training.support import BatchColumns, Support

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

    def pair_batches(self, iteration: int) -> PairBatches | None:
        """The same of sentence pairs."""
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
