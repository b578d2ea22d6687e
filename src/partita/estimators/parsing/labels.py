"""Labels of arcs: a second model, on the arcs of a tree that is given or was found.

Each word's label is drawn from a multinomial distribution whose features may look at the whole
tree: at head and modifier, their neighbours, siblings, children, and the head's head.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.features.label_rows import LabelLooks, label_rows
from partita.features.rows import RowFeatures
from partita.kept import kept_texts
from partita.text.attributes import Attributes
from partita.text.known_values import KnownValues
from partita.text.label_templates import LabelTemplate, parse_label_templates
from partita.text.words import Words


@dataclass(frozen=True)
class Labels(ABC):
    """The labels of arcs, and how they are told; the weights are (2**n_bits, n_labels)."""

    names: tuple[str, ...]
    n_bits: int

    @abstractmethod
    def attributes(self, words: Words, heads: IntArray) -> Attributes:
        """A row of hashed features for each word; `heads` of all sentences end to end."""

    @abstractmethod
    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the number of bits."""

    @property
    def n_weights(self) -> int:
        """Number of weights."""
        return int(2**self.n_bits) * len(self.names)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The number of each label."""
        return {name: number for number, name in enumerate(self.names)}

    def features(self, rows: Attributes) -> RowFeatures:
        """Scores of all labels of all rows."""
        n_labels, n_rows = len(self.names), rows.n_rows
        starts = np.arange(n_rows) * n_labels
        return RowFeatures(rows, starts, n_labels, 2**self.n_bits, n_rows * n_labels)

    def scores(self, weights: FloatArray, words: Words, heads: IntArray) -> FloatArray:
        """Of all labels of all words, (n_words, n_labels)."""
        rows = self.attributes(words, heads)
        scores = self.features(rows).scores(weights).reshape(-1, len(self.names))
        if not np.isfinite(scores).all():
            raise ValueError(
                f"the scores of labels are too large to be added up: a weight is "
                f"{np.abs(weights).max():.3g}. Train with l2 above 0."
            )
        return scores

    def log_probabilities(self, weights: FloatArray, words: Words, heads: IntArray) -> FloatArray:
        """log p(label | tree) of all words, (n_words, n_labels)."""
        scores = self.scores(weights, words, heads)
        scores -= scores.max(axis=1, keepdims=True)
        scores -= np.log(np.exp(scores).sum(axis=1, keepdims=True))
        return scores


@dataclass(frozen=True)
class LabelModel(Labels):
    """Labels by a model of their own, which is asked when the tree is known."""

    templates: tuple[LabelTemplate, ...]
    known: KnownValues

    def header(self) -> dict[str, Any]:
        """What a model file keeps, beside the number of bits."""
        return {
            "names": list(self.names),
            "templates": [template.text for template in self.templates],
            "known": self.known.header(),
        }

    @classmethod
    def restored(cls, header: Mapping[str, Any], n_bits: int) -> "LabelModel":
        """From what a model file kept."""
        templates = parse_label_templates("\n".join(kept_texts(header["templates"], "templates")))
        fields = [each.field for template in templates for each in template.fields]
        known = KnownValues.restored(header["known"], fields)
        return cls(tuple(kept_texts(header["names"], "names")), n_bits, templates, known)

    def attributes(self, words: Words, heads: IntArray) -> Attributes:
        """A row of hashed features for each word; `heads` of all sentences end to end."""
        return label_rows(self._looks, self.known, words, heads, self.n_bits)

    @cached_property
    def _looks(self) -> LabelLooks:
        return LabelLooks.of(self.templates)


def one_subject(table: FloatArray, owners: IntArray, is_subject: BoolArray) -> IntArray:
    """The best labels of words of which at most one of each owner's has a subject's label.

    `table` has the scores of all labels of each word, or their log-probabilities. Labels are
    independent, so the best choice gives every word its best label, and then all but one of an
    owner's subjects their best other label: that one stays for which it matters most.
    """
    best: IntArray = table.argmax(axis=1)
    rows = np.arange(len(best))
    others = np.where(is_subject, -np.inf, table)
    second = others.argmax(axis=1)
    loss = table[rows, best] - others[rows, second]
    subjects = np.flatnonzero(is_subject[best])
    # By owner, the one that loses most first.
    order = subjects[np.lexsort((-loss[subjects], owners[subjects]))]
    repeated = order[1:][owners[order][1:] == owners[order][:-1]]
    best[repeated] = second[repeated]
    return best
