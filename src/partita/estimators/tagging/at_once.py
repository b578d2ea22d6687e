"""The best tags of many sentences by one call of a kernel, where that can be."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.answers import Finish, Turn
from partita.estimators.tagging.chain_model import ChainModel
from partita.kernels.chains import tagging as kernels
from partita.structures.settling import ADDABLE
from partita.text.extraction import TemplateFeatures


def best_tags(
    model: ChainModel, weights: FloatArray, sentences: Sequence[Any], turn: Turn
) -> Finish[list[str]] | None:
    """The most probable tags, the same as `model.pieces` lead to; numbers, to be named.

    None where those have to be asked: for other features than those of words by templates, and for
    scores that need care or leave nothing that is possible.
    """
    features = model.features
    if model.pairs is not None or model.boundaries or model.is_local:
        return None
    if not isinstance(features, TemplateFeatures):
        return None
    of_words, of_steps = features.lookups
    if of_steps is not None:
        return None
    with turn:
        viewed = features.viewed(features.words_of(sentences))
        words, n_tags = viewed.words, len(model.tags)
        tags, best = np.empty(words.offsets[-1], dtype=np.int64), np.empty(len(sentences))
        arguments, room = of_words.arguments(viewed, len(tags))
        weighted = tag_weights(model, weights)
    largest = kernels.best_tags(words, *arguments, weighted, n_tags, room, tags, best)
    if largest > ADDABLE or not np.isfinite(best).all():
        return None
    return partial(model.tags.cut, tags, words.offsets)


def tag_weights(model: ChainModel, weights: FloatArray) -> kernels.TagWeights:
    """Weights and hard rules."""
    n_tags = len(model.tags)
    of_words, transitions = model.split(weights)
    first, last = np.zeros((2, n_tags))
    # Added to nothing, as `gather` does it.
    pairwise = transitions[0] + 0.0
    if model.tags.allowed is not None:
        allowed = model.tags.allowed
        first[~allowed.first] = last[~allowed.last] = -np.inf
        pairwise[~allowed.pairwise] = -np.inf
    return kernels.TagWeights(of_words.reshape(-1), pairwise.reshape(-1), first, last)
