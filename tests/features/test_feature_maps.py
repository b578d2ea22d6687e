"""Feature maps are linear maps: against dense matrices, and each operation the other's adjoint."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cases import HAS_ALL_SIZES, IS_COMPILED
from partita.features import (
    Attributes,
    FixedScores,
    JoinedFeatures,
    MatrixFeatures,
    RowFeatures,
    tag_constraints,
    tag_features,
    tag_parts,
)
from partita.features.segments import role_counts, role_sums
from partita.structures.chains import Chains
from partita.structures.segments import SegmentChains

WIDTHS = [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 20, 33, 45] if HAS_ALL_SIZES else [1, 5, 17]
quick = settings(deadline=None, max_examples=100 if IS_COMPILED else 10)


def random_rows(rng, n_rows, n_attributes, *, valued):
    """Rows of 0 to 6 attributes, some of them twice."""
    rows = [rng.integers(0, n_attributes, size=rng.integers(0, 7)).tolist() for _ in range(n_rows)]
    values = [rng.normal(size=len(row)) for row in rows] if valued else None
    return Attributes.from_lists(rows, values)


def dense(features):
    """The matrix of a map, from its scores of every unit vector."""
    return np.stack([features.scores(unit) for unit in np.eye(features.n_weights)], axis=1)


def row_matrix(attributes, starts, width, n_attributes, n_parts):
    """The matrix of row features by its definition."""
    matrix = np.zeros((n_parts, n_attributes * width))
    for row, start in enumerate(starts):
        for k in range(attributes.offsets[row], attributes.offsets[row + 1]):
            value = attributes.values[k] if len(attributes.values) else 1.0
            for j in range(width):
                matrix[start + j, attributes.ids[k] * width + j] += value
    return matrix


def check_against(features, matrix, rng):
    weights = rng.normal(size=features.n_weights)
    gradient = rng.normal(size=features.n_parts)
    np.testing.assert_allclose(features.scores(weights), matrix @ weights, atol=1e-12, rtol=0)
    np.testing.assert_allclose(features.gradient(gradient), matrix.T @ gradient, atol=1e-12, rtol=0)
    # Both add to what is there.
    scores, total = rng.normal(size=features.n_parts), rng.normal(size=features.n_weights)
    expected = scores + matrix @ weights, total + matrix.T @ gradient
    features.add_scores(weights, scores)
    features.add_gradient(gradient, total)
    np.testing.assert_allclose(scores, expected[0], atol=1e-12, rtol=0)
    np.testing.assert_allclose(total, expected[1], atol=1e-12, rtol=0)


@pytest.mark.parametrize("valued", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_every_width(width, valued):
    rng = np.random.default_rng(width)
    attributes = random_rows(rng, 9, 5, valued=valued)
    # Rows in any order with gaps between them.
    starts = rng.permutation(9) * (width + 1)
    shape = {"starts": starts, "width": width, "n_attributes": 5, "n_parts": 9 * (width + 1)}
    features = RowFeatures(attributes, **shape)
    check_against(features, row_matrix(attributes, **shape), rng)
    weights = rng.normal(size=features.n_weights)
    assert features.table(weights)[2, width - 1] == weights[3 * width - 1]


@quick
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 5), st.booleans(), st.booleans()
)
def test_adjointness(seed, n_tags, n_sentences, valued, shared):
    """<F w, g> = <w, Fᵀ g>."""
    rng = np.random.default_rng(seed)
    chains = Chains(rng.integers(1, 6, size=n_sentences), n_tags, shared=shared)
    words = random_rows(rng, int(chains.n_words.sum()), 7, valued=valued)
    transitions = {}
    if not shared:
        rows = random_rows(rng, int((chains.n_words - 1).sum()), 3, valued=valued)
        transitions = {"transitions": rows, "n_transition_attributes": 3}
    features = tag_features(chains, words, 7, **transitions)
    weights = rng.normal(size=features.n_weights)
    gradient = rng.normal(size=features.n_parts)
    left, right = features.scores(weights) @ gradient, weights @ features.gradient(gradient)
    np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("blocks", [(0, 1, 2, 3), (0, 0, 1, 1), (0, 0, 0, 0)])
def test_roles_of_words_in_segments_by_definition(blocks):
    """For each segment of each sentence, whatever its length; and the transpose of that."""
    rng = np.random.default_rng(0)
    sets, n_tags = SegmentChains([4, 1, 6, 3], 3, 2), 2
    n_blocks = max(blocks) + 1
    roles = rng.normal(size=(int(sets.n_words.sum()), n_blocks, n_tags))
    scores = rng.normal(size=sets.n_parts)
    sums, counts, begin = np.zeros(sets.n_parts), np.zeros_like(roles), 0
    for n, start in zip(sets.n_words, sets.part_offsets[:-1], strict=True):
        for first, length in itertools.product(range(n), range(1, 4)):
            if first + length > n:
                continue
            part = start + (first * 3 + length - 1) * n_tags
            own = slice(part, part + n_tags)
            for word in range(first, first + length):
                role = 3 if length == 1 else 0 if word == first else 1
                role = 2 if length > 1 and word == first + length - 1 else role
                sums[own] += roles[begin + word, blocks[role]]
                counts[begin + word, blocks[role]] += scores[own]
        begin += n
    found = role_sums(sets, roles.reshape(begin, -1), blocks)
    np.testing.assert_allclose(found, sums, rtol=0, atol=1e-12)
    found = role_counts(sets, np.where(sums != 0, scores, np.nan), blocks)
    np.testing.assert_allclose(found, counts.reshape(begin, -1), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shared", [True, False])
def test_tag_features_by_definition(shared):
    rng = np.random.default_rng(0)
    chains = Chains([1, 3, 2], 4, shared=shared)
    words = random_rows(rng, 6, 5, valued=True)
    features = tag_features(chains, words, 5)
    weights = rng.normal(size=features.n_weights)
    by_tag, by_transition = features.split(weights)
    unaries, tables = chains.split(features.scores(weights))
    for table in tables:
        expected = np.broadcast_to(by_transition.reshape(4, 4), table.shape)
        np.testing.assert_array_equal(table, expected)
    for row, scores in enumerate(np.concatenate(unaries)):
        places = slice(words.offsets[row], words.offsets[row + 1])
        expected = words.values[places] @ by_tag.reshape(5, 4)[words.ids[places]]
        np.testing.assert_allclose(scores, expected, atol=1e-12, rtol=0)
    assert tag_parts(chains).sum() == 6 * 4


def test_attributes_of_transitions():
    chains = Chains([1, 3], 2, shared=False)
    words = Attributes.from_lists([[]] * 4)
    transitions = Attributes.from_lists([[0], [0, 1]])
    features = tag_features(chains, words, 1, transitions=transitions, n_transition_attributes=2)
    weights = np.arange(10.0)
    _, tables = chains.split(features.scores(weights))
    np.testing.assert_array_equal(tables[1][0].ravel(), weights[2:6])
    np.testing.assert_array_equal(tables[1][1].ravel(), weights[2:6] + weights[6:10])


def test_tag_constraints_count_tags_and_occurrences():
    chains = Chains([2, 1], n_tags=3, shared=True)
    words = Attributes.from_lists([[4, 0], [1], [4]])
    features, occurrences = tag_constraints(chains, words, attributes=[4, 9], tags=[2, 0])
    counts = chains.counts([np.array([2, 2]), np.array([1])])
    assert (features @ counts).tolist() == [1.0, 0.0]
    assert occurrences.toarray().tolist() == [[1.0, 1.0], [0.0, 0.0]]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_a_matrix_that_a_caller_brings(kind):
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    check_against(MatrixFeatures(kind(matrix)), matrix, rng)


def test_maps_side_by_side():
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(5, 3)), rng.normal(size=(5, 2))
    joined = JoinedFeatures([MatrixFeatures(first), MatrixFeatures(second)])
    check_against(joined, np.hstack([first, second]), rng)
    np.testing.assert_array_equal(dense(joined), np.hstack([first, second]))
    with pytest.raises(ValueError, match="the maps have"):
        JoinedFeatures([MatrixFeatures(first), MatrixFeatures(second[:3])])


def test_fixed_scores_have_no_weights():
    fixed = FixedScores(4, parts=[1, 1, 3], scores=[0.5, 0.25, -np.inf])
    assert fixed.scores(np.zeros(0)).tolist() == [0.0, 0.75, 0.0, -np.inf]
    assert fixed.gradient(np.ones(4)).shape == (0,)
    with pytest.raises(ValueError, match="two vectors"):
        FixedScores(4, parts=[1], scores=[0.5, 0.25])


def test_attributes_from_a_matrix_and_back():
    matrix = np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 1.0]])
    attributes = Attributes.from_matrix(matrix)
    features = RowFeatures(attributes, np.arange(3), width=1, n_attributes=2, n_parts=3)
    np.testing.assert_array_equal(dense(features), matrix)
    assert len(Attributes.from_matrix(matrix > 0).values) == 0


def test_slices_and_joins_of_attributes():
    rng = np.random.default_rng(3)
    whole = random_rows(rng, 8, 5, valued=True)
    again = Attributes.joined([whole[:3], whole[3:3], whole[3:]])
    for name in ("ids", "offsets", "values"):
        np.testing.assert_array_equal(getattr(again, name), getattr(whole, name))
    binary = Attributes.from_lists([[1]])
    assert Attributes.joined([binary, whole]).values[0] == 1.0
    assert Attributes.joined([]).n_rows == 0
    with pytest.raises(ValueError, match="step"):
        whole[::2]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"n_attributes": 2}, "attributes range from"),
        ({"n_parts": 3}, "expected them to end within"),
        ({"starts": [0]}, "starts has shape"),
    ],
)
def test_rows_that_do_not_fit(change, message):
    attributes = Attributes.from_lists([[0, 2], [1]])
    shape = {"starts": [0, 2], "width": 2, "n_attributes": 3, "n_parts": 4}
    with pytest.raises(ValueError, match=message):
        RowFeatures(attributes, **(shape | change))


def test_what_does_not_fit_is_named():
    with pytest.raises(ValueError, match="weights has shape"):
        MatrixFeatures(np.eye(3)).scores(np.zeros(2))
    with pytest.raises(ValueError, match="score_gradient has shape"):
        MatrixFeatures(np.eye(3)).gradient(np.zeros(2))
    with pytest.raises(ValueError, match="matrix has shape"):
        MatrixFeatures(np.zeros(3))
    with pytest.raises(ValueError, match="values came for"):
        Attributes.from_lists([[0, 1]], [[1.0]])
    with pytest.raises(ValueError, match="offsets run from"):
        Attributes(np.zeros(2, dtype=np.int32), np.array([0, 1]))
    chains = Chains([2], 2, shared=True)
    with pytest.raises(ValueError, match="one for each word"):
        tag_features(chains, Attributes.from_lists([[0]]), 1)
    words = Attributes.from_lists([[0], [0]])
    with pytest.raises(ValueError, match="share one table"):
        tag_features(chains, words, 1, transitions=Attributes.from_lists([[0]]))
