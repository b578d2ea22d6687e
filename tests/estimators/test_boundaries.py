"""Weights of the first and of the last tag: <*, tag> and <tag, stop>."""

import itertools

import numpy as np
import pytest

import partita as pt
from small_tagging import as_dicts, sentences

WORDS, TAGS = sentences(40)


@pytest.mark.parametrize("pairs", ["all", "observed"])
@pytest.mark.parametrize("kind", ["words", "dictionaries"])
def test_the_loss_by_enumeration(pairs, kind, tmp_path):
    options = {"pairs": pairs, "boundaries": True, "max_iterations": 8, "progress": False}
    few = [(w, t) for w, t in zip(WORDS, TAGS, strict=True) if len(w) <= 4][:6]
    words, tags = [w for w, _ in few], [t for _, t in few]
    given = as_dicts(words) if kind == "dictionaries" else words
    if kind == "words":
        options["features"] = "FORM[0]\ntransition:"
    tagger = pt.Tagger(**options).fit(given, tags)
    table, transitions = tagger.model_.split(tagger.weights_)
    start, stop = table[-2], table[-1]
    names = list(tagger.tags_)
    assert tagger.model_.attribute_name(len(table) - 2) == "start"
    assert tagger.model_.attribute_name(len(table) - 1) == "stop"
    plain = tagger.model_.features.encode(tagger_words(tagger, given))
    offsets, position = plain.words.offsets, 0
    for sentence, right in zip(given, tags, strict=True):
        rows = []
        for _ in sentence:
            span = slice(offsets[position], offsets[position + 1])
            values = plain.words.values[span] if len(plain.words.values) else 1.0
            ids = plain.words.ids[span]
            rows.append(table[ids].T @ (values * np.ones(len(ids))))
            position += 1
        unary = np.array(rows)
        p = pt.LinearChain(unary, transitions[0], start=start, stop=stop)
        scores = {
            sequence: start[sequence[0]]
            + stop[sequence[-1]]
            + unary[np.arange(len(sequence)), list(sequence)].sum()
            + sum(transitions[0][a, b] for a, b in itertools.pairwise(sequence))
            for sequence in itertools.product(range(len(names)), repeat=len(sentence))
        }
        total = np.log(sum(np.exp(list(scores.values()))))
        numbers = tuple(names.index(tag) for tag in right)
        found = tagger.log_prob([sentence], [right])[0]
        assert found == pytest.approx(scores[numbers] - total, abs=1e-9)
        assert found == pytest.approx(p.log_prob(list(numbers)), abs=1e-9)
    together = tagger.log_prob(given, tags)
    alone = [tagger.log_prob([s], [t])[0] for s, t in zip(given, tags, strict=True)]
    np.testing.assert_allclose(together, alone, rtol=0, atol=1e-12)
    tagger.save(tmp_path / "model")
    loaded = pt.Tagger.load(tmp_path / "model")
    assert loaded.log_prob(given, tags).tobytes() == tagger.log_prob(given, tags).tobytes()


def tagger_words(tagger, given):
    from partita.text.words import read_words

    return read_words(given, tagger.model_.features.columns or None)


def test_first_tags_are_learnt_without_features_of_the_boundary():
    options = {"features": "FORM[0]\ntransition:", "l2": 0.01, "progress": False}
    words, tags = [["x", "x"]] * 5, [["A", "B"]] * 5
    with_them = pt.Tagger(boundaries=True, **options).fit(words, tags)
    without = pt.Tagger(**options).fit(words, tags)
    assert with_them.training_.loss < without.training_.loss
    start = {s.feature for s in with_them.inspect().features["A"]}
    assert "start" in start
    again = pt.Tagger(boundaries=True, warm_start=without, max_iterations=0, **options)
    assert again.fit(words, tags).predict(words) == without.predict(words)
    assert any(
        c.feature in ("start", "stop") for c in with_them.explain(["x", "x"], 0).contributions
    )
