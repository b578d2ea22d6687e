"""Features of the links of a pair of sentences, from what other models believe of it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.itg_edges import TableFeatures
from partita.features.rows import RowFeatures
from partita.features.word_pairs import logarithms
from partita.grammars.alignments import PairAlignments
from partita.grammars.choices import ranges
from partita.text.attributes import Attributes
from partita.text.hashing import buckets, keys_of, mixed
from partita.text.likeness import likenesses
from partita.text.views import is_word

N_BUCKETS = 2**16
"""Weights of words and pairs of words, which share them by hashing."""
N_HASHED = 4
FREQUENT = 200
"""Words with lower numbers are frequent."""


class LinkEvidence(NamedTuple):
    """What is known of a pair of sentences before the supervised model sees it."""

    source: Sequence[str]
    target: Sequence[str]
    forward: FloatArray
    """p(i, j) by the generative model of the target, (n, m)."""
    backward: FloatArray
    """p(i, j) by the generative model of the source, (n, m)."""
    latent: list[FloatArray]
    """p(i, j) by each translation CRF, (n, m)."""


LINK_VALUES = (
    "link",
    "log p forward",
    "log p backward",
    "geometric mean",
    "log p latent",
    "p latent",
    "spelt alike",
    "equal",
    "only one is a word",
    "neither is a word",
    "distance",
    "neighbours",
    "rival in row",
    "rival in column",
)
NULL_VALUES = ("null", "log p of none", "best p", "no word")
N_WEIGHTS = len(LINK_VALUES) + N_BUCKETS + 2 * len(NULL_VALUES) + 1
WORD_WEIGHTS = slice(len(LINK_VALUES), len(LINK_VALUES) + N_BUCKETS)
"""Those of words and pairs of words."""


def link_features(
    evidence: Sequence[LinkEvidence],
    numbers: Sequence[tuple[IntArray, IntArray]],
    pairs: PairAlignments,
) -> FeatureMap:
    """The features of the parts of some pairs, whose words have these numbers."""
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
    link_parts, deletion_parts, insertion_parts = (
        ranges(table[:, k], table[:, k + 1]) for k in range(3)
    )
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


def link_values(evidence: LinkEvidence) -> FloatArray:
    """The values of `LINK_VALUES` for every link, (n, m, n_values).

    `distance` is that of the relative positions of both words. `neighbours` is what is believed of
    the links of the words before, and behind, them; rivals are the best other links of each word.
    """
    p, q = evidence.forward, evidence.backward
    n, m = p.shape
    mean = np.sqrt(p * q)
    latent = np.mean(evidence.latent, axis=0) if evidence.latent else mean
    both = (mean + latent) / 2
    alike = likenesses(evidence.source, evidence.target)
    x = np.array([is_word(word) for word in evidence.source], dtype=np.bool_)[:, np.newaxis]
    y = np.array([is_word(word) for word in evidence.target], dtype=np.bool_)[np.newaxis]
    places = (np.arange(n) + 0.5)[:, np.newaxis] / n - (np.arange(m) + 0.5) / m
    around = np.pad(both, 1)
    neighbours = (around[:-2, :-2] + around[2:, 2:]) / 2
    return np.stack(
        [
            np.ones((n, m)),
            logarithms(p),
            logarithms(q),
            mean,
            logarithms(latent),
            latent,
            alike,
            alike == 1.0,
            x != y,
            ~x & ~y,
            np.abs(places),
            neighbours,
            _rivals(both),
            _rivals(both.T).T,
        ],
        axis=-1,
    )


def null_values(evidence: LinkEvidence) -> tuple[FloatArray, FloatArray]:
    """The values of `NULL_VALUES` for deletions, (n, n_values), and insertions, (m, n_values)."""
    both = np.sqrt(evidence.forward * evidence.backward)
    latent = np.mean(evidence.latent, axis=0) if evidence.latent else both
    return (
        _null_values(evidence.source, evidence.backward, (both + latent) / 2),
        _null_values(evidence.target, evidence.forward.T, (both + latent).T / 2),
    )


def link_words(x: IntArray, y: IntArray) -> IntArray:
    """Buckets of what words a link has, (n, m, N_HASHED): either, both, and whether frequent."""
    n, m = len(x), len(y)
    one, two = np.repeat(x, m), np.tile(y, n)
    nothing = np.zeros_like(one)
    frequent = (one < FREQUENT).astype(np.int64), (two < FREQUENT).astype(np.int64)
    kinds = [(one, nothing), (nothing, two), (one, two), frequent]
    found = np.empty((n * m, N_HASHED), dtype=np.int64)
    for kind, (first, second) in enumerate(kinds):
        states = np.full(n * m, kind + 1, dtype=np.uint64)
        found[:, kind] = buckets(keys_of(mixed(mixed(states, first), second)), N_BUCKETS)
    return found.reshape(n, m, N_HASHED)


def _null_values(words: Sequence[str], links: FloatArray, both: FloatArray) -> FloatArray:
    """For words whose links are the rows."""
    none = np.clip(1.0 - links.sum(axis=1), 0.0, 1.0)
    return np.column_stack(
        [
            np.ones(len(words)),
            logarithms(none),
            both.max(axis=1, initial=0.0),
            [not is_word(word) for word in words],
        ]
    )


def _rivals(values: FloatArray) -> FloatArray:
    """The largest other value in each row, (n, m)."""
    n, m = values.shape
    if m < 2:
        return np.zeros((n, m))
    order = np.argsort(values, axis=1)
    first, second = order[:, -1], order[:, -2]
    rows = np.arange(n)
    rivals = np.repeat(values[rows, first][:, np.newaxis], m, axis=1)
    rivals[rows, first] = values[rows, second]
    return rivals
