"""What a notebook and a console show: short, with words and names, well-formed."""

from xml.etree import ElementTree

import numpy as np
import pytest

import partita as pt
from partita.data.formats import parse_sentences
from partita.data.sentences import Sentence
from small_treebank import made

WORDS = [["the", "dog", "barks"], ["a", "cat", "sleeps"]]
TAGS = [["DET", "NOUN", "VERB"]] * 2
TREES = made(10)


@pytest.fixture(scope="module")
def tagger():
    return pt.Tagger(progress=False, max_iterations=5).fit(WORDS, TAGS, held_out=(WORDS, TAGS))


@pytest.fixture(scope="module")
def parser():
    return pt.DependencyParser(n_bits=10, max_iterations=1, progress=False).fit(TREES)


def html(thing):
    text = thing._repr_html_()
    ElementTree.fromstring(f"<div>{text.replace('&nbsp;', ' ')}</div>")
    return text


def test_everything_is_short_and_says_what_it_is(tagger, parser):
    sentence = TREES[0]
    things = [
        tagger,
        tagger.training_,
        tagger.inspect(),
        tagger.explain(WORDS[0], 1),
        tagger.weight_table(),
        tagger.distribution(WORDS[0]),
        parser,
        parser.inspect(),
        parser.explain(sentence, 0),
        parser.distribution(sentence),
        sentence,
    ]
    for thing in things:
        assert repr(thing).startswith(type(thing).__name__)
        assert len(repr(thing)) < 250
        assert len(html(thing)) > 50


def test_drawings_carry_words_and_names_of_tags(tagger, parser):
    p = tagger.distribution(WORDS[0])
    assert repr(p) == "LinearChain(the dog barks, 3 tags)"
    for tag, word in zip(TAGS[0], WORDS[0], strict=True):
        best = p.marginals.unary[WORDS[0].index(word), tagger.tags_.index(tag)]
        assert f"<title>{word}: {tag} {best:.3f}</title>" in html(p)
    found = html(parser.distribution(TREES[0]))
    for word in TREES[0].column("FORM"):
        assert word in found


def test_a_run_draws_its_curves(tagger):
    text = html(tagger.training_)
    assert text.count("<svg") == 2
    assert "loss on held-out data" in text
    untrained = html(pt.Tagger())
    assert "has learnt nothing yet" in untrained


def test_a_sentence_shows_its_columns_and_its_tree():
    sentence = TREES[0]
    text = html(sentence)
    assert text.startswith("<svg")
    assert text.count("<tr>") == len(sentence) + 1
    assert "<svg" not in html(Sentence({"FORM": ("a", "b"), "HEAD": ("2", "_")}))
    document = parse_sentences("Dogs <b>\nbark VBP\n\n" * 5, source="my.txt")
    assert repr(document) == "Document(my.txt: CoNLL columns (2 columns), 5 sentences, 10 words)"
    assert "&lt;b&gt;" in html(document)
    assert "and 2 more" in html(document)


def test_weights_by_name(tagger):
    table = tagger.weight_table()
    columns = table.columns
    assert len(table) == np.count_nonzero(tagger.weights_)
    assert sorted(map(abs, columns["weight"]), reverse=True) == list(map(abs, columns["weight"]))
    place = next(
        index
        for index, (feature, tag) in enumerate(zip(columns["feature"], columns["tag"], strict=True))
        if (feature, tag) == ("FORM[0]=dog", "NOUN")
    )
    strongest = tagger.inspect(10**6).features["NOUN"]
    assert columns["weight"][place] == dict(strongest)["FORM[0]=dog"]
    assert "transition: DET ->" in columns["feature"]
    assert str(table).count("\n") < 60
