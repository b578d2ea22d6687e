"""Sentences to learn from: their tags, checked, and sorted by what is known of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar

import numpy as np

from partita.arrays import BoolArray, FloatArray, IntArray
from partita.data.files import SentenceFiles
from partita.data.schemes import UNKNOWN
from partita.estimators.blocks import refuse_beside_files
from partita.estimators.explain import Cell, run_facts
from partita.estimators.pieces import Piece, PieceModel
from partita.estimators.sample_weights import read_sample_weight
from partita.estimators.supervision import Knowledge, Known, Lessons
from partita.estimators.tagging.tags import (
    HeldOutTags,
    Tags,
    TagSet,
    are_texts,
    checked_tags,
    tags_of,
)
from partita.objectives import known_tags
from partita.text.sentences import has_columns, listed, one_each, where
from partita.training import TrainingResult

Learner = TypeVar("Learner")
Learnt = TypeVar("Learnt")


class TagModel(PieceModel, Protocol):
    """All of a trained tagger but its weights."""

    @property
    def tags(self) -> TagSet:
        """The tags, in the order of all arrays."""


@dataclass(frozen=True)
class TagMaterial:
    """Sentences sorted by what is known of their tags: all, some, nothing."""

    sentences: list[Any]
    tags: list[list[Any]]
    order: list[int]
    """The number that each sentence had when it came."""
    known: list[Known]
    sample_weight: FloatArray | None

    def where(self, index: int) -> str:
        """How to name a sentence in a message."""
        return where(self.sentences[index], self.order[index])

    def count(self, known: Known) -> int:
        """How many sentences are known so much of."""
        return self.known.count(known)

    @property
    def n_labelled(self) -> int:
        """Sentences with a known tag; they come first."""
        return self.count(Known.ALL) + self.count(Known.SOME)

    @property
    def learnt_from(self) -> str:
        """How many sentences and words there are, and what is known of them, for people."""
        n_words = sum(map(len, self.tags))
        counts = {
            "with tags": self.count(Known.ALL),
            "with some": self.count(Known.SOME),
            "without": self.count(Known.NOTHING),
        }
        kinds = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        return f"{len(self.sentences):,} sentences ({kinds}), {n_words:,} words"

    def knowledge(self, tags: TagSet, class_weights: FloatArray | None = None) -> "TagKnowledge":
        """The tags as numbers."""
        places = [self.where(index) for index in range(len(self.tags))]
        return TagKnowledge.of(tags, self.tags, places, class_weights)


def tag_facts(training: TrainingResult) -> dict[str, Cell]:
    """How a run ended, for people."""
    return run_facts(training, "of the tags wrong, to be expected")


def sorted_material(
    sentences: Iterable[Any],
    tags: Tags | None,
    unlabelled: Iterable[Any],
    tag_column: str | None,
    sample_weight: Sequence[float] | None,
) -> TagMaterial:
    """Sentences that have words, in the order: all tags known, some, none; else as they came."""
    sentences, unlabelled = listed(sentences), listed(unlabelled)
    given = tags_of(sentences, tags, tag_column)
    if given is None:
        given = [None] * len(sentences)
    labels = checked_tags(sentences, given) + [[UNKNOWN] * len(each) for each in unlabelled]
    kinds = [known_by_tags(each) for each in labels]
    order = [index for index in np.argsort(kinds, kind="stable").tolist() if len(labels[index])]
    if not order:
        raise ValueError("there are no words to learn from; expected at least one sentence.")
    weights = read_sample_weight(sample_weight, len(sentences), len(unlabelled))
    together = [*sentences, *unlabelled]
    return TagMaterial(
        [together[index] for index in order],
        [labels[index] for index in order],
        order,
        [kinds[index] for index in order],
        None if weights is None else weights[order],
    )


@dataclass(frozen=True)
class GivenTags:
    """What `fit` of an estimator of tags was given."""

    sentences: Iterable[Any] | SentenceFiles
    tags: Tags | None
    unlabelled: Iterable[Any]
    held_out: HeldOutTags | None
    sample_weight: Sequence[float] | None

    def learnt_by(
        self,
        learner: Learner,
        from_files: Callable[[Learner, SentenceFiles, HeldOutTags | None], tuple[Learnt, str]],
        from_memory: Callable[[Learner, TagMaterial, HeldOutTags | None], Learnt],
        tag_column: str | None,
    ) -> tuple[Learnt, str]:
        """What is learnt, from files or from memory; and how much that was, for people."""
        if isinstance(self.sentences, SentenceFiles):
            refuse_beside_files(self.tags, self.sample_weight, self.unlabelled)
            return from_files(learner, self.sentences, self.held_out)
        material = sorted_material(
            self.sentences, self.tags, self.unlabelled, tag_column, self.sample_weight
        )
        return from_memory(learner, material, self.held_out), material.learnt_from


def known_by_tags(tags: Sequence[Any]) -> Known:
    """How much is known of a sentence with some tags."""
    n_unknown = tags.count(UNKNOWN)
    if not n_unknown and (are_texts(tags) or all(isinstance(tag, str) for tag in tags)):
        return Known.ALL
    return Known.NOTHING if n_unknown == len(tags) else Known.SOME


@dataclass(frozen=True)
class TagKnowledge(Knowledge):
    """The tags of sentences as numbers, and sets of tags as masks."""

    labels: Sequence[IntArray]
    choices: Sequence[BoolArray | None]
    """For sentences with sets of tags which tags each word may have, (n, s)."""
    class_weights: FloatArray | None = None
    """What a wrong tag costs, by the right one; 1 if left out."""

    @classmethod
    def of(
        cls,
        tags: TagSet,
        given: Sequence[Sequence[Any]],
        places: Sequence[str],
        class_weights: FloatArray | None = None,
    ) -> "TagKnowledge":
        """From tags by name; `places` are for messages."""
        pairs = list(zip(given, places, strict=True))
        return cls(
            [tags.numbers(each, place) for each, place in pairs],
            [tags.choices(each, place) for each, place in pairs],
            class_weights,
        )

    @cached_property
    def _n_known(self) -> int:
        return sum(int((labels >= 0).sum()) for labels in self.labels)

    def n_known(self) -> int:
        """Words with one known tag."""
        return self._n_known

    def allowed(self, piece: Piece) -> BoolArray:
        """Which tags and transitions agree with the known tags, (n_parts,)."""
        allowed = known_tags(piece.structures, piece.of(self.labels))
        choices = piece.of(self.choices)
        if any(each is not None for each in choices):
            unaries, _ = piece.structures.split(allowed)
            for unary, choice in zip(unaries, choices, strict=True):
                if choice is not None:
                    unary &= choice
        return allowed

    def cost(self, piece: Piece) -> FloatArray:
        """1 for a wrong tag, or the weight of the right one; 0 where that is not known."""
        cost = super().cost(piece)
        if self.class_weights is not None:
            # A word whose tag is not known has no class, and counts as 1.
            weights = np.append(self.class_weights, 1.0)
            unaries, _ = piece.structures.split(cost)
            for unary, tags in zip(unaries, piece.of(self.labels), strict=True):
                unary *= weights[tags][:, None]
        return cost


def restricting(tags: TagSet, given: Sequence[Any], place: str) -> BoolArray:
    """Which tags each word may have, (n, s), by known tags and sets of tags."""
    numbers, choices = tags.numbers(given, place), tags.choices(given, place)
    table = np.vstack([np.eye(len(tags), dtype=np.bool_), np.ones(len(tags), dtype=np.bool_)])
    allowed: BoolArray = table[numbers]
    return allowed if choices is None else allowed & choices


def held_out_lessons(
    model: TagModel,
    held_out: HeldOutTags,
    tag_column: str | None,
    knowing: Callable[[list[list[Any]], list[str]], Knowledge] | None = None,
) -> Lessons:
    """Sentences to judge by; a tag that training never saw is wrong in any case, and left out.

    `held_out` is a pair of sentences and tags, or sentences with columns, `tag_column` among them.
    `knowing` makes knowledge of tags and places for messages; by default that of chains.
    """
    parts = one_each("held_out", held_out, "sentences with a tag column, or a pair with their tags")
    is_pair = len(parts) == 2 and not has_columns(parts[0])
    sentences, tags = parts if is_pair else (parts, None)
    sentences = listed(sentences)
    given = tags_of(sentences, tags, tag_column)
    if given is None:
        raise ValueError(
            "held_out came without tags; expected a pair of sentences and their tags, or "
            "sentences with a tag column (tag_column=...)."
        )
    known = set(model.tags.names)
    pairs = [
        (sentence, [tag if tag in known else UNKNOWN for tag in each])
        for sentence, each in zip(sentences, checked_tags(sentences, given), strict=True)
        if len(sentence)
    ]
    labels = [each for _, each in pairs]
    places = ["held_out"] * len(labels)
    if knowing is None:
        knowledge: Knowledge = TagKnowledge.of(model.tags, labels, places)
    else:
        knowledge = knowing(labels, places)
    pieces = list(model.pieces(model.encode([sentence for sentence, _ in pairs])))
    return Lessons({Known.ALL: [], Known.SOME: pieces, Known.NOTHING: []}, knowledge, what="tags")
