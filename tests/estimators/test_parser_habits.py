"""The parser among scikit-learn's tools: clones, searches, pickles, and objects as options."""

import copy
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError as SklearnNotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.validation import check_is_fitted

from partita import DependencyParser
from partita.estimators.parsing.material import trees_of
from partita.objectives import ExpectedCost
from partita.training import AdaGrad
from partita.training.optimisers import Cosine
from tests.estimators.small_treebank import SMALL, heads_of, made


def through_file(parser, path):
    parser.save(path)
    return DependencyParser.load(path)


@pytest.mark.parametrize("is_loaded", [False, True])
def test_copies_give_the_same_answers(is_loaded, tmp_path):
    parser = DependencyParser(**SMALL, max_iterations=2).fit(made(10))
    if is_loaded:
        parser = through_file(parser, tmp_path / "model")
    joblib.dump(parser, tmp_path / "parser.joblib")
    test = made(5, seed=1)
    for other in (
        pickle.loads(pickle.dumps(parser)),
        copy.deepcopy(parser),
        joblib.load(tmp_path / "parser.joblib"),
    ):
        assert str(other.predict(test)) == str(parser.predict(test))
        assert str(other.explain(test[0], 0)) == str(parser.explain(test[0], 0))
        assert (other.training_ is None) == is_loaded
        np.testing.assert_array_equal(other.entropy(test), parser.entropy(test))


def test_clones_have_the_options_and_nothing_learnt():
    parser = DependencyParser(**SMALL, l2=0.5, features="head.UPOS modifier.UPOS").fit(made(3))
    other = clone(parser)
    assert other.get_params() == parser.get_params()
    with pytest.raises(SklearnNotFittedError):
        check_is_fitted(other)
    check_is_fitted(parser)
    assert other.set_params(l2=2.0).l2 == 2.0
    with pytest.raises(ValueError, match="has no option 'n_threads'"):
        other.set_params(n_threads=2)


@pytest.mark.parametrize(("has_columns", "n_jobs"), [(True, 2), (False, None)])
def test_searches_over_options(has_columns, n_jobs):
    sentences, heads = made(12), None
    if not has_columns:
        heads = [heads_of(each) for each in sentences]
        pairs = [zip(s.column("FORM"), s.column("UPOS"), strict=True) for s in sentences]
        sentences = [list(each) for each in pairs]
    parser = DependencyParser(**SMALL, labels=False, optimiser="lbfgs", max_iterations=10)
    search = GridSearchCV(parser, {"l2": [0.1, 1e6]}, cv=2, n_jobs=n_jobs)
    search.fit(sentences, heads)
    assert search.best_params_ == {"l2": 0.1}
    assert search.best_score_ > 0.95
    assert search.score(sentences, heads) == search.best_estimator_.score(sentences, heads)
    assert cross_val_score(parser, sentences, heads, cv=3).mean() > 0.95


def test_sentences_count_by_their_weights():
    right = made(1, seed=1)[0]
    wrong = right.replaced("HEAD", [str(len(right)), *["1"] * (len(right) - 2), "0"])
    parser = DependencyParser(**SMALL, labels=False).fit([right], sample_weight=[2.0])
    share = np.mean(np.equal(heads_of(right), heads_of(wrong)))
    assert parser.score([right, wrong]) == pytest.approx((1 + share) / 2)
    weighted = parser.score([right, wrong], sample_weight=[3.0, 1.0])
    assert weighted == pytest.approx((3 + share) / 4)
    both = DependencyParser(**SMALL, labels=False).fit([right, wrong], sample_weight=[1.0, 0.0])
    assert both.score([right]) == 1.0


def test_objects_do_what_their_names_do():
    sentences = made(12)
    options = {**SMALL, "labels": False, "batch_sentences": 4}
    optimiser = AdaGrad(rate=Cosine(0.03), n_iterations=6, batches_per_step=6, average_from=1)
    for named, given in (
        ({"optimiser": "adagrad"}, {"optimiser": optimiser}),
        ({"objective": "risk"}, {"objective": ExpectedCost()}),
    ):
        first = DependencyParser(**options, **named).fit(sentences)
        second = DependencyParser(**options, **given).fit(sentences)
        np.testing.assert_array_equal(first.weights_, second.weights_)
    with pytest.raises(ValueError, match="max_iterations came beside an optimiser"):
        DependencyParser(**options, optimiser=optimiser, max_iterations=3).fit(sentences)


def test_softmax_margin_learns():
    parser = DependencyParser(**SMALL, labels=False, objective="softmax-margin").fit(made(30))
    assert parser.score(made(10, seed=1)) == 1.0


def test_data_frames():
    pandas = pytest.importorskip("pandas")
    sentences = made(30)
    frames = [pandas.DataFrame(dict(each.columns)) for each in sentences]
    parser = DependencyParser(**SMALL).fit(frames)
    np.testing.assert_array_equal(
        parser.weights_, DependencyParser(**SMALL).fit(sentences).weights_
    )
    assert str(parser.predict(frames)) == str(parser.predict(sentences))
    # Heads as numbers, and some that are missing.
    frames = [each.assign(HEAD=each["HEAD"].astype(float)) for each in frames]
    frames[0].loc[0, "HEAD"] = np.nan
    (known, *_), _ = trees_of(frames, None)
    assert known.tolist() == [-1, *heads_of(sentences[0])[1:]]
    assert parser.score(frames) == 1.0


def test_generators_and_plain_words():
    words = [[*each.column("FORM")] for each in made(30)]
    heads = [heads_of(each) for each in made(30)]
    parser = DependencyParser(**SMALL).fit(iter(words), iter(heads))
    assert parser.score((each for each in words), heads) > 0.95
    assert parser.predict(each for each in words[:3])[0][1] is None
