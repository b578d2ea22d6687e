"""What aligners and translators share: a trained model as an object, its file, its report."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from partita.arrays import Array
from partita.estimators import files
from partita.estimators.alignment.material import PairCounts
from partita.estimators.base import Estimator, Stored
from partita.estimators.explain import Cell, Report, Table
from partita.estimators.groups import Runs
from partita.estimators.options import declared


class BitextModel(ABC):
    """What was learnt from sentences and their translations."""

    @abstractmethod
    def facts(self) -> dict[str, Cell]:
        """What it is, in a few lines."""

    @abstractmethod
    def tables(self, n_words: int) -> list[Table]:
        """What it learnt; so many words of each side, or rules."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""

    @classmethod
    @abstractmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `header` and `arrays` describe."""


@dataclass(frozen=True, repr=False)
class BitextInspection(Report):
    """The kind of model, its size, its weights, and what frequent words or rules become."""

    about: Mapping[str, Cell]
    found: Sequence[Table]

    def facts(self) -> dict[str, Cell]:
        """What it is."""
        return dict(self.about)

    def tables(self) -> Sequence[Table]:
        """What it learnt."""
        return self.found


@declared
class BitextEstimator(Estimator, Runs):
    """An estimator whose model is an object of one of several kinds."""

    kinds: ClassVar[Mapping[str, type[BitextModel]]]
    """Of trained models, by the name in a file."""
    model_: BitextModel = field(init=False)
    counts_: PairCounts = field(init=False)
    """How many pairs were used, and why others were not."""

    def inspect(self, n_words: int = 10) -> BitextInspection:
        """What the model is, and what it learnt of the most frequent words."""
        self._check_fitted()
        facts = self.model_.facts() | {"learnt from": str(self.counts_)} | dict(self.about_)
        return BitextInspection(facts, self.model_.tables(n_words))

    def _stored(self) -> Stored:
        header = {
            "kind_of_model": next(
                name for name, each in self.kinds.items() if isinstance(self.model_, each)
            ),
            "model": self.model_.header(),
            "counts": vars(self.counts_),
        }
        return Stored(header, files.prefixed("model", self.model_.arrays()))

    def _restore(self, stored: Stored) -> None:
        kind = self.kinds[stored.header["kind_of_model"]]
        self.model_ = kind.restored(stored.header["model"], files.under("model", stored.arrays))
        self.counts_ = PairCounts(**stored.header["counts"])
