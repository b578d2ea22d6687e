"""Which way a tagger learns that was told none, and that the way does not depend on the machine."""

import numpy as np
import pytest

from partita import Tagger, samples
from partita.data.files import SentenceFiles
from partita.estimators.supervision import Known
from partita.estimators.tagging.learning import FEW_WORDS, N_STEPS, most_words, usual_optimiser
from partita.estimators.tagging.tags import TagSet
from partita.training import AdaGrad

PLAIN = TagSet(["NOUN", "VERB"])
CHUNKS = TagSet(["B-NP", "I-NP", "O"], "IOB2")


def usual(tags=PLAIN, known=(Known.ALL,), n_words=FEW_WORDS, columns=("FORM",), **options):
    return usual_optimiser(Tagger(**options), tags, known, n_words, columns)


@pytest.mark.parametrize(
    "options", [{}, {"l2": 1.0}, {"pairs": "observed"}, {"lexicon": True}, {"boundaries": True}]
)
def test_words_alone_by_adagrad(options):
    assert usual(**options) == "adagrad"
    assert usual(objective="softmax-margin", **options) == "adagrad"


@pytest.mark.parametrize(
    "options",
    [
        {"tags": CHUNKS},
        {"known": (Known.ALL, Known.SOME)},
        {"known": (Known.ALL, Known.NOTHING)},
        {"n_words": FEW_WORDS - 1},
        {"columns": ("FORM", "XPOS")},
        {"columns": ()},
        {"features": "FORM"},
        {"l1": 0.1},
        {"max_iterations": 0},
        {"loss_tolerance": 0.0},
        {"warm_start": np.zeros(3)},
        {"constraints": ["any"]},
        {"objective": "risk"},
        {"normalisation": "local"},
    ],
    ids=" ".join,
)
def test_everything_else_by_lbfgs(options):
    assert usual(**options) == "lbfgs"


@pytest.mark.parametrize(
    "options, found",
    [({}, 4), ({"optimiser": "lbfgs"}, None), ({"optimiser": AdaGrad()}, 4), ({"l1": 0.1}, None)],
)
def test_mini_batches_have_a_share_of_the_words(options, found):
    assert most_words(Tagger(**options), "lbfgs" if "l1" in options else "adagrad", 300) == found
    assert most_words(Tagger(optimiser="sgd"), "lbfgs", N_STEPS - 1) == 1


def test_the_same_model_by_any_number_of_threads_and_from_files(tmp_path):
    path = samples.path("treebank-train.conllu")
    train = samples.treebank("train")
    one, two = (Tagger(tag_column="UPOS", workers=n).fit(train) for n in (1, 2))
    assert one.training_.n_iterations == 20
    assert one.weights_.tobytes() == two.weights_.tobytes()
    told = Tagger(tag_column="UPOS", optimiser="adagrad").fit(train)
    assert told.weights_.tobytes() == one.weights_.tobytes()
    by_files = Tagger(tag_column="UPOS", cache=tmp_path).fit(SentenceFiles(path))
    assert by_files.weights_.tobytes() == one.weights_.tobytes()


def test_pieces_are_as_small_as_they_should_be():
    train = samples.treebank("train")[:50]
    model = Tagger(tag_column="UPOS", max_iterations=1).fit(train).model_
    encoded = model.encode(train)
    (whole,) = model.pieces(encoded)
    assert whole.sentences == range(50)
    small = list(model.pieces(encoded, most_words=30))
    assert [number for piece in small for number in piece.sentences] == list(range(50))
    assert all(len(piece.sentences) == 1 or piece.structures.n_words.sum() <= 30 for piece in small)
    assert len(small) < 50
