"""Features of siblings against features that are spelt out, one part at a time, in plain Python."""

import numpy as np
import pytest

from partita.estimators.parsing.feature_names import SiblingNamer
from partita.features.siblings import SiblingFeatures, SiblingKeyMaker, sibling_weights_at
from partita.kernels.features.arcs import GROUP
from partita.structures.sibling_trees import SiblingTrees
from partita.text.sibling_templates import default_sibling_templates, parse_sibling_templates
from partita.text.tree_words import read_tree_words

BITS = 9
MARGIN = 6
MASK = 2**64 - 1
TEMPLATES = """
inner.FORM modifier.UPOS
head.UPOS inner.UPOS modifier.UPOS
head.UPOS head.UPOS[1] inner.FORM.lower modifier.UPOS[-1]
inner.UPOS modifier.FORM
"""
TEXTS = ["the/D dog/N sees/V the/D cat/N", "sees/V", "a/D dog/N sees/V a/D big/A cat/N there/B"]
SENTENCES = [[tuple(word.split("/")) for word in text.split()] for text in TEXTS]


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def mixed(state, value):
    product = (state ^ (value * 0x9E3779B97F4A7C15 & MASK)) * 0xC2B2AE3D27D4EB4F & MASK
    return product ^ (product >> 32)


def key(template, role, sentence, word):
    """What a template says of a word (0 for the root) in a role."""
    state = fnv1a(f"{template.text}\0{role}")
    for field in template.at(role):
        there = word + field.field.offset
        if field.field.offset and (word == 0 or not 1 <= there <= len(sentence)):
            seen = "\0edge"
        elif there == 0:
            seen = "\0root"
        else:
            seen = sentence[there - 1][0 if field.column == "FORM" else 1]
        state = mixed(state, fnv1a(seen))
    return mixed(state, 1) >> 32


def naive_places(template, sentence, head, inner, modifier):
    """The places of a feature, plain and with the distance."""
    together = key(template, "modifier", sentence, modifier)
    side = "R" if head < modifier else "L"
    together ^= mixed(fnv1a(f"{template.text}\0{side}"), 1) >> 32
    if inner == head:
        together ^= mixed(fnv1a(f"{template.text}\0nobody"), 1) >> 32
    else:
        together ^= key(template, "inner", sentence, inner)
    if template.at("head"):
        together ^= key(template, "head", sentence, head)
    plain = (together * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - BITS)
    distance = abs(inner - modifier)
    slot = distance if distance < 5 else 5 if distance < 7 else 6 if distance < 11 else 7
    return plain, plain // GROUP * GROUP + (plain + slot) % GROUP


def all_parts(n_words):
    for head in range(n_words + 1):
        for modifier in range(1, n_words + 1):
            step = 1 if head < modifier else -1
            for inner in range(head, modifier, step):
                yield head, inner, modifier


@pytest.fixture(scope="module")
def made():
    words = read_tree_words(SENTENCES)
    maker = SiblingKeyMaker.learn(parse_sibling_templates(TEMPLATES), words, min_count=1)
    trees = SiblingTrees([len(sentence) for sentence in SENTENCES])
    keys = maker.keys(words)
    return words, maker, trees, keys, SiblingFeatures(trees, keys, words.first_nodes[:-1], BITS)


def test_part_by_part(made):
    _, maker, trees, keys, features = made
    weights = np.random.default_rng(0).normal(size=features.n_weights)
    matrix = np.zeros((trees.n_parts, features.n_weights))
    _, starts = trees.array_starts
    for sentence, start in zip(SENTENCES, starts, strict=True):
        width = len(sentence) + 1
        for head, inner, modifier in all_parts(len(sentence)):
            part = start + (head * width + inner) * width + modifier
            for template in maker.templates:
                for place in naive_places(template, sentence, head, inner, modifier):
                    matrix[part, MARGIN + place] += 1.0
    np.testing.assert_allclose(features.scores(weights), matrix @ weights, atol=1e-12)
    slope = np.random.default_rng(1).normal(size=trees.n_parts)
    np.testing.assert_allclose(features.gradient(slope), matrix.T @ slope, atol=1e-12)


def test_places_of_some_parts(made):
    words, maker, _, keys, _ = made
    sentence, first = SENTENCES[2], int(words.first_nodes[2])
    rows = np.array(list(all_parts(len(sentence))))
    found = sibling_weights_at(keys, first, rows, BITS)
    for row, places in zip(rows.tolist(), found.tolist(), strict=True):
        expected = [naive_places(template, sentence, *row)[0] for template in maker.ordered]
        assert places == expected


def test_names(made):
    words, maker, *_ = made
    namer = SiblingNamer(maker, words, 0)
    names = [feature.name for feature in namer.features(3, 2, 1)]
    assert names[0] == "head.UPOS=V inner.UPOS=N modifier.UPOS=D left"
    alone = [feature.name for feature in namer.features(3, 3, 5)]
    assert alone[2] == "inner.FORM=<none> modifier.UPOS=N right"


def test_default_templates_fit_the_columns():
    assert all(each.columns <= {"FORM"} for each in default_sibling_templates(["FORM"]))
    everything = default_sibling_templates(["FORM", "LEMMA", "UPOS", "XPOS", "FEATS"])
    assert len(everything) > len(default_sibling_templates(["FORM", "UPOS"]))


def test_a_template_that_cannot_be_read():
    with pytest.raises(ValueError, match=r"line 1.*between\.UPOS"):
        parse_sibling_templates("between.UPOS inner.UPOS")
