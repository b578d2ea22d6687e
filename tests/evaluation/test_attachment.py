"""Attachment scores, counted word by word; intervals and comparisons behave."""

import math

import numpy as np
import pytest

from partita.data import DataError, Sentence
from partita.evaluation import compare_systems, compare_trees, trees_of


def sentence(rows, **more):
    """Rows of form, tag, head and relation."""
    names = ("FORM", "UPOS", "HEAD", "DEPREL")
    columns = zip(*(row.split() for row in rows), strict=True)
    return Sentence(dict(zip(names, columns, strict=True)), **more)


GOLD = [
    sentence(["the DET 2 det", "dog NOUN 3 nsubj:pass", "bit VERB 0 root", ". PUNCT 3 punct"]),
    sentence(["he PRON 2 nsubj", "runs VERB 0 root"]),
]
FOUND = [
    ([2, 3, 0, 2], ["det", "nsubj", "root", "punct"]),  # the full stop is wrong
    (np.array([0, 1]), ["root", "obj"]),  # all is wrong
]


def test_word_by_word():
    scores = compare_trees(GOLD, FOUND)
    assert (len(scores), scores.uas, scores.las, scores.exact) == (6, 0.5, 0.5, 0.0)
    words = scores.without_punctuation()
    assert (len(words), words.uas, words.las, words.exact) == (5, 0.6, 0.6, 0.5)
    # Gold content words are nsubj, root, nsubj, root; found ones nsubj, root, root, obj.
    assert scores.clas == 2 * 2 / (4 + 4)


def test_the_universal_part_of_relations_counts():
    [first, second] = [heads for heads, _ in FOUND]
    same = compare_trees(GOLD, [(first, ["det", "nsubj:x", "root", "punct"]), FOUND[1]])
    assert same.las == 0.5
    other = compare_trees(GOLD, [(first, ["det", "obj", "root", "punct"]), FOUND[1]])
    assert (other.uas, other.las) == (0.5, pytest.approx(1 / 3))
    assert second.tolist() == [0, 1]


def test_without_relations():
    scores = compare_trees(GOLD, [(heads, None) for heads, _ in FOUND])
    assert scores.uas == 0.5
    assert math.isnan(scores.las)
    assert math.isnan(scores.clas)
    assert scores.by_relation()["nsubj"][:3] == (2, 0, 1)


def test_words_without_a_gold_head_are_left_out():
    gold = [sentence(["a X 2 det", "b X _ _", "c X ? _"])]
    assert len(compare_trees(gold, [([2, 3, 0], ["det", "x", "root"])])) == 1
    with pytest.raises(ValueError, match="no word of the gold sentences has a head"):
        compare_trees([sentence(["a X _ _"])], [([0], None)])


def test_by_relation():
    found = compare_trees(GOLD, FOUND).by_relation()
    assert list(found)[:2] == ["nsubj", "root"]
    assert found["nsubj"] == (2, 1, 1, 1)
    assert (found["nsubj"].precision, found["nsubj"].recall) == (1.0, 0.5)
    assert found["nsubj"].f1 == 2 / 3
    assert found["obj"] == (0, 1, 0, 0)
    assert math.isnan(found["obj"].recall)
    assert found["punct"] == (1, 1, 0, 0)


def test_by_length():
    long = sentence([f"w{word} X {word - 1} dep" for word in range(1, 46)])
    scores = compare_trees([*GOLD, long], [*FOUND, (range(45), ["dep"] * 45)])
    by_length = scores.by_length()
    assert {name: len(words) for name, words in by_length.items()} == {
        "1 to 10": 6,
        "41 or more": 45,
    }
    assert by_length["41 or more"].las == 1.0
    assert by_length["1 to 10"].uas == 0.5
    # The length is that of the sentence, also where punctuation is left out.
    assert len(scores.without_punctuation().by_length()["1 to 10"]) == 5


def test_intervals_hold_the_value():
    scores = compare_trees(GOLD * 30, FOUND * 30)
    for measure in ("uas", "las"):
        value, low, high = scores.interval(measure, n_samples=200)
        assert low < value == 0.5 < high
    _, low, high = compare_trees(GOLD * 500, FOUND * 500).interval("las", n_samples=200)
    assert high - low < 0.1


def test_two_systems():
    right = [([2, 3, 0, 3], FOUND[0][1]), FOUND[1]]
    first, second = compare_trees(GOLD * 30, FOUND * 30), compare_trees(GOLD * 30, right * 30)
    better = compare_systems(first, second, "uas", n_samples=500)
    assert better.difference.value == pytest.approx(1 / 6)
    assert better.difference.low > 0
    assert better.p_value < 0.01
    same = compare_systems(first, first, "las")
    assert (same.difference.value, same.p_value) == (0.0, 1.0)
    with pytest.raises(ValueError, match="the same gold"):
        compare_systems(first, compare_trees(GOLD, FOUND))


def test_the_test_is_that_of_all_swaps():
    """With few sentences all swaps can be counted: the p-value comes close to their share."""
    gold = [sentence(["a X 0 root", "b X 1 dep"])] * 5
    bad, good = ([2, 0], None), ([0, 1], None)
    first = compare_trees(gold, [bad, bad, bad, good, good])
    second = compare_trees(gold, [good, good, good, bad, good])
    # Differences 2, 2, 2, -2, 0: a sum of 4 or more, or -4 or less, in 10 of 16 ways.
    found = compare_systems(first, second, "uas", n_samples=4000)
    assert found.p_value == pytest.approx(10 / 16, abs=0.04)


def test_trees_of_a_parsed_file():
    parsed = [
        sentence(["the DET 2 x", "dog NOUN 3 x", "bit VERB 0 x", ". PUNCT 2 x"]),
        sentence(["he PRON 0 _", "runs VERB 1 _"]),
    ]
    trees = trees_of(GOLD, parsed)
    assert trees[0] == ((2, 3, 0, 2), ("x",) * 4)
    assert trees[1] == ((0, 1), None)
    assert compare_trees(GOLD, trees).uas == 0.5


def test_files_that_do_not_fit():
    other = sentence(["she PRON 2 x", "runs VERB 0 x"], source="parsed.conllu", first_line=7)
    with pytest.raises(DataError, match=r"parsed.conllu, line 7: .*'she runs'.*'he runs'"):
        trees_of(GOLD[1:], [other])
    with pytest.raises(DataError, match="there are 1 sentences, but 2 gold ones"):
        trees_of(GOLD, [other])
    with pytest.raises(ValueError, match="1 predicted trees came for 2 gold sentences"):
        compare_trees(GOLD, FOUND[:1])
    with pytest.raises(ValueError, match="2 heads came for .* of 4 words"):
        compare_trees(GOLD, [FOUND[1], FOUND[1]])
