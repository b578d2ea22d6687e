"""Arc features against features that are spelt out, one arc at a time, in plain Python."""

from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest

from partita.estimators.parsing.feature_names import Namer, arc_weights
from partita.estimators.parsing.model import KeyedWords, ParserModel
from partita.features.arc_keys import KeyMaker
from partita.features.arcs import ArcFeatures, most_places
from partita.features.labelled_arcs import LabelledArcs, SharedArcs
from partita.structures.spanning_trees import SpanningTrees
from partita.text.arc_templates import parse_arc_templates
from partita.text.known_values import KnownValues
from partita.text.tree_words import read_tree_words

BITS = 9
TEMPLATES = """
head.FORM modifier.FORM
head.UPOS head.UPOS[1] modifier.UPOS[-1] modifier.UPOS
head.FORM.lower modifier.FORM.lower.suffix2
head.UPOS modifier.UPOS between.UPOS=VERB
head.UPOS modifier.UPOS between.UPOS=NOUN between.FORM.lower=the
head.UPOS between.UPOS modifier.UPOS
head.FEATS.each modifier.FEATS.each
modifier.FEATS.value:Case head.UPOS
head.FORM.lower.prefix1 modifier.FEATS[-1].each between.UPOS
head.UPOS head.UPOS[-1]
head.FORM.shape
modifier.FORM
modifier.UPOS modifier.UPOS[2]
"""
FEATS = {
    "the": "_",
    "Dogs": "Case=Nom|Number=Plur",
    "cats": "Case=Acc|Number=Plur",
    "see": "Mood=Ind",
}
TAGS = {"the": "DET", "Dogs": "NOUN", "cats": "NOUN", "see": "VERB"}
TEXTS = ["the Dogs see the cats", "see", "Dogs the Dogs see see the cats the the Dogs see cats the"]
SENTENCES = [
    [(word, TAGS[word], TAGS[word][:1], word.lower(), FEATS[word]) for word in text.split()]
    for text in TEXTS
]
MASK = 2**64 - 1


def fnv1a(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & MASK
    return value


def mixed(state, value):
    product_ = (state ^ (value * 0x9E3779B97F4A7C15 & MASK)) * 0xC2B2AE3D27D4EB4F & MASK
    return product_ ^ (product_ >> 32)


def finished(state):
    return mixed(state, 1) >> 32


def view(sentence, position, field):
    """What a field sees at a position, without its offset."""
    form, upos, _, _, feats = sentence[position - 1]
    column, name = field.field.column, field.field.view
    if column == "UPOS":
        return upos
    if column == "FEATS":
        pairs = dict(item.split("=") for item in feats.split("|")) if feats != "_" else {}
        return pairs.get(name.removeprefix("value:"), "\0none")
    if name == "shape":
        return {"the": "x", "Dogs": "Xx", "cats": "x", "see": "x"}[form]
    text = form.lower() if name.startswith("lower") else form
    size = int(name[-1]) if name[-1:].isdigit() else 0
    if size and len(text) <= size:
        return "\0none"
    if "suffix" in name:
        return text[-size:]
    return text[:size] if "prefix" in name else text


def side_keys(template, side, sentence, position):
    """The keys that one end gives: many where it has a set."""
    state = fnv1a(f"{template.text}\0{side}")
    members = None
    for field in template.at(side):
        there = position + field.field.offset
        outside = field.field.offset and (position == 0 or not 1 <= there <= len(sentence))
        if field.field.view == "each":
            feats = "_" if outside or there == 0 else sentence[there - 1][4]
            members = [] if feats == "_" else feats.split("|")
        elif outside:
            state = mixed(state, fnv1a("\0edge"))
        else:
            value = "\0root" if there == 0 else view(sentence, there, field)
            state = mixed(state, fnv1a(value))
    if members is None:
        return [finished(state)]
    return [finished(mixed(state, fnv1a(member))) for member in members]


def naive_places(templates, sentence, head, modifier):
    """The places of all features of an arc: (plain, with distance) for each."""
    step = 1 if head < modifier else -1
    between = range(head + step, modifier, step)
    distance = abs(head - modifier)
    slot = distance if distance < 5 else 5 if distance < 7 else 6 if distance < 11 else 7
    for template in templates:
        both = []
        if template.kind == "modifier":
            both = [[0], side_keys(template, "modifier", sentence, modifier)]
        elif template.kind == "head":
            both = [side_keys(template, "head", sentence, head), [0]]
        else:
            both = [
                side_keys(template, "head", sentence, head),
                side_keys(template, "modifier", sentence, modifier),
            ]
        more = [0]
        for field in template.at("between"):
            values = [view(sentence, word, field) for word in between]
            if field.value is not None:
                count = min(values.count(field.value), 3)
                more = [more[0] ^ finished(fnv1a(f"{template.text}\0{field.text}\0{count}"))]
            else:
                more = [finished(fnv1a(f"{template.text}\0{kind}")) for kind in sorted(set(values))]
        direction = finished(fnv1a(f"{template.text}\0{'R' if head < modifier else 'L'}"))
        for first, second, third in product(*both, more):
            key = first ^ second ^ third ^ direction
            place = (key * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - BITS)
            yield place, place // 8 * 8 + (place + slot) % 8


@pytest.fixture(scope="module")
def made():
    maker = KeyMaker.learn(parse_arc_templates(TEMPLATES), read_tree_words(SENTENCES), 1)
    words = read_tree_words(SENTENCES)
    keys = maker.keys(words)
    trees = SpanningTrees(words.n_words)
    features = ArcFeatures(trees, keys, words.first_nodes[:-1], BITS)
    return maker, KeyedWords(words, keys, np.arange(len(SENTENCES))), trees, features


def arcs_of(n_words):
    return [
        (head, modifier)
        for head, modifier in product(range(n_words + 1), range(1, n_words + 1))
        if head != modifier
    ]


def test_scores_are_those_of_features_spelt_out(made):
    maker, _, trees, features = made
    weights = np.random.default_rng(0).normal(size=features.n_weights)
    hashed = weights[6:-2]
    for sentence, scores in zip(SENTENCES, trees.split(features.scores(weights)), strict=True):
        for head, modifier in arcs_of(len(sentence)):
            places = list(naive_places(maker.templates, sentence, head, modifier))
            expected = sum(hashed[plain] + hashed[far] for plain, far in places)
            np.testing.assert_allclose(scores[head, modifier], expected, rtol=0, atol=1e-9)
        assert not scores[:, 0].any()
        assert not scores.diagonal().any()


def test_a_batch_makes_room_for_its_own_features(made):
    _, encoded, _, features = made
    starts = encoded.words.first_nodes.tolist()
    whole = most_places(encoded.keys, 0, starts[-1])
    pairs = list(pairwise(starts))
    rooms = [most_places(encoded.keys, first, last) for first, last in pairs]
    assert max(rooms) == whole
    assert min(rooms) < whole
    weights = np.random.default_rng(3).normal(size=features.n_weights)
    alone = [
        ArcFeatures(SpanningTrees([last - first - 1]), encoded.keys, np.array([first]), BITS)
        for first, last in pairs
    ]
    np.testing.assert_array_equal(
        np.concatenate([each.scores(weights) for each in alone]), features.scores(weights)
    )


def test_gradient_is_the_transpose(made):
    maker, _, trees, features = made
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=trees.n_parts)
    for arcs in trees.split(slopes):
        arcs[:, 0] = 0.0
        np.fill_diagonal(arcs, 0.0)
    expected = np.zeros(features.n_weights)
    for sentence, arcs in zip(SENTENCES, trees.split(slopes), strict=True):
        for head, modifier in arcs_of(len(sentence)):
            for places in naive_places(maker.templates, sentence, head, modifier):
                for place in places:
                    expected[6 + place] += arcs[head, modifier]
    np.testing.assert_allclose(features.gradient(slopes), expected, rtol=0, atol=1e-9)
    weights = rng.normal(size=features.n_weights)
    np.testing.assert_allclose(
        features.scores(weights) @ slopes, weights @ expected, rtol=0, atol=1e-9
    )


def test_labelled_arcs_have_a_row_of_weights_for_each_feature(made):
    # Templates of words at both ends or at one.
    maker, encoded, _, _ = made
    templates = tuple(t for t in maker.templates if t.kind in ("pair", "head", "modifier"))
    words, n_labels = encoded.words, 3
    keys = replace(maker, templates=templates).keys(words)
    trees = SpanningTrees(words.n_words, n_labels)
    features = LabelledArcs(trees, keys, words.first_nodes[:-1], BITS)
    rng = np.random.default_rng(4)
    weights, slopes = rng.normal(size=features.n_weights), rng.normal(size=features.n_parts)
    table, expected = weights.reshape(2**BITS, n_labels), np.zeros((2**BITS, n_labels))
    scores = trees.split(features.scores(weights))
    for sentence, found, given in zip(SENTENCES, scores, trees.split(slopes), strict=True):
        for head, modifier in arcs_of(len(sentence)):
            pairs = naive_places(templates, sentence, head, modifier)
            rows = [row for both in pairs for row in both]
            total = table[rows].sum(axis=0)
            np.testing.assert_allclose(found[head, modifier], total, rtol=0, atol=1e-9)
            np.add.at(expected, rows, given[head, modifier])
        # Cells that are no arc have no features.
        assert not found[:, 0].any()
        assert not found[np.arange(len(found)), np.arange(len(found))].any()
    np.testing.assert_allclose(features.gradient(slopes), expected.ravel(), rtol=0, atol=1e-9)


def test_features_that_labels_share(made):
    features = made[-1]
    shared = SharedArcs(features, 3)
    rng = np.random.default_rng(5)
    weights, slopes = rng.normal(size=shared.n_weights), rng.normal(size=shared.n_parts)
    expected = np.repeat(features.scores(weights), 3)
    np.testing.assert_array_equal(shared.scores(weights), expected)
    product = weights @ shared.gradient(slopes)
    np.testing.assert_allclose(product, expected @ slopes, rtol=0, atol=1e-9)


def test_names_belong_to_the_weights(made):
    maker, encoded, trees, features = made
    model = ParserModel(maker, BITS, False, True, ())
    weights = np.random.default_rng(2).normal(size=features.n_weights)
    for index, scores in enumerate(trees.split(features.scores(weights))):
        arcs = np.array(arcs_of(len(scores) - 1))
        found = arc_weights(model, weights, encoded, arcs[:, 0], arcs[:, 1], index)
        for (head, modifier), pairs in zip(arcs.tolist(), found, strict=True):
            total = sum(weight for _, weight in pairs)
            np.testing.assert_allclose(total, scores[head, modifier], rtol=0, atol=1e-9)


def test_names_say_what_holds(made):
    maker, encoded, _, _ = made
    names = [feature.name for feature in Namer(maker, encoded.words, 0).features(3, 5)]
    assert "head.FORM=see modifier.FORM=cats right" in names
    assert "head.UPOS=VERB between.UPOS=DET modifier.UPOS=NOUN right" in names
    assert "head.UPOS=VERB modifier.UPOS=NOUN between.UPOS=VERB:0 right" in names
    assert "head.FEATS.each=Mood=Ind modifier.FEATS.each=Case=Acc right" in names
    names = [feature.name for feature in Namer(maker, encoded.words, 0).features(0, 1)]
    assert "head.FORM=<root> modifier.FORM=the right" in names


def test_rare_words_are_alike():
    """Whatever the view: a value that training saw less than min_count times, and a new one."""
    templates = parse_arc_templates("head.FORM modifier.FORM.lower.suffix2\nmodifier.FORM.digit")
    maker = KeyMaker.learn(templates, read_tree_words([["walked", "walked", "talked", "c"]]), 2)
    keys = maker.keys(read_tree_words([["walked", "talked", "seen", "c", "3"]]))
    forms, suffixes = keys.head[1:, 0].tolist(), keys.modifier[1:, 0].tolist()
    assert len(set(forms)) == 2
    assert len(set(forms[1:])) == 1
    assert suffixes[0] == suffixes[1]  # both end in -ed
    assert suffixes[3] == suffixes[4]  # too short to have a suffix: nothing is a value, too
    assert len(set(suffixes)) == 3  # and -en is rare
    digits = keys.only_modifier[1:, 0].tolist()
    assert len(set(digits[:4])) == 1
    assert digits[4] != digits[0]


def test_known_values_read_back():
    templates = parse_arc_templates("head.FORM modifier.FEATS.value:Case\nhead.FEATS.each")
    known = KeyMaker.learn(templates, read_tree_words(SENTENCES), 2).known
    assert KnownValues.restored(known.header(), ()) == known


@pytest.mark.parametrize("tag", ["CCONJ", "CONJ"])
def test_conjunctions_by_either_name(tag):
    """Version 1 of Universal Dependencies has another name for them: they count and mark alike."""
    templates = parse_arc_templates("head.UPOS modifier.UPOS between.UPOS=CCONJ")
    sentence = [("cats", "NOUN"), ("and", tag), ("dogs", "NOUN")]
    words = read_tree_words([sentence])
    maker = KeyMaker.learn(templates, words, 1)
    assert maker.keys(words).counter[1:, 0].tolist() == [0, 1, 0]
    names = [feature.name for feature in Namer(maker, words, 0).features(1, 3)]
    assert "head.UPOS=NOUN modifier.UPOS=NOUN between.UPOS=CCONJ:1 right" in names
    assert list(words.columns["MARKER"]) == ["", "", "and"]
