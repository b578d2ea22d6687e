"""Mini-batches by attribute and by blocks of weights: the same steps, to the last bit."""

from dataclasses import replace

import numpy as np
import pytest

from partita.features import (
    Attributes,
    FixedScores,
    JoinedFeatures,
    MatrixFeatures,
    RowFeatures,
)
from partita.features import columns as column_features
from partita.features.columns import by_attribute
from partita.kernels.weights import columns, updates
from partita.objectives import Likelihood
from partita.training.memory_corpus import MemoryCorpus
from partita.training.mini_batches import BlockSteps, ColumnSteps, mini_batches
from partita.training.optimisers import SGD, AdaGrad, Adam, CorpusProblem
from partita.training.penalties import Penalty
from partita.training.shards import StoredBatches
from partita.training.support import BatchColumns, find_support
from small_corpora import N_WEIGHTS, chain_batches


class AnyFeatures(JoinedFeatures):
    """The same features, of which nobody knows that they are rows."""

    def __init__(self, features, *, is_spread=False):
        super().__init__(features.maps)
        self.is_spread = is_spread

    def columns(self):
        return None


def passes(corpus, optimiser, penalty):
    problem = CorpusProblem(corpus, penalty)
    state = optimiser.start(problem, np.zeros(corpus.n_weights))
    for _ in range(3):
        state = optimiser.step(problem, state)
    return state


def test_threads_find_the_same_support():
    maps = [AnyFeatures(batch.features) for batch in chain_batches()]
    one, three = (find_support(maps, N_WEIGHTS, n_threads) for n_threads in (1, 3))
    np.testing.assert_array_equal(one.visits, three.visits)
    assert [bits.tolist() for bits in one.bits] == [bits.tolist() for bits in three.bits]


PENALTIES = [Penalty(), Penalty(l2=1.0), Penalty(l1=0.5, l2=0.1)]


@pytest.mark.parametrize("penalty", PENALTIES, ids=["none", "l2", "both"])
@pytest.mark.parametrize("optimiser", [SGD(), AdaGrad(average_from=1), Adam()])
def test_the_gradient_need_not_be_a_vector(optimiser, penalty):
    batches = chain_batches()
    found = passes(MemoryCorpus(Likelihood(), batches, n_threads=1), optimiser, penalty)
    for is_spread in (False, True):
        others = [
            replace(each, features=AnyFeatures(each.features, is_spread=is_spread))
            for each in batches
        ]
        other = passes(MemoryCorpus(Likelihood(), others, n_threads=2), optimiser, penalty)
        assert found.loss == other.loss
        assert found.gradient_norm == pytest.approx(other.gradient_norm, rel=1e-13)
        for left, right in zip(
            (found.weights, *found.vectors), (other.weights, *other.vectors), strict=True
        ):
            np.testing.assert_array_equal(left, right)


def test_a_penalty_may_have_a_scale():
    penalty = Penalty(l2=1.0, scale=np.random.default_rng(0).random(N_WEIGHTS))
    batches = chain_batches()
    found = passes(MemoryCorpus(Likelihood(), batches), AdaGrad(), penalty)
    others = [replace(each, features=AnyFeatures(each.features)) for each in batches]
    other = passes(MemoryCorpus(Likelihood(), others), AdaGrad(), penalty)
    # Shares times scales are rounded to single precision there.
    np.testing.assert_allclose(found.weights, other.weights, rtol=1e-6)


def test_which_way_a_corpus_goes(tmp_path):
    corpus, weights = MemoryCorpus(Likelihood(), chain_batches()), np.zeros(N_WEIGHTS)

    def way(corpus, n=1):
        return type(mini_batches(corpus, weights, 0, Penalty(), batches_per_step=n))

    assert way(corpus) is ColumnSteps
    assert way(corpus, 2) is BlockSteps
    stored = StoredBatches.write(chain_batches(), tmp_path)
    assert way(MemoryCorpus(Likelihood(), stored)) is BlockSteps
    batches = chain_batches()
    batches[1] = replace(batches[1], features=AnyFeatures(batches[1].features))
    assert way(MemoryCorpus(Likelihood(), batches)) is BlockSteps


def test_a_batch_that_nobody_learns_from_moves_nothing():
    batches = chain_batches()
    batches[2] = replace(batches[2], targets={})
    others = [replace(each, features=AnyFeatures(each.features)) for each in batches]
    found, other = (
        passes(MemoryCorpus(Likelihood(), each), AdaGrad(), Penalty(l2=1.0))
        for each in (batches, others)
    )
    np.testing.assert_array_equal(found.weights, other.weights)


@pytest.mark.parametrize("optimiser", [SGD(), AdaGrad(), Adam()])
def test_chunks_of_attributes_are_the_same_for_any_number_of_threads(optimiser, monkeypatch):
    monkeypatch.setattr(column_features, "FEW", 2**8)
    batches = chain_batches(n_attributes=2000, per_batch=100, n_sentences=400)
    assert len(batches[0].features.columns()[0].chunks) == 5
    one, two, six = (
        passes(MemoryCorpus(Likelihood(), batches, n_threads=n), optimiser, Penalty(l2=1.0))
        for n in (1, 2, 6)
    )
    for other in (two, six):
        assert (one.loss, one.gradient_norm) == (other.loss, other.gradient_norm)
        np.testing.assert_array_equal(one.weights, other.weights)


def moved_by_columns(features, gradient):
    """Weights of 0 after a step of length 1 up a gradient, and its squared norm."""
    (block,) = features.columns()
    assert block.layout == (0, features.width, features.n_attributes)
    weights = np.zeros(features.n_weights)
    squares = [
        columns.move(
            *chunk, gradient, 0, features.width, np.zeros(0, dtype=np.float32), np.zeros(0),
            updates.Update(1.0, 0.0, 0.0, -1.0, 0.0), updates.Method(updates.SGD),
            updates.Vectors(weights, *[np.zeros(0)] * 3),
        )
        for chunk in block.chunks
    ]  # fmt: skip
    return weights, sum(squares)


@pytest.mark.parametrize("width", [1, 3, 4, 13, 17, 33, 90])
@pytest.mark.parametrize("valued", [False, True])
def test_rows_of_any_width(width, valued):
    rng = np.random.default_rng(width)
    rows = [rng.integers(0, 9, size=rng.integers(0, 7)).tolist() for _ in range(8)]
    values = [rng.integers(-1, 2, size=len(row)) for row in rows] if valued else None
    attributes = Attributes.from_lists(rows, values)
    n_parts = 8 * width
    features = RowFeatures(attributes, width * np.arange(8)[::-1], width, 11, n_parts)
    gradient = rng.normal(size=n_parts)
    expected = features.gradient(gradient)
    weights, squares = moved_by_columns(features, gradient)
    np.testing.assert_array_equal(weights, expected)
    np.testing.assert_allclose(squares, expected @ expected, rtol=1e-13)


def test_what_has_the_value_zero_does_not_occur():
    rows = Attributes.from_lists([[3, 1], [1, 0]], [[0.0, 2.0], [4.0, 0.0]])
    found, none = by_attribute(rows, np.array([5, 2]))
    assert [each.tolist() for each in found] == [[1], [0, 2], [5, 2], [2.0, 4.0]]
    assert not len(none.attributes)


def test_batches_of_many_parts():
    rows = RowFeatures(Attributes.from_lists([[1], [0, 1]]), [0, 70_000], 2, 3, 70_002)
    gradient = np.zeros(70_002)
    gradient[[1, 70_000]] = 1.0, 2.0
    assert moved_by_columns(rows, gradient)[0].tolist() == [2.0, 0.0, 2.0, 1.0, 0.0, 0.0]


def test_columns_of_joined_features():
    rows = RowFeatures(Attributes.from_lists([[0], [1]]), [0, 2], 2, 3, 4)
    fixed, matrix = FixedScores(4, [0], [1.0]), MatrixFeatures(np.eye(4))
    first, second = JoinedFeatures([rows, fixed, rows]).columns()
    assert (first.layout, second.layout) == ((0, 2, 3), (6, 2, 3))
    assert JoinedFeatures([rows, matrix]).columns() is None
    assert BatchColumns.of([rows, JoinedFeatures([fixed, rows, rows])]) is None
