"""Contrastive divergence as an objective of taggers, parsers and segmenters."""

import numpy as np
import pytest

from partita import DependencyParser, Segmenter, Tagger
from partita.estimators.supervision import course_of
from partita.objectives import ContrastiveDivergence

SENTENCES = [["the", "dog", "barks"], ["a", "cat", "sleeps"], ["dogs", "bark"], ["the", "cat"]]
TAGS = [["D", "N", "V"], ["D", "N", "V"], ["N", "V"], ["D", "N"]]
HEADS = [[2, 3, 0], [2, 3, 0], [2, 0], [2, 0]]
SEGMENTS = [["B-X", "I-X", "O"], ["B-X", "I-X", "O"], ["B-X", "O"], ["B-X", "I-X"]]
BY_OBJECT = ContrastiveDivergence(3, np.random.default_rng(0), n_samples=2)


@pytest.mark.parametrize("objective", ["contrastive-divergence", BY_OBJECT])
def test_a_tagger_learns(objective):
    tagger = Tagger(objective=objective, n_steps=2, l2=0.1, max_iterations=40, seed=3)
    tagger.fit(SENTENCES, TAGS)
    assert tagger.predict(SENTENCES) == TAGS
    # It is not the likelihood's optimum, and the seed decides.
    again = Tagger(objective=objective, n_steps=2, l2=0.1, max_iterations=40, seed=3)
    np.testing.assert_array_equal(again.fit(SENTENCES, TAGS).weights_, tagger.weights_)


@pytest.mark.parametrize(
    "options", [{}, {"projective": True}, {"projective": False, "single_root": False}]
)
def test_a_parser_learns(options):
    parser = DependencyParser(
        objective="contrastive-divergence", n_steps=2, labels=False, n_bits=12, **options
    )
    parser.fit(SENTENCES, HEADS)
    assert parser.score(SENTENCES, HEADS) == 1.0


def test_labels_with_the_arcs():
    labels = [["det", "nsubj", "root"], ["det", "nsubj", "root"], ["nsubj", "root"], ["a", "root"]]
    parser = DependencyParser(
        objective="contrastive-divergence", labels="joint", n_bits=12, label_bits=8
    )
    parser.fit(SENTENCES, HEADS, labels)
    assert parser.score(SENTENCES, HEADS) == 1.0


def test_a_segmenter_learns():
    segmenter = Segmenter(objective="contrastive-divergence", l2=0.1, max_iterations=60)
    segmenter.fit(SENTENCES, SEGMENTS)
    assert segmenter.predict(SENTENCES) == SEGMENTS


def test_partial_labels_are_taught_by_the_marginal_likelihood():
    tags = [*TAGS[:3], ["D", "?"]]
    tagger = Tagger(objective="contrastive-divergence", l2=0.1, max_iterations=60)
    assert tagger.fit(SENTENCES, tags).predict(SENTENCES)[:3] == TAGS[:3]


def test_the_number_of_steps():
    course = course_of("contrastive-divergence", n_steps=7, seed=1)
    assert course.is_random
    assert course.full.n_steps == 7
    with pytest.raises(ValueError, match="n_steps is 0"):
        Tagger(n_steps=0).fit(SENTENCES, TAGS)


def test_methods_that_compare_losses_are_refused():
    for optimiser in ("lbfgs", "owlqn"):
        tagger = Tagger(objective="contrastive-divergence", optimiser=optimiser)
        with pytest.raises(ValueError, match="at random"):
            tagger.fit(SENTENCES, TAGS)
