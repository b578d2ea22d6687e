"""Generative models of both directions with their words: from lists of words to probabilities."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.data.alignments import Link
from partita.estimators.alignment.directed import DirectedModel
from partita.estimators.alignment.hmm import HiddenMarkovAlignment
from partita.estimators.alignment.model1 import WordTable
from partita.estimators.alignment.words import UNKNOWN, Numbered, Words
from partita.kernels.bitext import model1
from partita.structures.batch import offsets as offsets_of

Sentences = Sequence[Sequence[str]]

MIN_PROBABILITY = 1e-9
"""Word pairs below are forgotten after training: most of those that only ever met by chance."""


@dataclass(frozen=True, eq=False)
class Model1Alignment(DirectedModel):
    """IBM Model 1 as a model of alignment: every target word chooses its source word alone."""

    table: WordTable

    def _posteriors(self, source: Numbered, target: Numbered) -> tuple[FloatArray, FloatArray]:
        cells = self.table.cells(source, target)
        out = np.empty_like(cells)
        log_likelihood: FloatArray = model1.posteriors(cells, *_shape(source, target), out)
        return out, log_likelihood

    def _best(self, source: Numbered, target: Numbered) -> IntArray:
        out = np.empty(len(target.numbers), dtype=np.int64)
        model1.best(self.table.cells(source, target), *_shape(source, target), out)
        return out

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return self.table.arrays()

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The model that `arrays` describes."""
        return cls(WordTable.restored(arrays))


def _shape(source: Numbered, target: Numbered) -> tuple[IntArray, IntArray, IntArray]:
    n_source = source.n_words + 1
    return offsets_of(n_source * target.n_words), n_source, target.n_words


KINDS: dict[str, type[Model1Alignment] | type[HiddenMarkovAlignment]] = {
    "model1": Model1Alignment,
    "hmm": HiddenMarkovAlignment,
}


@dataclass(frozen=True, eq=False)
class Generative:
    """Models of p(target | source) and p(source | target), and the words of both sides."""

    source_words: Words
    target_words: Words
    forward: DirectedModel
    backward: DirectedModel

    def posteriors(
        self, source: Sentences, target: Sentences
    ) -> list[tuple[FloatArray, FloatArray]]:
        """The probability of each link by either direction, two arrays (n, m) for each pair."""
        one, two = self.source_words.encode(source), self.target_words.encode(target)
        forward, backward = self.forward.posteriors(one, two), self.backward.posteriors(two, one)
        return [(p, q.T) for p, q in zip(forward, backward, strict=True)]

    def best(self, source: Sentences, target: Sentences) -> list[tuple[list[Link], list[Link]]]:
        """The links (i, j) of the likeliest alignment in either direction, for each pair."""
        one, two = self.source_words.encode(source), self.target_words.encode(target)
        return [
            (
                [(i, j) for j, i in enumerate(forward.tolist()) if i >= 0],
                [(i, j) for i, j in enumerate(backward.tolist()) if j >= 0],
            )
            for forward, backward in zip(
                self.forward.best(one, two), self.backward.best(two, one), strict=True
            )
        ]

    def header(self) -> dict[str, Any]:
        """What a model file says about it, beside `arrays`."""
        kind = next(name for name, cls in KINDS.items() if isinstance(self.forward, cls))
        return {"kind": kind, **{name: part.header() for name, part in self._parts().items()}}

    def arrays(self) -> dict[str, Array]:
        """The numbers for a model file."""
        return {
            f"{name}.{key}": array
            for name, part in self._parts().items()
            for key, array in part.arrays().items()
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> Self:
        """The models that `header` and `arrays` describe."""
        kind = KINDS[header["kind"]]
        kinds = {"source_words": Words, "target_words": Words, "forward": kind, "backward": kind}
        parts: dict[str, Any] = {}
        for name, part in kinds.items():
            own = {
                key.removeprefix(f"{name}."): array
                for key, array in arrays.items()
                if key.startswith(f"{name}.")
            }
            parts[name] = part.restored(header[name], own)
        return cls(**parts)

    def _parts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def for_new_text(table: WordTable, source: Words, target: Words) -> WordTable:
    """A learnt table made ready for text that training never saw, and smaller.

    A word that was seen c times is expected to be translated by an unknown word as if it had been
    seen once more, with any of the V target words alike: 1 / ((c + 1) V). So an unknown word goes
    to an unknown word first, and then rather to a rare word than to a frequent one. Entries below
    `MIN_PROBABILITY` are left out.
    """
    table = table.pruned(MIN_PROBABILITY)
    if target.counts[UNKNOWN]:
        return table
    probabilities = 1.0 / ((source.counts + 1.0) * (len(target) - 1))
    # The empty word, which no sentence has, is in every one.
    probabilities[0] = 1.0 / ((target.counts.sum() + 1.0) * (len(target) - 1))
    rows = np.arange(table.n_source)
    return WordTable(
        table.offsets + np.arange(table.n_source + 1),
        np.insert(table.targets, table.offsets[rows], np.int32(UNKNOWN)),
        np.insert(table.probabilities, table.offsets[rows], probabilities),
        table.unseen,
    )
