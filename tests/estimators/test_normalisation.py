"""`Tagger(normalisation="local")`: a maximum-entropy Markov model, against its softmaxes."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

import partita as pt
from small_tagging import as_dicts, chunked, sentences

WORDS, TAGS = sentences(30)
TRANSITIONS = "FORM[0]\nFORM[-1]\ntransition:\ntransition: FORM[0]"


def steps(tagger, sentence):
    """log p(tag | tag before, words) as a function of word, tag before (None first) and tag."""
    (piece,) = tagger.model_.pieces(tagger.model_.encode([sentence]))
    (unary,), (pairwise,) = piece.structures.split(piece.features.scores(tagger.weights_))
    tables = np.broadcast_to(pairwise, (len(unary) - 1, *pairwise.shape[-2:]))

    def log_prob(word, before, tag):
        row = unary[word] if before is None else unary[word] + tables[word - 1][before]
        return log_softmax(row)[tag]

    return log_prob


def enumerated(tagger, sentence):
    """log p of every tag sequence, by numbers."""
    step = steps(tagger, sentence)
    return {
        tags: sum(
            step(word, tags[word - 1] if word else None, tag) for word, tag in enumerate(tags)
        )
        for tags in itertools.product(range(len(tagger.tags_)), repeat=len(sentence))
    }


@pytest.mark.parametrize("options", [{}, {"features": TRANSITIONS}, {"boundaries": True}])
@pytest.mark.parametrize("kind", ["words", "dictionaries"])
def test_every_answer_by_enumeration(kind, options, tmp_path):
    if kind == "dictionaries":
        options = {name: value for name, value in options.items() if name != "features"}
    given = as_dicts(WORDS) if kind == "dictionaries" else WORDS
    tagger = pt.Tagger(normalisation="local", max_iterations=8, progress=False, **options)
    tagger.fit(given, TAGS)
    tagger.save(tmp_path / "model")
    again = pt.Tagger.load(tmp_path / "model")
    assert again.get_params()["normalisation"] == "local"
    few = [(s, t) for s, t in zip(given, TAGS, strict=True) if len(s) <= 4][:4]
    for sentence, right in few:
        table = enumerated(tagger, sentence)
        probabilities = np.exp(list(table.values()))
        assert probabilities.sum() == pytest.approx(1.0, abs=1e-9)
        numbers = tuple(tagger.tags_.index(tag) for tag in right)
        assert tagger.log_prob([sentence], [right])[0] == pytest.approx(table[numbers], abs=1e-9)
        entropy = -sum(np.exp(log) * log for log in table.values())
        assert tagger.entropy([sentence])[0] == pytest.approx(entropy, abs=1e-9)
        marginals = np.zeros((len(sentence), len(tagger.tags_)))
        for tags, log in table.items():
            marginals[np.arange(len(tags)), tags] += np.exp(log)
        np.testing.assert_allclose(tagger.predict_marginals([sentence])[0], marginals, atol=1e-9)
        best = max(table, key=table.get)
        assert tagger.predict([sentence]) == [[tagger.tags_[tag] for tag in best]]
        ((first, log), *_) = tagger.k_best([sentence], 3)[0]
        assert (first, log) == (tagger.predict([sentence])[0], pytest.approx(table[best], abs=1e-9))
        p = tagger.distribution(sentence)
        assert p.log_partition == pytest.approx(0.0, abs=1e-9)
        assert p.log_prob(np.array(numbers)) == pytest.approx(table[numbers], abs=1e-9)
        # What is known of a word changes what the words before it are likely to be.
        fixed = [*["?"] * (len(sentence) - 1), right[-1]]
        agreeing = [log for tags, log in table.items() if tags[-1] == numbers[-1]]
        found = tagger.log_prob([sentence], [fixed])[0]
        assert found == pytest.approx(np.logaddexp.reduce(agreeing), abs=1e-9)
        assert again.log_prob([sentence], [right]).tobytes() == (
            tagger.log_prob([sentence], [right]).tobytes()
        )
    drawn = tagger.sample(given[:2], 5, np.random.default_rng(0))
    assert [len(each) for each in drawn] == [5, 5]


def test_the_loss_is_that_of_the_steps():
    tagger = pt.Tagger(normalisation="local", l2=0.5, progress=False, max_iterations=5)
    tagger.fit(WORDS, TAGS)
    penalty = 0.25 * tagger.weights_ @ tagger.weights_
    loss = -tagger.log_prob(WORDS, TAGS).sum() + penalty
    assert tagger.training_.loss == pytest.approx(loss, rel=1e-9)
    plain = pt.Tagger(l2=0.5, progress=False, max_iterations=5).fit(WORDS, TAGS)
    assert len(plain.weights_) == len(tagger.weights_)
    assert not np.allclose(plain.weights_, tagger.weights_)


@pytest.mark.parametrize(
    "options",
    [
        {"objective": "risk"},
        {"objective": "softmax-margin"},
        {"entropy_weight": 0.1},
        {"optimiser": "adam"},
        {"pairs": "observed"},
    ],
)
def test_other_ways_to_learn(options):
    """Objectives, unlabelled and partly labelled sentences, held-out ones, mini-batches."""
    partly = [[*tags[:-1], {"NOUN", "VERB"}] for tags in TAGS[:5]]
    tagger = pt.Tagger(normalisation="local", max_iterations=10, progress=False, **options)
    tagger.fit(
        WORDS[:20],
        [*partly, *TAGS[5:20]],
        unlabelled=WORDS[20:25],
        held_out=(WORDS[25:], TAGS[25:]),
    )
    assert tagger.score(WORDS, TAGS) > 0.9
    np.testing.assert_allclose(tagger.distribution(WORDS[0]).log_partition, 0.0, atol=1e-9)


def test_chunks():
    words, tags = chunked(30)
    tagger = pt.Tagger(normalisation="local", progress=False, max_iterations=20).fit(words, tags)
    assert tagger.model_.tags.scheme == "IOB2"
    assert tagger.score(words, tags) > 0.95
    names = tagger.tags_
    marginals = tagger.predict_marginals(words)
    assert max(each[0][names.index("I-NP")] for each in marginals) == 0.0


def test_an_explanation_adds_up():
    tagger = pt.Tagger(normalisation="local", progress=False, max_iterations=8).fit(WORDS, TAGS)
    sentence = max(WORDS, key=len)
    for word in range(len(sentence)):
        found = tagger.explain(sentence, word)
        logs = tagger.log_prob([sentence] * 2, [list(found.tags), list(found.other_tags)])
        lead = sum(each.value for each in found.contributions)
        assert lead == pytest.approx(logs[0] - logs[1], abs=1e-9)


def test_only_two_normalisations():
    with pytest.raises(ValueError, match="normalisation is 'none'; expected 'global' or 'local'"):
        pt.Tagger(normalisation="none").fit(WORDS, TAGS)
