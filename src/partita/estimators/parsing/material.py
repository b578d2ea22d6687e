"""Sentences to learn from: their trees, checked, and sorted by what is known of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.data.conllu import UNKNOWN_HEAD
from partita.data.dependencies import UNKNOWN, relations, tree_heads
from partita.data.sentences import Sentence
from partita.estimators.parsing.model import may_be_projective, nearest_projective
from partita.estimators.parsing.plan import Plan
from partita.estimators.parsing.words import where

FULL, PARTIAL, NONE = range(3)


@dataclass(frozen=True)
class Material:
    """Sentences sorted by what is known of their heads: all, some, none."""

    sentences: list[Any]
    heads: list[IntArray]
    labels: list[Sequence[str]] | None
    counts: tuple[int, int, int]
    weights: FloatArray | None
    n_lifted: int
    """Sentences whose arcs cross, and which learn from the nearest projective tree instead."""


def sorted_material(
    plan: Plan,
    sentences: Sequence[Any],
    known: list[IntArray],
    names: list[Sequence[str]] | None,
    unlabelled: Sequence[Any],
    sample_weights: Sequence[float] | None,
) -> Material:
    """Sentences in random order, sorted by what is known of their heads."""
    together = [*sentences, *unlabelled]
    known = known + [np.full(len(each), UNKNOWN_HEAD) for each in unlabelled]
    if names is not None:
        names = names + [(UNKNOWN[0],) * len(each) for each in unlabelled]
    kinds = np.array([_kind(each) for each in known], dtype=np.int64)
    shuffled = np.random.default_rng(plan.seed).permutation(len(together))
    order = shuffled[np.argsort(kinds[shuffled], kind="stable")].tolist()
    crossing = [bool(plan.projective) and not may_be_projective(each) for each in known]
    if plan.projective:
        known = [
            nearest_projective(each, single_root=plan.single_root) if crosses else each
            for each, crosses in zip(known, crossing, strict=True)
        ]
    weights = None
    if sample_weights is not None:
        if len(sample_weights) != len(sentences):
            raise ValueError(
                f"{len(sample_weights)} sample_weights came for {len(sentences)} sentences; "
                "expected one for each."
            )
        weights = np.concatenate([np.asarray(sample_weights, float), np.ones(len(unlabelled))])
        weights = weights[order]
    return Material(
        [together[index] for index in order],
        [known[index] for index in order],
        None if names is None else [names[index] for index in order],
        (int((kinds == FULL).sum()), int((kinds == PARTIAL).sum()), int((kinds == NONE).sum())),
        weights,
        sum(crossing),
    )


def targets_of(
    sentences: Sequence[Any],
    heads: Sequence[Any] | None,
    labels: Sequence[Sequence[str]] | None,
    *,
    single_root: bool,
) -> tuple[list[IntArray], list[Sequence[str]] | None]:
    """Heads (-1 where not known) and labels (None if there are none) of sentences."""
    _check_counts(sentences, heads, labels)
    found = []
    for index, sentence in enumerate(sentences):
        given = None if heads is None else heads[index]
        if given is None and isinstance(sentence, Sentence) and "HEAD" in sentence.columns:
            found.append(np.array(tree_heads(sentence, single_root=single_root, partial=True)))
            continue
        if given is None:
            found.append(np.full(len(sentence), UNKNOWN_HEAD))
            continue
        values = np.asarray(given, dtype=np.int64)
        if values.shape != (len(sentence),):
            raise ValueError(
                f"{where(sentence, index)} has {len(sentence)} words and heads of shape "
                f"{values.shape}; expected one for each word, 0 for the root and -1 if not known."
            )
        as_text = Sentence(
            {"HEAD": tuple("_" if value < 0 else str(value) for value in values.tolist())},
            source=where(sentence, index),
        )
        found.append(np.array(tree_heads(as_text, single_root=single_root, partial=True)))
    if labels is not None:
        return found, [tuple(each) for each in labels]
    if sentences and all(
        isinstance(each, Sentence) and "DEPREL" in each.columns for each in sentences
    ):
        return found, [relations(each, partial=True) for each in sentences]
    return found, None


def _check_counts(
    sentences: Sequence[Any],
    heads: Sequence[Any] | None,
    labels: Sequence[Sequence[str]] | None,
) -> None:
    for name, given in (("heads", heads), ("labels", labels)):
        if given is not None and len(given) != len(sentences):
            raise ValueError(
                f"{name} came for {len(given)} sentences, and {len(sentences)} sentences; expected "
                "as many."
            )
    for index, (sentence, names) in enumerate(zip(sentences, labels or (), strict=False)):
        if len(names) != len(sentence):
            raise ValueError(
                f"{where(sentence, index)} has {len(sentence)} words and {len(names)} labels; "
                "expected one for each word, _ if it is not known."
            )


def _kind(heads: IntArray) -> int:
    if (heads >= 0).all():
        return FULL
    return NONE if (heads < 0).all() else PARTIAL
