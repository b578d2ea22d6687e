"""The strongest features of a parser, against those that all features of all arcs give."""

import numpy as np
import pytest

import partita as pt
from partita.estimators.parsing.feature_names import arc_weights, sibling_weights
from partita.structures.sibling_forests import sibling_places
from small_treebank import SMALL, made


@pytest.mark.parametrize("order", [1, 2])
def test_the_strongest_features_are_those_of_all(order):
    """By the names of all features of all arcs, which take long."""
    trees = made(12)
    parser = pt.DependencyParser(max_iterations=2, order=order, sibling_bits=10, **SMALL)
    parser.fit(trees)
    encoded = parser.model_.encode(trees)
    found = {}
    for sentence, tree in enumerate(trees):
        heads = np.array(list(map(int, tree.column("HEAD"))))
        modifiers = np.arange(1, len(heads) + 1)
        given = parser.model_, parser.weights_, encoded
        rows = arc_weights(*given, heads, modifiers, sentence)
        rows += sibling_weights(*given, sibling_places(heads), sentence)
        for feature, weight in (pair for row in rows for pair in row[::2]):
            found.setdefault(feature.template.text, {})[feature.name] = weight
    assert found.keys() == parser.strongest_.keys()
    for template, features in found.items():
        sizes = sorted(map(abs, features.values()), reverse=True)
        assert [abs(weight) for _, weight in parser.strongest_[template]] == sizes[:20]
        assert dict(parser.strongest_[template]).items() <= features.items()
