"""The hierarchical translator: rules from aligned bitext, and a log-linear model over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray
from partita.estimators import files
from partita.estimators.explain import Cell, Table
from partita.estimators.translation.decoding import ScoredTranslation
from partita.estimators.translation.hiero_family import HieroFamily
from partita.estimators.translation.hiero_grammar import FEATURES, HieroRules
from partita.estimators.translation.seams import Seams
from partita.estimators.translation.translation_model import TranslationModel
from partita.kept import kept_array, kept_number


@dataclass(frozen=True, eq=False)
class HieroModel(TranslationModel):
    """Rules with their features, and a weight for each feature."""

    family: HieroFamily
    weights: FloatArray
    seams: Seams

    def scored(self, words: Sequence[str]) -> ScoredTranslation:
        """D(x) with the scores that the weights give it."""
        return self.family.scored(words, self.weights)

    def log_prob(self, source: Sequence[str], target: Sequence[str]) -> float:
        """log Z(x, y) - log Z(x)."""
        pair = self.family.encode_pair(source, target)
        return -np.inf if pair.observed is None else self.family.log_prob(pair, self.weights)

    def facts(self) -> dict[str, Cell]:
        """Its size."""
        rules = self.family.rules
        return {
            "model": "hierarchical rules (Chiang 2007)",
            "rules": rules.targets.n_sides,
            "source sides": rules.sources.n_sides,
        }

    def tables(self, n_words: int) -> list[Table]:
        """The weights, and `n_words` rules with gaps."""
        values = self.weights.tolist()
        rules = [(rule,) for rule in self.family.rules.commonest(n_words)]
        return [
            Table("Features:", ("weight", "feature"), list(zip(values, FEATURES, strict=True))),
            Table("Rules whose source sides have most translations:", ("rule",), rules),
        ]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {"longest_span": self.family.longest_span, "rules": self.family.rules.header()}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        rules = files.prefixed("rules", self.family.rules.arrays())
        seams = files.prefixed("seams", self.seams.arrays())
        return {**rules, "weights": self.weights, **seams}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `header` and `arrays` describe."""
        rules = HieroRules.restored(header["rules"], files.under("rules", arrays))
        weights = kept_array(arrays, "weights", np.float64, len(FEATURES))
        longest_span = kept_number(header["longest_span"], "longest_span", int)
        seams = Seams.restored(files.under("seams", arrays), rules.target)
        return cls(HieroFamily(rules, longest_span), weights, seams)
