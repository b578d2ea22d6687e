"""Which way a tagger learns that was told none, and that the way does not depend on the machine."""

import numpy as np
import pytest

from partita import Tagger, samples
from partita.data.columns import read_columns
from partita.data.files import SentenceFiles
from partita.estimators.supervision import Known
from partita.estimators.tagging.chain_model import ChainModel
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


@pytest.mark.parametrize("options", [{}, {"boundaries": True}, {"pairs": "observed"}])
@pytest.mark.parametrize("scheme", [None, "IOB2"])
def test_one_word_needs_no_table_of_a_thousand_tags(options, scheme):
    """Where a table is larger than a piece; the scores and the gradient stay the same."""
    tags = [["O"], ["B-X"], ["B-X", "I-X"], ["O"], ["O", "B-X", "I-X"], ["B-X"]]
    words = [[tag.lower() for tag in row] for row in tags]
    features = "FORM[0]\ntransition:"
    tagger = Tagger(features=features, scheme=scheme, max_iterations=2, **options).fit(words, tags)
    model, encoded = tagger.model_, tagger.model_.encode(words)
    pieces = list(model.pieces(encoded, most=8, lone_tables=False))
    assert [piece.sentences for piece in pieces] == [
        range(0, 2), range(2, 3), range(3, 4), range(4, 5), range(5, 6),
    ]  # fmt: skip
    assert sum(piece.structures.n_parts for piece in pieces) == 9 * 3 + 2 * 3**2
    assert all(each.structures.shared for each in model.pieces(encoded, most=9, lone_tables=False))
    total, gradient = 0.0, np.zeros(model.n_weights)
    for sign, these in ((1.0, pieces), (-1.0, model.pieces(encoded))):
        for piece in these:
            p = piece.at(tagger.weights_)
            total += sign * p.log_partition.sum()
            piece.features.add_gradient(sign * p.inference.marginals, gradient)
    assert abs(total) < 1e-9
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


@pytest.mark.parametrize("from_files", [False, True], ids=["memory", "files"])
def test_taggers_learn_one_word_without_a_table(monkeypatch, tmp_path, from_files):
    tags = [[f"T{i}"] for i in range(200)] + [["T1", "T2"], ["T3"]]
    n_parts, pieces = [], ChainModel.pieces

    def counted(self, *arguments, **options):
        for piece in pieces(self, *arguments, **options):
            n_parts.append(piece.structures.n_parts)
            yield piece

    monkeypatch.setattr(ChainModel, "pieces", counted)
    tagger = Tagger(features="1[0]\ntransition:", max_iterations=1, tag_column="0")
    path = tmp_path / "tags.txt"
    path.write_text("\n\n".join("\n".join(f"{tag} w{tag}" for tag in row) for row in tags) + "\n")
    sentences = SentenceFiles(path, format="columns")
    tagger.fit(sentences if from_files else read_columns(path))
    assert sum(n_parts) == 203 * 200 + 200**2
