"""`workers="ray:2"`: every estimator learns and answers the same as by threads, bit for bit."""

import os
import signal

import numpy as np
import pytest

from partita import (
    Aligner,
    DependencyParser,
    HiddenMarkovTagger,
    Segmenter,
    Tagger,
    Translator,
    samples,
)
from partita.data import files as data_files
from partita.data import read_sentences
from partita.data.files import SentenceFiles
from partita.estimators.alignment import em
from partita.training.workers import Workers, in_order
from small_bitext import random_bitext
from small_tagging import chunked, sentences
from small_translation import bitext
from small_treebank import SMALL, made

ray = pytest.importorskip("ray")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def started():
    """One Ray for all."""
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("workers", ["ray:0", "ray:x", "two", 0, "2:2", "ray:"])
def test_what_is_no_number_of_workers(workers):
    with pytest.raises(ValueError, match="expected a number of threads"):
        Workers.of(workers)


@pytest.fixture
def squared():
    """A function of its own: workers of Ray cannot import the modules of tests."""

    def function(number):
        if number == 7:
            raise ValueError("seven is not squared")
        return number * number

    return function


def test_results_come_in_order(squared):
    groups = [(number,) for number in [5, 3, 9, 1, 4]]
    assert list(in_order(squared, groups, workers="ray:2")) == [25, 9, 81, 1, 16]


def test_errors_are_those_of_the_function(squared):
    found = in_order(squared, [(6,), (7,)], workers="ray:1")
    assert next(found) == 36
    with pytest.raises(ValueError, match="^seven is not squared$"):
        next(found)


def test_no_more_is_read_than_is_in_work(squared):
    read = []

    def numbers():
        for number in range(10, 30):
            read.append(number)
            yield (number,)

    found = in_order(squared, numbers(), workers="ray:1")
    assert next(found) == 100
    assert len(read) <= 3


def test_a_worker_that_is_killed_is_asked_again(tmp_path):
    path = tmp_path / "was here"

    def once_deadly(number):
        if number == 3 and not path.exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 2 * number

    groups = [(number,) for number in range(6)]
    assert list(in_order(once_deadly, groups, workers="ray:2")) == [0, 2, 4, 6, 8, 10]
    assert path.exists()


def tagger(workers):
    words, tags = sentences(60)
    return Tagger(workers=workers, max_iterations=5).fit(words, tags), (words,)


def segmenter(workers):
    words, tags = chunked(40)
    return Segmenter(workers=workers, max_iterations=4).fit(words, tags), (words,)


def hidden_markov(workers):
    words, _ = sentences(60)
    return HiddenMarkovTagger(n_tags=3, workers=workers, max_iterations=4).fit(words), (words,)


def parser(workers):
    trees = made(12)
    options = {**SMALL, "workers": workers, "max_iterations": 3}
    return DependencyParser(**options).fit(trees), (trees,)


def tagger_of_files(workers):
    path = samples.path("treebank-dev.conllu")
    options = {"tag_column": "UPOS", "max_iterations": 3, "columns": ["FORM"]}
    words = [each.column("FORM") for each in read_sentences(path)]
    return Tagger(workers=workers, **options).fit(SentenceFiles(path)), (words,)


def parser_of_files(workers):
    path = samples.path("treebank-dev.conllu")
    options = {"n_bits": 10, "label_bits": 6, "n_models": 1, "max_iterations": 1}
    model = DependencyParser(workers=workers, progress=False, **options).fit(SentenceFiles(path))
    return model, (list(read_sentences(path))[:3],)


def aligner(workers):
    source, target = random_bitext(np.random.default_rng(0), n_pairs=12)
    return Aligner(workers=workers, progress=False).fit(source, target), (source, target)


def aligner_of_many_shards(workers):
    source, target = random_bitext(np.random.default_rng(0), n_pairs=150)
    return Aligner(workers=workers, progress=False).fit(source, target), (source, target)


def aligner_crf(workers):
    source, target = random_bitext(np.random.default_rng(0), n_pairs=12)
    model = Aligner(model="crf", workers=workers, progress=False).fit(source, target)
    return model, (source, target)


def translator(workers):
    source, target = bitext()
    return Translator(workers=workers, progress=False).fit(source, target), (source,)


@pytest.mark.parametrize(
    "fitted",
    [
        tagger,
        segmenter,
        hidden_markov,
        parser,
        tagger_of_files,
        parser_of_files,
        aligner,
        aligner_of_many_shards,
        aligner_crf,
        translator,
    ],
    ids=lambda fitted: fitted.__name__,
)
def test_estimators_learn_and_answer_the_same(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(em, "BLOCK", 500)  # more batches than one, and so shards
    monkeypatch.setattr(data_files, "BLOCK", 30_000)  # more blocks than one
    by_threads, asked = fitted(1)
    by_ray, _ = fitted("ray:2")
    paths = tmp_path / "threads", tmp_path / "ray"
    for model, path in zip((by_threads, by_ray), paths, strict=True):
        model.about_ = {}  # says how long it took
        model.save(path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    found = list(by_ray.predict_stream(*map(iter, asked), chunk=5))
    assert plain(found) == plain(by_threads.predict(*asked))


def plain(answers):
    return [
        [part.tolist() if isinstance(part, np.ndarray) else part for part in each]
        for each in answers
    ]


def test_probabilities_are_the_same_and_ones_own():
    model, (words,) = tagger(1)
    expected = model.predict_marginals(words)
    found = model.set_params(workers="ray:2").predict_marginals(words)
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]
    assert all(each.flags.writeable for each in found)
