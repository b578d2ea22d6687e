"""What `fit` is given in place of tags, heads, links and weights: each a sentence, nothing raw."""

import numpy as np
import pytest

import partita as pt

WORDS = [["a", "b"], ["c"]]
TAGS = [["A", "B"], ["A"]]
HEADS = [[2, 0], [0]]
TAGGERS = [pt.Tagger(), pt.Segmenter(), pt.HiddenMarkovTagger()]
PARSER = pt.DependencyParser(n_bits=12, labels=False)
PAIRS = [pt.Aligner(), pt.Translator()]
ALL = [*((each, TAGS) for each in TAGGERS), (PARSER, HEADS), *((each, WORDS) for each in PAIRS)]


@pytest.mark.parametrize(("model", "right"), ALL, ids=lambda each: type(each).__name__)
def test_what_counts_nothing_is_refused(model, right):
    with pytest.raises(ValueError, match="sample_weight is 0 everywhere, so that nothing would"):
        model.fit(WORDS, right, sample_weight=[0.0, 0.0])
    for wrong in (5, ["x", "y"], [1.0], [1.0, np.nan], [1.0, -1.0]):
        with pytest.raises(ValueError, match="sample_weight.* expected"):
            model.fit(WORDS, right, sample_weight=wrong)


def test_sentences_without_labels_count_where_the_others_do_not():
    tagger = pt.Tagger(entropy_weight=0.1, max_iterations=1)
    assert tagger.fit(WORDS, TAGS, unlabelled=WORDS, sample_weight=[0, 0]).weights_.any()


@pytest.mark.parametrize("model", TAGGERS, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize(
    ("tags", "message"),
    [
        (5, "tags is 5, of the type int; expected a list, the tags of each sentence"),
        (np.array(5), "tags is array.5., of the type ndarray; expected a list"),
        ({"a": "A"}, "tags is a single dict; expected a list"),
        ([5, 6], "entry of tags for sentence 0 .* is 5, of the type int; expected a list, of its"),
    ],
)
def test_tags_that_are_none(model, tags, message):
    with pytest.raises(ValueError, match=message):
        model.fit(WORDS, tags)
    with pytest.raises(ValueError, match=message):
        model.fit(WORDS, [["A", "?"], ["B"]], held_out=(WORDS, tags))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((3,), "heads is 3, of the type int; expected a list, the heads of each sentence"),
        (
            ([3, [0]],),
            "the entry of heads for sentence 0 .* is 3, of the type int; expected a list",
        ),
        (([[0], [0]],), "sentence 0 .* has 2 words and 1 heads; expected a head for each word"),
        (([[0, "a"], [0]],), "the head of word 2 .* is 'a', no number of a word; expected 0"),
        (([[0, 1.5], [0]],), "the head of word 2 .* is '1.5', no number of a word; expected 0"),
        (([[0, [1]], [0]],), "the head of word 2 .* no number of a word; expected 0"),
        ((HEADS, 3), "labels is 3, of the type int; expected a list, the labels of each sentence"),
        ((HEADS, [3, 4]), "the entry of labels for sentence 0 .* is 3, of the type int"),
        ((HEADS, [["x"], ["y"]]), "sentence 0 .* has 2 words and 1 labels; expected a label for"),
    ],
)
def test_trees_that_are_none(given, message):
    with pytest.raises(ValueError, match=message):
        PARSER.fit(WORDS, *given)


def test_heads_may_be_numbers_of_any_kind():
    found = [
        pt.DependencyParser(n_bits=12, labels=False, workers=1).fit(WORDS, heads).weights_.tobytes()
        for heads in (HEADS, [np.array([2.0, 0.0]), ("0",)], [np.array([2, 0]), [np.int8(0)]])
    ]
    assert len(set(found)) == 1


@pytest.mark.parametrize("model", PAIRS, ids=lambda each: type(each).__name__)
def test_translations_that_are_none(model):
    with pytest.raises(ValueError, match="target is 5, of the type int; expected a list"):
        model.fit(WORDS, 5)
    with pytest.raises(ValueError, match=r"source\[1\] is 5, of the type int; expected a list"):
        model.fit([["a"], 5], WORDS)
    with pytest.raises(ValueError, match="held_out is 5, of the type int; expected a list"):
        model.fit(WORDS, WORDS, held_out=5)
    with pytest.raises(ValueError, match="alignments is 5, of the type int; expected a list"):
        pt.Aligner(model="crf").fit(WORDS, WORDS, 5)


@pytest.mark.parametrize("word", [None, 3])
def test_a_word_that_is_no_text_is_named(word):
    """By the number that the caller counts, whatever comes together or is sorted."""
    words, tags = [["the", "dog"], ["a", "cat"]], [["D", "N"], ["D", "N"]]
    quick = {"max_iterations": 1, "progress": False}
    asked = [[], *words * 600, ["a", word]]
    message = rf"sentence 1201 \(counting from 0\), word 1 is {word}"
    for estimator in (pt.Tagger(**quick), pt.Segmenter(**quick)):
        with pytest.raises(ValueError, match=rf"sentence 0 \(counting from 0\), word 1 is {word}"):
            estimator.fit([["the", word], *words], [["D", "?"], *tags])
        with pytest.raises(ValueError, match=message):
            estimator.fit(words, tags).predict(asked)
    parser = pt.DependencyParser(**quick, n_bits=6, n_models=1, labels=False)
    with pytest.raises(ValueError, match=message):
        parser.fit(words, [[2, 0]] * 2).predict(asked)
    if word is not None:  # which is a word that is missing
        with pytest.raises(ValueError, match=message):
            pt.HiddenMarkovTagger().fit(words, tags).predict(asked)
    grammar = pt.Itg(n_bits=10, n_insertions=0, max_iterations=1)
    translator = pt.Translator(grammar=grammar, progress=False).fit(words, words)
    with pytest.raises(ValueError, match=rf"sentence 2 .*, word 1 is {word}; expected a list"):
        translator.predict([*words, ["the", word]])
