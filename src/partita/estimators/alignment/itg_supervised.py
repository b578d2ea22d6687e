"""A CRF over the alignments of a pair, P(alignment | x, y), learnt from gold links."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.alignments import Alignment
from partita.distribution.parts import PartDistribution
from partita.estimators.alignment.itg_features import (
    LINK_VALUES,
    N_BUCKETS,
    N_HASHED,
    NULL_VALUES,
    Evidence,
    link_values,
    link_words,
    null_values,
)
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.itg_edges import TableFeatures
from partita.features.rows import RowFeatures
from partita.grammars.alignments import PairAlignments
from partita.objectives.evidence_costs import ExponentialCost
from partita.structures.batch import offsets
from partita.text.attributes import Attributes
from partita.training import LBFGS, Adam, Batch, Penalty, TrainingResult, build_corpus, train
from partita.training.optimisers.schedules import Linear

FEW_PAIRS = 200
"""So many pairs are learnt from all at once; more in mini-batches."""
N_WEIGHTS = len(LINK_VALUES) + N_BUCKETS + 2 * len(NULL_VALUES) + 1


@dataclass(frozen=True)
class SupervisedOptions:
    """How gold links are learnt from."""

    sure_reward: float = 3.0
    """In nats, for each sure link that an alignment has."""
    wrong_cost: float = 2.0
    """In nats, for each link that is neither sure nor possible."""
    l2: float = 1.0
    word_l2: float = 3.0
    """Of the weights of words and pairs of words."""
    max_cells: int = 700
    """Pairs with more places for a link are not learnt from, since a pass costs O(n³ m³)."""
    n_passes: int = 4
    rate: float = 0.02


def pair_features(
    evidence: Sequence[Evidence],
    numbers: Sequence[tuple[IntArray, IntArray]],
    pairs: PairAlignments,
) -> FeatureMap:
    """The features of the parts of some pairs."""
    links, deletions, insertions = [], [], []
    words, places = [], []
    for each, (x, y), start in zip(
        evidence, numbers, pairs.part_offsets[:-1].tolist(), strict=True
    ):
        n, m = len(x), len(y)
        gone, added = null_values(each)
        links.append(link_values(each).reshape(n * m, -1))
        deletions.append(gone)
        insertions.append(added)
        words.append(link_words(x, y).reshape(-1))
        places.append((start, start + n * m, start + n * m + n, start + n * m + n + m))
    table = np.array(places, dtype=np.int64).reshape(-1, 4)
    link_parts, deletion_parts, insertion_parts = (_ranges(table[:, k : k + 2]) for k in range(3))
    attributes = Attributes(
        np.concatenate(words).astype(np.int32), np.arange(len(link_parts) + 1) * N_HASHED
    )
    inverted = pairs.part_offsets[1:] - 1
    blocks = [
        (np.concatenate(links), link_parts),
        (np.concatenate(deletions), deletion_parts),
        (np.concatenate(insertions), insertion_parts),
        (np.ones((len(inverted), 1)), inverted),
    ]
    maps: list[FeatureMap] = [
        TableFeatures(values, np.arange(len(parts)), parts, pairs.n_parts, has_own=False)
        for values, parts in blocks
    ]
    hashed = RowFeatures(attributes, link_parts, 1, N_BUCKETS, pairs.n_parts)
    return JoinedFeatures([maps[0], hashed, *maps[1:]])


def costs(alignment: Alignment, n: int, m: int, options: SupervisedOptions) -> FloatArray:
    """What each part costs: wrong links do, sure links are rewarded, possible ones are free.

    Gold links may be many-to-one, which no alignment of an ITG is; so nothing is required.
    """
    links = np.full((n, m), options.wrong_cost)
    for i, j in alignment.possible:
        links[i, j] = 0.0
    for i, j in alignment.sure:
        links[i, j] = -options.sure_reward
    return np.concatenate([links.ravel(), np.zeros(n + m + 2)])


def train_supervised(
    evidence: Sequence[Evidence],
    numbers: Sequence[tuple[IntArray, IntArray]],
    gold: Sequence[Alignment],
    options: SupervisedOptions,
    *,
    seed: int = 0,
    n_threads: int | None = None,
) -> TrainingResult:
    """Weights that minimise -log E[exp(-cost)] + penalty, see `ExponentialCost`."""
    size = 1 if len(gold) <= FEW_PAIRS else 4
    batches = []
    order = np.argsort([len(x) * len(y) for x, y in numbers], kind="stable").tolist()
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        sides = [numbers[k] for k in chosen]
        pairs = PairAlignments([len(x) for x, _ in sides], [len(y) for _, y in sides])
        target = [
            costs(gold[k], len(x), len(y), options) for k, (x, y) in zip(chosen, sides, strict=True)
        ]
        features = pair_features([evidence[k] for k in chosen], sides, pairs)
        batches.append(
            Batch(PartDistribution, pairs, features, {"ExponentialCost": np.concatenate(target)})
        )
    scale = np.full(N_WEIGHTS, options.l2)
    scale[len(LINK_VALUES) : len(LINK_VALUES) + N_BUCKETS] = options.word_l2
    n_steps = len(batches) * options.n_passes
    stochastic = Adam(
        rate=Linear(options.rate, warm_up=n_steps // 10 + 1),
        n_iterations=options.n_passes,
        average_from=1,
    )
    return train(
        build_corpus(ExponentialCost(), batches, workers=n_threads),
        LBFGS(n_iterations=30) if len(gold) <= FEW_PAIRS else stochastic,
        penalty=Penalty(l2=1.0, scale=scale),
        seed=seed,
        progress=False,
    )


def scores(
    weights: FloatArray, evidence: Evidence, x: IntArray, y: IntArray
) -> tuple[PairAlignments, FloatArray]:
    """The alignments of a pair, and the scores of their parts."""
    pairs = PairAlignments([len(x)], [len(y)])
    return pairs, pair_features([evidence], [(x, y)], pairs).scores(weights)


def _ranges(ends: IntArray) -> IntArray:
    """All numbers from the first column to the second of each row."""
    counts = ends[:, 1] - ends[:, 0]
    starts = offsets(counts)[:-1]
    numbers: IntArray = np.arange(counts.sum()) + np.repeat(ends[:, 0] - starts, counts)
    return numbers
