"""What every trained translator answers, whatever its grammar is."""

from abc import abstractmethod
from collections.abc import Sequence

from partita.estimators.bitext import BitextModel
from partita.estimators.translation.decoding import ScoredTranslation
from partita.estimators.translation.seams import Seams


class TranslationModel(BitextModel):
    """A trained grammar with weights; all sentences that it is asked about have words."""

    seams: Seams
    """Of the target words, for fluent translations."""

    @abstractmethod
    def scored(self, words: Sequence[str]) -> ScoredTranslation:
        """All derivations of a sentence, with scores."""

    @abstractmethod
    def log_prob(self, source: Sequence[str], target: Sequence[str]) -> float:
        """log p(y | x), all derivations summed; -inf where none has the target."""
