"""How labels are learnt: a label of each word of known trees, given the whole tree."""

from dataclasses import replace

import numpy as np

from partita.arrays import FloatArray
from partita.data.dependencies import UNKNOWN
from partita.distribution.linear_chain import LinearChain
from partita.estimators.parsing.labels import LabelModel
from partita.estimators.parsing.material import FULL, Material
from partita.estimators.parsing.model import Encoded, ParserModel
from partita.estimators.parsing.plan import Plan
from partita.estimators.parsing.words import Words
from partita.objectives import Counts, Likelihood
from partita.training import AdaGrad, Batch, build_corpus, train
from partita.training.batches import cut
from partita.training.optimisers import Cosine

LABEL_PASSES = 5


def fit_labels(
    plan: Plan, material: Material, encoded: Encoded, parser: ParserModel
) -> tuple[LabelModel, FloatArray]:
    """A model of the labels of known arcs, learnt from the trees that the arcs were learnt from."""
    assert material.labels is not None
    n_full = material.counts[FULL]
    given = [name for each in material.labels[:n_full] for name in each]
    names = tuple(sorted({name for name in given if name not in UNKNOWN}))
    if not names:
        raise ValueError(
            "no sentence has all heads and a label; expected some to learn labels from. Set "
            "labels=False for a parser without labels."
        )
    model = LabelModel(names, parser.lexicon, plan.label_bits, parser.columns)
    words = _first_sentences(encoded.words, n_full)
    rows = model.attributes(words, np.concatenate(material.heads[:n_full]))
    numbers = np.array([model.numbers.get(name, -1) for name in given], dtype=np.int64)
    counted = np.ones(len(numbers))
    if material.weights is not None:
        counted = np.repeat(material.weights[:n_full], words.n_words)
    batches = []
    for part in cut(np.full(len(numbers), len(names)), 2**16):
        chains = model.chains(len(part))
        known = numbers[part.start : part.stop]
        weights: FloatArray | None = (known >= 0) * counted[part.start : part.stop]
        if np.all(weights == 1.0):
            weights = None
        target = Counts.of(chains, list(np.maximum(known, 0)[:, None]))
        features = model.features(rows[part.start : part.stop])
        batches.append(Batch(LinearChain, chains, features, {"Likelihood": target}, weights))
    optimiser = AdaGrad(rate=Cosine(0.1), n_iterations=LABEL_PASSES)
    with build_corpus(Likelihood(), batches, workers=plan.n_threads, n_shards=1) as corpus:
        result = train(corpus, optimiser, seed=plan.seed, progress=plan.progress)
    return model, result.weights


def _first_sentences(words: Words, n_sentences: int) -> Words:
    n_words = words.n_words[:n_sentences]
    end = int(n_words.sum())
    columns = {
        name: replace(column, numbers=column.numbers[:end])
        for name, column in words.columns.items()
    }
    return Words(n_words, columns)
