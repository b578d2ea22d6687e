"""`Aligner`: words in, links out, from data in memory and from a file alike."""

import copy
import itertools
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone

import partita as pt
from partita.data.alignments import SYMMETRISATIONS, Alignment
from partita.estimators.alignment.models import (
    MODELS,
    HiddenMarkovAlignment,
    ItgAlignment,
    Model1,
)
from partita.estimators.base import NotFittedError
from partita.text.word_vocabulary import UNKNOWN
from small_bitext import random_bitext

SOURCE, TARGET = random_bitext(np.random.default_rng(0), n_pairs=150, n_words=12)
OPTIONS = {"progress": False, "workers": 1}
NEW = (
    [["s1", "s2"], [], ["s3", "never-seen"], ["s4"] * 30, ["s5"]],
    [["t1", "t2"], ["t1"], ["t3", "brand-new"], ["t4"] * 30, []],
)


@pytest.fixture(scope="module", params=["model1", "hmm"])
def aligner(request):
    return pt.Aligner(model=request.param, **OPTIONS).fit(SOURCE, TARGET)


@pytest.fixture(scope="module")
def itg():
    return pt.Aligner(model=ItgAlignment(max_iterations=1), **OPTIONS).fit(SOURCE, TARGET)


def test_links_are_found(aligner):
    right = [
        [(i, j) for i, s in enumerate(a) for j, t in enumerate(b) if s[1:] == t[1:]]
        for a, b in zip(SOURCE, TARGET, strict=True)
    ]
    gold = [Alignment(possible=tuple(links)) for links in right]
    found = aligner.predict(SOURCE, TARGET)
    allowed = sum(len(set(a) & set(b)) for a, b in zip(right, found, strict=True))
    assert allowed / sum(map(len, found)) > 0.9
    assert aligner.score(SOURCE, TARGET, gold) > 0.9
    weights = [0.0] * 149 + [2.0]
    assert aligner.score(SOURCE, TARGET, gold, sample_weight=weights) == aligner.score(
        SOURCE[149:], TARGET[149:], gold[149:]
    )


def same(one, two):
    for data in ((SOURCE, TARGET), NEW):
        assert one.predict(*data) == two.predict(*data)
        for a, b in zip(one.predict_marginals(*data), two.predict_marginals(*data), strict=True):
            np.testing.assert_array_equal(a, b)


def test_the_same_answers_from_a_file(aligner, tmp_path):
    path = tmp_path / "links.model"
    aligner.save(path)
    again = pt.Aligner.load(path)
    assert repr(again) == repr(pt.Aligner(model=aligner.model))
    assert (again.training_, again.counts_) == (None, aligner.counts_)
    same(again, aligner)
    # A pair alone is answered as it is among all others.
    for place in (0, 7, 149):
        alone = again.predict_marginals([SOURCE[place]], [TARGET[place]])[0]
        np.testing.assert_array_equal(alone, aligner.predict_marginals(SOURCE, TARGET)[place])


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("kind", ["model1", "hmm", "itg"])
def test_copies_answer_alike(kind, loaded, itg, tmp_path):
    found = itg
    if kind != "itg":
        found = pt.Aligner(model=kind, **OPTIONS).fit(SOURCE, TARGET)
    if loaded:
        found.save(tmp_path / "model")
        found = pt.Aligner.load(tmp_path / "model")
    joblib.dump(found, tmp_path / "copy")
    for each in (
        pickle.loads(pickle.dumps(found)),
        copy.deepcopy(found),
        joblib.load(tmp_path / "copy"),
    ):
        assert repr(each) == repr(found)
        same(each, found)


def test_scikit_learn_copies_and_sets():
    aligner = pt.Aligner(model=ItgAlignment(n_iterations=3), max_words=20)
    copied = clone(aligner)
    assert repr(copied) == repr(aligner)
    assert copied.model is not aligner.model
    copied.set_params(model__n_iterations=7, max_words=10)
    assert (copied.model.n_iterations, aligner.model.n_iterations) == (7, 3)
    assert copied.get_params()["model__n_iterations"] == 7
    with pytest.raises(ValueError, match="model is 'hmm', which has no options; give an object"):
        pt.Aligner().set_params(model__reach=3)


def test_a_name_is_the_default_object():
    for name, kind in MODELS.items():
        if name == "crf":
            continue
        one, two = (
            pt.Aligner(model=each, **OPTIONS).fit(SOURCE, TARGET) for each in (name, kind())
        )
        assert one.predict(SOURCE, TARGET) == two.predict(SOURCE, TARGET)
    fewer = pt.Aligner(model=Model1(model1_iterations=1), **OPTIONS).fit(SOURCE, TARGET)
    assert fewer.training_.n_iterations == 1


def test_unknown_words_go_together(aligner):
    assert aligner.model_.source_words.number("never-seen") == UNKNOWN
    p = aligner.predict_marginals(*NEW)[2]
    assert p[1, 1] > p[0, 1]
    assert p[1, 1] > p[1, 0]


def test_one_answer_for_each_pair(aligner):
    marginals = aligner.predict_marginals(*NEW)
    assert [p.shape for p in marginals] == [(2, 2), (0, 1), (2, 2), (30, 30), (1, 0)]
    assert [len(aligner.predict(*NEW)[k]) for k in (1, 4)] == [0, 0]


def test_long_pairs_are_skipped_or_kept():
    skipping = pt.Aligner(max_words=20, **OPTIONS).fit(SOURCE + NEW[0], TARGET + NEW[1])
    counts = skipping.counts_
    assert (counts.n_used, counts.n_empty, counts.n_long) == (152, 2, 1)
    assert str(counts) == "155 pairs: 152 used; skipped: 2 with an empty side, 1 too long"
    assert skipping.predict(*NEW)[3] == []
    assert not skipping.predict_marginals(*NEW)[3].any()
    keeping = pt.Aligner(max_words=20, longer="keep", **OPTIONS)
    keeping.fit(SOURCE + NEW[0], TARGET + NEW[1])
    assert (keeping.counts_.n_used, keeping.counts_.n_long) == (153, 0)
    assert keeping.predict_marginals(*NEW)[3].sum() > 10
    with pytest.raises(ValueError, match="nothing to learn from .2 pairs: 0 used; skipped: 1 with"):
        pt.Aligner(max_words=2, **OPTIONS).fit([[], ["a"] * 3], [["b"], ["c"]])


@pytest.mark.parametrize("decoder", ["threshold", "risk", "viterbi"])
@pytest.mark.parametrize("symmetrisation", [None, *SYMMETRISATIONS])
def test_decoders(aligner, decoder, symmetrisation):
    choice = {"decoder": decoder, "symmetrisation": symmetrisation}
    if (decoder, symmetrisation) == ("viterbi", "mean"):
        with pytest.raises(ValueError, match="symmetrisation is 'mean'"):
            aligner.predict(SOURCE, TARGET, **choice)
        return
    found = aligner.predict(SOURCE, TARGET, **choice)
    for links, a, b in zip(found, SOURCE, TARGET, strict=True):
        assert links == sorted(set(links))
        assert all(0 <= i < len(a) and 0 <= j < len(b) for i, j in links)
        if symmetrisation == "forward" and decoder == "viterbi":
            assert len({j for _, j in links}) == len(links)
    assert sum(map(len, found)) > 100


def test_a_stream_is_read_as_it_is_answered():
    found = pt.Aligner(progress=False, workers=2).fit(iter(SOURCE), iter(TARGET))
    taken = []

    def stream():
        for index, words in enumerate(20 * SOURCE):
            taken.append(index)
            yield words

    answers = found.predict_stream(stream(), iter(20 * TARGET), chunk=5)
    first = next(answers)
    assert len(taken) <= 4 * 5
    assert [first, *answers] == 20 * found.predict(SOURCE, TARGET)


def test_directions_are_mirrored():
    one = pt.Aligner(**OPTIONS).fit(SOURCE, TARGET)
    two = pt.Aligner(**OPTIONS).fit(TARGET, SOURCE)
    for p, q in zip(
        one.predict_marginals(SOURCE, TARGET, symmetrisation="forward"),
        two.predict_marginals(TARGET, SOURCE, symmetrisation="backward"),
        strict=True,
    ):
        np.testing.assert_allclose(p, q.T, rtol=0, atol=1e-9)


def test_capitals_and_endings():
    source = [[word.upper() for word in row] for row in SOURCE]
    plain = pt.Aligner(**OPTIONS).fit(SOURCE, TARGET)
    assert plain.predict(source, TARGET) == plain.predict(SOURCE, TARGET)
    ended = [[f"{word}-{len(row)}" for word in row] for row in SOURCE]
    short = pt.Aligner(n_letters=3, **OPTIONS).fit(ended, TARGET)
    assert short.model_.source_words.number("s5-99") != UNKNOWN


def test_threads_and_iterations():
    one = pt.Aligner(**OPTIONS).fit(SOURCE, TARGET)
    two = pt.Aligner(progress=False, workers=2).fit(SOURCE, TARGET)
    same(one, two)
    assert list(one.stages_) == ["HMM"]
    assert [record.iteration for record in one.training_.history] == list(range(1, 11))
    assert not one.training_.interrupted
    assert one.training_.reason.startswith("Stopped after 10 iterations, as many as were planned")
    assert "the next (n_iterations) would bring less" in one.training_.reason


def test_a_pair_counts_what_it_is_said_to(aligner):
    weights = [2.0] * 10 + [1.0] * 140
    weighed = pt.Aligner(model=aligner.model, **OPTIONS)
    weighed.fit(SOURCE, TARGET, sample_weight=weights)
    # The counts of words, which say what to think of unknown ones, know no weights.
    pairs = [each for each in weighed.best_translations(1) if each[0] != "s3"]
    doubled = pt.Aligner(model=aligner.model, **OPTIONS)
    doubled.fit(SOURCE + SOURCE[:10], TARGET + TARGET[:10])
    expected = {one: (two, p) for one, two, p in doubled.best_translations(1)}
    for one, two, p in pairs:
        assert expected[one][0] == two
        assert expected[one][1] == pytest.approx(p, abs=1e-9)


def test_held_out_pairs_choose_the_iteration(aligner):
    found = pt.Aligner(model=aligner.model, **OPTIONS)
    found.fit(SOURCE[20:], TARGET[20:], held_out=(SOURCE[:20], TARGET[:20]))
    held_out = [record.held_out for record in found.training_.history]
    value = -found.model_.log_likelihood(SOURCE[:20], TARGET[:20]).sum()
    assert value == pytest.approx(min(held_out), abs=1e-9)


def test_progress(capsys, monkeypatch):
    monkeypatch.setattr("partita.training.progress.SECONDS_BETWEEN", 0.0)
    pt.Aligner(progress=True, workers=1).fit(SOURCE, TARGET)
    shown = capsys.readouterr().err
    assert "iteration 1: loss" in shown
    assert "gradient" not in shown


@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_questions_about_all_alignments(aligner, direction):
    source, target = [["s1", "s2"]], [["t1", "extra", "t2"]]
    n, m = (2, 3) if direction == "forward" else (3, 2)
    every = aligner.k_best(source, target, 1000, direction=direction)[0]
    # Words that never met cannot be linked; elsewhere every word chooses among n + 1.
    assert 4 <= len(every) <= (n + 1) ** m
    assert np.logaddexp.reduce([p for _, p in every]) == pytest.approx(0.0, abs=1e-9)
    choice = {"symmetrisation": direction}
    marginals = np.zeros((2, 3))
    for links, p in every:
        for link in links:
            marginals[link] += np.exp(p)
    expected = aligner.predict_marginals(source, target, **choice)[0]
    np.testing.assert_allclose(marginals, expected, rtol=0, atol=1e-9)
    assert aligner.predict(source, target, decoder="viterbi", **choice) == [every[0][0]]
    entropy = -sum(np.exp(p) * p for _, p in every)
    assert aligner.entropy(source, target, direction=direction)[0] == pytest.approx(entropy)
    some = every[:: max(len(every) // 4, 1)]
    found = aligner.log_prob(
        len(some) * source, len(some) * target, [links for links, _ in some], direction=direction
    )
    np.testing.assert_allclose(found, [p for _, p in some], rtol=0, atol=1e-9)
    drawn = aligner.sample(source, target, 2000, np.random.default_rng(0), direction=direction)
    share = drawn[0].count(every[0][0]) / 2000
    assert share == pytest.approx(np.exp(every[0][1]), abs=0.05)
    (distinct,) = aligner.sample(
        source, target, 1000, np.random.default_rng(0), direction=direction, replace=False
    )
    assert sorted(distinct) == sorted(links for links, _ in every)
    p = aligner.distribution(source[0], target[0], direction=direction)
    assert p.entropy == pytest.approx(entropy)


def test_questions_about_pairs_without_words(aligner):
    nothing = [[], ["s1"]], [["t1"], []]
    assert aligner.k_best(*nothing, 3) == [[([], 0.0)], [([], 0.0)]]
    assert aligner.sample(*nothing, 2, np.random.default_rng(0)) == [[[], []], [[], []]]
    found = aligner.sample(*nothing, 2, np.random.default_rng(0), replace=False)
    assert found == [[[]], [[]]]
    assert aligner.entropy(*nothing).tolist() == [0.0, 0.0]
    assert aligner.log_prob(*nothing, [[], []]).tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="a sentence has no words"):
        aligner.distribution([], ["t1"])
    with pytest.raises(ValueError, match="target word 0 has two links, to 0 and 1"):
        aligner.log_prob([["s1", "s2"]], [["t1"]], [[(0, 0), (1, 0)]])
    with pytest.raises(ValueError, match=r"has the link \(0, 3\)"):
        aligner.log_prob([["s1"]], [["t1"]], [[(0, 3)]])
    with pytest.raises(ValueError, match="direction is 'up'"):
        aligner.entropy([["s1"]], [["t1"]], direction="up")


def test_inspection(aligner):
    report = aligner.inspect(3)
    assert "s1" in str(report)
    assert "150 pairs: 150 used" in str(report)
    assert ("Jumps between source words:" in str(report)) == (aligner.model == "hmm")
    assert "<table>" in report._repr_html_()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"model": "ibm4"}, "model is 'ibm4'; expected 'model1', 'hmm', 'crf' or an object of"),
        ({"longer": "cut"}, "longer is 'cut'; expected 'skip' or 'keep'"),
        ({"model": HiddenMarkovAlignment(null_probability=-1)}, "null_probability is -1"),
        ({"model": HiddenMarkovAlignment(reach=0)}, "reach is 0"),
        ({"model": Model1(alpha=-1)}, "alpha is -1; expected a number, 0 or more"),
        ({"n_letters": 0}, "n_letters is 0"),
        ({"max_words": 0}, "max_words is 0"),
        ({"min_count": True}, "min_count is True"),
        ({"workers": 0}, "workers is 0"),
        ({"resume": True}, "resume came without a checkpoint"),
    ],
)
def test_bad_options(options, message):
    def never():
        raise AssertionError("data were read")
        yield

    with pytest.raises(ValueError, match=message):
        pt.Aligner(**{"progress": False, **options}).fit(never(), TARGET)


@pytest.mark.parametrize(
    "choice, message",
    [
        ({"decoder": "best"}, "decoder is 'best'"),
        ({"symmetrisation": "grow"}, "symmetrisation is 'grow'"),
        ({"threshold": 1.5}, "threshold is 1.5; expected above 0, at most 1"),
        ({"threshold": 0}, "threshold is 0; expected above 0"),
    ],
)
def test_bad_choices(aligner, choice, message):
    with pytest.raises(ValueError, match=message):
        aligner.predict(SOURCE, TARGET, **choice)


def test_bad_data(aligner):
    with pytest.raises(ValueError, match="1 source and more target sentences"):
        aligner.predict([["a"]], [["b"], ["c"]])
    with pytest.raises(ValueError, match="1 source and 2 target sentences"):
        pt.Aligner(**OPTIONS).fit([["a"]], [["b"], ["c"]])
    with pytest.raises(ValueError, match="learns from words alone; use model='crf'"):
        pt.Aligner(**OPTIONS).fit([["a"]], [["b"]], [Alignment()])
    with pytest.raises(ValueError, match="2 alignments for 1 pairs"):
        pt.Aligner(model="crf", **OPTIONS).fit([["a"]], [["b"]], [None, None])
    for link in ((0, 1), (1, 0), (-1, 0)):
        with pytest.raises(ValueError, match=r"alignment 0 .* its pair has 1 source and 1 target"):
            pt.Aligner(model="crf", **OPTIONS).fit([["a"]], [["b"]], [Alignment((link,))])
    with pytest.raises(ValueError, match=r"source\[0\] is the text 'a b'"):
        aligner.predict(["a b"], [["c"]])
    with pytest.raises(ValueError, match="sample_weight"):
        pt.Aligner(**OPTIONS).fit([["a"]], [["b"]], sample_weight=[1.0, 2.0])


def test_nothing_is_asked_before_it_is_learnt():
    for question in (
        lambda each: each.predict([["a"]], [["b"]]),
        lambda each: each.predict_marginals([["a"]], [["b"]]),
        lambda each: each.k_best([["a"]], [["b"]], 2),
        lambda each: each.entropy([["a"]], [["b"]]),
        lambda each: each.distribution(["a"], ["b"]),
        lambda each: each.best_translations(),
        lambda each: each.inspect(),
        lambda each: each.save("nowhere"),
    ):
        with pytest.raises(NotFittedError, match="this Aligner has learnt nothing yet"):
            question(pt.Aligner())


def test_translations(aligner):
    found = {source: target for source, target, _ in aligner.best_translations(1)}
    assert sum(found[f"s{k}"] == f"t{k}" for k in range(12)) >= 11


def test_all_answers_are_there_for_all_sizes(aligner):
    for n, m in itertools.product((1, 2), (1, 3)):
        source, target = [["s1"] * n], [["t1"] * m]
        assert len(aligner.k_best(source, target, 2)[0]) == 2
        assert aligner.predict_marginals(source, target)[0].shape == (n, m)
