import numpy as np
import pytest

import partita as pt
from partita.estimators.tagging.selection import (
    STRATEGIES,
    Choice,
    bags_of_words,
    mean_similarities,
    rank,
    take,
)
from partita.estimators.tagging.simulation import CurvePoint, Simulation, TaggedCorpus, simulate

SENTENCES = [["a", "b"], ["u", "v", "b", "a"], [], ["a"], ["v", "b", "a", "u", "b", "v"]]


@pytest.fixture(scope="module")
def tagger():
    rng = np.random.default_rng(0)
    words = [[str(w) for w in rng.choice(list("abuv"), size=5)] for _ in range(30)]
    # The words a and b say it all; u and v say nothing.
    tags = [
        [{"a": "X", "b": "Y"}.get(word, str(rng.choice(["X", "Y"]))) for word in row]
        for row in words
    ]
    return pt.HiddenMarkovTagger(min_count=1).fit(words, tags)


class OneByOne:
    """An estimator that gives one distribution at a time."""

    def __init__(self, tagger):
        self.tagger = tagger

    def distribution(self, sentence):
        (p,) = self.tagger.distributions([sentence])
        unary, pairwise = p.structures.split(p.scores)
        return pt.LinearChain(unary[0], pairwise[0])


def test_values_are_those_of_the_distributions(tagger):
    full = [index for index, words in enumerate(SENTENCES) if words]
    alone = {index: OneByOne(tagger).distribution(SENTENCES[index]) for index in full}
    expected = {
        "entropy": lambda p: p.entropy,
        "n_best": lambda p: p.n_best_entropy(3),
        "least_confidence": lambda p: -p.log_prob(p.argmax),
        "token_entropy": lambda p: np.mean(
            [p.span_entropy(t, t) for t in range(p.structures.n_words[0])]
        ),
    }
    for strategy, value in expected.items():
        choices = rank(tagger, SENTENCES, strategy, k=3, per_word=False)
        assert sorted(choice.sentence for choice in choices) == full
        assert [choice.value for choice in choices] == sorted(
            (choice.value for choice in choices), reverse=True
        )
        for choice in choices:
            assert choice.value == pytest.approx(value(alone[choice.sentence]), abs=1e-9)
            assert (choice.first, choice.last) == (0, len(SENTENCES[choice.sentence]) - 1)


def test_spans(tagger):
    for index, first, last, value in rank(tagger, SENTENCES, "span", n_words=2, per_word=False):
        words = SENTENCES[index]
        p = OneByOne(tagger).distribution(words)
        span = p.most_uncertain_span(min(2, len(words)))
        assert (first, last) == (span.first, span.last)
        assert value == pytest.approx(span.entropy, abs=1e-9)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_sentence_at_a_time_gives_the_same(tagger, strategy):
    batched, single = (
        rank(estimator, SENTENCES, strategy) for estimator in (tagger, OneByOne(tagger))
    )
    assert [choice[:3] for choice in batched] == [choice[:3] for choice in single]
    np.testing.assert_allclose(
        [c.value for c in batched], [c.value for c in single], atol=1e-9, rtol=0
    )


def test_entropies_given_what_is_known(tagger):
    sentence, fixed = ["u", "v", "u", "b"], ["X", "?", "?", "?"]
    (p,) = tagger.distributions([sentence], [fixed])
    (choice,) = rank(tagger, [sentence], fixed=[fixed])
    assert choice.value == pytest.approx(p.entropy[0] / 4)
    (span,) = rank(tagger, [sentence], "span", n_words=1, fixed=[fixed])
    assert span.first in (1, 2)
    # Words that are not known come first, even where their tags are certain.
    (span,) = rank(tagger, [["u", "a"]], "span", n_words=1, fixed=[["X", "?"]])
    assert span.first == 1
    with pytest.raises(ValueError, match="the tag 'Z' is fixed; the model knows X, Y"):
        rank(tagger, [["a"]], fixed=[["Z"]])


def test_density_is_entropy_times_similarity(tagger):
    full = [words for words in SENTENCES if words]
    vectors = bags_of_words(full).toarray()
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    similarity = (units @ units.T).mean(axis=1)
    np.testing.assert_allclose(
        mean_similarities(bags_of_words(full)), similarity, rtol=1e-9, atol=1e-12
    )
    entropies = {choice.sentence: choice.value for choice in rank(tagger, full, per_word=False)}
    for choice in rank(tagger, full, "density", beta=2.0, per_word=False):
        expected = entropies[choice.sentence] * similarity[choice.sentence] ** 2
        assert choice.value == pytest.approx(expected)


def test_per_word_divides_by_what_labelling_costs(tagger):
    whole = {choice.sentence: choice.value for choice in rank(tagger, SENTENCES, per_word=False)}
    for choice in rank(tagger, SENTENCES):
        assert choice.value == pytest.approx(whole[choice.sentence] / choice.n_words)


def test_bags_of_any_tokens():
    dictionaries = [[{"w": "a"}, {"w": "b"}], [{"w": "a"}]]
    tuples = [[("a", "X"), ("b", "X")], [("a", "Y")]]
    assert bags_of_words(dictionaries).toarray().tolist() == [[1, 1], [1, 0]]
    assert bags_of_words(tuples).toarray().tolist() == [[1, 2, 1, 0], [1, 0, 0, 1]]


def test_taking_a_batch():
    choices = [Choice(i, 0, 2, 1.0) for i in range(4)]
    assert len(take(choices, 7)) == 2
    assert len(take(choices, 1)) == 1
    assert take([], 5) == []


def test_what_cannot_be(tagger):
    with pytest.raises(ValueError, match="strategy is 'best'; expected one of entropy, span"):
        rank(tagger, SENTENCES, "best")
    with pytest.raises(TypeError, match=r"distributions\(sentences\)"):
        rank(object(), SENTENCES)
    with pytest.raises(ValueError, match="n_words is 0"):
        rank(tagger, SENTENCES, "span", n_words=0)


def made_up(rng, size):
    """Most sentences are easy; a few have the words that are worth asking about."""
    sentences, tags = [], []
    for _ in range(size):
        hard = rng.random() < 0.2
        words = [f"{'h' if hard else 'e'}{rng.integers(40 if hard else 2)}" for _ in range(4)]
        sentences.append(words)
        tags.append(["X" if int(word[1:]) % 2 else "Y" for word in words])
    return TaggedCorpus(sentences, tags)


@pytest.mark.parametrize("strategy", ["span", "n_best"])
def test_replay_of_each_kind(strategy):
    rng = np.random.default_rng(1)
    result = simulate(
        pt.HiddenMarkovTagger(min_count=1, max_iterations=3),
        made_up(rng, 20),
        made_up(rng, 10),
        strategies=[strategy],
        seed_words=12,
        batch_words=20,
        n_words=2,
    )
    curve = result.curves[strategy]
    assert curve[0].n_words == 12
    assert curve[-1] == result.full
    assert curve[-1].n_words == 80
    assert all(a.n_words < b.n_words for a, b in zip(curve, curve[1:], strict=False))


def test_entropy_saves_words_where_chance_wastes_them():
    rng = np.random.default_rng(2)
    pool, test = made_up(rng, 300), made_up(rng, 300)
    seen = []
    result = simulate(
        pt.HiddenMarkovTagger(min_count=1),
        pool,
        test,
        seed_words=40,
        batch_words=40,
        report=lambda strategy, point: seen.append((strategy, point)),
    )
    assert seen == [(name, point) for name, curve in result.curves.items() for point in curve]
    assert result.curves["entropy"][0] == result.curves["random"][0]
    needed = result.words_needed(0.99)
    assert needed["entropy"] < 0.7 * needed["random"]
    assert result.curves["random"][-1] == result.full
    svg = result.diagram().text
    assert svg.startswith("<svg")
    assert svg.count("<polyline") == 2
    assert "words labelled" in svg


def test_most_words():
    rng = np.random.default_rng(3)
    result = simulate(
        pt.HiddenMarkovTagger(),
        made_up(rng, 40),
        made_up(rng, 5),
        strategies=["random"],
        seed_words=8,
        batch_words=50,
        max_words=40,
    )
    assert [point.n_words for point in result.curves["random"]] == [8, 40]


def test_words_needed_between_two_points():
    curves = {
        "a": (CurvePoint(10, 0.5), CurvePoint(20, 0.7)),
        "b": (CurvePoint(10, 0.3), CurvePoint(20, 0.4)),
    }
    result = Simulation(curves, CurvePoint(100, 0.6))
    assert result.words_needed(1.0) == {"a": pytest.approx(15.0), "b": None}
    assert result.words_needed(0.5)["a"] == 10.0
