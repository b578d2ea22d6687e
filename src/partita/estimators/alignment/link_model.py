"""What every trained model of alignment answers, whatever it is."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

from partita.arrays import FloatArray
from partita.data.alignments import Link, Symmetrisation
from partita.distribution.base import Distribution
from partita.estimators.bitext import BitextModel

Texts = Sequence[Sequence[str]]
Direction = Literal["forward", "backward"]


class LinkDistribution(NamedTuple):
    """A distribution over the alignments of one pair, and how to read its structures."""

    p: Distribution
    links: Callable[[Any], list[Link]]
    """Structure -> links, ascending."""
    structure: Callable[[Sequence[Link]], Any]
    """Links -> structure, or an error that says why there is none."""


class LinkModel(BitextModel):
    """A trained model; all pairs that it is asked about have words on both sides."""

    @abstractmethod
    def probabilities(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[FloatArray]:
        """The probability of every link, (n, m) for each pair."""

    @abstractmethod
    def above(
        self, source: Texts, target: Texts, threshold: float, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """The links whose probability is at least a threshold."""

    @abstractmethod
    def best(
        self, source: Texts, target: Texts, symmetrisation: Symmetrisation
    ) -> list[list[Link]]:
        """The links of the likeliest alignment."""

    @abstractmethod
    def directed(self, source: Texts, target: Texts) -> list[tuple[FloatArray, FloatArray]]:
        """The probability of every link by either direction of the generative model."""

    @abstractmethod
    def distribution(
        self, source: Sequence[str], target: Sequence[str], direction: Direction
    ) -> LinkDistribution:
        """All alignments of one pair."""

    @abstractmethod
    def translations(self, k: int) -> list[tuple[str, str, float]]:
        """The k likeliest target words of each source word that training saw."""
