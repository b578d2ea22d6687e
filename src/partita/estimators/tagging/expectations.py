"""Expectations of tags, as constraints on features of words and as shares of all words.

A feature is `name=value`. On words, the name is a field (`FORM.suffix3=ing`, see
`partita.text.conditions`), or `w` or `word` for the word in lower case, as in MALLET's
examples. On dictionaries of features it is one of their names, `key:value` or `key=value`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.constraints import ExpectationConstraint
from partita.estimators.pieces import Piece
from partita.estimators.tagging.tags import TagSet
from partita.features.chains import tag_constraints
from partita.objectives import (
    Constraints,
    GeneralizedExpectation,
    Sum,
    kl_distance,
    squared_distance,
)
from partita.text.attributes import Attributes
from partita.text.conditions import Condition, holding, parse_condition
from partita.text.fields import Field
from partita.text.named_features import named_rows
from partita.text.vocabulary import Vocabulary
from partita.text.words import Words

WORD = ("w", "word")
DISTANCES = {"squared": squared_distance, "kl": kl_distance}


@dataclass(frozen=True)
class TagExpectations:
    """Expectation constraints, numbered: constraint k is about `attributes[k]` and `tags[k]`."""

    rows: Attributes
    """For each word, in the order of the sentences, the attributes that constraints are about."""
    first_words: IntArray
    """For each sentence the number of its first word."""
    attributes: IntArray
    tags: IntArray
    targets: FloatArray
    weight: float
    distance: str

    def term(self) -> Sum:
        """Its term of the objective."""
        distance = DISTANCES[self.distance]
        return self.weight * GeneralizedExpectation(self.targets, distance=distance)

    def target(self, piece: Piece) -> Constraints:
        """What the term compares a piece with."""
        first = int(self.first_words[piece.sentences.start])
        rows = self.rows[first : first + int(piece.structures.n_words.sum())]
        return Constraints(*tag_constraints(piece.structures, rows, self.attributes, self.tags))


def first_words(n_words: IntArray) -> IntArray:
    """For each sentence the number of its first word."""
    return np.cumsum(n_words) - n_words


def tag_shares(
    labels: Sequence[IntArray], n_tags: int, n_words: IntArray, weight: float
) -> TagExpectations:
    """That tags without labels should be as frequent as those with: a constraint on every word.

    weight * n_known * KL(shares of the known tags, expected shares), where n_known is the number
    of known tags. Entropy alone is least where few tags are left, so it needs this beside it
    (expectation regularisation, Mann & McCallum 2007).
    """
    known = np.concatenate([np.zeros(0, dtype=np.int64), *(each[each >= 0] for each in labels)])
    counts = np.bincount(known, minlength=n_tags)
    total = int(n_words.sum())
    rows = Attributes(np.zeros(total, dtype=np.int32), np.arange(total + 1, dtype=np.int64))
    return TagExpectations(
        rows,
        first_words(n_words),
        np.zeros(n_tags, dtype=np.int64),
        np.arange(n_tags),
        counts / len(known),
        weight * len(known),
        "kl",
    )


def number_constraints(
    constraints: Sequence[ExpectationConstraint],
    words: Words,
    tags: TagSet,
    *,
    weight: float,
    distance: str,
) -> TagExpectations:
    """The constraints in numbers: which words each is about, which tag, and how often."""
    attributes, numbers, targets = [], [], []
    for index, constraint in enumerate(constraints):
        for tag, share in constraint.distribution.items():
            attributes.append(index)
            numbers.append(int(tags.numbers([tag], f"the constraint on {constraint.feature}")[0]))
            targets.append(share)
    if words.form == "matrix":
        raise ValueError(
            "constraints came with matrices of features, whose features have no names; expected "
            "words, or dictionaries of features."
        )
    rows = (_of_words if words.form == "columns" else _of_features)(constraints, words)
    if not len(rows.ids):
        names = ", ".join(constraint.feature for constraint in constraints[:3])
        raise ValueError(
            f"no word has a feature that a constraint is about ({names}, ...); expected w=word for "
            "words in lower case, a field such as FORM.suffix3=ing, or a feature of the "
            "dictionaries."
        )
    return TagExpectations(
        rows,
        first_words(words.n_words),
        np.array(attributes),
        np.array(numbers),
        np.array(targets),
        weight,
        distance,
    )


def _of_features(constraints: Sequence[ExpectationConstraint], words: Words) -> Attributes:
    names = {constraint.feature: index for index, constraint in enumerate(constraints)}
    vocabulary = Vocabulary(names)
    # CRFsuite joins key and value by a colon, MALLET's examples by an equals sign.
    rows = (
        [name if name in names else name.replace(":", "=", 1) for name in row]
        for row in named_rows(words.features)
    )
    return vocabulary.attributes(rows)


def _of_words(constraints: Sequence[ExpectationConstraint], words: Words) -> Attributes:
    return holding([_condition(constraint, words) for constraint in constraints], words)


def _condition(constraint: ExpectationConstraint, words: Words) -> Condition:
    """What must hold of a word for a constraint to be about it."""
    columns = tuple(words.columns)
    name, sign, value = constraint.feature.partition("=")
    if name in WORD and sign:
        return Condition(Field(columns[0], view="lower"), value)
    found = parse_condition(constraint.feature)
    if found is None or found.field.column not in columns:
        raise ValueError(
            f"{constraint.source}, line {constraint.line}: the constraint on "
            f"{constraint.feature!r} is about no known feature; expected w=word, or a field of the "
            f"columns {', '.join(columns)}, such as {columns[0]}.suffix3=ing."
        )
    return found
