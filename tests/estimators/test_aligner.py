"""`Aligner`: words in, links out, from data in memory and from a file alike."""

import numpy as np
import pytest

import partita as pt
from partita.data.alignments import Alignment
from partita.estimators.alignment.symmetrise import SYMMETRISATIONS
from partita.estimators.alignment.words import UNKNOWN
from small_bitext import random_bitext

SOURCE, TARGET = random_bitext(np.random.default_rng(0), n_pairs=150, n_words=12)
OPTIONS = {"progress": False, "n_threads": 1}
NEW = (
    [["s1", "s2"], [], ["s3", "never-seen"], ["s4"] * 30, ["s5"]],
    [["t1", "t2"], ["t1"], ["t3", "brand-new"], ["t4"] * 30, []],
)


@pytest.fixture(scope="module", params=["model1", "hmm"])
def aligner(request):
    return pt.Aligner(request.param, **OPTIONS).fit(SOURCE, TARGET)


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


def test_the_same_answers_from_a_file(aligner, tmp_path):
    path = tmp_path / "links.model"
    aligner.save(path)
    again = pt.Aligner.load(path)
    assert again.get_params() == aligner.get_params()
    for data in ((SOURCE, TARGET), NEW):
        assert again.predict(*data) == aligner.predict(*data)
        for one, two in zip(
            again.predict_marginals(*data), aligner.predict_marginals(*data), strict=True
        ):
            np.testing.assert_array_equal(one, two)
    # A pair alone is answered as it is among all others.
    for place in (0, 7, 149):
        alone = again.predict_marginals([SOURCE[place]], [TARGET[place]])[0]
        np.testing.assert_array_equal(alone, aligner.predict_marginals(SOURCE, TARGET)[place])


def test_unknown_words_go_together(aligner):
    assert aligner.generative_.source_words.number("never-seen") == UNKNOWN
    p = aligner.predict_marginals(*NEW)[2]
    assert p[1, 1] > p[0, 1]
    assert p[1, 1] > p[1, 0]


def test_one_answer_for_each_pair(aligner):
    marginals = aligner.predict_marginals(*NEW)
    assert [p.shape for p in marginals] == [(2, 2), (0, 1), (2, 2), (30, 30), (1, 0)]
    assert [len(aligner.predict(*NEW)[k]) for k in (1, 4)] == [0, 0]


def test_long_pairs_are_skipped_or_kept():
    skipping = pt.Aligner(max_words=20, **OPTIONS).fit(SOURCE + NEW[0], TARGET + NEW[1])
    assert (skipping.n_pairs_, skipping.n_empty_, skipping.n_longer_) == (152, 2, 1)
    assert skipping.predict(*NEW)[3] == []
    assert not skipping.predict_marginals(*NEW)[3].any()
    keeping = pt.Aligner(max_words=20, longer="keep", **OPTIONS)
    keeping.fit(SOURCE + NEW[0], TARGET + NEW[1])
    assert (keeping.n_pairs_, keeping.n_longer_) == (153, 0)
    assert keeping.predict_marginals(*NEW)[3].sum() > 10
    with pytest.raises(ValueError, match="nothing to learn from: of 2 pairs, 1 have an empty"):
        pt.Aligner(max_words=2, **OPTIONS).fit([[], ["a"] * 3], [["b"], ["c"]])


@pytest.mark.parametrize("decoder", ["threshold", "risk", "viterbi"])
@pytest.mark.parametrize("symmetrisation", SYMMETRISATIONS)
def test_decoders(aligner, decoder, symmetrisation):
    other = pt.Aligner(**aligner.get_params()).set_params(
        decoder=decoder, symmetrisation=symmetrisation
    )
    other.generative_, other.crf_ = aligner.generative_, None
    if (decoder, symmetrisation) == ("viterbi", "mean"):
        with pytest.raises(ValueError, match="symmetrisation is 'mean'"):
            other.predict(SOURCE, TARGET)
        return
    found = other.predict(SOURCE, TARGET)
    for links, a, b in zip(found, SOURCE, TARGET, strict=True):
        assert links == sorted(set(links))
        assert all(0 <= i < len(a) and 0 <= j < len(b) for i, j in links)
        if symmetrisation == "forward" and decoder == "viterbi":
            assert len({j for _, j in links}) == len(links)
    assert sum(map(len, found)) > 100


def test_directions_are_mirrored():
    one = pt.Aligner(symmetrisation="forward", **OPTIONS).fit(SOURCE, TARGET)
    two = pt.Aligner(symmetrisation="backward", **OPTIONS).fit(TARGET, SOURCE)
    for p, q in zip(
        one.predict_marginals(SOURCE, TARGET), two.predict_marginals(TARGET, SOURCE), strict=True
    ):
        np.testing.assert_allclose(p, q.T, rtol=0, atol=1e-9)


def test_capitals_and_endings():
    source = [[word.upper() for word in row] for row in SOURCE]
    plain = pt.Aligner(**OPTIONS).fit(SOURCE, TARGET)
    assert plain.predict(source, TARGET) == plain.predict(SOURCE, TARGET)
    ended = [[f"{word}-{len(row)}" for word in row] for row in SOURCE]
    short = pt.Aligner(n_letters=3, **OPTIONS).fit(ended, TARGET)
    assert short.generative_.source_words.number("s5-99") != UNKNOWN


def test_threads_and_iterations():
    one = pt.Aligner(**OPTIONS).fit(SOURCE, TARGET)
    two = pt.Aligner(progress=False, n_threads=2).fit(SOURCE, TARGET)
    for p, q in zip(
        one.predict_marginals(SOURCE, TARGET), two.predict_marginals(SOURCE, TARGET), strict=True
    ):
        np.testing.assert_array_equal(p, q)
    stages = [(stage, iteration) for stage, iteration, _ in one.history_]
    assert stages == [("Model 1", k) for k in range(1, 6)] + [("HMM", k) for k in range(1, 6)]


def test_progress(capsys):
    pt.Aligner(progress=True, n_threads=1).fit(SOURCE, TARGET)
    shown = capsys.readouterr().err
    assert "iteration 1: loss" in shown
    assert "gradient" not in shown


@pytest.mark.parametrize(
    "options, message",
    [
        ({"model": "ibm4"}, "model is 'ibm4'; expected one of model1, hmm, crf"),
        ({"decoder": "best"}, "decoder is 'best'"),
        ({"symmetrisation": "grow"}, "symmetrisation is 'grow'"),
        ({"longer": "cut"}, "longer is 'cut'"),
        ({"threshold": 1.5}, "threshold is 1.5; expected above 0, at most 1"),
        ({"threshold": 0}, "threshold is 0; expected above 0"),
        ({"null_probability": -1}, "null_probability is -1"),
        ({"alpha": -1}, "alpha is -1"),
        ({"reach": 0}, "reach is 0"),
        ({"n_letters": 0}, "n_letters is 0"),
        ({"max_words": 0}, "max_words is 0"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        pt.Aligner(**options, progress=False).fit(SOURCE, TARGET)


def test_bad_data(aligner):
    with pytest.raises(ValueError, match="1 source and 2 target sentences"):
        aligner.predict([["a"]], [["b"], ["c"]])
    with pytest.raises(ValueError, match="learns from words alone; use model='crf'"):
        pt.Aligner(**OPTIONS).fit([["a"]], [["b"]], [Alignment()])
    with pytest.raises(ValueError, match="2 alignments for 1 pairs"):
        pt.Aligner("crf", **OPTIONS).fit([["a"]], [["b"]], [None, None])
    for link in ((0, 1), (1, 0), (-1, 0)):
        with pytest.raises(ValueError, match=r"alignment 0 .* its pair has 1 source and 1 target"):
            pt.Aligner("crf", **OPTIONS).fit([["a"]], [["b"]], [Alignment((link,))])
    with pytest.raises(ValueError, match="is the text 'a b'"):
        aligner.predict(["a b"], [["c"]])
    with pytest.raises(RuntimeError, match="not trained"):
        pt.Aligner().predict([["a"]], [["b"]])


def test_translations(aligner):
    found = {source: target for source, target, _ in aligner.best_translations(1)}
    assert sum(found[f"s{k}"] == f"t{k}" for k in range(12)) >= 11
