"""Lists of proposed translations: what is looked up is what a search through all lists finds."""

import numpy as np

from partita.estimators.alignment.proposals import Proposals


def test_pairs_are_found_where_they_are():
    rng = np.random.default_rng(0)
    keys = rng.permutation(12 * 9)[:40]
    pairs = np.column_stack([keys // 9, keys % 9])
    lists = Proposals.of(pairs, np.arange(40.0)[:, np.newaxis], n_source=12)
    entry_of = {
        pair: entry for entry, pair in enumerate(zip(lists.sources, lists.targets, strict=True))
    }
    source, target = np.arange(12), np.array([8, 0, 3, 20])
    found, entries = lists.links(source, target)
    for i, x in enumerate(source):
        for j, y in enumerate(target):
            assert found[i, j] == ((x, y) in entry_of)
            assert not found[i, j] or entries[i, j] == entry_of[x, y]
    choices, entries = lists.choices(np.array([5, 5, 0]))
    assert choices.words.tolist() == [y for x in (5, 5, 0) for a, y in entry_of if a == x]
    assert lists.targets[entries].tolist() == choices.words.tolist()


def test_no_pairs():
    lists = Proposals.of(np.zeros((0, 2), dtype=np.int64), np.zeros((0, 3)), n_source=4)
    assert not lists.links(np.array([1, 2]), np.array([3]))[0].any()
    assert lists.choices(np.array([1, 2]))[0].offsets.tolist() == [0, 0, 0]
    assert lists.most == 0
