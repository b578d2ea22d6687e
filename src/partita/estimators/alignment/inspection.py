"""What an aligner has learnt, to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from partita.estimators.explain import Cell, Report, Table


@dataclass(frozen=True)
class AlignerInspection(Report):
    """The kind of model, its words, translations of frequent ones, and how it jumps."""

    about: Mapping[str, Cell]
    found: Sequence[Table]

    def facts(self) -> dict[str, Cell]:
        """What it is."""
        return dict(self.about)

    def tables(self) -> Sequence[Table]:
        """What it learnt."""
        return self.found
