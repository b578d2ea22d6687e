"""Features that users bring as numbers: a matrix for each sentence, a row for each word."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from partita.arrays import Array, BoolArray
from partita.kept import kept_array
from partita.text.attributes import Attributes
from partita.text.word_features import Encoded, WordFeatures
from partita.text.words import Form, Words


class RealFeatures(WordFeatures):
    """The columns of matrices, (n_words, n_features), dense or sparse, as attributes with values.

    An attribute is a column. A column that is 0 in all but a few words of training (less than
    `min_count`) has a number, too, but is never there.

    >>> from partita.text.words import read_words
    >>> words = read_words([np.array([[0.5, 0.0], [2.0, 1.0]])])
    >>> features, encoded = RealFeatures.build(words)
    >>> features.n_attributes, encoded.words.ids, encoded.words.values
    (2, array([0, 0, 1], dtype=int32), array([0.5, 2. , 1. ]))
    """

    form: ClassVar[Form] = "matrix"

    def __init__(self, kept: BoolArray) -> None:
        self._kept = kept
        self.n_attributes = len(kept)

    @classmethod
    def build(cls, words: Words, min_count: int = 1) -> "tuple[RealFeatures, Encoded]":
        """The columns that differ from 0 in at least `min_count` words, and the words' own."""
        counts = np.bincount(_matrix(words).indices, minlength=_matrix(words).shape[1])
        features = cls(counts >= min_count)
        return features, features.encode(words)

    def encode(self, words: Words) -> Encoded:
        """The values of new sentences."""
        matrix = _matrix(words)
        if matrix.shape[1] != self.n_attributes and matrix.shape[0]:
            raise ValueError(
                f"the words have {matrix.shape[1]} features; this model was trained on "
                f"{self.n_attributes}. Give it the same, in the same order."
            )
        rows = Attributes.from_matrix(matrix)
        if not self._kept.all():
            rows = rows.renumbered(np.where(self._kept, np.arange(self.n_attributes), -1))
        return Encoded(words.n_words, rows)

    def name(self, attribute: int, *, transition: bool = False) -> str:
        """The number of a column."""
        return "transition:" if transition else f"feature {attribute}"

    def header(self) -> dict[str, Any]:
        """Nothing: features have no names."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Which columns are used."""
        return {"kept": self._kept}

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> "RealFeatures":
        """From what a model file kept."""
        return cls(kept_array(arrays, "kept", np.bool_, None))


def _matrix(words: Words) -> sparse.csr_array:
    if words.matrix is None:
        return sparse.csr_array((0, 0))
    matrix = words.matrix.copy()
    # A sparse matrix may hold zeros, which say nothing.
    matrix.eliminate_zeros()
    return matrix
