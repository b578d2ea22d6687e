"""What all kinds of features of words have in common: templates, names, matrices."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from partita.arrays import Array, IntArray
from partita.text.attributes import Attributes
from partita.text.words import Form, Words, read_words

GIVEN: dict[Form, str] = {
    "columns": "words",
    "names": "dictionaries or lists of features",
    "matrix": "matrices of features",
}
"""How messages call the forms of words."""


@dataclass(frozen=True)
class Encoded:
    """Sentences as rows of attributes: one row a word, and one for each pair of neighbours."""

    n_words: IntArray
    words: Attributes
    transitions: Attributes | None = None
    """None where one table of transitions serves all positions."""


class WordFeatures(ABC):
    """The attributes of words, and of the steps to them; learnt from training data, then frozen.

    `partita.text.learning` makes the kind that sentences need, and reads any from a model file.
    """

    form: ClassVar[Form]
    """That of the words which it takes; model files name the kind by it, too."""
    n_attributes: int
    n_transition_attributes: int = 1
    columns: tuple[str, ...] = ()
    """The columns that sentences must have."""

    def read(self, sentences: Iterable[Any]) -> Encoded:
        """Sentences of the kind that it was learnt from."""
        return self.encode(self.words_of(sentences))

    def words_of(self, sentences: Iterable[Any]) -> Words:
        """The words of such sentences."""
        words = read_words(sentences, self.columns or None)
        if words.form != self.form and len(words.n_words):
            raise ValueError(
                f"{GIVEN[words.form]} came; this model was trained on {GIVEN[self.form]}. Give it "
                "the same kind, and one sentence only where a single one is asked for."
            )
        return words

    @abstractmethod
    def encode(self, words: Words) -> Encoded:
        """The known attributes of new sentences."""

    @abstractmethod
    def name(self, attribute: int, *, transition: bool = False) -> str:
        """An attribute as text."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the arrays."""

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """The arrays that a model file keeps."""

    @classmethod
    @abstractmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """From what a model file kept."""
