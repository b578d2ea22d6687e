"""Names of hashed features and their weights.

A hashed weight has no name; so names are made on demand, for the features of a few arcs, in the
order in which the kernel has them.
"""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple

import numpy as np

from partita.arrays import Array, FloatArray, IntArray
from partita.estimators.parsing.model import KeyedWords, ParserModel
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import distance_slots, places, table, with_distance
from partita.features.labelled_arcs import row_places
from partita.features.siblings import SiblingKeyMaker, sibling_weights_at
from partita.kernels.features.arcs import MOST_COUNTED, MOST_KINDS
from partita.text.arc_templates import ArcTemplate, is_counted
from partita.text.fields import RoleField
from partita.text.known_values import EDGE, NONE, ROOT, SHOWN, KnownValues
from partita.text.sibling_templates import SiblingTemplate
from partita.text.views import find_view
from partita.text.words import Words

DISTANCES = ("1", "2", "3", "4", "5-6", "7-10", "11+")
NOBODY = "<none>"
"""What is seen of an inner sibling where there is none."""
TreeTemplate = ArcTemplate | SiblingTemplate


class Feature(NamedTuple):
    """A feature of an arc, or of siblings."""

    template: TreeTemplate
    name: str


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
    hashed = table(weights[: model.n_arc_weights])
    namer = Namer(model.maker, words, sentence)
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


def sibling_weights(
    model: ParserModel, weights: FloatArray, encoded: KeyedWords, rows: IntArray, sentence: int = 0
) -> list[list[tuple[Feature, float]]]:
    """The same for rows (head, inner sibling, modifier); none in a parser of the first order."""
    if model.siblings is None or encoded.sibling_keys is None:
        return [[] for _ in rows]
    words, siblings = encoded.words, model.siblings
    first, hashed = int(words.first_nodes[sentence]), table(weights[model.n_arc_weights :])
    plain = sibling_weights_at(encoded.sibling_keys, first, rows, siblings.n_bits)
    namer = SiblingNamer(siblings.maker, words, sentence)
    result = []
    for (head, inner, modifier), here in zip(rows.tolist(), plain, strict=True):
        features = namer.features(head, inner, modifier)
        result.append(_weighed(features, inner, modifier, hashed, here))
    return result


def _weighed(
    features: Iterable[Feature], first: int, second: int, hashed: FloatArray, plain: Array
) -> list[tuple[Feature, float]]:
    """Features and their weights, each without and then with the distance of two words."""
    suffix, found = distance_name(first, second), []
    further = with_distance(plain, first, second)
    for (template, name), *both in zip(features, plain, further, strict=True):
        for text, place in zip((name, f"{name} {suffix}"), both, strict=True):
            found.append((Feature(template, text), float(hashed[place])))
    return found


def distance_name(head: int, modifier: int) -> str:
    """How features say how long an arc is."""
    return f"distance={DISTANCES[distance_slots(head - modifier)]}"


class WordValues:
    """What fields see at the words of one sentence, as features are named."""

    def __init__(self, known: KnownValues, words: Words, sentence: int) -> None:
        self._known, self._words = known, words
        self._first = int(words.n_words[:sentence].sum())
        self._n_words = int(words.n_words[sentence])

    def seen(self, field: RoleField, word: int) -> list[str]:
        """All that a field sees from a word, 0 for the root."""
        offset = field.field.offset
        if offset:
            word = word + offset if word and 1 <= word + offset <= self._n_words else -1
        if word <= 0:
            outside = [] if field.field.is_multiple else [ROOT if word == 0 else EDGE]
            return [SHOWN[value] for value in outside]
        sight = field.column, field.field.view
        if field.field.is_multiple:
            (values,) = self._known.members(sight, [self.raw(field, word)])
        else:
            values = self._known.seen(sight, [self.raw(field, word)])
        return [SHOWN.get(value, value) for value in values]

    def raw(self, field: RoleField, word: int) -> str:
        """What the field's column has at a word."""
        return self._words.columns[field.column][self._first + word - 1]


class SiblingNamer:
    """Says in words what the features of siblings of one sentence are."""

    def __init__(self, maker: SiblingKeyMaker, words: Words, sentence: int) -> None:
        self._maker = maker
        self._values = WordValues(maker.known, words, sentence)

    def features(self, head: int, inner: int, modifier: int) -> list[Feature]:
        """All features of a modifier with its inner sibling, in the kernel's order."""
        return [
            Feature(template, self.name(template, head, inner, modifier))
            for template in self._maker.ordered
        ]

    def name(self, template: SiblingTemplate, head: int, inner: int, modifier: int) -> str:
        """That of the feature which a template gives them."""
        side, words = "right" if head < modifier else "left", {"head": head, "modifier": modifier}
        if inner != head:
            words["inner"] = inner
        pairs = []
        for field in template.fields:
            word = words.get(field.role)
            seen = NOBODY if word is None else self._values.seen(field, word)[0]
            pairs.append(f"{field.text}={seen}")
        return " ".join([*pairs, side])


class Namer:
    """Says in words what the features of the arcs of one sentence are."""

    def __init__(self, maker: KeyMaker, words: Words, sentence: int) -> None:
        self._maker = maker
        self._seen = WordValues(maker.known, words, sentence)

    def weights(
        self, head: int, modifier: int, hashed: FloatArray, plain: Array, prefix: str = ""
    ) -> list[tuple[Feature, float]]:
        """All features of an arc and their weights, each without and then with the distance."""
        features = [
            Feature(template, prefix + name) for template, name in self.features(head, modifier)
        ]
        return _weighed(features, head, modifier, hashed, plain)

    def features(self, head: int, modifier: int) -> list[Feature]:
        """All features of an arc, in the kernel's order."""
        return [
            Feature(template, name)
            for template in self._maker.ordered
            for name in self.names(template, head, modifier)
        ]

    def names(self, template: ArcTemplate, head: int, modifier: int) -> Iterator[str]:
        """Those of the features that a template gives an arc, in the kernel's order."""
        side = "right" if head < modifier else "left"
        fields = template.fields
        values = [self._values(field, head, modifier) for field in fields]
        # The kernel goes through the head's set first, then the modifier's, then the kinds.
        ranks = {"head": 0, "modifier": 1, "between": 2}
        order = sorted(range(len(values)), key=lambda i: ranks[fields[i].role])
        for chosen in product(*(values[i] for i in order)):
            texts = dict(zip(order, chosen, strict=True))
            pairs = [
                f"{field.text}={texts[i]}" if field.value is None else f"{field.text}:{texts[i]}"
                for i, field in enumerate(fields)
            ]
            yield " ".join([*pairs, side])

    def _values(self, field: RoleField, head: int, modifier: int) -> list[str]:
        if field.role == "between":
            step = 1 if head < modifier else -1
            between = [self._between(field, word) for word in range(head + step, modifier, step)]
            if field.value is not None:
                n_counted = sum(is_counted(field.field, field.value, each) for each in between)
                return [str(min(n_counted, MOST_COUNTED))]
            return list(dict.fromkeys(map(self._kind, between)))
        return self._seen.seen(field, head if field.role == "head" else modifier)

    def _kind(self, value: str) -> str:
        kinds = self._maker.kinds
        return SHOWN.get(value, value) if value in kinds else f"<other {MOST_KINDS - 1}>"

    def _between(self, field: RoleField, word: int) -> str:
        """What is seen at a word between, however rare it is."""
        seen = find_view(field.field.view)(self._seen.raw(field, word))
        return NONE if seen is None else seen
