"""Arc features against features that are spelt out, one arc at a time, in plain Python."""

from itertools import pairwise, product

import numpy as np
import pytest

from partita.estimators.parsing.explain import Namer, arc_weights
from partita.estimators.parsing.keys import KeyMaker, kind_column
from partita.estimators.parsing.model import Encoded, ParserModel
from partita.estimators.parsing.templates import parse_templates
from partita.estimators.parsing.words import Lexicon, read_words
from partita.features.arcs import ArcFeatures, most_places
from partita.structures.spanning_trees import SpanningTrees

BITS = 9
TEMPLATES = """
head.form modifier.form
head.upos head+1.upos modifier-1.upos modifier.upos
head.lower modifier.suffix2
head.upos modifier.upos between.upos=VERB
head.upos modifier.upos between.upos=NOUN between.lower=the
head.upos between.upos modifier.upos
head.feat modifier.feat
modifier.feats:Case head.upos
head.prefix1 modifier-1.feat between.upos
head.upos head-1.upos
head.shape
modifier.form
modifier.upos modifier+2.upos
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


def view(sentence, position, name):
    """The value of a view at a position; None for a set."""
    form, upos, _, _, feats = sentence[position - 1]
    if name == "form":
        return form
    if name == "lower":
        return form.lower()
    if name == "upos":
        return upos
    if name.startswith("feats:"):
        pairs = dict(item.split("=") for item in feats.split("|")) if feats != "_" else {}
        return pairs.get(name[6:], "")
    if name.startswith("suffix"):
        return form.lower()[-int(name[6:]) :]
    if name.startswith("prefix"):
        return form.lower()[: int(name[6:])]
    assert name == "shape"
    return {"the": "xx", "Dogs": "Xx", "cats": "xx", "see": "xx"}[form]


def side_keys(template, side, sentence, position):
    """The keys that one end gives: many where it has a set."""
    state = fnv1a(f"{template.text}\0{side}")
    members = None
    for atom in template.at(side):
        there = position + atom.offset
        outside = atom.offset and (position == 0 or not 1 <= there <= len(sentence))
        if atom.view == "feat":
            feats = "_" if outside or there == 0 else sentence[there - 1][4]
            members = [] if feats == "_" else feats.split("|")
        elif outside:
            state = mixed(state, fnv1a("\0edge"))
        else:
            value = "\0root" if there == 0 else view(sentence, there, atom.view)
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
        for atom in template.at("between"):
            values = [view(sentence, word, atom.view) for word in between]
            if atom.value is not None:
                count = min(values.count(atom.value), 3)
                more = [more[0] ^ finished(fnv1a(f"{template.text}\0{atom.text}\0{count}"))]
            else:
                more = [finished(fnv1a(f"{template.text}\0{kind}")) for kind in sorted(set(values))]
        direction = finished(fnv1a(f"{template.text}\0{'R' if head < modifier else 'L'}"))
        for first, second, third in product(*both, more):
            key = first ^ second ^ third ^ direction
            place = (key * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - BITS)
            yield place, place // 8 * 8 + (place + slot) % 8


@pytest.fixture(scope="module")
def made():
    templates = parse_templates(TEMPLATES)
    words = read_words(SENTENCES)
    lexicon = Lexicon.learn(words, 1, kind_column(templates))
    keys = KeyMaker(templates, lexicon).keys(words)
    trees = SpanningTrees(words.n_words)
    features = ArcFeatures(trees, keys, words.first_nodes[:-1], BITS)
    return templates, lexicon, Encoded(words, keys, np.arange(len(SENTENCES))), trees, features


def arcs_of(n_words):
    return [
        (head, modifier)
        for head, modifier in product(range(n_words + 1), range(1, n_words + 1))
        if head != modifier
    ]


def test_scores_are_those_of_features_spelt_out(made):
    templates, _, _, trees, features = made
    weights = np.random.default_rng(0).normal(size=features.n_weights)
    hashed = weights[6:-2]
    for sentence, scores in zip(SENTENCES, trees.split(features.scores(weights)), strict=True):
        for head, modifier in arcs_of(len(sentence)):
            places = list(naive_places(templates, sentence, head, modifier))
            expected = sum(hashed[plain] + hashed[far] for plain, far in places)
            np.testing.assert_allclose(scores[head, modifier], expected, rtol=0, atol=1e-9)
        assert not scores[:, 0].any()
        assert not scores.diagonal().any()


def test_a_batch_makes_room_for_its_own_features(made):
    _, _, encoded, _, features = made
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
    templates, _, _, trees, features = made
    rng = np.random.default_rng(1)
    slopes = rng.normal(size=trees.n_parts)
    for arcs in trees.split(slopes):
        arcs[:, 0] = 0.0
        np.fill_diagonal(arcs, 0.0)
    expected = np.zeros(features.n_weights)
    for sentence, arcs in zip(SENTENCES, trees.split(slopes), strict=True):
        for head, modifier in arcs_of(len(sentence)):
            for places in naive_places(templates, sentence, head, modifier):
                for place in places:
                    expected[6 + place] += arcs[head, modifier]
    np.testing.assert_allclose(features.gradient(slopes), expected, rtol=0, atol=1e-9)
    weights = rng.normal(size=features.n_weights)
    np.testing.assert_allclose(
        features.scores(weights) @ slopes, weights @ expected, rtol=0, atol=1e-9
    )


def test_names_belong_to_the_weights(made):
    templates, lexicon, encoded, trees, features = made
    model = ParserModel(templates, lexicon, BITS, False, True, ())
    weights = np.random.default_rng(2).normal(size=features.n_weights)
    for index, scores in enumerate(trees.split(features.scores(weights))):
        arcs = np.array(arcs_of(len(scores) - 1))
        found = arc_weights(model, weights, encoded, arcs[:, 0], arcs[:, 1], index)
        for (head, modifier), pairs in zip(arcs.tolist(), found, strict=True):
            total = sum(weight for _, weight in pairs)
            np.testing.assert_allclose(total, scores[head, modifier], rtol=0, atol=1e-9)


def test_names_say_what_holds(made):
    templates, lexicon, encoded, _, _ = made
    model = ParserModel(templates, lexicon, BITS, False, True, ())
    names = [feature.name for feature in Namer(model, encoded.words, 0).features(3, 5)]
    assert "head.form=see modifier.form=cats right" in names
    assert "head.upos=VERB between.upos=DET modifier.upos=NOUN right" in names
    assert "head.upos=VERB modifier.upos=NOUN between.upos=VERB:0 right" in names
    assert "head.feat=Mood=Ind modifier.feat=Case=Acc right" in names
    names = [feature.name for feature in Namer(model, encoded.words, 0).features(0, 1)]
    assert "head.form=<root> modifier.form=the right" in names


def test_rare_words_are_alike():
    words = read_words([["a", "a", "b"], ["c"]])
    lexicon = Lexicon.learn(words, 2, "")
    assert lexicon.known["form"] == {"a"}
    assert lexicon.shown("form", "b") == lexicon.shown("form", "never seen")
