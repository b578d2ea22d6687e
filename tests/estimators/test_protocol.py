"""What all estimators have in common: scikit-learn's habits, copies, inputs, checks."""

import copy
import itertools
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError as TheirNotFittedError
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from partita import Aligner, DependencyParser, HiddenMarkovTagger, Tagger, Translator
from partita.estimators.base import NotFittedError
from partita.objectives import ExpectedCost, Likelihood
from partita.training import LBFGS
from small_tagging import as_dicts, sentences

WORDS, TAGS = sentences(60)
NEW_WORDS, NEW_TAGS = sentences(40, seed=1)
SIMPLE = "FORM[0]\nFORM[-1]\ntransition:"


def tagger(**options):
    return Tagger(**{"features": SIMPLE, "progress": False, "workers": 1, **options})


def hidden(**options):
    return HiddenMarkovTagger(**{"min_count": 1, "progress": False, "workers": 1, **options})


KINDS = pytest.mark.parametrize("make", [tagger, hidden], ids=["tagger", "hmm"])


@KINDS
def test_scikit_learn_selects_models(make):
    name = "l2" if make is tagger else "alpha"
    scores = cross_val_score(make(), WORDS, TAGS, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.5
    for n_jobs in (None, 2):
        search = GridSearchCV(make(), {name: [0.01, 100.0]}, cv=2, n_jobs=n_jobs).fit(WORDS, TAGS)
        assert search.best_params_ == {name: 0.01}
        assert search.predict(NEW_WORDS) == make(**{name: 0.01}).fit(WORDS, TAGS).predict(NEW_WORDS)
    random = RandomizedSearchCV(make(), {name: [0.01, 0.1]}, n_iter=2, cv=2, random_state=0)
    assert random.fit(WORDS, TAGS).best_score_ > 0.5
    assert not is_classifier(make())


@KINDS
def test_scikit_learn_copies_and_joins(make):
    found = make(seed=3).fit(WORDS, TAGS)
    copied = clone(found)
    assert copied.get_params() == found.get_params()
    with pytest.raises(TheirNotFittedError):
        check_is_fitted(copied)
    check_is_fitted(found)
    lower = FunctionTransformer(lambda sentences: [[w.lower() for w in s] for s in sentences])
    pipeline = Pipeline([("lower", lower), ("tags", make())]).fit(WORDS, TAGS)
    shouted = [[word.upper() for word in sentence] for sentence in NEW_WORDS]
    assert pipeline.predict(shouted) == pipeline.predict(NEW_WORDS)
    assert list(found.classes_) == list(found.tags_)


@KINDS
@pytest.mark.parametrize("loaded", [False, True])
def test_copies_answer_alike(make, loaded, tmp_path):
    found = make().fit(WORDS, TAGS)
    if loaded:
        found.save(tmp_path / "model")
        found = type(found).load(tmp_path / "model")
        assert found.training_ is None
    joblib.dump(found, tmp_path / "copy")
    copies = [
        pickle.loads(pickle.dumps(found)),
        copy.deepcopy(found),
        joblib.load(tmp_path / "copy"),
    ]
    for each in copies:
        assert each.get_params() == found.get_params()
        for a, b in zip(
            each.predict_marginals(NEW_WORDS), found.predict_marginals(NEW_WORDS), strict=True
        ):
            assert np.array_equal(a, b)


@KINDS
def test_sentences_count_what_they_are_said_to(make):
    words, tags = [["x"]] * 4, [["A"], ["A"], ["A"], ["B"]]
    found = make(**({"l2": 1e-3} if make is tagger else {"alpha": 0.0}))
    found.fit(words, tags, sample_weight=[1, 1, 1, 3])
    assert found.predict_marginals([["x"]])[0][0] == pytest.approx([0.5, 0.5], abs=0.01)
    assert found.score(words, tags, sample_weight=[1, 1, 1, 0]) == 1.0 - found.score(
        words[3:], tags[3:]
    )


@KINDS
def test_sets_of_tags_are_partial_labels(make):
    some = [[{"NOUN", "VERB"} if tag == "NOUN" else tag for tag in row] for row in TAGS]
    found = make().fit(WORDS + WORDS[:1], [*some, TAGS[0]])
    assert found.score(NEW_WORDS, NEW_TAGS) > 0.6
    sentence = NEW_WORDS[0]
    fixed = [[{"ADJ", "VERB"}] + ["?"] * (len(sentence) - 1)]
    assert found.predict([sentence], fixed=fixed)[0][0] in ("ADJ", "VERB")
    together = np.exp(found.log_prob([sentence], fixed)[0])
    first = dict(zip(found.tags_, found.predict_marginals([sentence])[0][0], strict=True))
    assert together == pytest.approx(first["ADJ"] + first["VERB"], abs=1e-9)
    with pytest.raises(ValueError, match="the tag 'X', which the model does not know"):
        found.predict([sentence], fixed=[[{"X", "ADJ"}] + ["?"] * (len(sentence) - 1)])
    with pytest.raises(ValueError, match="has the tag set"):
        found.predict([["a"]], fixed=[[set()]])


def test_sets_against_enumeration():
    found = tagger().fit(WORDS, TAGS)
    sets = [{"NOUN", "ADJ"}, {"VERB"}, "?"]
    sentence = ["the", "old", "dog"]
    p = found.distribution(sentence)
    names = list(found.tags_)
    total = sum(
        np.exp(p.log_prob([a, b, c]))
        for a in range(len(names))
        for b in range(len(names))
        for c in range(len(names))
        if names[a] in sets[0] and names[b] in sets[1]
    )
    assert np.exp(found.log_prob([sentence], [sets])[0]) == pytest.approx(total, abs=1e-12)


@KINDS
def test_streams_are_read_as_they_are_answered(make):
    found = make(workers=2).fit(WORDS, TAGS)
    taken = []

    def stream():
        for index, sentence in enumerate(NEW_WORDS * 200):
            taken.append(index)
            yield sentence

    answers = found.predict_stream(stream(), chunk=5)
    first = next(answers)
    assert len(taken) <= 4 * 5
    assert [first, *answers] == found.predict(NEW_WORDS * 200)
    assert found.predict(iter(NEW_WORDS)) == found.predict(NEW_WORDS)
    assert found.fit(iter(WORDS), TAGS).predict(NEW_WORDS) == found.predict(NEW_WORDS)


@KINDS
def test_samples_are_as_frequent_as_they_are_probable(make):
    found = make().fit(WORDS, TAGS)
    sentence = ["the", "old"]
    drawn = found.sample([sentence, []], 4000, np.random.default_rng(0))
    assert drawn[1] == [[]] * 4000
    (best, log_p), *_ = found.k_best([sentence], 1)[0]
    assert drawn[0].count(best) / 4000 == pytest.approx(np.exp(log_p), abs=0.03)


@KINDS
@pytest.mark.parametrize(
    "options, message",
    [
        ({"workers": 0}, "workers is 0; expected a number of threads"),
        ({"workers": "dask"}, "workers is 'dask'; expected a number of threads"),
        ({"seed": 1.5}, "seed is 1.5; expected a whole number, 0 or more"),
        ({"progress": "yes"}, "progress is 'yes'; expected True or False or None"),
        ({"resume": True}, "resume came without a checkpoint"),
        ({"min_count": True}, "min_count is True; expected a whole number, 1 or more"),
    ],
)
def test_options_are_checked_before_data_are_read(make, options, message):
    def never():
        raise AssertionError("data were read")
        yield

    with pytest.raises(ValueError, match=message):
        make(**options).fit(never(), TAGS)


def test_options_of_the_tagger():
    for options, message in [
        ({"l2": "a"}, "l2 is 'a'; expected a number, 0 or more"),
        ({"l2": -1}, "l2 is -1; expected a number, 0 or more"),
        ({"l2": float("nan")}, "l2 is nan"),
        (
            {"renyi_alpha": 2.0},
            "renyi_alpha is 2.0, which changes nothing without an entropy_weight",
        ),
        ({"class_weights": "even"}, "class_weights is 'even'; expected 'balanced'"),
        ({"columns": "FORM"}, "columns is 'FORM'"),
        ({"optimiser": LBFGS(), "max_iterations": 3}, "max_iterations came beside an optimiser"),
    ]:
        with pytest.raises(ValueError, match=message):
            tagger(**options).fit(WORDS, TAGS)
    with pytest.raises(TypeError):
        Tagger(n_threads=1)
    for name in ("min_count", "l2", "workers", "checkpoint"):
        assert name in Tagger.__doc__


def test_objects_in_place_of_names():
    by_name = tagger(objective="risk", max_iterations=5).fit(WORDS, TAGS)
    by_object = tagger(objective=ExpectedCost(), optimiser=LBFGS(n_iterations=5)).fit(WORDS, TAGS)
    assert by_object.weights_.tobytes() == by_name.weights_.tobytes()

    class Doubled(Likelihood):
        def losses(self, p, target):
            losses, gradient = super().losses(p, target)
            return 2 * losses, lambda: 2 * gradient()

    doubled = tagger(objective=Doubled(), l2=1.0).fit(WORDS, TAGS)
    halved = tagger(l2=0.5).fit(WORDS, TAGS)
    assert doubled.training_.loss == pytest.approx(2 * halved.training_.loss, rel=1e-6)
    margin = tagger(objective="softmax-margin").fit(WORDS, TAGS)
    assert margin.score(NEW_WORDS, NEW_TAGS) > 0.9


@KINDS
def test_errors_are_those_of_scikit_learn(make):
    for question in (
        lambda each: each.predict(WORDS),
        lambda each: each.tags_,
        lambda each: each.entropy(WORDS),
        lambda each: each.distribution(WORDS[0]),
        lambda each: each.inspect(),
        lambda each: each.explain(WORDS[0], 0),
        lambda each: each.log_prob(WORDS, TAGS),
        lambda each: each.score(WORDS, TAGS),
        lambda each: each.model_,
    ):
        with pytest.raises(NotFittedError, match="has learnt nothing yet"):
            question(make())
    assert issubclass(NotFittedError, ValueError)
    assert issubclass(NotFittedError, AttributeError)


@pytest.mark.parametrize("make", [DependencyParser, Aligner, Translator])
def test_every_question_needs_something_learnt(make):
    pair, rng = ([["a"]], [["b"]]), np.random.default_rng(0)
    given = pair if make is Aligner else pair[:1]
    more = {"k_best": (2,), "sample": (2, rng), "predict_stream": ()}
    for name in ("predict", "predict_stream", "k_best", "sample", "entropy"):
        with pytest.raises(NotFittedError, match=f"this {make.__name__} has learnt nothing yet"):
            list(getattr(make(), name)(*given, *more.get(name, ())))
    for name in ("model_", "training_"):
        with pytest.raises(NotFittedError, match="learnt nothing"):
            getattr(make(), name)
        assert not hasattr(make(), name)
    with pytest.raises(AttributeError, match="has no attribute 'modell'"):
        _ = make().modell


@KINDS
def test_reports_are_text_and_html(make):
    found = make().fit(WORDS, TAGS)
    for report in (found.inspect(3), found.explain(NEW_WORDS[0], 0)):
        assert "\n" in str(report)
        assert "<table>" in report._repr_html_()
    hostile = make(**({"features": "FORM[0]"} if make is tagger else {}))
    hostile.fit([["<script>"]] * 2, [["<b>"], ["A"]])
    for report in (hostile.inspect(), hostile.explain(["<script>"], 0)):
        assert "<script>" not in report._repr_html_()
        assert "<b>" not in report._repr_html_()


def test_tables_make_a_model():
    start, transition = [0.6, 0.4], [[0.7, 0.3], [0.2, 0.8]]
    emission = [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]
    names = {"tags": ["rain", "sun"], "words": ["walk", "shop", "clean"]}
    found = HiddenMarkovTagger.from_tables(start, transition, emission, **names)
    total = sum(
        start[a] * emission[a][0] * transition[a][b] * emission[b][2]
        for a in (0, 1)
        for b in (0, 1)
    )
    assert found.log_likelihood([["walk", "clean"]])[0] == pytest.approx(np.log(total), abs=1e-12)
    sentences = [["walk", "clean", "shop"]] * 5 + [["clean", "clean", "walk"]] * 3
    options = {"n_tags": 2, "min_count": 1, "alpha": 0.0, "max_iterations": 1, "progress": False}
    again = HiddenMarkovTagger(warm_start=found, **options).fit(sentences)
    assert again.log_likelihood(sentences).sum() >= found.log_likelihood(sentences).sum()
    # Without labels its tags are the model's own: the start is not the same for all of them.
    assert again.tags_ == ("rain", "sun")
    assert np.ptp(np.exp(again.log_transitions_), axis=0).min() > 0.1
    for change, message in [
        ({"start": [0.5, 0.6]}, "start is no table of probabilities"),
        ({"transition": [[1.0]]}, r"transition has shape \(1, 1\); expected \(2, 2\)"),
        ({"emission": np.ones((2, 3))}, "emission is no table of probabilities"),
    ]:
        tables = {"start": start, "transition": transition, "emission": emission, **change}
        with pytest.raises(ValueError, match=message):
            HiddenMarkovTagger.from_tables(**tables, **names)


def test_a_hidden_markov_model_starts_from_exactly_another():
    """One step from there is the step by enumeration; its zeros stay where alpha is 0."""
    start, transition = [1.0, 0.0], [[0.5, 0.5], [0.0, 1.0]]
    emission = [[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]]
    names = {"tags": ["rain", "sun"], "words": ["walk", "shop", "clean"]}
    found = HiddenMarkovTagger.from_tables(start, transition, emission, **names)
    sentences = [["walk", "clean", "shop"]] * 5 + [["clean", "clean", "walk"]] * 3
    options = {"n_tags": 2, "min_count": 1, "progress": False, "warm_start": found}
    still = HiddenMarkovTagger(alpha=0.0, max_iterations=1, **options).fit(sentences)
    once = expectation_step(start, transition, emission, sentences, names["words"])
    np.testing.assert_allclose(np.exp(still.log_start_), once[0], atol=1e-12)
    np.testing.assert_allclose(np.exp(still.log_transitions_), once[1], atol=1e-12)
    np.testing.assert_allclose(columns_of(still, names["words"]), once[2], atol=1e-12)
    assert still.log_start_[1] == still.log_transitions_[1, 0] == -np.inf
    free = HiddenMarkovTagger(max_iterations=1, **options).fit(sentences)
    assert np.isfinite(free.log_start_).all()
    # A word and a tag that the other model does not know.
    wider = HiddenMarkovTagger(n_tags=3, alpha=0.0, min_count=1, max_iterations=1, progress=False)
    wider.set_params(warm_start=found).fit([["walk", "talk"]] * 3)
    assert wider.tags_ == ("rain", "sun", "T0")
    assert wider.log_likelihood([["walk", "talk"]])[0] > np.log(0.5)
    only = HiddenMarkovTagger.from_tables(start, [[1, 0], [0, 1]], [[1, 0, 0], [0, 0, 1]], **names)
    with pytest.raises(ValueError, match=r"sentence 1 .*has probability 0 by warm_start"):
        HiddenMarkovTagger(n_tags=2, alpha=0.0, min_count=1, warm_start=only).fit(
            [["walk", "walk"], ["walk", "clean"]]
        )
    HiddenMarkovTagger(n_tags=2, min_count=1, warm_start=only).fit([["walk", "clean"]])


def expectation_step(start, transition, emission, sentences, words):
    """Probabilities after a step of expectation-maximisation, by enumeration."""
    counts = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 3))
    for sentence in sentences:
        seen = [words.index(word) for word in sentence]
        paths = list(itertools.product((0, 1), repeat=len(seen)))
        chances = []
        for path in paths:
            chance = start[path[0]] * np.prod(
                [emission[k][w] for k, w in zip(path, seen, strict=True)]
            )
            chances.append(
                chance * np.prod([transition[a][b] for a, b in itertools.pairwise(path)])
            )
        for path, chance in zip(paths, np.array(chances) / sum(chances), strict=True):
            counts[0][path[0]] += chance
            for a, b in itertools.pairwise(path):
                counts[1][a, b] += chance
            for k, w in zip(path, seen, strict=True):
                counts[2][k, w] += chance
    return [count / count.sum(axis=-1, keepdims=True) for count in counts]


def columns_of(tagger, words):
    rows = [tagger.symbols_.numbers([word])[0] for word in words]
    return np.exp(tagger.log_emissions_[rows]).T


def test_hidden_markov_models_read_columns():
    from partita.data import Sentence

    sentences = [
        Sentence({"FORM": tuple(words), "UPOS": tuple(tags)})
        for words, tags in zip(WORDS, TAGS, strict=True)
    ]
    by_column = hidden(tag_column="UPOS").fit(sentences)
    by_hand = hidden().fit(WORDS, TAGS)
    assert by_column.predict(NEW_WORDS) == by_hand.predict(NEW_WORDS)
    assert by_column.score(sentences) == by_hand.score(WORDS, TAGS)


def test_the_loss_is_minimised_as_far_as_asked():
    near, far = (
        tagger(loss_tolerance=t, max_iterations=2000).fit(WORDS, TAGS) for t in (1e-2, 0.0)
    )
    assert near.training_.n_iterations < far.training_.n_iterations
    assert far.training_.loss < near.training_.loss
    exact = tagger(optimiser=LBFGS(n_iterations=3000, gradient_tolerance=1e-10)).fit(WORDS, TAGS)
    assert far.training_.loss == pytest.approx(exact.training_.loss, rel=1e-8)


def test_dictionaries_and_arrays_of_text():
    found = Tagger(progress=False).fit(as_dicts(WORDS), TAGS)
    assert pickle.loads(pickle.dumps(found)).predict(as_dicts(NEW_WORDS)) == found.predict(
        as_dicts(NEW_WORDS)
    )
    arrays = [np.array(words) for words in WORDS]
    by_array = tagger().fit(arrays, [np.array(tags) for tags in TAGS])
    assert by_array.predict(NEW_WORDS) == tagger().fit(WORDS, TAGS).predict(NEW_WORDS)
