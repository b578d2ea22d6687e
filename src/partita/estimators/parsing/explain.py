"""Why: names of hashed features, the strongest of them, and what made a decision.

A hashed weight has no name; so names are made on demand, for the features of a few arcs, in the
order in which the kernel has them.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.explain import (
    Cell,
    Contribution,
    Decision,
    Explanation,
    Report,
    Table,
    netted,
)
from partita.estimators.parsing.model import KeyedWords, ParserModel, without_labels
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import distance_slots, places, table, with_distance
from partita.features.labelled_arcs import row_places
from partita.kernels.features.arcs import MOST_COUNTED, MOST_KINDS
from partita.text.arc_templates import ArcTemplate
from partita.text.fields import RoleField
from partita.text.known_values import EDGE, NONE, ROOT, SHOWN
from partita.text.markers import MARKER
from partita.text.views import find_view
from partita.text.words import Words

DISTANCES = ("1", "2", "3", "4", "5-6", "7-10", "11+")


class Feature(NamedTuple):
    """A feature of an arc."""

    template: ArcTemplate
    name: str


@dataclass(frozen=True)
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
    templates: Mapping[str, ArcTemplate]
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


def evidence(template: ArcTemplate) -> str:
    """What a template looks at, in a few words.

    >>> from partita.text.arc_templates import read_arc_templates
    >>> evidence(read_arc_templates("head.UPOS modifier.UPOS[-1] modifier.UPOS")[0])
    'both words and their neighbours'
    """
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


@dataclass(frozen=True)
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
    (best,), (marginals,) = p.best.structures, without_labels(labelled).marginals
    arcs = np.ones_like(marginals, dtype=np.bool_)
    arcs[best[word], word + 1] = False
    others = p.structures.argmax(np.where(arcs.ravel(), p.scores, -np.inf))
    if others.scores[0] == -np.inf:
        raise ValueError(f"no other head is possible for word {word}; nothing can be compared.")
    (other,) = others.structures
    forms = _forms(encoded.words)
    nodes = ["the root", *(f"{form!r} (word {index})" for index, form in enumerate(forms, 1))]
    found, templates = [], dict[str, ArcTemplate]()
    differing = np.flatnonzero(best != other)
    for heads, sign in ((best, 1.0), (other, -1.0)):
        rows = arc_weights(model, weights, encoded, heads[differing], differing + 1)
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


def arc_weights(
    model: ParserModel,
    weights: FloatArray,
    encoded: KeyedWords,
    heads: IntArray,
    modifiers: IntArray,
    sentence: int = 0,
) -> list[list[tuple[Feature, float]]]:
    """For each of some arcs of a sentence its features and their weights, which sum to its score.

    Each feature comes twice: with the direction of the arc, and with its distance as well. An arc
    with labels has its best one.
    """
    words, ends = encoded.words, list(zip(heads.tolist(), modifiers.tolist(), strict=True))
    first, n_words = int(words.first_nodes[sentence]), int(words.n_words[sentence])
    plain = places(encoded.keys, first, n_words, heads, modifiers, model.n_bits)
    hashed, namer = table(weights[: model.n_arc_weights]), Namer(model.maker, words, sentence)
    result = [namer.weights(*arc, hashed, here) for arc, here in zip(ends, plain, strict=True)]
    labels, keys = model.labels, encoded.label_keys
    if labels is not None and keys is not None:
        rows = row_places(keys, first + heads, first + modifiers, labels.n_bits)
        by_label = weights[model.n_arc_weights :].reshape(-1, len(labels.names))
        namer = Namer(labels.maker, words, sentence)
        for arc, row, found in zip(ends, rows.astype(np.int64), result, strict=True):
            best = int(by_label[row].sum(axis=0).argmax())
            prefix = f"label={labels.names[best]} "
            found += namer.weights(*arc, by_label[:, best], row[: len(row) // 2], prefix)
    return result


def distance_name(head: int, modifier: int) -> str:
    """How features say how long an arc is."""
    return f"distance={DISTANCES[distance_slots(head - modifier)]}"


class Namer:
    """Says in words what the features of the arcs of one sentence are."""

    def __init__(self, maker: KeyMaker, words: Words, sentence: int) -> None:
        self._maker, self._words = maker, words
        self._first = int(words.n_words[:sentence].sum())
        self._n_words = int(words.n_words[sentence])

    def weights(
        self, head: int, modifier: int, hashed: FloatArray, plain: Array, prefix: str = ""
    ) -> list[tuple[Feature, float]]:
        """All features of an arc and their weights, each without and then with the distance."""
        suffix, found = distance_name(head, modifier), []
        further = with_distance(plain, head, modifier)
        features = self.features(head, modifier)
        for (template, name), *both in zip(features, plain, further, strict=True):
            for text, place in zip((name, f"{name} {suffix}"), both, strict=True):
                found.append((Feature(template, prefix + text), float(hashed[place])))
        return found

    def features(self, head: int, modifier: int) -> list[Feature]:
        """All features of an arc, in the kernel's order."""
        side = "right" if head < modifier else "left"
        found = []
        for template in self._maker.ordered:
            fields = template.fields
            values = [self._values(field, head, modifier) for field in fields]
            # The kernel goes through the head's set first, then the modifier's, then the kinds.
            ranks = {"head": 0, "modifier": 1, "between": 2}
            order = sorted(range(len(values)), key=lambda i: ranks[fields[i].role])
            for chosen in product(*(values[i] for i in order)):
                texts = dict(zip(order, chosen, strict=True))
                pairs = [
                    f"{field.text}={texts[i]}"
                    if field.value is None
                    else f"{field.text}:{texts[i]}"
                    for i, field in enumerate(fields)
                ]
                found.append(Feature(template, " ".join([*pairs, side])))
        return found

    def _values(self, field: RoleField, head: int, modifier: int) -> list[str]:
        if field.role == "between":
            step = 1 if head < modifier else -1
            between = [self._between(field, word) for word in range(head + step, modifier, step)]
            if field.value is not None:
                return [str(min(between.count(field.value), MOST_COUNTED))]
            return list(dict.fromkeys(map(self._kind, between)))
        word, offset = head if field.role == "head" else modifier, field.field.offset
        if offset:
            word = word + offset if word and 1 <= word + offset <= self._n_words else -1
        if word <= 0:
            outside = [] if field.field.is_multiple else [ROOT if word == 0 else EDGE]
            return [SHOWN[value] for value in outside]
        sight = field.column, field.field.view
        known = self._maker.known
        if field.field.is_multiple:
            (values,) = known.members(sight, [self._raw(field, word)])
        else:
            values = known.seen(sight, [self._raw(field, word)])
        return [SHOWN.get(value, value) for value in values]

    def _kind(self, value: str) -> str:
        kinds = self._maker.kinds
        return SHOWN.get(value, value) if value in kinds else f"<other {MOST_KINDS - 1}>"

    def _raw(self, field: RoleField, word: int) -> str:
        return self._words.columns[field.column][self._first + word - 1]

    def _between(self, field: RoleField, word: int) -> str:
        """What is seen at a word between, however rare it is."""
        seen = find_view(field.field.view)(self._raw(field, word))
        return NONE if seen is None else seen


def strongest_features(
    model: ParserModel,
    weights: FloatArray,
    encoded: KeyedWords,
    trees: Iterable[tuple[int, IntArray]],
    n_features: int = 20,
) -> dict[str, list[tuple[str, float]]]:
    """For each template the features of the largest weights among the arcs of trees.

    `trees` has numbers of sentences and their heads.
    """
    found: dict[str, dict[str, float]] = {t.text: {} for t in model.maker.ordered}
    plain = replace(model, labels=None)
    for sentence, tree in trees:
        rows = arc_weights(plain, weights, encoded, tree, np.arange(1, len(tree) + 1), sentence)
        for row in rows:
            # Every second one has the distance, too.
            for feature, weight in row[::2]:
                found[feature.template.text][feature.name] = weight
    return {
        template: sorted(features.items(), key=lambda pair: -abs(pair[1]))[:n_features]
        for template, features in found.items()
    }
