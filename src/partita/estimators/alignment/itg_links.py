"""Alignment by conditional random fields over the derivations of an ITG, as a trained model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.data.alignments import Alignment, Link, Symmetrisation
from partita.distribution.parts import PartDistribution
from partita.estimators import files
from partita.estimators.alignment.generative import Generative
from partita.estimators.alignment.gold import gold_scores
from partita.estimators.alignment.link_family import LinkCrf, NumberedPair
from partita.estimators.alignment.link_model import Direction, LinkDistribution, LinkModel, Texts
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.symmetrise import above
from partita.estimators.explain import Cell, Table
from partita.features.links import LinkEvidence
from partita.grammars.alignments import PairAlignments
from partita.text.word_vocabulary import WordVocabulary


@dataclass(frozen=True)
class Mixture:
    """How much each model counts, and which pairs are too large for the CRFs."""

    pool: float = 0.5
    """Without gold links: the weight of the translation CRFs against the generative models."""
    gold_share: float = 0.5
    """With gold links: the weight of the supervised CRF against all other models."""
    most_cells: int = 2000
    """Pairs with more places for a link are left to the generative models."""


@dataclass(frozen=True, eq=False)
class ItgLinks(LinkModel):
    """Translation CRFs, and where gold links were given a supervised CRF on top of them.

    Without gold links the probability of a link is a mixture: of its marginal under P(derivation |
    x, y) of the translation CRFs (the mean over both directions), and of its posteriors under the
    generative models (their mean), see `Mixture`. With gold links half of it is the marginal under
    the supervised CRF, which has all of these among its features: it is one-to-one, and the mixture
    is not.
    """

    generative: Generative
    latent: tuple[LinkCrf, ...]
    """Of p(target | source), and of p(source | target) if there are two."""
    weights: FloatArray | None
    """Of the supervised CRF."""
    mixture: Mixture

    def with_gold(self, weights: FloatArray) -> Self:
        """The same models, and a supervised CRF."""
        return replace(self, weights=weights)

    def evidence(self, source: Texts, target: Texts) -> list[LinkEvidence]:
        """What the generative models and the translation CRFs believe of each pair."""
        posteriors = self.generative.directed(source, target)
        return [
            LinkEvidence(x, y, p, q, self._latent(x, y))
            for x, y, (p, q) in zip(source, target, posteriors, strict=True)
        ]

    def numbers(self, source: Sequence[str], target: Sequence[str]) -> NumberedPair:
        """A pair as numbers."""
        return self.latent[0].family.encode_pair(source, target)

    def probabilities(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[FloatArray]:
        """The mixture; it has one direction, so that nothing is symmetrised."""
        return [self._mixed(each) for each in self.evidence(source, target)]

    def above(
        self, source: Texts, target: Texts, threshold: float, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """Of the mixture."""
        found = self.probabilities(source, target, symmetrisation)
        return [above(p, threshold) for p in found]

    def best(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """The likeliest alignment of each pair under the CRF, one-to-one links.

        Without gold links that of the translation CRF from source to target. Pairs with more than
        `most_cells` places for a link get those that the generative models believe in.
        """
        found = []
        for each in self.evidence(source, target):
            if self.is_large(each.source, each.target):
                found.append(above(self._pool(each), 0.5))
                continue
            pairs, scores = self._scores(each)
            (places,), _ = pairs.argmax(scores)
            found.append(_links(places))
        return found

    def directed(self, source: Texts, target: Texts) -> list[tuple[FloatArray, FloatArray]]:
        """Those of the generative models."""
        return self.generative.directed(source, target)

    def distribution(
        self, source: Sequence[str], target: Sequence[str], direction: Direction
    ) -> LinkDistribution:
        """P(alignment | x, y) of the supervised CRF, or of the translation CRF of a direction."""
        if self.is_large(source, target):
            raise ValueError(
                f"a pair has {len(source)} source and {len(target)} target words, "
                f"{len(source) * len(target)} places for a link; expected at most most_cells, "
                f"{self.mixture.most_cells}, since inference costs O(n³ m³). Raise most_cells, or "
                "ask for links or probabilities, which the generative models then give."
            )
        (each,) = self.evidence([source], [target])
        pairs, scores = self._scores(each, direction)

        def structure(links: Sequence[Link]) -> FloatArray:
            places = np.full(len(source), -1)
            for i, j in links:
                if places[i] >= 0:
                    raise ValueError(
                        f"source word {i} has two links; expected at most one, since an inversion "
                        "transduction grammar links words one to one."
                    )
                places[i] = j
            return places

        return LinkDistribution(PartDistribution.from_flat(pairs, scores), _links, structure)

    def is_large(self, source: Sequence[str], target: Sequence[str]) -> bool:
        """Whether a pair is too large for the CRFs."""
        return len(source) * len(target) > self.mixture.most_cells

    def _scores(
        self, evidence: LinkEvidence, direction: Direction = "forward"
    ) -> tuple[PairAlignments, FloatArray]:
        source, target = evidence.source, evidence.target
        if self.weights is not None:
            return gold_scores(self.weights, evidence, self.numbers(source, target))
        pairs = PairAlignments([len(source)], [len(target)])
        if direction == "forward" or len(self.latent) == 1:
            return pairs, self.latent[0].scores(source, target).flat()
        return pairs, self.latent[1].scores(target, source).transposed().flat()

    def _latent(self, source: Sequence[str], target: Sequence[str]) -> list[FloatArray]:
        """Link marginals of the translation CRFs, none of a pair that is too large."""
        if self.is_large(source, target):
            return []
        found = [self.latent[0].marginals(source, target)]
        return found + [crf.marginals(target, source).T for crf in self.latent[1:]]

    def _pool(self, evidence: LinkEvidence) -> FloatArray:
        """The mixture of the generative models and the translation CRFs."""
        generative = (evidence.forward + evidence.backward) / 2
        if not evidence.latent:
            return generative
        share = self.mixture.pool
        mixed: FloatArray = (1 - share) * generative + share * np.mean(evidence.latent, axis=0)
        return mixed

    def _mixed(self, evidence: LinkEvidence) -> FloatArray:
        pool = self._pool(evidence)
        if self.weights is None or not evidence.latent:
            return pool
        pairs, scores = self._scores(evidence)
        links = pairs.split(pairs.infer(scores).marginals)[0].links
        share = self.mixture.gold_share
        mixed: FloatArray = (1 - share) * pool + share * links
        return mixed

    def translations(self, k: int) -> list[tuple[str, str, float]]:
        """Those of the generative models."""
        return self.generative.translations(k)

    def facts(self) -> dict[str, Cell]:
        """The kind, and what is beneath it."""
        gold = "" if self.weights is None else ", and one that gold links taught"
        return {
            **self.generative.facts(),
            "model": f"conditional random field over ITG derivations, {len(self.latent)} "
            f"direction{'s' * (len(self.latent) > 1)}{gold}",
            "pairs of words": len(self.latent[0].family.lexicon.proposals),
        }

    def tables(self, n_words: int) -> list[Table]:
        """The weights of rules, and what the generative models learnt."""
        names = ("source to target", "target to source")
        columns = [crf.named_weights() for crf in self.latent]
        rows: list[tuple[Cell, ...]] = [
            (name, *(column[name] for column in columns)) for name in columns[0]
        ]
        header = ("rule", *names[: len(columns)])
        return [Table("Weights of rules:", header, rows), *self.generative.tables(n_words)]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {
            "mixture": vars(self.mixture),
            "latent": [crf.header() for crf in self.latent],
            "generative": self.generative.header(),
        }

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        arrays: dict[str, Array] = {} if self.weights is None else {"weights": self.weights}
        arrays |= files.prefixed("generative", self.generative.arrays())
        for index, crf in enumerate(self.latent):
            arrays |= files.prefixed(f"latent{index}", crf.arrays())
        return arrays

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The models that `header` and `arrays` describe."""
        generative = Generative.restored(header["generative"], files.under("generative", arrays))
        latent = tuple(
            LinkCrf.restored(each, files.under(f"latent{index}", arrays), *ways(generative)[index])
            for index, each in enumerate(header["latent"])
        )
        return cls(generative, latent, arrays.get("weights"), Mixture(**header["mixture"]))


def ways(
    generative: Generative,
) -> list[tuple[tuple[WordVocabulary, WordVocabulary], tuple[WordTable, WordTable]]]:
    """Words and tables from source to target, and the other way round."""
    x, y = generative.source_words, generative.target_words
    forward, backward = generative.forward.table, generative.backward.table
    return [((x, y), (forward, backward)), ((y, x), (backward, forward))]


def gold_pairs(alignments: Sequence[Alignment | None] | None) -> list[int]:
    """The places of pairs that have gold links."""
    return [k for k, each in enumerate(alignments or ()) if each is not None]


def _links(places: Sequence[int]) -> list[Link]:
    return [(i, int(j)) for i, j in enumerate(places) if j >= 0]
