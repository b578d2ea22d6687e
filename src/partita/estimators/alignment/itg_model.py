"""A trained translation CRF: from two sentences to the scores of their rules and link marginals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.alignment.itg_lexicon import LinkLexicon, pair_values
from partita.estimators.alignment.model1 import WordTable
from partita.grammars.parts import RuleScores


@dataclass(frozen=True, eq=False)
class TranslationModel:
    """Lexicon and weights of log P(y | x, n), with the tables t(y | x) and t(x | y) behind them.

    Training links only the pairs of the lexicon; here every pair of words may be linked, since both
    sentences are given: pairs that the lexicon lacks have shared weights only.
    """

    lexicon: LinkLexicon
    weights: FloatArray
    forward: WordTable
    backward: WordTable

    def scores(
        self, source: Sequence[str], target: Sequence[str], x: IntArray, y: IntArray
    ) -> RuleScores:
        """The scores of all rules for a pair of sentences, words and numbers of words."""
        n, m = len(x), len(y)
        n_shared = self.lexicon.pair_values.shape[1]
        values = pair_values(
            self.forward.probability(np.repeat(x, m), np.tile(y, n)),
            self.backward.probability(np.tile(y, n), np.repeat(x, m)),
            [word for word in source for _ in range(m)],
            list(target) * n,
        )
        allowed, rows = self.lexicon.links(x, y)
        shared, own = self.weights[:n_shared], self.weights[n_shared:]
        links = (values @ shared).reshape(n, m) + np.where(allowed, own[rows], 0.0)
        at = n_shared + self.lexicon.n_pairs
        per_word = self.lexicon.deletion_values[x]
        first_own = at + per_word.shape[1]
        deletions = per_word @ self.weights[at:first_own] + self.weights[first_own + x]
        insertions = self.lexicon.log_inserted[y] + self.weights[-2]
        return RuleScores(links, deletions, insertions, 0.0, float(self.weights[-1]))

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file, but those of the tables."""
        return {"weights": self.weights, **self.lexicon.arrays()}

    @classmethod
    def restored(cls, arrays: Mapping[str, Any], forward: WordTable, backward: WordTable) -> Self:
        """The model that `arrays` describes."""
        return cls(LinkLexicon.restored(arrays), arrays["weights"], forward, backward)
