"""Training of the ITG translator: log P(y | x) = log Z(x, y) - log Z_n(x), in mini-batches."""

from collections.abc import Sequence

import numpy as np

from partita.distribution.hypergraph import HypergraphDistribution
from partita.estimators.translation.features import SentenceFeatures
from partita.estimators.translation.forests import EncodedPair, ForestCache, PairForests
from partita.objectives.contrastive import ContrastiveEstimation, Neighbourhoods
from partita.structures.tied_forests import TiedForests
from partita.training.batches import Batch
from partita.training.corpus import Corpus, build_corpus

PAIRS_PER_BATCH = 8


def pair_corpus(
    pairs: Sequence[EncodedPair],
    cache: ForestCache,
    n_bits: int,
    *,
    n_threads: int | None = None,
) -> Corpus:
    """Minus the log-probability of the translations, given source and longest target.

    All pairs must have derivations. Pairs of about the same length share a batch, so that batches
    take equally long.
    """
    order = np.argsort([pair.source.parts.n_source for pair in pairs], kind="stable").tolist()
    batches = []
    for start in range(0, len(order), PAIRS_PER_BATCH):
        chosen = [pairs[index] for index in order[start : start + PAIRS_PER_BATCH]]
        sizes = [pair.source.parts.n_parts for pair in chosen for _ in range(2)]
        batches.append(
            Batch(
                HypergraphDistribution,
                TiedForests(PairForests(chosen, cache), sizes),
                SentenceFeatures([pair.source for pair in chosen], n_bits, n_copies=2),
                {"ContrastiveEstimation": Neighbourhoods.pairs(len(chosen))},
            )
        )
    return build_corpus(ContrastiveEstimation(), batches, workers=n_threads)
