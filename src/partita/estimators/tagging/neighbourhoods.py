"""Contrastive estimation: batches of sentences and of what they are compared with."""

from collections.abc import Iterator, Sequence
from typing import Literal, get_args

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.distribution.parts import PartDistribution
from partita.estimators.tagging.emission_features import EmissionFeatures
from partita.estimators.tagging.hidden_markov_layout import SymbolRows
from partita.features.lattices import lattice_features
from partita.objectives import NEIGHBOURHOODS, length_lattice, sentence_lattice
from partita.structures.batch import offsets
from partita.structures.lattice_chains import LatticeChains
from partita.structures.lattices import WordLattice
from partita.text.attributes import Attributes
from partita.training.batches import Batch, cut

Neighbourhood = Literal["del1", "trans1", "delortrans1", "del1subseq", "dynasearch", "length"]
LENGTH: Neighbourhood = "length"
assert {LENGTH, *NEIGHBOURHOODS} == set(get_args(Neighbourhood))


def contrast_batches(
    features: EmissionFeatures,
    words: SymbolRows,
    neighbourhood: Neighbourhood,
    sample_weights: FloatArray | None,
) -> list[Batch]:
    """Each sentence twice: as it was observed, with what is known of its tags, and with all others.

    What a dictionary forbids is forbidden on both sides, what a label does only for what was
    observed. Cut so that the states of a batch's lattices stay in the cache.
    """
    ends = offsets(words.n_words)
    s = features.model.layout.n_tags
    weights = np.ones(len(words.n_words)) if sample_weights is None else sample_weights
    found = []
    for part in cut(words.n_words * s + s * s):
        places = [slice(ends[sentence], ends[sentence + 1]) for sentence in part]
        # Labels tell equal words apart; a neighbourhood does not.
        observed = [sentence_lattice(range(place.stop - place.start)) for place in places]
        known = _allowed(features, words, part, labels=True)
        mine = weights[part.start : part.stop]
        found.append(_batch(features, words, part, observed, known, mine, is_observed=True))
        if neighbourhood != LENGTH:
            near = [NEIGHBOURHOODS[neighbourhood](words.symbols[p].tolist()) for p in places]
            possible = _allowed(features, words, part, labels=False)
            found.append(_batch(features, words, part, near, possible, mine, is_observed=False))
    if neighbourhood == LENGTH:
        found += _lengths(features, words.n_words, weights)
    return found


def _batch(
    features: EmissionFeatures,
    words: SymbolRows,
    part: range,
    lattices: Sequence[WordLattice],
    allowed: BoolArray,
    weights: FloatArray,
    *,
    is_observed: bool,
) -> Batch:
    n_words, s = words.n_words[part.start : part.stop], features.model.layout.n_tags
    chains = LatticeChains(lattices, s, n_choices=n_words.tolist(), ends=True)
    rows = _rows(features, words.symbols[_span(words, part)])
    table = lattice_features(chains, rows, features.n_attributes, allowed=allowed, stop=False)
    target = np.full(len(part), is_observed)
    return Batch(PartDistribution, chains, table, {"EvidenceContrast": target}, weights)


def _lengths(features: EmissionFeatures, n_words: IntArray, weights: FloatArray) -> Iterator[Batch]:
    """All sentences of as many words: the vocabulary is summed once for all that weigh the same."""
    layout = features.model.layout
    # Sentences of one length share a lattice, whose arcs all offer the whole vocabulary.
    by_length = {n: length_lattice(n, layout.n_symbols) for n in np.unique(n_words).tolist()}
    for weight in np.unique(weights).tolist():
        lattices = [by_length[n] for n in n_words[weights == weight].tolist()]
        chains = LatticeChains([lattices], layout.n_tags, n_choices=[layout.n_symbols], ends=True)
        table = lattice_features(
            chains, features.words, features.n_attributes, allowed=layout.allowed, stop=False
        )
        target = {"EvidenceContrast": np.array([False])}
        yield Batch(PartDistribution, chains, table, target, np.array([weight]))


def _allowed(
    features: EmissionFeatures, words: SymbolRows, part: range, *, labels: bool
) -> BoolArray:
    """The tags of each word by the dictionary, and by its label if those count, (n, s)."""
    masks = words.masks[_span(words, part)]
    table = np.vstack([features.model.layout.masks, np.ones(features.model.layout.n_tags, bool)])
    allowed: BoolArray = table[masks[:, 0]]
    return allowed & table[masks[:, 1]] if labels else allowed


def _span(words: SymbolRows, part: range) -> slice:
    ends = offsets(words.n_words)
    return slice(int(ends[part.start]), int(ends[part.stop]))


def _rows(features: EmissionFeatures, symbols: IntArray) -> Attributes:
    """The attributes of words by their symbols; none of a word that is missing."""
    firsts, ids = features.words.offsets, features.words.ids
    # A missing word, -1, finds the 0 behind the last.
    counts = np.diff(firsts, append=firsts[-1])[symbols]
    ends = offsets(counts)
    within = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
    return Attributes(ids[np.repeat(firsts[symbols], counts) + within], ends)
