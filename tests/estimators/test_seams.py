"""Seams of target words against probabilities by definition, and what they change."""

import itertools
from collections import Counter
from math import exp, log

import numpy as np
import pytest

from partita import Itg, Translator
from partita.estimators.translation.seams import Seams
from partita.text.word_vocabulary import WordVocabulary

TEXT = [["a", "b", "a"], ["b"], ["a", "b", "c"], ["c", "c"], ["a"]]


def learnt(text):
    words = WordVocabulary.learn(text)
    return Seams.learn(words.encode(text), words)


def seam(before, after):
    """log p(w | v) - log p(w) by definition; None stands at both ends."""
    pairs = Counter(pair for words in TEXT for pair in itertools.pairwise([None, *words, None]))
    behind = sum(count for (_, w), count in pairs.items() if w == after) / pairs.total()
    n_before = sum(count for (v, _), count in pairs.items() if v == before)
    different = sum(v == before for v, _ in pairs)
    if not n_before:
        return 0.0
    if not behind:
        return log(different / (n_before + different))
    return log((pairs[before, after] + different * behind) / (n_before + different) / behind)


@pytest.mark.parametrize(
    "target", [[], ["a"], ["b", "a"], ["c", "c", "c"], ["new"], ["a", "new", "b"], ["new", "other"]]
)
def test_seams_by_definition(target):
    found = learnt(TEXT).scores([["a", "b"], target])
    expected = sum(itertools.starmap(seam, itertools.pairwise([None, *target, None])))
    np.testing.assert_allclose(found[1], expected, atol=1e-12)


@pytest.mark.parametrize("before", ["a", "b", "c"])
def test_what_follows_a_word_sums_to_one(before):
    """p(w) exp(seam), over every word and the end."""
    seams = learnt(TEXT)
    counts = Counter([*itertools.chain.from_iterable(TEXT), *[None] * len(TEXT)])
    share = 0.0
    for word, count in counts.items():
        target = [before] if word is None else [before, word]
        others = seam(None, before) + (0.0 if word is None else seam(word, None))
        share += count / counts.total() * exp(seams.scores([target])[0] - others)
    np.testing.assert_allclose(share, 1.0, atol=1e-12)


def test_no_targets_and_an_older_model_without_seams():
    seams = learnt(TEXT)
    assert seams.scores([]).shape == (0,)
    none = Seams.restored({}, seams.words)
    np.testing.assert_array_equal(none.scores([["a", "b"], []]), [0.0, 0.0])


@pytest.mark.parametrize("change", [{"keys": [3, 2]}, {"counts": [1, 0]}, {"keys": [0, 10**6]}])
def test_a_file_that_cannot_be(change):
    arrays = {"keys": np.array([2, 3]), "counts": np.array([1, 1])}
    arrays |= {name: np.array(values) for name, values in change.items()}
    with pytest.raises(ValueError, match="ascend|expected"):
        Seams.restored(arrays, learnt(TEXT).words)


def test_the_most_fluent_of_all_translations(tmp_path):
    """A forest so small that all its translations are compared, against all there can be."""
    source = [["a", "b"], ["b", "a"], ["a"], ["b"]]
    target = [["x", "y"], ["x", "y"], ["x"], ["y"]]
    grammar = Itg(n_bits=12, n_insertions=1, n_translations=2, max_iterations=2)
    translator = Translator(grammar=grammar, progress=False, workers=1).fit(source, target)
    sentence = ["b", "a"]
    scored = translator.distribution(sentence).at_likeliest_length()
    (n_words,) = {len(words) for words in scored.sample(20, np.random.default_rng(0))}
    every = [list(each) for each in itertools.product("xy", repeat=n_words)]
    values = translator.log_prob([sentence] * len(every), every)
    for fluency in (0.0, 0.4, 50.0):
        totals = values + fluency * translator.model_.seams.scores(every)
        found = translator.predict([sentence], decoder="fluent", fluency=fluency)
        assert found == [tuple(every[int(np.argmax(totals))])]
        translator.save(tmp_path / "model")
        again = type(translator).load(tmp_path / "model")
        assert again.predict([sentence], decoder="fluent", fluency=fluency) == found
    assert translator.predict([sentence], decoder="fluent", fluency=50.0) == [("x", "y")]


def test_fluency_is_checked():
    grammar = Itg(n_bits=12, max_iterations=1)
    translator = Translator(grammar=grammar, progress=False, workers=1).fit([["a"]], [["x"]])
    with pytest.raises(ValueError, match="fluency is -1"):
        translator.predict([["a"]], decoder="fluent", fluency=-1)
