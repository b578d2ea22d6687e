"""Garbage is not looked for while lists of sentences are answered, and afterwards as before."""

import gc
import os
import threading

import pytest

from partita import DependencyParser, Tagger, samples
from partita.data import read_sentences
from partita.garbage import PAUSE, unsought


@pytest.fixture(autouse=True)
def looked_for():
    was_on = gc.isenabled()
    gc.enable()
    yield
    gc.enable() if was_on else gc.disable()


class Watching(list):
    """A sentence that writes down whether garbage is looked for while it is answered."""

    is_on = None

    def __len__(self):
        self.is_on = gc.isenabled()
        return super().__len__()


@pytest.fixture(scope="module")
def tagger():
    return Tagger(max_iterations=2).fit([["the", "dog"], ["yes"]], [["DET", "NOUN"], ["X"]])


def test_it_is_off_inside_and_as_before_behind():
    with unsought():
        assert not gc.isenabled()
    assert gc.isenabled()
    gc.disable()
    with unsought():
        assert not gc.isenabled()
    assert not gc.isenabled()


def test_it_is_on_after_an_error():
    with pytest.raises(KeyError), unsought():
        raise KeyError
    assert gc.isenabled()
    with unsought():
        assert not gc.isenabled()


def test_who_comes_second_does_not_prolong_it():
    is_inside, may_leave = threading.Event(), threading.Event()

    def second():
        with unsought():
            is_inside.set()
            may_leave.wait(60)

    thread = threading.Thread(target=second)
    with unsought():
        thread.start()
        assert is_inside.wait(60)
        assert not gc.isenabled()
    assert gc.isenabled()
    with unsought():
        may_leave.set()
        thread.join()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_compiling_meanwhile_is_nested():
    with unsought():
        PAUSE.begin()
        PAUSE.end()
        assert not gc.isenabled()
        PAUSE.begin()
    assert not gc.isenabled()
    PAUSE.end()
    assert gc.isenabled()


def in_copy(work):
    """Whether something is true in a copy of this process."""
    copy = os.fork()
    if copy == 0:
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(copy, 0)[1]) == 0


def is_as_usual():
    """It is on, can be switched off, and is on again."""
    if not gc.isenabled():
        return False
    with unsought():
        if gc.isenabled():
            return False
    return gc.isenabled()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_copies_of_the_process_look_for_it():
    """Which are made by another thread meanwhile; who switches it off himself goes on in both."""
    is_inside, may_leave = threading.Event(), threading.Event()

    def other():
        with unsought():
            is_inside.set()
            may_leave.wait(60)

    assert in_copy(is_as_usual)
    thread = threading.Thread(target=other)
    thread.start()
    assert is_inside.wait(60)
    assert not gc.isenabled()
    assert in_copy(is_as_usual)
    assert not gc.isenabled()
    PAUSE.begin()
    assert in_copy(lambda: not gc.isenabled() and (PAUSE.end(), is_as_usual())[1])
    PAUSE.end()
    assert not gc.isenabled()
    may_leave.set()
    thread.join()
    assert gc.isenabled()
    gc.disable()
    with unsought():
        assert in_copy(lambda: not gc.isenabled())
    assert in_copy(lambda: not gc.isenabled())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be copied here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_copies_at_any_moment():
    is_over = threading.Event()

    def other():
        while not is_over.is_set():
            with unsought():
                pass

    threads = [threading.Thread(target=other) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert all(in_copy(is_as_usual) for _ in range(50))
    finally:
        is_over.set()
        for thread in threads:
            thread.join()
    assert gc.isenabled()


@pytest.mark.parametrize("workers", [1, 2])
def test_lists_are_answered_without_it(tagger, workers):
    tagger.set_params(workers=workers)
    sentences = [Watching(["the", "dog"]) for _ in range(100)]
    assert tagger.predict(sentences) == [["DET", "NOUN"]] * 100
    assert {sentence.is_on for sentence in sentences} == {False}
    assert gc.isenabled()
    with pytest.raises(ValueError, match="sentence 70"):
        tagger.predict([["the", "dog"]] * 70 + [["the", 3]])
    assert gc.isenabled()


@pytest.mark.parametrize("workers", [1, 2])
def test_streams_are_answered_with_it(tagger, workers):
    tagger.set_params(workers=workers)
    seen = []

    def read():
        for _ in range(100):
            seen.append(gc.isenabled())
            yield ["the", "dog"]

    assert len(tagger.predict(read())) == 100
    abandoned = tagger.predict_stream([["the", "dog"]] * 100, chunk=10)
    next(abandoned)
    assert all(seen)
    assert gc.isenabled()
    del abandoned
    assert gc.isenabled()


def test_answers_are_no_garbage(tagger):
    sentences = list(read_sentences(samples.path("treebank-dev.conllu")))[:20]
    parser = DependencyParser(n_models=1, max_iterations=2, progress=False).fit(sentences)
    for workers in (1, 2):
        for model, given in ((tagger, [["the", "dog"]] * 100), (parser, sentences)):
            model.set_params(workers=workers)
            model.predict(given)
            gc.collect()
            gc.disable()
            model.predict(given)
            assert gc.collect() == 0
            gc.enable()
