"""What every trained translator answers, whatever its grammar is."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from partita.arrays import Array
from partita.estimators.explain import Cell, Table
from partita.estimators.translation.decoding import ScoredTranslation


class TranslationModel(ABC):
    """A trained grammar with weights; all sentences that it is asked about have words."""

    @abstractmethod
    def scored(self, words: Sequence[str]) -> ScoredTranslation:
        """All derivations of a sentence, with scores."""

    @abstractmethod
    def log_prob(self, source: Sequence[str], target: Sequence[str]) -> float:
        """log p(y | x), all derivations summed; -inf where none has the target."""

    @abstractmethod
    def facts(self) -> dict[str, Cell]:
        """What it is, in a few lines."""

    @abstractmethod
    def tables(self, n_words: int) -> list[Table]:
        """What it learnt; `n_words` words or rules."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
