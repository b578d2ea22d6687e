"""Vocabularies of string features, frozen and hashed."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partita.features import HashedVocabulary, Vocabulary, VocabularyBuilder
from partita.text.hashing import hashes

EXPECTED = [686190, 440193, 104607]
ROWS = [["a", "b"], [], ["b", "c"], ["b", "c", "d"]]


def test_freezing_keeps_the_frequent_ones_first():
    builder = VocabularyBuilder()
    rows = builder.attributes(ROWS)
    assert len(builder) == 4
    vocabulary = builder.freeze(min_count=2)
    assert list(vocabulary) == ["b", "c"]
    assert list(builder.freeze()) == ["b", "c", "a", "d"]
    new = rows.renumbered(builder.new_ids(vocabulary))
    again = vocabulary.attributes(ROWS)
    np.testing.assert_array_equal(new.ids, again.ids)
    np.testing.assert_array_equal(new.offsets, again.offsets)
    assert new.ids.dtype == np.int32


def test_the_order_of_the_data_does_not_matter():
    builders = VocabularyBuilder(), VocabularyBuilder()
    builders[0].attributes(ROWS)
    for row in ROWS[::-1]:
        builders[1].attributes([row[::-1]])
    assert list(builders[0].freeze()) == list(builders[1].freeze())


def test_a_vocabulary_is_a_list_of_strings():
    vocabulary = Vocabulary(["x=1", "y=é"])
    again = Vocabulary(list(vocabulary))
    assert again["y=é"] == 1
    assert again.name(0) == "x=1"
    assert again.get("z", -1) == -1
    assert len(again) == 2
    assert "z" not in again
    with pytest.raises(KeyError):
        again["z"]
    with pytest.raises(ValueError, match="only 1 differ"):
        Vocabulary(["a", "a"])


def test_values_come_with_mappings():
    vocabulary = Vocabulary(["a", "b"])
    rows = vocabulary.attributes([{"a": 0.5, "unknown": 9.0, "b": 2.0}, ["b"]])
    assert rows.ids.tolist() == [0, 1, 1]
    assert rows.values.tolist() == [0.5, 2.0, 1.0]
    assert rows.offsets.tolist() == [0, 2, 3]


def test_many_rows_go_in_pieces():
    vocabulary = Vocabulary([str(k) for k in range(10)])
    rows = vocabulary.attributes([str(k % 12)] for k in range(10_000))
    assert rows.n_rows == 10_000
    expected = [k % 12 for k in range(10_000) if k % 12 < 10]
    assert rows.ids.tolist() == expected


def test_hashes_are_those_of_fnv_1a():
    """Test vectors of the authors, http://www.isthe.com/chongo/tech/comp/fnv/."""
    assert [hex(h) for h in hashes(["", "a", "foobar"])] == [
        "0xcbf29ce484222325",
        "0xaf63dc4c8601ec8c",
        "0x85944171f73967e8",
    ]


def test_numbers_never_change():
    """Models on disk rely on these."""
    vocabulary = HashedVocabulary(2**20)
    assert [vocabulary[name] for name in ("word=the", "suffix=ing", "é")] == EXPECTED
    assert vocabulary.attributes([["word=the"], ["é"]]).ids.tolist() == EXPECTED[::2]


def test_numbers_do_not_depend_on_the_hash_seed():
    program = (
        "from partita.features import HashedVocabulary as H; print(H(2**20)['word=the'], end='')"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, check=True
        )
        assert int(done.stdout) == EXPECTED[0]


@settings(deadline=None)
@given(st.lists(st.text()), st.integers(1, 1000))
def test_every_name_has_a_bucket(names, n_buckets):
    vocabulary = HashedVocabulary(n_buckets)
    ids = vocabulary.ids(names)
    assert len(ids) == len(names)
    assert ((0 <= ids) & (ids < n_buckets)).all()
    assert ids.tolist() == [vocabulary[name] for name in names]


def test_buckets_fill_evenly():
    ids = HashedVocabulary(64).ids([f"word={k}" for k in range(6400)])
    counts = np.bincount(ids, minlength=64)
    assert counts.min() > 50
    assert counts.max() < 160


@pytest.mark.parametrize("n_buckets", [0, 2**31])
def test_a_number_of_buckets(n_buckets):
    with pytest.raises(ValueError, match="n_buckets is"):
        HashedVocabulary(n_buckets)
