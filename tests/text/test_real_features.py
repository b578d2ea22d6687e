"""Features as matrices of numbers: the same model as from dictionaries, dense or sparse."""

import numpy as np
import pytest
from scipy import sparse

from partita import Tagger
from partita.text.learning import learn_features, restored_features, stored_features
from partita.text.real_features import RealFeatures
from partita.text.words import read_words

RNG = np.random.default_rng(0)
TAGS = [[str(tag) for tag in RNG.choice(["A", "B", "C"], size=n)] for n in (4, 1, 6, 3, 5)]
DENSE = [
    (RNG.random((len(tags), 5)) < 0.6) * RNG.normal(size=(len(tags), 5)) + 0.0 for tags in TAGS
]
SPARSE = [sparse.csr_array(each) for each in DENSE]
NAMED = [
    [{f"f{k}": float(value) for k, value in enumerate(row) if value} for row in each]
    for each in DENSE
]
OPTIONS = {"progress": False, "workers": 1, "l2": 0.5}


def fitted(sentences, **options):
    return Tagger(**OPTIONS, **options).fit(sentences, TAGS)


def test_the_same_model_as_from_dictionaries():
    expected = fitted(NAMED).log_prob(NAMED, TAGS)
    dense = fitted(DENSE).log_prob(DENSE, TAGS)
    np.testing.assert_allclose(dense, expected, rtol=0, atol=1e-4)
    found = fitted(SPARSE).log_prob(SPARSE, TAGS)
    assert found.tobytes() == dense.tobytes()


def test_all_questions_take_sparse_sentences(tmp_path):
    tagger = fitted(SPARSE)
    assert tagger.predict(iter(SPARSE)) == tagger.predict(DENSE)
    np.testing.assert_array_equal(tagger.distribution(SPARSE[0]).marginals.unary,
                                  tagger.distribution(DENSE[0]).marginals.unary)  # fmt: skip
    assert tagger.explain(SPARSE[0], 1).contributions == tagger.explain(DENSE[0], 1).contributions
    assert "feature 3" in str(tagger.inspect())
    tagger.save(tmp_path / "model")
    again = Tagger.load(tmp_path / "model")
    assert again.log_prob(DENSE, TAGS).tobytes() == tagger.log_prob(SPARSE, TAGS).tobytes()


def test_rare_columns_are_left_out():
    matrix = np.array([[1.0, 0.0, 2.0], [1.0, 3.0, 0.0]])
    features, encoded = learn_features(read_words([matrix]), min_count=2)
    assert features.n_attributes == 3
    assert encoded.words.ids.tolist() == [0, 0]
    again = restored_features(*stored_features(features))
    assert again.read([matrix]).words.ids.tolist() == [0, 0]


def test_zeros_that_are_stored_say_nothing():
    stored = sparse.csr_array((np.array([0.0, 2.0]), np.array([0, 1]), np.array([0, 2])), (1, 2))
    _, encoded = RealFeatures.build(read_words([stored]))
    assert encoded.words.ids.tolist() == [1]
    assert encoded.words.values.tolist() == [2.0]


def test_mistakes():
    tagger = fitted(DENSE)
    with pytest.raises(ValueError, match="words have 2 features; this model was trained on 5"):
        tagger.predict([np.ones((3, 2))])
    with pytest.raises(ValueError, match="words came; this model was trained on matrices of feat"):
        tagger.predict([["a"]])
    with pytest.raises(ValueError, match=r"templates \(features=...\) came with matrices"):
        fitted(DENSE, features="FORM")
