"""Brackets counted as EVALB counts them."""

import pytest

from partita.data import parse_brackets
from partita.evaluation import compare_brackets


def compared(gold, found, **options):
    return compare_brackets(parse_brackets(gold), parse_brackets(found), **options)


def test_errors_one_by_one():
    gold = "(S (A (P this)) (B (Q is) (A (R a) (T test))))"
    scores = compared(gold, gold)
    assert (scores.n_gold, scores.n_predicted, scores.n_right, scores.n_exact) == (4, 4, 4, 1)
    scores = compared(gold, "(S (A (P this)) (B (Q is) (C (R a) (T test))))")
    assert (scores.recall, scores.precision, scores.n_crossing) == (0.75, 0.75, 0)
    scores = compared(gold, "(S (A (P this)) (B (Q is) (A (U a) (T test))))")
    assert (scores.f1, scores.tag_accuracy) == (1.0, 0.75)
    scores = compared(gold, "(S (C (P this)) (B (Q is) (A (R a) (T test))))")
    assert scores.recall == 0.75
    scores = compared(gold, "(S (A (P this)) (B (Q is) (R a) (A (T test))))")
    assert (scores.n_right, scores.n_predicted) == (3, 4)


def test_brackets_that_cross():
    scores = compared("(S (A (W a) (W b)) (W c))", "(S (W a) (A (W b) (W c)))")
    assert (scores.n_crossing, scores.n_right) == (1, 1)


def test_punctuation_is_taken_out():
    gold = "(S (NP (N a) (, ,)) (VP (V b)) (. .))"
    found = "(S (NP (N a)) (, ,) (VP (V b) (. .)))"
    assert compared(gold, found).f1 == 1.0
    assert compared(gold, found, deleted=()).n_right == 1
    assert compared("(TOP (S (N a)))", "(TOP (S (N a)))").n_gold == 1


def test_a_label_that_counts_as_another():
    assert compared("(S (PRT (R up)))", "(S (ADVP (R up)))").f1 == 1.0
    assert compared("(S (PRT (R up)))", "(S (ADVP (R up)))", alike={}).f1 == 0.5


def test_the_same_bracket_twice_counts_twice():
    scores = compared("(NP (NP (N a)))", "(NP (N a))")
    assert (scores.n_right, scores.precision, scores.recall) == (1, 1.0, 0.5)


def test_other_words_are_an_error():
    with pytest.raises(ValueError, match="expected those of gold: 'a b'"):
        compared("(S (N a) (N b))", "(S (N a) (N c))")
    with pytest.raises(ValueError, match="1 predicted trees came for 2"):
        compared("(S (N a)) (S (N a))", "(S (N a))")
