"""A CRF over the alignments of a pair, P(alignment | x, y), learnt from gold links."""

from collections.abc import Sequence

import numpy as np

from partita.arrays import FloatArray
from partita.data.alignments import Alignment
from partita.distribution.parts import PartDistribution
from partita.estimators.alignment.link_family import NumberedPair
from partita.estimators.groups import Runs
from partita.estimators.options import Declared, at_least, declared, option, without_data
from partita.estimators.runs import RunPlan, run
from partita.features.links import N_WEIGHTS, WORD_WEIGHTS, LinkEvidence, link_features
from partita.grammars.alignments import PairAlignments
from partita.objectives.evidence_costs import ExponentialCost
from partita.training import LBFGS, Adam, Batch, Penalty, TrainingResult, build_corpus
from partita.training.optimisers.schedules import Linear

FEW_PAIRS = 200
"""So many pairs are learnt from all at once; more in mini-batches."""


GOLD = without_data("gold", "gold links (alignments=..., or --gold)")


@declared
class GoldOptions(Declared):
    """How gold links are learnt from."""

    sure_reward: float = option(
        3.0, "in nats, for each sure gold link that an alignment has", at_least(0), needs=GOLD
    )
    wrong_cost: float = option(
        2.0, "in nats, for each link that is neither sure nor possible", at_least(0), needs=GOLD
    )
    gold_l2: float = option(
        1.0, "penalty on the weights that gold links teach", at_least(0), needs=GOLD
    )
    word_l2: float = option(3.0, "of those of words and pairs of words", at_least(0), needs=GOLD)
    gold_cells: int = option(
        700,
        "gold pairs with more places for a link are not learnt from, since a pass costs O(n³ m³)",
        at_least(0),
        needs=GOLD,
    )
    gold_passes: int = option(4, "passes over more than 200 gold pairs", at_least(1), needs=GOLD)
    gold_rate: float = option(0.02, "the learning rate of these passes", at_least(0), needs=GOLD)


def costs(alignment: Alignment, n: int, m: int, options: GoldOptions) -> FloatArray:
    """What each part costs: wrong links do, sure links are rewarded, possible ones are free.

    Gold links may be many-to-one, which no alignment of an ITG is; so nothing is required.
    """
    links = np.full((n, m), options.wrong_cost)
    for i, j in alignment.possible:
        links[i, j] = 0.0
    for i, j in alignment.sure:
        links[i, j] = -options.sure_reward
    return np.concatenate([links.ravel(), np.zeros(n + m + 2)])


def learn_gold(
    evidence: Sequence[LinkEvidence],
    numbers: Sequence[NumberedPair],
    gold: Sequence[Alignment],
    weights: FloatArray | None,
    options: GoldOptions,
    runs: Runs,
    stage: int,
) -> TrainingResult:
    """Weights that minimise -log E[exp(-cost)] + penalty, see `ExponentialCost`."""
    size = 1 if len(gold) <= FEW_PAIRS else 4
    batches = []
    order = np.argsort([len(x) * len(y) for x, y in numbers], kind="stable")
    for start in range(0, len(order), size):
        chosen = order[start : start + size].tolist()
        sides = [numbers[k] for k in chosen]
        pairs = PairAlignments([len(x) for x, _ in sides], [len(y) for _, y in sides])
        target = [
            costs(gold[k], len(x), len(y), options) for k, (x, y) in zip(chosen, sides, strict=True)
        ]
        features = link_features([evidence[k] for k in chosen], sides, pairs)
        batches.append(
            Batch(
                PartDistribution,
                pairs,
                features,
                {"ExponentialCost": np.concatenate(target)},
                None if weights is None else weights[chosen],
            )
        )
    scale = np.full(N_WEIGHTS, options.gold_l2)
    scale[WORD_WEIGHTS] = options.word_l2
    n_steps = len(batches) * options.gold_passes
    stochastic = Adam(
        rate=Linear(options.gold_rate, warm_up=n_steps // 10 + 1),
        n_iterations=options.gold_passes,
        average_from=1,
    )
    optimiser = LBFGS(n_iterations=30) if len(gold) <= FEW_PAIRS else stochastic
    way = RunPlan(runs, optimiser, Penalty(l2=1.0, scale=scale))
    with build_corpus(ExponentialCost(), batches, workers=runs.workers) as corpus:
        return run(corpus, way, stage=stage)


def gold_scores(
    weights: FloatArray, evidence: LinkEvidence, pair: NumberedPair
) -> tuple[PairAlignments, FloatArray]:
    """The alignments of a pair, and the scores of their parts."""
    pairs = PairAlignments([len(pair.x)], [len(pair.y)])
    return pairs, link_features([evidence], [pair], pairs).scores(weights)
