"""Conditional random fields with latent derivations: log p(y | x) = log Z(x, y) - log Z_n(x).

Z(x, y) sums over the derivations of the observed translation, Z_n(x) over those of all translations
of at most n words. What derivations and features are, a `PairFamily` says; the aligner and the
translator have one each. Everything else is here, once.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.parts import PartDistribution
from partita.estimators.alignment.material import PairCounts, PairMaterial
from partita.estimators.groups import STOCHASTIC, Runs
from partita.estimators.options import Declared, at_least, beside, declared, option
from partita.estimators.runs import RunPlan, numbered, run, tell
from partita.features.base import FeatureMap
from partita.garbage import unsought
from partita.kept import kept_number
from partita.objectives.contrastive import ContrastiveEstimation, Neighbourhoods
from partita.structures.base import Structures
from partita.structures.joined import JoinedStructures
from partita.training import Batch, Corpus, Penalty, TrainingResult, build_corpus
from partita.training.optimisers import Optimiser
from partita.training.optimisers.schedules import Constant, InverseSquareRoot, Linear, Rate
from partita.training.threads import in_threads
from partita.training.workers import Workers, held

EncodedT = TypeVar("EncodedT")
"""A pair as a family knows it."""

PAIRS_PER_BATCH = 8
TOGETHER = 32 * PAIRS_PER_BATCH
"""Pairs that a thread tries at a time, if all are to be tried: it waits for the interpreter between
kernels."""
COVERED = 0.98
"""The share of training pairs whose target is not longer than the longest that is allowed."""


NAMED = beside(
    "an optimiser that is an object, which has its own",
    lambda options: isinstance(options.optimiser, Optimiser),
)


@declared
class LatentOptions(Declared):
    """How a conditional random field with latent derivations is trained, by mini-batches."""

    n_translations: int = option(
        12, "most translations of a word that derivations may use", at_least(1)
    )
    optimiser: Literal["adam", "adagrad", "sgd"] | Optimiser[Any] = option(
        "adam", "of mini-batches; or an optimiser of `partita.training`"
    )
    rate: float = option(0.03, "the learning rate, where it is largest", at_least(0), needs=NAMED)
    schedule: Literal["linear", "constant", "inverse-square-root"] = option(
        "linear", 'of the learning rate: "linear" rises, and then falls to 0', needs=NAMED
    )
    batch_size: int = option(16, "pairs of a mini-batch", at_least(1), needs=NAMED)
    average: bool = option(True, "average the weights from the second pass on", needs=NAMED)
    max_iterations: int = option(3, "most passes", at_least(1), needs=NAMED)
    l2: float = option(
        1.0, "l2 / 2 times the squares of the weights is added to the loss", at_least(0)
    )

    def way(self, runs: Runs, family: "PairFamily[Any]", n_pairs: int) -> RunPlan:
        """How to train a family on so many pairs."""
        return RunPlan(runs, self._optimiser(n_pairs), family.penalty(self.l2))

    def _optimiser(self, n_pairs: int) -> Optimiser[Any]:
        if isinstance(self.optimiser, Optimiser):
            return self.optimiser
        n_steps = -(-n_pairs // self.batch_size) * self.max_iterations
        rates: dict[str, Rate] = {
            "linear": Linear(self.rate, warm_up=max(1, n_steps // 10)),
            "constant": Constant(self.rate),
            "inverse-square-root": InverseSquareRoot(self.rate, quarter=100.0),
        }
        return STOCHASTIC[self.optimiser](
            rate=rates[self.schedule],
            n_iterations=self.max_iterations,
            batches_per_step=max(1, round(self.batch_size / PAIRS_PER_BATCH)),
            average_from=1 if self.average and self.max_iterations > 1 else None,
        )


@dataclass(frozen=True)
class Bound:
    """n, the longest target of a source sentence: slope * n_source + margin, rounded up.

    >>> Bound(1.5, 2.0)(np.array([2, 3]))
    array([5, 7])
    """

    slope: float
    margin: float

    @classmethod
    def fitted(cls, n_source: IntArray, n_target: IntArray) -> Self:
        """The usual ratio of lengths, and the margin that lets `COVERED` of the pairs in."""
        if not len(n_source):
            return cls(1.0, 1.0)
        slope = float(n_target.sum() / n_source.sum())
        return cls(slope, float(np.quantile(n_target - slope * n_source, COVERED)))

    @classmethod
    def restored(cls, header: Mapping[str, Any]) -> Self:
        """What a model file says; no corpus has sentences of a million words."""
        limits = {"slope": (0.0, 1e3), "margin": (-1e6, 1e6)}
        return cls(*(kept_number(header[name], name, float, *limits[name]) for name in limits))

    def header(self) -> dict[str, float]:
        """For a model file."""
        return {"slope": self.slope, "margin": self.margin}

    def __call__(self, n_source: IntArray) -> IntArray:
        """The longest target of sentences of these lengths; one word at least."""
        longest: IntArray = np.ceil(self.slope * n_source + self.margin).astype(np.int64)
        return np.maximum(longest, 1)

    def of(self, n_source: int) -> int:
        """The longest target of one sentence."""
        return max(1, ceil(self.slope * n_source + self.margin))


class PairFamily(ABC, Generic[EncodedT]):
    """How pairs become sets of derivations, and what the features of their parts are."""

    pairs_per_batch: ClassVar[int] = PAIRS_PER_BATCH

    @abstractmethod
    def encode(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> list[EncodedT]:
        """Pairs as the other methods know them; many at a time take less."""

    @abstractmethod
    def are_reachable(self, pairs: Sequence[EncodedT]) -> BoolArray:
        """Which pairs have a derivation."""

    @abstractmethod
    def observed(self, pairs: Sequence[EncodedT]) -> Structures:
        """D(x, y) of each pair."""

    @abstractmethod
    def every(self, pairs: Sequence[EncodedT]) -> Structures:
        """D_n(x) of each pair."""

    @abstractmethod
    def features(self, pairs: Sequence[EncodedT], structures: JoinedStructures) -> FeatureMap:
        """The features of the parts of all D(x, y), and then of all D_n(x)."""

    @abstractmethod
    def first_weights(self) -> FloatArray:
        """Where training starts."""

    @abstractmethod
    def penalty(self, l2: float) -> Penalty:
        """On the weights."""

    def batch(self, pairs: Sequence[EncodedT], weights: FloatArray | None = None) -> Batch:
        """-log p(y | x) of some pairs."""
        structures = JoinedStructures([self.observed(pairs), self.every(pairs)])
        features = self.features(pairs, structures)
        targets = {"ContrastiveEstimation": Neighbourhoods.halves(len(pairs))}
        return Batch(PartDistribution, structures, features, targets, weights)

    def encode_pair(self, source: Sequence[str], target: Sequence[str]) -> EncodedT:
        """One pair."""
        return self.encode([source], [target])[0]

    def log_prob(self, pair: EncodedT, weights: FloatArray) -> float:
        """log p(y | x) of a pair; -inf where no derivation has the target."""
        batch = self.batch([pair])
        scores = batch.features.scores(weights)
        observed, every = batch.structures.infer(scores).log_partition
        return float(observed - every)


class Latent(NamedTuple):
    """What training gives."""

    training: TrainingResult
    counts: PairCounts


class ReachedPairs(NamedTuple):
    """Pairs that have a derivation, ready to be learnt from, and what became of the others."""

    n_pairs: int
    batches: Iterable[Batch]
    """As `dealt` says; they may be made as they are taken."""
    counts: PairCounts


def learn_latent(
    family: PairFamily[EncodedT],
    material: PairMaterial,
    held_out: PairMaterial | None,
    way: Callable[[int], RunPlan],
    runs: Runs,
    stage: int = 1,
    most: int | None = None,
) -> Latent:
    """Weights that maximise sum of log p(y | x) - penalty, on the pairs that can be reached.

    `way` says how to train on so many pairs; `most` is how many are enough. The likelihood of
    held-out pairs chooses the pass. One inference of D(x, y), O(n³ m³), and one of D_n(x),
    O(n³ longest²), for each pair and pass.
    """
    n_threads = Workers.of(runs.workers).n_threads
    pairs, material = _reached(family, material, n_threads, most)
    batches = pair_batches(family, pairs, material.weights)
    reached = ReachedPairs(len(pairs), batches, material.counts)
    return learn_reached(family, reached, held_out, way, runs, stage)


def learn_reached(
    family: PairFamily[EncodedT],
    reached: ReachedPairs,
    held_out: PairMaterial | None,
    way: Callable[[int], RunPlan],
    runs: Runs,
    stage: int = 1,
) -> Latent:
    """The same of pairs that are known to be reachable, wherever they are."""
    n_pairs, batches, counts = reached
    if not n_pairs:
        start = family.first_weights()
        nothing = TrainingResult(start, float("nan"), 0, "There is no pair to learn from.", ())
        return Latent(nothing, counts)
    chosen, start = way(n_pairs), family.first_weights()
    tell(runs, f"Stage {stage}, latent derivations: {counts}")
    n_threads = Workers.of(runs.workers).n_threads
    judges = [] if held_out is None else _reached(family, held_out, n_threads)[0]
    cache = numbered(runs.cache, stage)
    with (
        held(runs.workers),
        build_corpus(ContrastiveEstimation(), batches, workers=runs.workers, cache=cache) as corpus,
    ):
        if not judges:
            return Latent(run(corpus, chosen, start, None, stage), counts)
        with pair_corpus(family, judges, None, runs.workers) as judge:
            return Latent(run(corpus, chosen, start, judge, stage), counts)


def pair_corpus(
    family: PairFamily[EncodedT],
    pairs: Sequence[EncodedT],
    weights: FloatArray | None,
    workers: int | str | None,
) -> Corpus:
    """Minus the log-probability of translations; all pairs must have derivations."""
    batches = pair_batches(family, pairs, weights)
    return build_corpus(ContrastiveEstimation(), batches, workers=workers)


def pair_batches(
    family: PairFamily[EncodedT], pairs: Sequence[EncodedT], weights: FloatArray | None
) -> Iterator[Batch]:
    """Pairs as they are dealt to batches."""
    for places in dealt(len(pairs), family.pairs_per_batch):
        own = None if weights is None else weights[list(places)]
        yield family.batch([pairs[place] for place in places], own)


def dealt(n_pairs: int, pairs_per_batch: int = PAIRS_PER_BATCH) -> list[range]:
    """The pairs of each batch.

    They are dealt in turn: who sorts them by length has batches that take equally long, so that no
    thread waits for another at the end of a mini-batch.

    >>> dealt(10)
    [range(0, 10, 2), range(1, 10, 2)]
    """
    n_batches = -(-n_pairs // pairs_per_batch)
    return [range(first, n_pairs, n_batches) for first in range(n_batches)]


def reachable(
    family: PairFamily[EncodedT], pairs: PairMaterial, start: int, most: int = PAIRS_PER_BATCH
) -> tuple[list[EncodedT], BoolArray]:
    """The next few pairs, encoded; and which of them have a derivation."""
    block = slice(start, start + most)
    encoded = family.encode(pairs.source[block], pairs.target[block])
    return encoded, family.are_reachable(encoded)


def short_first(lengths: tuple[IntArray, IntArray]) -> IntArray:
    """The order in which pairs are dealt."""
    n, m = lengths
    return np.argsort(n * m, kind="stable")


@unsought()
def _reached(
    family: PairFamily[EncodedT], material: PairMaterial, n_threads: int, most: int | None = None
) -> tuple[list[EncodedT], PairMaterial]:
    """The pairs that have a derivation, encoded, short ones first; and they themselves."""
    # Who needs all of them tries many at a time, which take less.
    size = TOGETHER if most is None else PAIRS_PER_BATCH
    tried = partial(reachable, family, material, most=size)
    pairs: list[EncodedT] = []
    is_reached = np.zeros(len(material), dtype=np.bool_)
    for start in range(0, len(material), 8 * size):
        if most is not None and is_reached.sum() >= most:
            break
        starts = range(start, min(start + 8 * size, len(material)), size)
        for encoded, is_here in in_threads(tried, starts, n_threads=n_threads):
            if most is not None and is_reached.sum() >= most:
                break
            is_reached[len(pairs) : len(pairs) + len(encoded)] = is_here
            pairs += encoded
    is_tried = np.arange(len(material)) < len(pairs)
    material = material.kept(is_tried, "n_spare")
    is_reached = is_reached[: len(pairs)]
    kept = [pair for pair, here in zip(pairs, is_reached.tolist(), strict=True) if here]
    material = material.kept(is_reached, "n_unreachable")
    order = short_first(material.lengths)
    return [kept[place] for place in order.tolist()], material.select(order, material.counts)
