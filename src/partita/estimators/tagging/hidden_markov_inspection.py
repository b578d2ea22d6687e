"""What a hidden Markov model has learnt, as tables to read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.explain import Cell, Report, Table
from partita.estimators.tagging.hidden_markov_model import HiddenMarkovModel


@dataclass(frozen=True, repr=False)
class HiddenMarkovInspection(Report):
    """The likeliest words of each tag, and the probabilities of transitions."""

    tags: tuple[str, ...]
    words: dict[str, list[tuple[str, float]]]
    """For each tag its likeliest words (or classes of words), and their probabilities."""
    start: FloatArray
    transitions: FloatArray
    """[tag before, tag]."""
    n_words: int
    n_classes: int
    about: Mapping[str, Cell]
    """What it learnt from, and how that ended."""
    unit: str = "probability"
    """What the numbers are."""

    def facts(self) -> dict[str, Cell]:
        """What it is, in a few lines."""
        return {
            "model": "tagger, a hidden Markov model",
            **self.about,
            "tags": f"{len(self.tags)}: {', '.join(self.tags)}",
            "words": self.n_words,
            "classes of rare words": self.n_classes,
        }

    def tables(self) -> Sequence[Table]:
        """The likeliest words of each tag, and the transitions."""
        found = [
            Table(tag, (self.unit, "word"), [(f"{p:.4f}", w) for w, p in self.words[tag]])
            for tag in self.tags
        ]
        rows = [("(start)", *_shares(self.start))]
        rows += [(tag, *_shares(row)) for tag, row in zip(self.tags, self.transitions, strict=True)]
        return [*found, Table("transitions", ("from \\ to", *self.tags), rows)]


def inspect_hidden_markov(
    model: HiddenMarkovModel,
    weights: FloatArray,
    n_features: int,
    about: Mapping[str, Cell],
    unit: str,
) -> HiddenMarkovInspection:
    """The likeliest words of every tag, and the probabilities of transitions."""
    start, transitions, emissions = map(np.exp, model.layout.split(weights))
    best = {}
    for column, tag in zip(emissions.T, model.tags.names, strict=True):
        order = np.argsort(-column, kind="stable")[:n_features].tolist()
        best[tag] = [(model.symbols.name(row), float(column[row])) for row in order if column[row]]
    n_words, n_classes = len(model.symbols.words), len(model.symbols.classes)
    return HiddenMarkovInspection(
        model.tags.names, best, start, transitions, n_words, n_classes, about, unit
    )


def _shares(row: FloatArray) -> list[str]:
    return [f"{value:.3f}" for value in row.tolist()]
