"""The best tags by one call of a kernel: the same as by way of distributions, with any threads."""

from contextlib import nullcontext

import numpy as np
import pytest

from partita import Tagger, samples
from partita.data import read_sentences
from partita.estimators.tagging import at_once, tagger
from partita.kernels.chains import tagging as kernels
from small_tagging import chunked, sentences

OPTIONS = {"max_iterations": 3, "progress": False, "optimiser": "lbfgs"}


def both_ways(model, asked, monkeypatch):
    """The answers at once, which must be there, and those by way of distributions."""
    found = []

    def heard(*arguments):
        found.append(at_once.best_tags(*arguments))
        return found[-1]

    monkeypatch.setattr(tagger, "best_tags", heard)
    answers = model.predict(asked)
    assert found
    assert None not in found
    monkeypatch.setattr(tagger, "best_tags", lambda *_: None)
    return answers, model.predict(asked)


@pytest.mark.parametrize("cached", [1, 2**15])
@pytest.mark.parametrize("kind", ["words", "chunks", "one tag"])
def test_the_same_tags(kind, cached, monkeypatch):
    monkeypatch.setattr(kernels, "CACHED", cached)
    words, tags = chunked(60) if kind == "chunks" else sentences(60)
    if kind == "one tag":
        tags = [["A"] * len(each) for each in tags]
    model = Tagger(**OPTIONS, workers=1).fit(words[:40], tags[:40])
    assert (model.model_.tags.allowed is not None) == (kind == "chunks")
    rng = np.random.default_rng(0)
    model.weights_ = rng.normal(size=len(model.weights_))
    asked = [*words, words[0][:1]]
    if kind != "chunks":
        asked += [["new"], ["new", "words", "x-1"]]
    one, other = both_ways(model, asked, monkeypatch)
    assert one == other


def test_columns_with_several_values_and_many_fields(monkeypatch):
    document = list(read_sentences(samples.path("treebank-dev.conllu")))
    templates = "\n".join(
        [
            "FORM[0]",
            "XPOS[0] FEATS[0].each",
            "FEATS[-1].each",
            "FORM[-2] FORM[-1].lower FORM[0].suffix2 FORM[1] FORM[2]",
            "FEATS[1].each XPOS[-1] FORM[0].shape",
        ]
    )
    columns = ["FORM", "XPOS", "FEATS"]
    options = {**OPTIONS, "features": templates, "columns": columns, "tag_column": "UPOS"}
    model = Tagger(**options, workers=1).fit(document[:60])
    one, other = both_ways(model, document, monkeypatch)
    assert one == other


def test_any_number_of_threads_and_empty_sentences():
    words, tags = sentences(60)
    model = Tagger(**OPTIONS, workers=1).fit(words, tags)
    asked = [[], *words * 5, [], ["x"], []]
    expected = model.predict(asked)
    assert [len(each) for each in expected] == [len(each) for each in asked]
    for workers in (2, 3, 8):
        model.set_params(workers=workers)
        assert model.predict(asked) == expected
        assert list(model.predict_stream(iter(asked), chunk=100)) == expected
        assert list(model.predict_stream(iter(asked), chunk=1)) == expected


@pytest.mark.parametrize("size", [1.0, 1e306])
def test_scores_that_need_care_take_the_careful_way(size, monkeypatch):
    words, tags = sentences(30)
    model = Tagger(**OPTIONS, workers=1).fit(words, tags)
    model.weights_ = size * np.random.default_rng(1).normal(size=len(model.weights_))
    found = at_once.best_tags(model.model_, model.weights_, words, nullcontext())
    answers = model.predict(words)
    assert (found is None) == (size > 1.0)
    monkeypatch.setattr(tagger, "best_tags", lambda *_: None)
    assert answers == model.predict(words)


def test_what_is_impossible_is_an_error():
    words, tags = sentences(30)
    model = Tagger(**OPTIONS, workers=2).fit(words, tags)
    model.weights_ = np.full(len(model.weights_), -np.inf)
    with pytest.raises(ValueError, match="has no structure"):
        model.predict(words)


def test_a_generator_of_chunks_of_one_is_answered_at_once():
    words, tags = sentences(30)
    model = Tagger(**OPTIONS, workers=2).fit(words, tags)
    read = []

    def given():
        for each in words:
            read.append(each)
            yield each

    stream = model.predict_stream(given(), chunk=1)
    next(stream)
    assert len(read) == 1
    next(stream)
    assert len(read) == 2
