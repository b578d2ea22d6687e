"""Classes of words by their neighbours, against the definition: counts of a text, one by one."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from partita.text import neighbour_classes as module
from partita.text.columns import Column
from partita.text.neighbour_classes import neighbour_classes, paths_of

END = "\0"


def text(seed=0, n_sentences=30):
    """Sentences out of two grammars' words, with some that repeat themselves."""
    rng = np.random.default_rng(seed)
    words = ["the", "a", "dog", "cat", "cow", "runs", "eats", "very", "very", "big"]
    return [list(rng.choice(words, size=rng.integers(1, 9))) for _ in range(n_sentences)]


def likelihood(sentences, classes):
    """The likelihood of the text that classes change, by counting it."""
    classes = {**classes, END: END}
    whole = [END, *(word for sentence in sentences for word in (*sentence, END))]
    row = [classes[word] for word in whole]
    pairs, singles = Counter(pairwise(row)), Counter(row[1:])
    f = lambda n: n * np.log(n)  # noqa: E731
    return sum(map(f, pairs.values())) - 2 * sum(map(f, singles.values()))


def exchanged(sentences, words, classes, n_classes):
    """A pass of the exchange, every move tried by counting."""
    for word in words:
        tried = [likelihood(sentences, {**classes, word: its}) for its in range(n_classes)]
        if max(tried) > tried[classes[word]] + 1e-9:
            classes[word] = int(np.argmax(tried))
    return classes


def learnt(sentences, n_classes, **options):
    words = Column.of(word for sentence in sentences for word in sentence)
    n_words = np.array([len(sentence) for sentence in sentences])
    return words, neighbour_classes(words, n_words, n_classes, **{"max_passes": 4, **options})


@pytest.mark.parametrize("n_classes", [1, 2, 3, 20])
@pytest.mark.parametrize("small", [2, 2**16])
def test_words_move_where_the_text_is_likeliest(n_classes, small, monkeypatch):
    # Counts beyond the table of n log n are computed one by one.
    monkeypatch.setattr(module, "SMALL", small)
    sentences = text()
    words, found = learnt(sentences, n_classes, max_passes=1)
    order = sorted(words.values, key=lambda word: -sum(s.count(word) for s in sentences))
    n_classes = min(n_classes, len(order))
    first = {word: min(rank, n_classes - 1) for rank, word in enumerate(order)}
    assert found.gains[0] == pytest.approx(likelihood(sentences, first), rel=1e-12)
    expected = exchanged(sentences, order, first, n_classes)
    assert dict(zip(words.values, found.classes.tolist(), strict=True)) == expected
    assert found.gains[1] == pytest.approx(likelihood(sentences, expected), rel=1e-12)


def test_passes_go_up_until_nothing_moves():
    seen = []
    words, found = learnt(
        text(),
        3,
        max_passes=50,
        rng=np.random.default_rng(1),
        watch=lambda *pair: seen.append(pair),
    )
    assert (np.diff(found.gains) >= 0).all()
    assert [number for number, _ in seen] == list(range(1, len(found.gains)))
    assert seen[-1][1] == 0 < seen[0][1]


@pytest.mark.parametrize("n_classes", [2, 5, 8])
@pytest.mark.parametrize("seed", range(3))
def test_the_two_that_lose_least_are_merged_first(n_classes, seed):
    sentences = text(seed)
    words, found = learnt(sentences, n_classes)
    groups = {its: {its} for its in range(n_classes)}
    classes = dict(zip(words.values, found.classes.tolist(), strict=True))
    expected = []
    while len(groups) > 1:
        tried = {}
        for one in groups:
            for other in groups:
                if one < other:
                    merged = {w: one if c == other else c for w, c in classes.items()}
                    tried[one, other] = likelihood(sentences, merged)
        one, other = max(tried, key=tried.get)
        expected.append((one, other))
        classes = {w: one if c == other else c for w, c in classes.items()}
        groups[one] |= groups.pop(other)
    assert found.paths == paths_of(expected, n_classes)
    assert len(set(found.paths)) == n_classes


def test_a_text_of_one_word_has_one_class():
    words, found = learnt([["dog", "dog"], []], 10)
    assert found.classes.tolist() == [0]
    assert found.paths == ("",)
