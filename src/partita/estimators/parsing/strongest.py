"""The features of a parser that have the largest weights, in some trees.

A few trees have a million features, and to say in words what one of them is takes longer than to
look up a thousand weights; so weights are compared first, and only the largest get names.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from partita.arrays import FloatArray, IntArray
from partita.estimators.parsing.feature_names import Namer, SiblingNamer
from partita.estimators.parsing.model import KeyedWords, ParserModel
from partita.features.arcs import n_features, places, table
from partita.features.nodes import within_groups
from partita.features.siblings import sibling_weights_at
from partita.structures.sibling_forests import sibling_places

ALL_BITS = 32
"""Of a key: places of so many bits tell features apart that share a weight."""


class Occurrences(NamedTuple):
    """Features of parts of some trees, end to end, as arrays of one length."""

    template: IntArray
    """The number of the template."""
    place: IntArray
    """Of `ALL_BITS`."""
    part: IntArray
    """The arc, or the siblings, that it is a feature of; counted over all trees."""
    member: IntArray
    """Which of the features that the template gives to that part."""


def strongest_features(
    model: ParserModel,
    weights: FloatArray,
    encoded: KeyedWords,
    trees: Sequence[tuple[int, IntArray]],
    most: int = 20,
) -> dict[str, list[tuple[str, float]]]:
    """For each template the features of the largest weights in some trees, labels left out.

    `trees` has numbers of sentences and their heads.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    parts = [
        (sentence, (head, modifier))
        for sentence, tree in trees
        for modifier, head in enumerate(tree.tolist(), start=1)
    ]
    templates = model.maker.ordered

    def arc_name(template: int, part: int, member: int) -> str:
        sentence, arc = parts[part]
        names = Namer(model.maker, encoded.words, sentence).names(templates[template], *arc)
        return list(names)[member]

    every = _joined(_of_arcs(encoded, trees))
    hashed = table(weights[: model.n_arc_weights])
    largest = _largest(every, hashed, model.n_bits, len(templates), most, arc_name)
    found |= zip((template.text for template in templates), largest, strict=True)
    if model.siblings is None:
        return found
    rows = [row for _, tree in trees for row in sibling_places(tree).tolist()]
    siblings, of_siblings = model.siblings, model.siblings.maker.ordered

    def sibling_name(template: int, part: int, member: int) -> str:
        namer = SiblingNamer(siblings.maker, encoded.words, parts[part][0])
        return namer.name(of_siblings[template], *rows[part])

    every = _joined(_of_siblings(encoded, trees))
    hashed = table(weights[model.n_arc_weights :])
    largest = _largest(every, hashed, siblings.n_bits, len(of_siblings), most, sibling_name)
    return found | dict(zip((template.text for template in of_siblings), largest, strict=True))


def _of_arcs(
    encoded: KeyedWords, trees: Sequence[tuple[int, IntArray]]
) -> Iterator[tuple[IntArray, IntArray]]:
    """Of each tree: the places of its arcs' features, and how many each template has of them."""
    for sentence, heads in trees:
        first, n_words = int(encoded.words.first_nodes[sentence]), len(heads)
        modifiers = np.arange(1, n_words + 1)
        found = places(encoded.keys, first, n_words, heads, modifiers, ALL_BITS)
        yield np.concatenate(found), n_features(encoded.keys, first, heads, modifiers)


def _of_siblings(
    encoded: KeyedWords, trees: Sequence[tuple[int, IntArray]]
) -> Iterator[tuple[IntArray, IntArray]]:
    """The same of siblings, of which each template has one."""
    assert encoded.sibling_keys is not None
    for sentence, heads in trees:
        first = int(encoded.words.first_nodes[sentence])
        rows = sibling_places(heads)
        found = sibling_weights_at(encoded.sibling_keys, first, rows, ALL_BITS)
        yield found.ravel(), np.ones(found.shape, dtype=np.int64)


def _joined(trees: Iterator[tuple[IntArray, IntArray]]) -> Occurrences:
    found = list(trees)
    if not found:
        return Occurrences(*np.zeros((4, 0), dtype=np.int64))
    place = np.concatenate([each for each, _ in found])
    counts = np.concatenate([each for _, each in found])
    flat, (n_parts, n_templates) = counts.ravel(), counts.shape
    return Occurrences(
        np.repeat(np.tile(np.arange(n_templates), n_parts), flat),
        place,
        np.repeat(np.arange(n_parts), counts.sum(axis=1)),
        within_groups(flat),
    )


def _largest(
    every: Occurrences,
    hashed: FloatArray,
    n_bits: int,
    n_templates: int,
    most: int,
    name: Callable[[int, int, int], str],
) -> list[list[tuple[str, float]]]:
    """For each template names and weights, the largest (of either sign) first."""
    _, firsts = np.unique((every.template << ALL_BITS) | every.place, return_index=True)
    firsts.sort()  # of equal weights those that come first
    weights = hashed[every.place[firsts] >> (ALL_BITS - n_bits)]
    found = []
    for template in range(n_templates):
        own = np.flatnonzero(every.template[firsts] == template)
        best = own[np.argsort(-np.abs(weights[own]), kind="stable")[:most]]
        found.append(
            [
                (name(template, int(every.part[here]), int(every.member[here])), weight)
                for here, weight in zip(firsts[best], weights[best].tolist(), strict=True)
            ]
        )
    return found
