"""Chains with shared transitions go eight by eight: as if alone."""

import numpy as np
import pytest

from partita.kernels.simd.eight import EIGHT
from partita.structures.chains import Chains

N_WORDS = np.array([3, 1, 5, 2, 4, 4, 1, 3, 6, 2, 5, 3, 2, 3, 3, 1, 6, 2, 4])


def alone(chains, vector, sentence):
    """One sentence's part of a vector."""
    return vector[chains.part_offsets[sentence] : chains.part_offsets[sentence + 1]].copy()


def shared_tables(chains, vector, *, n_first, rng):
    """One table for the first sentences, another for the others."""
    tables = rng.normal(size=(2, chains.n_tags, chains.n_tags))
    for sentence, view in enumerate(chains.split(vector)[1]):
        view[...] = tables[int(sentence >= n_first)]


@pytest.mark.parametrize("n_tags", [1, 3, 5, 9, 13, 19])
@pytest.mark.parametrize(("n_first", "n_moved"), [(19, 19), (11, 19), (19, 11), (19, 0)])
def test_a_batch_is_its_sentences(n_tags, n_first, n_moved):
    """Whichever of them share a table, and whichever move alike (none where n_moved is 0)."""
    rng = np.random.default_rng([n_tags, n_first, n_moved])
    chains = Chains(N_WORDS, n_tags, shared=True)
    scores, direction = rng.normal(size=(2, chains.n_parts))
    shared_tables(chains, scores, n_first=n_first, rng=rng)
    if n_moved:
        shared_tables(chains, direction, n_first=n_moved, rng=rng)
    inference = chains.infer(scores)
    product = chains.covariance_product(scores, inference, direction)
    with_entropy = chains.infer_with_entropy(scores)
    for sentence, n_words in enumerate(N_WORDS):
        one = Chains([n_words], n_tags, shared=True)
        its_scores = alone(chains, scores, sentence)
        its, expected = one.infer(its_scores), one.infer_with_entropy(its_scores)
        its_product = one.covariance_product(its_scores, its, alone(chains, direction, sentence))
        for found, wanted in (
            (inference.log_partition[sentence], expected.inference.log_partition[0]),
            (with_entropy.entropy[sentence], expected.entropy[0]),
            (alone(chains, inference.marginals, sentence), expected.inference.marginals),
            (alone(chains, with_entropy.inference.marginals, sentence), its.marginals),
            (alone(chains, with_entropy.gradient, sentence), expected.gradient),
            (alone(chains, product, sentence), its_product),
        ):
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def as_if_alone(chains, scores, direction):
    """Marginals and covariance products of a batch are those of its sentences."""
    inference = chains.infer(scores)
    product = chains.covariance_product(scores, inference, direction)
    for sentence, n_words in enumerate(chains.n_words):
        one, mine = Chains([n_words], chains.n_tags, shared=True), alone(chains, scores, sentence)
        its = one.infer(mine)
        moved = one.covariance_product(mine, its, alone(chains, direction, sentence))
        np.testing.assert_allclose(inference.log_partition[sentence], its.log_partition[0])
        for found, wanted in ((inference.marginals, its.marginals), (product, moved)):
            np.testing.assert_allclose(alone(chains, found, sentence), wanted, atol=1e-13)


@pytest.mark.parametrize("odd_one", range(8))
def test_one_table_of_a_group_may_move_otherwise(odd_one):
    rng = np.random.default_rng(odd_one)
    chains = Chains([4] * 8, 3, shared=True)
    scores, direction = rng.normal(size=(2, chains.n_parts))
    for each in (scores, direction):
        shared_tables(chains, each, n_first=8, rng=rng)
    chains.split(direction)[1][odd_one][2, 2] += 1.0
    as_if_alone(chains, scores, direction)


@pytest.mark.parametrize("n_tags", [1, 2, 5])
@pytest.mark.parametrize("last", range(1, 17, 2))
def test_nothing_is_read_behind_the_end_of_a_sentence(last, n_tags):
    """There lie its transitions, some forbidden, some much likelier than any tag; or nothing.

    Alone, three words of one tag have fewer messages than a square of sums.
    """
    rng = np.random.default_rng(n_tags)
    chains = Chains([*(n for n in range(1, 17, 2) if n != last), last], n_tags, shared=True)
    scores, direction = rng.normal(size=(2, chains.n_parts))
    shared_tables(chains, scores, n_first=8, rng=rng)
    for table in chains.split(scores)[1]:
        table[0] += 600.0
        table[1:, 0] = -np.inf
    direction[scores == -np.inf] = 0.0
    as_if_alone(chains, scores, direction)


def test_a_sentence_that_starts_where_another_is_long_is_none_that_all_lanes_repeat():
    """The second group's first sentence has six words, and the parts of its last begin at 6."""
    rng = np.random.default_rng(0)
    chains = Chains([1, 7, *[1] * 7, *[6] * 7], 2, shared=True)
    scores, direction = rng.normal(size=(2, chains.n_parts))
    for each in (scores, direction):
        shared_tables(chains, each, n_first=16, rng=rng)
    as_if_alone(chains, scores, direction)


@pytest.mark.parametrize("n_tags", [1, 2, 3, 4, 5, 7, 8, 9, 10, 12, 17, 19, 20, 45])
@pytest.mark.parametrize("n_sentences", [1, 3, 8, 19])
@pytest.mark.parametrize("kind", ["normal", "large", "tied", "forbidden"])
def test_entropy_in_one_pass_is_what_the_covariance_product_gives(n_tags, n_sentences, kind):
    rng = np.random.default_rng([n_tags, n_sentences])
    chains = Chains(N_WORDS[-n_sentences:], n_tags, shared=True)
    scores = np.zeros(chains.n_parts) if kind == "tied" else rng.normal(size=chains.n_parts)
    scores *= 30.0 if kind == "large" else 1.0
    unaries, tables = chains.split(scores)
    if kind == "forbidden":
        for unary in unaries:
            unary[rng.random(unary.shape) < 0.3] = -np.inf
            unary[:, 0] = 0.5
    for table in tables:
        table[...] = tables[0]
        if kind == "forbidden":
            table[:, 1:2] = -np.inf
    found, inference = chains.infer_with_entropy(scores), chains.infer(scores)
    assert found is not None
    np.testing.assert_array_equal(found.inference.marginals, inference.marginals)
    np.testing.assert_array_equal(found.inference.log_partition, inference.log_partition)
    possible = np.where(inference.marginals > 0, scores, 0.0)
    for sentence, log_partition in enumerate(inference.log_partition):
        expected = alone(chains, inference.marginals, sentence) @ alone(chains, possible, sentence)
        np.testing.assert_allclose(
            found.entropy[sentence], log_partition - expected, rtol=1e-9, atol=1e-10
        )
    product = chains.covariance_product(scores, inference, possible)
    np.testing.assert_allclose(found.gradient, -product, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("n_sentences", [7, 8, 9, 16, 19])
def test_lanes_are_left_empty_beside_the_shortest(n_sentences):
    """The longest would leave more of them empty."""
    chains = Chains(np.arange(1, n_sentences + 1), 2, shared=True)
    members, cells, *_ = chains.infer(np.zeros(chains.n_parts)).state
    n_over = n_sentences % EIGHT or EIGHT
    lengths = np.arange(n_over, n_sentences + 1, EIGHT)
    np.testing.assert_array_equal(np.diff(cells[: len(lengths) + 1]), lengths * 2 * EIGHT)
    expected = np.repeat(
        np.arange(n_sentences),
        [1] * (n_over - 1) + [EIGHT - n_over + 1] + [1] * (n_sentences - n_over),
    )
    np.testing.assert_array_equal(members[: len(expected)], expected)
