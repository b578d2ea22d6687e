"""BLEU and chrF: as sacreBLEU gives them, where it is installed, and from their definitions."""

import math

import numpy as np
import pytest

from partita.evaluation.translations import (
    corpus_bleu,
    corpus_chrf,
    pairwise_bleu,
    sentence_bleu,
)

WORDS = ["a", "b", "c", "dog", "house", "running", "Zz", "ß", "&apos;s", "."]


def random_corpus(rng):
    """Translations, some empty, and references that share most words with them."""
    found = [
        [WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(0, 12))]
        for _ in range(rng.integers(1, 6))
    ]
    references = []
    for words in found:
        kept = [w if rng.random() < 0.7 else WORDS[rng.integers(len(WORDS))] for w in words]
        more = [WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(0, 3))]
        references.append(kept + more or ["a"])
    return found, references


def test_the_numbers_of_sacrebleu():
    sacrebleu = pytest.importorskip("sacrebleu")
    rng = np.random.default_rng(0)
    for _ in range(60):
        found, references = random_corpus(rng)
        texts = [" ".join(words) for words in found], [[" ".join(words) for words in references]]
        bleu = sacrebleu.corpus_bleu(*texts, tokenize="none", force=True)
        ours = corpus_bleu(found, references)
        np.testing.assert_allclose(ours.score, bleu.score, rtol=0, atol=1e-9)
        np.testing.assert_allclose(ours.precisions, bleu.precisions, rtol=0, atol=1e-9)
        chrf = sacrebleu.corpus_chrf(*texts)
        np.testing.assert_allclose(corpus_chrf(found, references), chrf.score, rtol=0, atol=1e-9)


def test_bleu_by_hand():
    found = ["the", "cat", "sat", "on", "a", "mat"]
    reference = ["the", "cat", "sat", "on", "the", "mat", "."]
    # 5 of 6 words, 3 of 5 pairs, 2 of 4 triples, 1 of 3 quadruples; a word too few.
    expected = (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25 * math.exp(1 - 7 / 6)
    np.testing.assert_allclose(
        corpus_bleu([found], [reference]).score, 100 * expected, rtol=0, atol=1e-9
    )


def test_a_perfect_translation_has_exactly_100():
    for n_words in range(4, 12):
        words = [f"w{k}" for k in range(n_words)]
        score = corpus_bleu([words, words], [words, words])
        assert (score.score, score.precisions) == (100.0, (100.0,) * 4)


def smoothed(words, reference):
    """`sentence_bleu` from its definition, with plain loops."""
    if not words or not reference:
        return float(words == reference)
    logs = []
    for order in range(1, 5):
        grams = [tuple(words[i : i + order]) for i in range(len(words) - order + 1)]
        left = [tuple(reference[i : i + order]) for i in range(len(reference) - order + 1)]
        n_grams, match = len(grams), 0
        for gram in grams:
            if gram in left:
                left.remove(gram)
                match += 1
        extra = order > 1
        if match + extra == 0:
            return 0.0
        logs.append(math.log((match + extra) / (n_grams + extra)))
    return math.exp(sum(logs) / 4 + min(0.0, 1 - len(reference) / len(words)))


def test_sentence_bleu_by_definition():
    rng = np.random.default_rng(1)
    for _ in range(20):
        found, references = random_corpus(rng)
        expected = [[smoothed(words, other) for other in references] for words in found]
        np.testing.assert_allclose(pairwise_bleu(found, references), expected, rtol=0, atol=1e-9)
    assert sentence_bleu(["a"], ["b"]) == 0.0


def test_lists_that_do_not_fit():
    with pytest.raises(ValueError, match="1 translations and 2 references"):
        corpus_bleu([["a"]], [["a"], ["b"]])
    with pytest.raises(ValueError, match="reference 0 .* is the text 'a b'"):
        corpus_chrf([["a"]], ["a b"])


def test_nothing_at_all():
    assert corpus_bleu([[]], [["a"]]).score == 0.0
    assert corpus_chrf([[]], [["a"]]) == 0.0
