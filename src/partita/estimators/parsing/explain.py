"""Why: what a parser is, and what made a decision."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from partita.arrays import FloatArray
from partita.estimators.explain import (
    Cell,
    Contribution,
    Decision,
    Explanation,
    Report,
    Table,
    netted,
)
from partita.estimators.parsing.feature_names import TreeTemplate, arc_weights, sibling_weights
from partita.estimators.parsing.model import ParserModel, without_labels
from partita.structures.sibling_forests import sibling_places
from partita.text.markers import MARKER
from partita.text.words import Words


@dataclass(frozen=True, repr=False)
class HeadExplanation(Explanation):
    """Why a word has its head and not the runner-up.

    The runner-up is the head that it has in the best of all trees in which it has another; the
    trees may differ at other words, too.
    """

    word: int
    """From 0."""
    decision: Decision
    words: tuple[str, ...]
    heads: tuple[int, ...]
    """The best tree; 0 is the root, words count from 1."""
    other_heads: tuple[int, ...]
    """The best tree with another head at the word."""
    contributions: tuple[Contribution, ...]
    templates: Mapping[str, TreeTemplate]
    """Of each feature."""
    n_shown: int = 10
    """Templates to show, of those that decided."""

    @property
    def head(self) -> int:
        """The word's head."""
        return self.heads[self.word]

    @property
    def runner_up(self) -> int:
        """The head that it would have otherwise."""
        return self.other_heads[self.word]

    def facts(self) -> dict[str, Cell]:
        """The decision, its rival, and the two trees."""
        trees = {"best tree": self.heads, "other tree": self.other_heads}
        texts = {
            name: " ".join(f"{form}/{head}" for form, head in zip(self.words, heads, strict=True))
            for name, heads in trees.items()
        }
        return {**super().facts(), **texts}

    def tables(self) -> Sequence[Table]:
        """Where the trees differ, what kind of evidence decided, and which templates."""
        places = self._summed(lambda each: each.place)
        kinds = self._summed(lambda each: evidence(self.templates[each.feature]))
        templates = self._summed(lambda each: self.templates[each.feature].text)
        rows: list[tuple[Cell, ...]] = [row[:1] + row[2:] for row in templates]
        rest = rows[self.n_shown :]
        if rest:
            total = math.fsum(float(row[0]) for row in rest)
            rows[self.n_shown :] = [(total, "", f"{len(rest)} templates more")]
        columns = ("of it", "strongest feature")
        found = [
            Table("What decided:", ("lead", "by", *columns), kinds),
            Table("Templates that decided:", ("lead", *columns), rows),
        ]
        if len(places) > 1:
            found.insert(0, Table("Where the trees differ:", ("lead", "at", *columns), places))
        return found

    def _summed(self, key: Callable[[Contribution], str]) -> list[tuple[float, str, float, str]]:
        """Sums of groups of contributions, with the strongest of each; the largest first."""
        groups: dict[str, list[Contribution]] = {}
        for each in self.contributions:
            groups.setdefault(key(each), []).append(each)
        rows = [
            # Contributions are sorted, so that the first of a group is its strongest.
            (math.fsum(each.value for each in group), name, group[0].value, group[0].feature)
            for name, group in groups.items()
        ]
        return sorted(rows, key=lambda row: -abs(row[0]))


def evidence(template: TreeTemplate) -> str:
    """What a template looks at, in a few words.

    >>> from partita.text.arc_templates import read_arc_templates
    >>> evidence(read_arc_templates("head.UPOS modifier.UPOS[-1] modifier.UPOS")[0])
    'both words and their neighbours'
    """
    if template.at("inner"):
        return "modifiers side by side"
    if template.at("between"):
        return "what lies between"
    ends = [each for each in ("head", "modifier") if template.at(each)]
    name = f"the {ends[0]} alone" if len(ends) == 1 else "both words"
    if any(each.field.offset or each.column == MARKER for each in template.fields):
        return (
            f"the {ends[0]} and its neighbours"
            if len(ends) == 1
            else f"{name} and their neighbours"
        )
    return name


@dataclass(frozen=True, repr=False)
class ParserInspection(Report):
    """What a parser is, and its strongest features of arcs in the training trees."""

    about: Mapping[str, Cell]
    strongest: Mapping[str, Sequence[tuple[str, float]]]
    """For each template features with their weights, the largest (of either sign) first."""
    n_features: int = 10
    """Features to show."""

    def facts(self) -> dict[str, Cell]:
        """The lines that a person wants first."""
        return dict(self.about)

    def tables(self) -> Sequence[Table]:
        """The strongest features of all."""
        every = [(weight, name) for found in self.strongest.values() for name, weight in found]
        every.sort(key=lambda pair: -abs(pair[0]))
        title = "The strongest features of arcs in the first training trees:"
        return [Table(title, ("weight", "feature"), every[: self.n_features])]

    def by_template(self) -> list[Table]:
        """The strongest features of each template."""
        return [
            Table(
                template,
                ("weight", "feature"),
                [(weight, name) for name, weight in found[: self.n_features]],
            )
            for template, found in self.strongest.items()
        ]


def explain_word(
    model: ParserModel, weights: FloatArray, sentence: Any, word: int
) -> HeadExplanation:
    """The features that made the decision about the head of a word (from 0) of a sentence."""
    if not 0 <= word < len(sentence):
        raise ValueError(
            f"word is {word}; expected 0 to {len(sentence) - 1}, a word of the sentence."
        )
    encoded = model.encode([sentence])
    (piece,) = model.pieces(encoded)
    labelled = piece.at(weights)
    # Of arcs with labels the best trees with their labels are compared.
    p = without_labels(labelled, best=True)
    (best,), summed = p.best.structures, without_labels(labelled)
    (marginals,) = summed.structures.split_arrays(summed.inference.marginals)[0]
    allowed = np.ones(p.structures.n_parts, dtype=np.bool_)
    (arcs,) = p.structures.split_arrays(allowed)[0]
    arcs[best[word], word + 1] = False
    others = p.structures.argmax(np.where(allowed, p.scores, -np.inf))
    if others.scores[0] == -np.inf:
        raise ValueError(f"no other head is possible for word {word}; nothing can be compared.")
    (other,) = others.structures
    forms = _forms(encoded.words)
    nodes = ["the root", *(f"{form!r} (word {index})" for index, form in enumerate(forms, 1))]
    found, templates = [], dict[str, TreeTemplate]()
    # A word may keep its head and get another sibling.
    is_same = sibling_places(best) == sibling_places(other)
    differing = np.flatnonzero(~is_same.all(axis=1))
    for heads, sign in ((best, 1.0), (other, -1.0)):
        rows = arc_weights(model, weights, encoded, heads[differing], differing + 1)
        siblings = sibling_weights(model, weights, encoded, sibling_places(heads)[differing])
        rows = [[*arc, *more] for arc, more in zip(rows, siblings, strict=True)]
        for place, row in zip(differing.tolist(), rows, strict=True):
            for feature, weight in row:
                found.append(Contribution(nodes[place + 1], feature.name, sign * weight))
                templates[feature.name] = feature.template
    return HeadExplanation(
        word,
        Decision(
            f"the head of {nodes[word + 1]}",
            nodes[best[word]],
            nodes[other[word]],
            float(marginals[best[word], word + 1]),
            float(marginals[other[word], word + 1]),
        ),
        forms,
        tuple(best.tolist()),
        tuple(other.tolist()),
        netted(found),
        templates,
    )


def _forms(words: Words) -> tuple[str, ...]:
    column = words.columns.get("FORM") or next(iter(words.columns.values()))
    return tuple(column.values[number] for number in column.numbers.tolist())
