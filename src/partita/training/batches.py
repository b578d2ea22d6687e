"""A batch: sentences whose scores fit into the cache, their features, and what they teach."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from partita.arrays import FloatArray, IntArray
from partita.distribution.base import Distribution
from partita.features.base import FeatureMap
from partita.objectives.base import Objective, Pullback
from partita.structures.base import Structures

CACHED_PARTS = 2**15
"""Parts whose scores, marginals and messages stay in a second-level cache together."""


@dataclass(frozen=True)
class Batch:
    """Sentences, the features of their parts, and a target for each term that learns from them.

    `targets` has the name of each such term (see `Sum.names` and `Objective.named`) and what the
    term compares with; a term that is not among them ignores the batch, so labelled and unlabelled
    sentences differ only in their targets. Terms of one batch share its distribution, and so its
    inference.

    >>> from partita import LinearChain
    >>> from partita.features import Attributes, tag_features
    >>> from partita.objectives import Counts
    >>> from partita.structures.chains import Chains
    >>> chains = Chains([2, 1], n_tags=2, shared=True)  # two words, and one
    >>> words = Attributes.from_lists([[0], [1], [0]])
    >>> features = tag_features(chains, words, n_attributes=2)
    >>> targets = {"Likelihood": Counts.of(chains, [[0, 1], [0]]), "Entropy": None}
    >>> batch = Batch(LinearChain, chains, features, targets)
    >>> batch.at(np.zeros(8)).log_partition.round(3)
    array([1.386, 0.693])
    """

    distribution: type[Distribution]
    structures: Structures
    features: FeatureMap
    targets: Mapping[str, Any]
    sample_weights: FloatArray | None = field(default=None)
    """One number per sentence; all 1 if left out."""

    def __post_init__(self) -> None:
        if self.features.n_parts != self.structures.n_parts:
            raise ValueError(
                f"the features describe {self.features.n_parts} parts and the structures have "
                f"{self.structures.n_parts}; expected the same number."
            )

    def at(self, weights: FloatArray) -> Distribution:
        """The distribution over the structures of the sentences that the weights define."""
        return self.distribution.from_flat(self.structures, self.features.scores(weights))

    def statistics(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        *,
        with_gradient: bool = True,
    ) -> dict[str, tuple[FloatArray, Pullback]]:
        """Statistic and pullback of each of the given objectives that has a target here.

        Without `with_gradient` nothing is prepared for pullbacks, which still work.
        """
        if not any(name in objectives for name in self.targets):
            return {}
        return self.compared(self.at(weights), objectives, with_gradient=with_gradient)

    def sums(
        self,
        weights: FloatArray,
        objectives: Mapping[str, Objective],
        slopes: Mapping[str, FloatArray] | None,
    ) -> tuple[dict[str, FloatArray], FloatArray | None]:
        """The statistics alone, and if slopes are given the gradient by the scores; None is 0."""
        found = self.statistics(weights, objectives, with_gradient=slopes is not None)
        return without_pullbacks(found, slopes)

    def add_gradient(self, score_gradient: FloatArray, out: FloatArray) -> None:
        """out += the gradient of the weights, out of that by the scores."""
        self.features.add_gradient(score_gradient, out)

    def compared(
        self, p: Distribution, objectives: Mapping[str, Objective], *, with_gradient: bool
    ) -> dict[str, tuple[FloatArray, Pullback]]:
        """As `statistics`, for a distribution over the structures of the sentences."""
        chosen = {name: objectives[name] for name in self.targets if name in objectives}
        if with_gradient:
            for objective in chosen.values():
                objective.prepare(p)
        return {
            name: objective(p, self.targets[name], self.sample_weights)
            for name, objective in chosen.items()
        }


def cut(n_parts: ArrayLike, most: int = CACHED_PARTS) -> list[range]:
    """Consecutive sentences whose parts together number at most `most`; one sentence at least.

    >>> cut([3, 3, 3, 9, 1], most=6)
    [range(0, 2), range(2, 3), range(3, 4), range(4, 5)]
    """
    ranges, start, total = [], 0, 0
    counts = np.asarray(n_parts, dtype=np.int64).tolist()
    for sentence, count in enumerate(counts):
        if sentence > start and total + count > most:
            ranges.append(range(start, sentence))
            start, total = sentence, 0
        total += count
    if start < len(counts):
        ranges.append(range(start, len(counts)))
    return ranges


def pulled_back(
    found: Mapping[str, tuple[FloatArray, Pullback]], slopes: Mapping[str, FloatArray]
) -> FloatArray:
    """The gradient of the loss with respect to the scores of a batch, over all its terms."""
    gradients = [pullback(slopes[name]) for name, (_, pullback) in found.items()]
    total = gradients[0]
    for gradient in gradients[1:]:
        total += gradient
    return total


def without_pullbacks(
    found: Mapping[str, tuple[FloatArray, Pullback]], slopes: Mapping[str, FloatArray] | None
) -> tuple[dict[str, FloatArray], FloatArray | None]:
    """The statistics, and the gradient if slopes are given, and if there is any."""
    statistics = {name: statistic for name, (statistic, _) in found.items()}
    return statistics, pulled_back(found, slopes) if found and slopes is not None else None


class BatchSizes(NamedTuple):
    """What a corpus must know of its batches beforehand."""

    rows: IntArray
    """(n, 4): sentences, words, parts and weights of each."""
    names: list[str]
    """Of the terms that any batch has a target for."""

    @classmethod
    def of(cls, batches: Sequence[Batch]) -> Self:
        """Of batches that are in memory."""
        rows = [
            (
                batch.structures.n_sentences,
                int(batch.structures.n_words.sum()),
                batch.structures.n_parts,
                batch.features.n_weights,
            )
            for batch in batches
        ]
        names = dict.fromkeys(name for batch in batches for name in batch.targets)
        return cls(np.array(rows, dtype=np.int64).reshape(-1, 4), list(names))


def check_batches(found: BatchSizes, names: Sequence[str]) -> None:
    """There are batches, over the same weights, and every term learns from one of them."""
    if not len(found.rows):
        raise ValueError("there are no batches; expected at least one sentence to learn from.")
    sizes = set(found.rows[:, 3].tolist())
    if len(sizes) > 1:
        raise ValueError(
            f"the feature maps of the batches have {sorted(sizes)} weights; expected one number. "
            "Build all of them with the same vocabulary."
        )
    given = set(found.names)
    for name in names:
        if name not in given:
            raise ValueError(
                f"no batch has a target for {name!r}, which is part of the objective; the batches "
                f"have targets for {sorted(given)}. Give some batches one, or drop the term."
            )
    for name in sorted(given.difference(names)):
        raise ValueError(
            f"a batch has a target for {name!r}; the terms of the objective are {list(names)}. "
            "Correct the name, or add the term."
        )
