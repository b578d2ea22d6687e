"""Features of an ITG's rules against a list of what each looks at, hashed in plain Python.

Templates' numbers are part of the file format: a model that was kept must mean the same.
"""

import numpy as np
import pytest

from partita.features.source_rules import SourceRuleFeatures, SourceRules
from partita.grammars.choices import TargetChoices
from partita.grammars.source_parts import SourceParts
from partita.kernels.features import translation
from test_sibling_features import mixed
from tests.features.bare_rules import bare_features, bare_rules

PAD, BITS = translation.PAD, 20
SHIFT = np.uint32(32 - BITS)
LINKS = (
    "1 x+0 y; 2 y; 3 x-1 y; 4 x+1 y; 5 x-1 x+0 y; 6 x+0 x+1 y; 7 x-2 x+0 y; 8 x+0 x+2 y; "
    "9 c-1 c+1 y; 10 k; 11 k c+0; 12 x-2 y; 13 x+2 y"
)
DELETIONS = (
    "21; 22 x+0; 23 x-1 x+0; 24 x+0 x+1; 25 x-1 x+0 x+1; 26 c-1 c+0 c+1; 27 c+0; 28 x-2 x+0; "
    "29 x+0 x+2"
)
INSERTIONS = (
    "41 k; 42 y; 43 x-1 y; 44 x+0 y; 45 x-1 x+0 y; 46 c-1 c+0 y; 47 x-2 x-1 y; 48 x-2 y; 49 x+1 y"
)
# Of a split s < m < t: words and classes before (-1) and behind (+0) each, lengths of both parts.
SPLITS = (
    "0; 11 xs-1; 2 xm-1 xm+0; 3 cm-1 cm+0; 12 xt+0; 4 xs+0 xt-1; 10 xs-1 xt+0; "
    "13 cs-1 cs+0 ct-1 ct+0; 7 xm-1 left; 15 xs+0 xm-1; 16 xs+0 xm+0; 6 xm+0 right; "
    "14 xm+0 xt-1; 19 ct-1 right ct+0; 1 left right; 5 cs+0 cm-1 cm+0 ct-1; 8 xt-1 right left; "
    "9 xs+0 left right; 17 xs-1 xt-1 right; 18 cs-1 cs+0 cm+0 right"
)
SHORT = [None, 1, 2, 3, 4, 4, 5, 5, 5, 6, 6]


def place(template, *values):
    state = template
    for value in (*values, 0, 0, 0, 0)[:4]:
        state = mixed(state, int(value))
    key = mixed(state, 1) >> 32
    return (key * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - BITS)


def places(templates, seen, base=0):
    """The places of all templates, for what is seen under each name."""
    rows = [each.split() for each in templates.split(";")]
    return [place(base + int(row[0]), *(seen[name] for name in row[1:])) for row in rows]


def sentence(n, seed):
    """Padded words and classes, and a look at both around a place."""
    rng = np.random.default_rng(seed)
    words, classes = (np.zeros(n + 2 * PAD, dtype=np.int64) for _ in range(2))
    words[PAD:-PAD], classes[PAD:-PAD] = rng.integers(1, 99, n), rng.integers(1, 9, n)

    def around(position, name=""):
        return {
            f"{kind}{name}{offset:+d}": int(array[position + PAD + offset])
            for kind, array in (("x", words), ("c", classes))
            for offset in range(-2, 3)
            if 0 <= position + PAD + offset < len(array)
        }

    return words, classes, around, rng


@pytest.mark.parametrize("n", [1, 2, 5])
def test_terminals(n):
    words, classes, around, rng = sentence(n, n)
    word_of, boundary_of = np.arange(n).repeat(2), np.arange(n + 1).repeat(2)
    target, kind = rng.integers(1, 99, 2 * n + 2), rng.integers(0, 5, 2 * n + 2)
    found = np.zeros((2 * n, translation.N_LINK), dtype=np.uint32)
    given = words, classes, word_of, target[: 2 * n], kind[: 2 * n]
    translation.links(*given, SHIFT, found)
    for row, (i, y, k) in zip(found, zip(*given[2:], strict=True), strict=True):
        assert row.tolist() == places(LINKS, {**around(i), "y": y, "k": k})
    found = np.zeros((n, translation.N_DELETION), dtype=np.uint32)
    translation.deletions(words, classes, SHIFT, found)
    for i, row in enumerate(found):
        assert row.tolist() == places(DELETIONS, around(i))
    found = np.zeros((2 * n + 2, translation.N_INSERTION), dtype=np.uint32)
    translation.insertions(words, classes, boundary_of, target, kind, SHIFT, found)
    for row, i, y, k in zip(found, boundary_of, target, kind, strict=True):
        assert row.tolist() == places(INSERTIONS, {**around(i), "y": y, "k": k})


@pytest.mark.parametrize("n", [1, 3, 4, 6, 9, 10])
def test_lengths(n):
    found = np.zeros((4, translation.N_LENGTH), dtype=np.uint32)
    translation.lengths(n, SHIFT, found)
    for m, row in enumerate(found):
        more = m + 1000 - n
        assert row.tolist() == [place(61, more), place(62, more, SHORT[n]), place(63, m, n)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 10])
def test_splits(n):
    """Scores of straight splits, then of inverted ones, and the transpose of that map."""
    words, classes, around, rng = sentence(n, n)
    rows = []
    for base in (100, 200):
        for s in range(n + 1):
            for m in range(s + 1, n + 1):
                for t in range(m + 1, n + 1):
                    seen = {**around(s, "s"), **around(m, "m"), **around(t, "t")}
                    seen |= {"left": SHORT[m - s], "right": SHORT[t - m]}
                    rows.append(places(SPLITS, seen, base))
    ids = np.array(rows, dtype=np.int64).reshape(-1, translation.N_SPLIT)
    features = bare_features(words, classes, n, BITS)
    weights, before = np.zeros(features.n_weights), rng.normal(size=features.n_parts)
    weights[: 2**BITS] = rng.normal(size=2**BITS)
    out, are_splits = before.copy(), slice(features.n_parts - len(ids), None)
    features.add_scores(weights, out)
    expected = before[are_splits] + weights[ids].sum(axis=1)
    np.testing.assert_allclose(out[are_splits], expected, rtol=0, atol=1e-12)
    slopes, out, expected = np.zeros(features.n_parts), weights.copy(), weights.copy()
    slopes[are_splits] = rng.normal(size=len(ids))
    np.add.at(expected, ids, slopes[are_splits, None])
    features.add_gradient(slopes, out)
    np.testing.assert_allclose(out[: 2**BITS], expected[: 2**BITS], rtol=0, atol=1e-12)


@pytest.mark.parametrize("n_bits", [4, 8, 20])
def test_changes_of_a_weight_are_added_in_order(n_bits):
    """However few weights share them: to the last bit, from all parts and sentences in turn."""
    n, longest = 40, 300
    words, classes, _, rng = sentence(n, 0)
    rules = bare_rules(words, classes, n, longest)
    parts, features = rules.parts, SourceRuleFeatures(2 * [rules], n_bits)
    of_deletions = np.zeros((n, translation.N_DELETION), dtype=np.uint32)
    of_lengths = np.zeros((longest + 1, translation.N_LENGTH), dtype=np.uint32)
    translation.deletions(words, classes, np.uint32(32 - n_bits), of_deletions)
    translation.lengths(n, np.uint32(32 - n_bits), of_lengths)
    slopes = np.zeros((2, parts.n_parts))
    slopes[:, : parts.first_split] = rng.normal(size=(2, parts.first_split))
    found = rng.normal(size=features.n_weights)
    expected = found.copy()
    for own in slopes:
        np.add.at(expected, of_deletions, own[:n, None])
        np.add.at(expected, of_lengths, own[n : parts.first_split, None])
    features.add_gradient(slopes.ravel(), found)
    np.testing.assert_array_equal(found[: 2**n_bits], expected[: 2**n_bits])


def choices(groups):
    ends = np.cumsum([0, *map(len, groups)])
    return TargetChoices(np.array(sum(groups, []), dtype=np.int64), ends)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_features_with_a_value(n):
    """They stand behind those that are hashed, and each is of parts of one kind."""
    words, classes, _, rng = sentence(n, n)
    links, insertions = [[1, 3]] * n, [[2]] + [[0, 1]] * n
    parts = SourceParts(choices(links), choices(insertions), 4)
    n_links, n_insertions = 2 * n, 2 * n + 1
    rules = SourceRules(
        parts, words, classes, parts.links.words, np.zeros(n_links, dtype=np.int64),
        rng.normal(size=(n_links, 3)), np.zeros(n_insertions, dtype=np.int64),
        rng.normal(size=(n_insertions, 1)),
    )  # fmt: skip
    features = SourceRuleFeatures([rules], 4)
    weights, found = np.zeros(features.n_weights), np.zeros(features.n_parts)
    weights[-translation.N_VALUES :] = values = rng.normal(size=translation.N_VALUES)
    features.add_scores(weights, found)
    n_splits = (n + 1) * n * (n - 1) // 6
    n_lengths = features.n_parts - n_links - n - n_insertions - 2 * n_splits
    expected = [rules.link_values @ values[:3], [values[4]] * n]
    expected += [rules.insertion_values[:, 0] * values[3] + values[5]]
    expected += [[0.0] * (n_lengths + n_splits), [values[6]] * n_splits]
    np.testing.assert_allclose(found, np.concatenate(expected), atol=1e-12)
    # And the transpose: <scores, v> is <weights, gradient>, with hashed weights as well.
    weights, v = rng.normal(size=features.n_weights), rng.normal(size=features.n_parts)
    found, gradient = np.zeros(features.n_parts), np.zeros(features.n_weights)
    features.add_scores(weights, found)
    features.add_gradient(v, gradient)
    assert found @ v == pytest.approx(weights @ gradient, abs=1e-9)
