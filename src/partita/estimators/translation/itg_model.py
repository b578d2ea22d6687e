"""The ITG translator: a latent-variable CRF over inversion transduction derivations, trained."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators import files
from partita.estimators.alignment.latent import Bound
from partita.estimators.explain import Cell, Table
from partita.estimators.translation.decoding import ScoredTranslation
from partita.estimators.translation.itg_family import ItgFamily
from partita.estimators.translation.lexicon import TranslationLexicon
from partita.estimators.translation.seams import Seams
from partita.estimators.translation.topologies import Topologies
from partita.estimators.translation.translation_model import TranslationModel
from partita.features.source_rules import BITS, FIRST_VALUES, SourceRuleFeatures
from partita.grammars.source_parts import targets_of
from partita.grammars.source_structures import SourceTargets
from partita.kept import kept_array, kept_number
from partita.text.word_vocabulary import N_RESERVED


@dataclass(frozen=True, eq=False)
class ItgModel(TranslationModel):
    """A family with weights."""

    family: ItgFamily
    weights: FloatArray
    seams: Seams
    topologies: Topologies = field(default_factory=Topologies)

    def scored(self, words: Sequence[str]) -> ScoredTranslation:
        """D_n(x) with the scores that the weights give it."""
        sentence, lexicon = self.family.sentence(words), self.family.lexicon
        parts = sentence.parts
        shape = parts.n_source, parts.longest, lexicon.most_links, lexicon.most_insertions
        forest = parts.bounded(self.topologies.get(*shape))
        scores = SourceRuleFeatures([sentence.rules], self.family.n_bits).scores(self.weights)

        def read(derivations: Sequence[IntArray]) -> list[tuple[str, ...]]:
            return [
                sentence.target_text(lexicon, numbers.tolist())
                for numbers in targets_of(parts, forest, derivations)
            ]

        lengths = slice(parts.first_length, parts.first_split)
        return ScoredTranslation(forest, scores, read, lengths, SourceTargets([parts]))

    def log_prob(self, source: Sequence[str], target: Sequence[str]) -> float:
        """log Z(x, y) - log Z_n(x)."""
        return self.family.log_prob(self.family.encode_pair(source, target), self.weights)

    def gloss(self, words: Sequence[str]) -> tuple[str, ...]:
        """Each word by its likeliest translation of Model 1, in the same order."""
        sentence = self.family.sentence(words)
        starts = sentence.parts.links.offsets
        values = sentence.rules.link_values[:, 0]
        best = [
            int(start + values[start:end].argmax())
            for start, end in zip(starts[:-1], starts[1:], strict=True)
        ]
        numbers = sentence.parts.links.words[best].tolist()
        return sentence.target_text(self.family.lexicon, numbers)

    def facts(self) -> dict[str, Cell]:
        """Its size."""
        lexicon, bound = self.family.lexicon, self.family.bound
        return {
            "model": "inversion transduction grammar, a latent-variable CRF",
            "source words": len(lexicon.source) - N_RESERVED,
            "target words": len(lexicon.target) - N_RESERVED,
            "weights": f"{len(self.weights):,}, {np.count_nonzero(self.weights):,} of them not 0",
            "target words for n source words": (
                f"at most {bound.slope:.2f} n {'+' if bound.margin >= 0 else '-'} "
                f"{abs(bound.margin):.1f}"
            ),
            "inserted anywhere": " ".join(lexicon.target.names[w] for w in lexicon.insertions),
        }

    def tables(self, n_words: int) -> list[Table]:
        """Weights of features with a value, and translations of the most frequent words."""
        lexicon, names = self.family.lexicon, self.family.lexicon.target.names
        values = self.weights[-len(FIRST_VALUES) :].tolist()
        frequent = range(N_RESERVED, min(N_RESERVED + n_words, len(lexicon.source)))
        rows = [
            (lexicon.source.names[word], " ".join(names[other] for other in lexicon.choices(word)))
            for word in frequent
        ]
        return [
            Table(
                "Features with a value:",
                ("weight", "feature"),
                list(zip(values, FIRST_VALUES, strict=True)),
            ),
            Table("What the most frequent words may become:", ("word", "translations"), rows),
        ]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        family = self.family
        lexicon = family.lexicon.header()
        return {"n_bits": family.n_bits, **family.bound.header(), "lexicon": lexicon}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file; of the weights those that are not 0."""
        used = np.flatnonzero(self.weights)
        return {
            **files.prefixed("lexicon", self.family.lexicon.arrays()),
            "weights.places": used,
            "weights.values": self.weights[used],
            **files.prefixed("seams", self.seams.arrays()),
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `header` and `arrays` describe."""
        lexicon = TranslationLexicon.restored(header["lexicon"], files.under("lexicon", arrays))
        n_bits = kept_number(header["n_bits"], "n_bits", int, *BITS)
        family = ItgFamily(lexicon, n_bits, Bound.restored(header))
        weights = np.zeros_like(family.first_weights())
        places = kept_array(arrays, "weights.places", np.int64, None, below=len(weights))
        weights[places] = kept_array(arrays, "weights.values", np.float64, len(places))
        return cls(family, weights, Seams.restored(files.under("seams", arrays), lexicon.target))
