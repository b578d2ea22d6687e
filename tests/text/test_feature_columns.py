"""Dictionaries of features by key and value, against the slow way over their names."""

import numpy as np
import pytest

from partita.text import feature_columns
from partita.text.feature_columns import FeatureColumns
from partita.text.named_features import named_rows
from partita.text.vocabulary import Vocabulary

NAMES = ["word:dog", "word:1", "word", "-1:word:dog", "capital", "length", "bias", "a:b:c"]
TOKENS = [
    {"word": "dog", "capital": True, "bias": 1.0},
    {"word": "cat", "capital": False, "length": 0.5},
    {},
    {"word": "1", "length": 0, "bias": 1},
    {"word": 1, "-1:word": "dog", "length": -3},
    {"a:b": "c", "unknown": "x", "capital": 2},
    {"a": "b:c"},
]


def as_pairs(rows):
    values = rows.values if len(rows.values) else np.ones(len(rows.ids))
    ends = rows.offsets.tolist()
    pairs = list(zip(rows.ids.tolist(), values.tolist(), strict=True))
    return [sorted(pairs[i:j]) for i, j in zip(ends[:-1], ends[1:], strict=True)]


@pytest.mark.parametrize("tokens", [TOKENS, TOKENS[:1], TOKENS[2:4], []])
def test_as_by_names(tokens):
    vocabulary = Vocabulary(NAMES)
    columns = FeatureColumns(vocabulary)
    expected = as_pairs(vocabulary.attributes(named_rows(tokens)))
    for _ in range(2):  # also from memory
        assert as_pairs(columns.rows(tokens)) == expected


@pytest.mark.parametrize(
    "token", [["word:dog"], {"word": ["dog"]}, {"word": {"dog": 1}}, {"length": np.inf}]
)
def test_what_is_not_plain_is_left_to_the_slow_way(token):
    assert FeatureColumns(Vocabulary(NAMES)).rows([TOKENS[0], token]) is None


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(feature_columns, "MOST_KEPT", 3)
    columns = FeatureColumns(Vocabulary(NAMES))
    tokens = [{"word": text} for text in "abcdefg"] + [{"word": "dog"}]
    assert columns.rows(tokens).ids.tolist() == [0]
    assert max(map(len, columns._keys.values())) <= 3


@pytest.mark.parametrize("token", [["word", 0.5], [1, 2], {1: 0.5}, {"a": 0.5, 2: "b", 3: True}])
def test_names_of_features_are_text(token):
    with pytest.raises(ValueError, match=r"has the feature [\d.]+; expected text as the name"):
        list(named_rows([TOKENS[0], token]))
