"""Sentences to learn from: their trees, checked, and sorted by what is known of them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.data.arc_rule import ArcRule
from partita.data.conllu import UNKNOWN_HEAD
from partita.data.dependencies import UNKNOWN, relations, tree_heads
from partita.data.sentences import Sentence
from partita.estimators.parsing.lifting import marked
from partita.estimators.parsing.projective import may_be_projective, nearest_projective
from partita.estimators.pieces import Piece
from partita.estimators.sample_weights import read_sample_weight
from partita.estimators.supervision import Knowledge, Known
from partita.features.arc_constraints import WordNames, arc_constraints, rule_targets
from partita.objectives import Constraints, GeneralizedExpectation, Sum, known_heads
from partita.text.sentences import column_values, has_columns, listed, one_each, where

Heads = Sequence[Sequence[int] | IntArray | None]
"""The head of each word of each sentence, 0 for the root and -1 if it is not known."""
GivenLabels = Sequence[Sequence[str | None]]
"""The label of each word's arc, of each sentence; None or _ if it is not known."""
TREE = ("HEAD", "DEPREL")
"""The columns of trees."""
UNKNOWN_LABEL = -1
FEW_CROSSING = 0.05
"""Share of training sentences with crossing arcs below which trees are projective by default."""


@dataclass(frozen=True)
class TreeMaterial:
    """Sentences, and what is known of their trees."""

    sentences: list[Any]
    heads: list[IntArray]
    labels: list[Sequence[str]] | None
    sample_weight: FloatArray | None = None
    n_lifted: int = 0
    """Sentences whose arcs cross, and which learn from the nearest projective tree instead."""
    relations: list[IntArray] | None = None
    """The labels as numbers, -1 where not known, where they are learnt together with arcs."""

    @property
    def known(self) -> list[Known]:
        """How much is known of each sentence."""
        known = [_known(each) for each in self.heads]
        if self.relations is None:
            return known
        return [
            Known.SOME if each is Known.ALL and (labels < 0).any() else each
            for each, labels in zip(known, self.relations, strict=True)
        ]

    def numbered(self, numbers: Mapping[str, int]) -> "TreeMaterial":
        """With labels as numbers, to be learnt together with the arcs."""
        relations = [
            np.array([numbers.get(name, UNKNOWN_LABEL) for name in each], dtype=np.int64)
            for each in self.labels or ()
        ]
        return replace(self, relations=relations)

    def knowledge(self, order: IntArray) -> "HeadKnowledge":
        """What is known of the sentences, in an order."""
        relations = self.relations
        return HeadKnowledge(
            [self.heads[index] for index in order],
            None if relations is None else [relations[index] for index in order],
        )

    def order(self, seed: int | None = None) -> IntArray:
        """The sentences by what is known of them, otherwise as they came or in random order."""
        known = np.array(self.known, dtype=np.int64)
        order = np.arange(len(known))
        if seed is not None:
            order = np.random.default_rng(seed).permutation(len(known))
        return order[np.argsort(known[order], kind="stable")]

    def has_few_crossings(self) -> bool:
        """Whether hardly any of the trees has arcs that cross."""
        taught = [each for each in self.heads if (each >= 0).any()]
        n_crossing = sum(not may_be_projective(each) for each in taught)
        return n_crossing < FEW_CROSSING * max(len(taught), 1)

    def lifted(self, *, single_root: bool, mark: bool = False) -> "TreeMaterial":
        """With the nearest projective tree in place of each whose arcs cross.

        With `mark`, the labels of words with another head say so, see `lifting`.
        """
        crossing = [not may_be_projective(each) for each in self.heads]
        heads = [
            nearest_projective(each, single_root=single_root) if crosses else each
            for each, crosses in zip(self.heads, crossing, strict=True)
        ]
        labels = self.labels
        if mark and labels is not None:
            each = zip(self.heads, heads, labels, crossing, strict=True)
            labels = [
                # Where some heads are not known, one that cannot be kept becomes unknown, too.
                marked(old, new, names) if crosses and (old >= 0).all() else names
                for old, new, names, crosses in each
            ]
        return replace(self, heads=heads, labels=labels, n_lifted=sum(crossing))


def read_material(
    sentences: Iterable[Any],
    heads: Heads | None,
    labels: GivenLabels | None,
    unlabelled: Iterable[Any] = (),
    sample_weight: Sequence[float] | None = None,
    *,
    single_root: bool,
) -> TreeMaterial:
    """All sentences with their trees, the unlabelled ones last."""
    sentences, unlabelled = listed(sentences), listed(unlabelled)
    if not sentences and not unlabelled:
        raise ValueError("no sentences came; expected some to learn from.")
    known, names = trees_of(sentences, heads, labels, single_root=single_root)
    known += [np.full(len(each), UNKNOWN_HEAD) for each in unlabelled]
    if names is not None:
        names += [(UNKNOWN[0],) * len(each) for each in unlabelled]
    weights = read_sample_weight(sample_weight, len(sentences), len(unlabelled))
    return TreeMaterial([*sentences, *unlabelled], known, names, weights)


def trees_of(
    sentences: Sequence[Any],
    heads: Heads | None,
    labels: GivenLabels | None = None,
    *,
    single_root: bool = False,
) -> tuple[list[IntArray], list[Sequence[str]] | None]:
    """Heads (-1 where not known) and labels (None if there are none) of sentences.

    What is not given is taken from the columns HEAD and DEPREL, where sentences have them.
    """
    heads = None if heads is None else one_each("heads", heads, "the heads of each sentence")
    labels = None if labels is None else one_each("labels", labels, "the labels of each sentence")
    _check_counts(sentences, heads, labels)
    columns = [_columns(sentence, index) for index, sentence in enumerate(sentences)]
    found = []
    for index, sentence in enumerate(columns):
        given = None if heads is None else heads[index]
        if given is not None:
            sentence = _with_heads(sentences[index], given, index)
        found.append(np.array(tree_heads(sentence, single_root=single_root, partial=True)))
    if labels is not None:
        pairs = enumerate(zip(sentences, labels, strict=True))
        return found, [_checked_labels(sentence, each, index) for index, (sentence, each) in pairs]
    if columns and all("DEPREL" in each.columns for each in columns):
        return found, [relations(each, partial=True) for each in columns]
    return found, None


def _columns(sentence: Any, index: int) -> Sentence:
    """What a sentence says itself of its tree: HEAD, maybe of nothing known, and maybe DEPREL."""
    nothing = (UNKNOWN[0],) * len(sentence)
    if isinstance(sentence, Sentence):
        return sentence if "HEAD" in sentence.columns else sentence.replaced("HEAD", nothing)
    names = [each for each in TREE if has_columns(sentence) and each in sentence.columns]
    columns = {name: tuple(map(_text, column_values(sentence, name, index))) for name in names}
    return Sentence({"HEAD": nothing, **columns}, source=where(sentence, index))


def _text(value: Any) -> str:
    """A head or label as a file has it; nothing, not a number and -1 are not known."""
    if isinstance(value, str):
        return value
    if value is None:
        return UNKNOWN[0]
    if not isinstance(value, int | float | np.number):
        return repr(value)  # which is refused, as it would be in a file
    if value != value or value < 0:
        return UNKNOWN[0]
    return str(int(value)) if value == int(value) else str(value)


def _with_heads(sentence: Any, heads: Sequence[int] | IntArray, index: int) -> Sentence:
    """A sentence of nothing but heads, which are then checked as those of a file are."""
    place = where(sentence, index)
    wanted = "a head for each word, 0 for the root and -1 if not known"
    values = one_each(f"the entry of heads for {place}", heads, wanted)
    if len(values) != len(sentence):
        raise ValueError(
            f"{place} has {len(sentence)} words and {len(values)} heads; expected {wanted}."
        )
    return Sentence({"HEAD": tuple(map(_text, values))}, source=place)


def _checked_labels(sentence: Any, labels: Iterable[Any], index: int) -> tuple[str, ...]:
    """The labels of a sentence, as a file has them."""
    place = where(sentence, index)
    wanted = "a label for each word, _ if it is not known"
    names = one_each(f"the entry of labels for {place}", labels, wanted)
    if len(names) != len(sentence):
        raise ValueError(
            f"{place} has {len(sentence)} words and {len(names)} labels; expected {wanted}."
        )
    return tuple(map(_text, names))


def _check_counts(
    sentences: Sequence[Any], heads: Heads | None, labels: GivenLabels | None
) -> None:
    for name, given in (("heads", heads), ("labels", labels)):
        if given is not None and len(given) != len(sentences):
            raise ValueError(
                f"{name} came for {len(given)} sentences, and {len(sentences)} sentences; expected "
                "as many."
            )


def _known(heads: IntArray) -> Known:
    if (heads >= 0).all():
        return Known.ALL
    return Known.NOTHING if (heads < 0).all() else Known.SOME


# ---------------------------------------------------------------------- what they teach


@dataclass(frozen=True)
class HeadKnowledge(Knowledge):
    """The heads of sentences, and the labels of their arcs where these are learnt together."""

    labels: Sequence[IntArray]
    """The heads."""
    relations: Sequence[IntArray] | None = None
    """The labels of arcs, as numbers, -1 where not known."""

    def right(self, piece: Piece) -> Sequence[Any]:
        """The right trees, where everything is known."""
        heads = piece.of(self.labels)
        if self.relations is None:
            return heads
        return list(zip(heads, piece.of(self.relations), strict=True))

    def allowed(self, piece: Piece) -> BoolArray:
        """Which arcs agree with the known heads (and labels), (n_parts,)."""
        allowed = known_heads(piece.structures, piece.of(self.labels))
        if self.relations is not None:
            views = piece.structures.split(allowed)
            for arcs, labels in zip(views, piece.of(self.relations), strict=True):
                for word in np.flatnonzero(labels >= 0).tolist():
                    arcs[:, word + 1, np.arange(arcs.shape[2]) != labels[word]] = False
        return allowed

    def n_known(self) -> int:
        """Words with a known head."""
        return sum(int((heads >= 0).sum()) for heads in self.labels)


@dataclass(frozen=True)
class ArcExpectations:
    """Rules about arcs, the names by which they know words, and how much they count."""

    rules: Sequence[ArcRule]
    words: Sequence[Sequence[WordNames]]
    """Of each sentence, see `known_words`."""
    weight: float

    def term(self) -> Sum:
        """The distance of their expectations from their targets."""
        targets, bounds = rule_targets(self.rules)
        return self.weight * GeneralizedExpectation(targets, bounds=bounds)

    def target(self, piece: Piece) -> Constraints:
        """What the term compares with in a piece."""
        return Constraints(*arc_constraints(piece.structures, piece.of(self.words), self.rules))
