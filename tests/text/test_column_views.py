"""What views see of columns: of the values of training, and of later ones."""

import pickle

import numpy as np
import pytest

from partita.text import column_views
from partita.text.column_views import ColumnViews
from partita.text.columns import Column
from partita.text.views import find_parts
from partita.training.digests import digest


def test_what_views_see_of_later_words_is_remembered_and_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_views, "ROOM", 3)
    views = ["", "lower.suffix2", "each", "lower.each"]
    seen = ColumnViews(["The", "a|b", "dog"], views)
    rng = np.random.default_rng(0)
    words = ["The", "dog", "DOG", "b|a|a", "c", "B|x", "og", "_", "fog", "a|b|A|B|c"]
    for _ in range(50):
        texts = rng.choice(words, size=rng.integers(1, 6)).tolist()
        found = seen.codes(Column.of(texts))
        for view in views:
            for place, text in enumerate(texts):
                values = [seen.values[view][code] for code in found[view][:, place] if code >= 0]
                known = [part for part in find_parts(view)(text) if part in seen.values[view]]
                assert values == known


def test_later_words_stay_out_of_copies() -> None:
    seen = ColumnViews(["dog"], ["lower"])
    before = digest(seen)
    seen.codes(Column.of(["DOG"]))
    assert digest(seen) == before
    again = pickle.loads(pickle.dumps(seen))
    assert again.codes(Column.of(["DOG", "cat"]))["lower"].tolist() == [[0, -1]]


def test_no_words_in_training() -> None:
    assert ColumnViews([], ["lower"]).codes(Column.of(["a"]))["lower"].tolist() == [[-1]]
