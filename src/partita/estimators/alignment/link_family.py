"""The latent-variable CRF of the aligner: scores of rules by their words, wherever they stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from partita.arrays import Array, BoolArray, FloatArray, IntArray
from partita.estimators.alignment.latent import Bound, PairFamily
from partita.estimators.alignment.link_lexicon import LinkLexicon
from partita.estimators.alignment.model1 import WordTable
from partita.features.base import FeatureMap, JoinedFeatures
from partita.features.itg_edges import TableFeatures
from partita.features.matrix import FixedScores
from partita.features.word_pairs import (
    DELETION_VALUES,
    PAIR_VALUES,
    pair_values,
    proposal_values,
)
from partita.grammars.alignments import PairAlignments
from partita.grammars.parts import RuleScores
from partita.grammars.targets import BoundedTargets
from partita.kept import kept_array
from partita.structures.base import Structures
from partita.structures.joined import JoinedStructures
from partita.text.likeness import likenesses
from partita.text.word_vocabulary import WordVocabulary
from partita.training import Penalty

CONSTANTS = ("insertion", "inverted")
SHARED_PENALTY = 0.01
"""Weights that many pairs share are hardly penalised."""


class NumberedPair(NamedTuple):
    """A pair as numbers of words, (n,) and (m,)."""

    x: IntArray
    y: IntArray


@dataclass(frozen=True, eq=False)
class LinkFamily(PairFamily[NumberedPair]):
    """log P(y | x, n): links by their pair of words, deletions by their word, two constants.

    Since no score depends on the place, small matrix products are all that D(x, y) needs. Weights
    are those of `PAIR_VALUES`, one for each pair of the lexicon, those of `DELETION_VALUES`, one
    for each source word, and `CONSTANTS`.
    """

    source: WordVocabulary
    target: WordVocabulary
    lexicon: LinkLexicon
    bound: Bound

    def encode(
        self, sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]
    ) -> list[NumberedPair]:
        """Words as numbers."""
        both = zip(self.source.encode(sources), self.target.encode(targets), strict=True)
        return [NumberedPair(x.astype(np.int64), y.astype(np.int64)) for x, y in both]

    def are_reachable(self, pairs: Sequence[NumberedPair]) -> BoolArray:
        """Any word may be deleted or inserted, unless the lexicon says that it never is."""
        can_insert = [np.isfinite(self.lexicon.log_inserted[pair.y]).all() for pair in pairs]
        return np.array(can_insert, dtype=np.bool_)

    def observed(self, pairs: Sequence[NumberedPair]) -> Structures:
        """D(x, y)."""
        return PairAlignments([len(pair.x) for pair in pairs], [len(pair.y) for pair in pairs])

    def every(self, pairs: Sequence[NumberedPair]) -> Structures:
        """D_n(x)."""
        lengths = np.array([len(pair.x) for pair in pairs], dtype=np.int64)
        choices = [self.lexicon.proposals.choices(pair.x)[0] for pair in pairs]
        return BoundedTargets(choices, self.bound(lengths))

    def features(self, pairs: Sequence[NumberedPair], structures: JoinedStructures) -> FeatureMap:
        """Links by their pair of words, deletions by their word, an insertion, an inverted rule."""
        lexicon, n_parts = self.lexicon, structures.n_parts
        starts = structures.part_offsets.tolist()
        links, pair_rows, deletions = [], [], []
        fixed, fixed_scores, constants, kinds = [], [], [], []
        for index, (x, y) in enumerate(pairs):
            start, n, m = starts[index], len(x), len(y)
            allowed, rows = lexicon.proposals.links(x, y)
            places = start + np.arange(n * m)
            links.append(places[allowed.ravel()])
            pair_rows.append(rows[allowed])
            forbidden = places[~allowed.ravel()]
            insertions = start + n * m + n + np.arange(m)
            fixed += [forbidden, insertions]
            fixed_scores += [np.full(len(forbidden), -np.inf), lexicon.log_inserted[y]]
            deletions.append(start + n * m + np.arange(n))
            constants.append(np.append(insertions, starts[index + 1] - 1))
            kinds.append(np.append(np.zeros(m, dtype=np.int64), 1))
        for index, (x, _) in enumerate(pairs, start=len(pairs)):
            start, rows = starts[index], lexicon.proposals.choices(x)[1]
            links.append(start + np.arange(len(rows)))
            pair_rows.append(rows)
            deletions.append(start + len(rows) + np.arange(len(x)))
            constants.append(np.array([starts[index + 1] - 3, starts[index + 1] - 1]))
            kinds.append(np.arange(2))
        words = 2 * [pair.x for pair in pairs]
        return JoinedFeatures(
            [
                TableFeatures(lexicon.proposals.values, _end(pair_rows), _end(links), n_parts),
                TableFeatures(lexicon.deletion_values, _end(words), _end(deletions), n_parts),
                TableFeatures(np.eye(2), _end(kinds), _end(constants), n_parts, has_own=False),
                FixedScores(n_parts, _end(fixed), _end(fixed_scores)),
            ]
        )

    @property
    def blocks(self) -> list[slice]:
        """Weights of pairs' values, of pairs, of deletions' values, of deleted words, constants."""
        sizes = [
            len(PAIR_VALUES),
            len(self.lexicon.proposals),
            len(DELETION_VALUES),
            len(self.source),
            len(CONSTANTS),
        ]
        ends = np.cumsum([0, *sizes]).tolist()
        return [slice(first, last) for first, last in zip(ends[:-1], ends[1:], strict=True)]

    def first_weights(self) -> FloatArray:
        """t(y | x) for links, one word in ten inserted or deleted."""
        values, _, deletions, _, constants = self.blocks
        weights = np.zeros(constants.stop)
        weights[values.start + 1] = 1.0
        weights[deletions.start] = np.log(0.1)
        weights[constants] = np.log(0.1), np.log(0.3)
        return weights

    def penalty(self, l2: float) -> Penalty:
        """Full on pairs and words only."""
        blocks = self.blocks
        scale = np.full(blocks[-1].stop, SHARED_PENALTY)
        scale[blocks[1]] = scale[blocks[3]] = 1.0
        return Penalty(l2=l2, scale=scale)


@dataclass(frozen=True, eq=False)
class LinkCrf:
    """A trained `LinkFamily`: from a pair of sentences to the scores of all its rules.

    Training links only the pairs of the lexicon; here every pair of words may be linked, since both
    sentences are given: pairs that the lexicon lacks have shared weights only.
    """

    family: LinkFamily
    weights: FloatArray
    forward: WordTable
    """t(y | x), and t(x | y) below."""
    backward: WordTable

    def scores(self, source: Sequence[str], target: Sequence[str]) -> RuleScores:
        """The scores of all rules for a pair of sentences."""
        x, y = self.family.encode_pair(source, target)
        n, m, lexicon = len(x), len(y), self.family.lexicon
        shared, own, deletion, word, constants = (self.weights[b] for b in self.family.blocks)
        texts = [one for one in source for _ in range(m)], list(target) * n
        proposals = proposal_values(
            self.forward.probability(np.repeat(x, m), np.tile(y, n)),
            self.backward.probability(np.tile(y, n), np.repeat(x, m)),
            likenesses(source, target).ravel(),
        )
        values = pair_values(proposals, *texts)
        allowed, rows = lexicon.proposals.links(x, y)
        links = (values @ shared).reshape(n, m)
        links[allowed] += own[rows[allowed]]
        deletions = lexicon.deletion_values[x] @ deletion + word[x]
        insertions = lexicon.log_inserted[y] + constants[0]
        return RuleScores(links, deletions, insertions, 0.0, float(constants[1]))

    def marginals(self, source: Sequence[str], target: Sequence[str]) -> FloatArray:
        """The probability of every link of a pair, (n, m)."""
        pairs = PairAlignments([len(source)], [len(target)])
        found = pairs.infer(self.scores(source, target).flat()).marginals
        return pairs.split(found)[0].links

    def named_weights(self) -> dict[str, float]:
        """The weights that many pairs share, by what they stand for."""
        values, _, deletions, _, constants = (self.weights[b] for b in self.family.blocks)
        names = (*PAIR_VALUES, *DELETION_VALUES, *CONSTANTS)
        shared = np.concatenate([values, deletions, constants]).tolist()
        return dict(zip(names, shared, strict=True))

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return self.family.bound.header()

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file, but those of words and tables."""
        return {"weights": self.weights, **self.family.lexicon.arrays()}

    @classmethod
    def restored(
        cls,
        header: Mapping[str, Any],
        arrays: Mapping[str, Array],
        words: tuple[WordVocabulary, WordVocabulary],
        tables: tuple[WordTable, WordTable],
    ) -> Self:
        """The model that `header` and `arrays` describe."""
        lexicon = LinkLexicon.restored(arrays, *map(len, words))
        family = LinkFamily(*words, lexicon, Bound.restored(header))
        weights = kept_array(arrays, "weights", np.float64, family.blocks[-1].stop)
        return cls(family, weights, *tables)


def _end(arrays: Sequence[Array]) -> Array:
    """Arrays end to end."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)
