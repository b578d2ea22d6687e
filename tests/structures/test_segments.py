"""Segments with tags: what the conformance suite does not ask."""

import numpy as np
import pytest

import partita as pt
from cases import all_segmentations, flat
from oracle import Oracle
from partita.kernels.segments import log as segment_log
from partita.kernels.segments import sample as segment_sample


def random_scores(n_words, longest, n_tags, seed=0, scale=1.0):
    rng = np.random.default_rng([seed, n_words, longest, n_tags])
    return (
        rng.normal(size=(n_words, longest, n_tags), scale=scale),
        rng.normal(size=(n_tags, n_tags), scale=scale),
    )


def truth_of(scores):
    structures, counts = all_segmentations(scores)
    return Oracle(structures, np.asarray(counts, dtype=np.float64), flat(scores))


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-9)


def assert_both_paths_agree(sentences):
    p = pt.SegmentChain([s for s, _ in sentences], [t for _, t in sentences])
    sets, every = p.structures, np.arange(len(sentences))
    log_partition, marginals = np.empty(len(sentences)), np.empty(sets.n_parts)
    segment_log.infer(p.scores, None, *sets.shape, every, log_partition, marginals)
    assert p.inference.state[-1].all()
    close(p.log_partition, log_partition)
    close(p.inference.marginals, marginals)
    direction, product = np.random.default_rng(1).normal(size=sets.n_parts), np.empty(sets.n_parts)
    segment_log.infer(p.scores, direction, *sets.shape, every, log_partition, product)
    close(p.flat_covariance_product(direction), product)


def test_one_word_segments_are_a_chain():
    segments, pairwise = random_scores(7, 1, 4)
    p, q = pt.SegmentChain(segments, pairwise), pt.LinearChain(segments[:, 0], pairwise)
    close(p.log_partition, q.log_partition)
    close(p.marginals.segments[:, 0], q.marginals.unary)
    close(p.marginals.pairwise, q.marginals.pairwise)
    assert p.argmax[:, 2].tolist() == q.argmax.tolist()


@pytest.mark.parametrize(
    "shape", [(1, 1, 1), (1, 6, 3), (2, 7, 2), (4, 2, 1), (4, 4, 3), (3, 2, 6)]
)
@pytest.mark.parametrize("scale", [1.0, 400.0])
def test_shapes(shape, scale):
    scores = random_scores(*shape, scale=scale)
    p, truth = pt.SegmentChain(*scores), truth_of(scores)
    close(p.log_partition, truth.log_partition)
    close(flat(p.marginals), truth.marginals)
    close(flat(p.max_marginals), truth.max_marginals)
    close(p.best_score, truth.totals.max())
    direction = np.random.default_rng(1).normal(size=truth.scores.size)
    used = truth.counts.any(axis=0)
    product = p.flat_covariance_product(np.where(used, direction, 7.0))
    close(product, truth.covariance @ direction)


def test_segments_behind_the_end_are_ignored():
    segments, pairwise = random_scores(3, 3, 2)
    whatever = segments.copy()
    whatever[1, 2], whatever[2, 1], whatever[2, 2] = np.nan, np.inf, 1e9
    p, q = pt.SegmentChain(segments, pairwise), pt.SegmentChain(whatever, pairwise)
    assert p.log_partition == q.log_partition
    np.testing.assert_array_equal(p.marginals.segments, q.marginals.segments)
    assert (q.marginals.segments[2, 1:] == 0).all()
    assert (q.max_marginals.segments[2, 1:] == -np.inf).all()
    whatever[2, 0, 1] = np.nan
    with pytest.raises(ValueError, match=r"segments\[2, 0, 1\] is nan"):
        pt.SegmentChain(whatever, pairwise)


@pytest.mark.parametrize(
    "rows, message",
    [
        ([[0, 2, 0]], "from where the last one ended"),
        ([[0, 2, 0], [1, 3, 0]], "from where the last one ended"),
        ([[0, 3, 0], [0, 3, 0]], "from where the last one ended"),
        ([[0, 1, 0], [2, 3, 0]], "from where the last one ended"),
        ([[0, 3, 2]], "from where the last one ended"),
        ([[0, 0, 0], [0, 3, 0]], "from where the last one ended"),
        ([[0, 3]], "expected rows"),
        ([[0.0, 3.0, 0.0]], "expected rows"),
        (np.zeros((0, 3), dtype=int), "from where the last one ended"),
    ],
)
def test_rows_that_are_no_structure(rows, message):
    p = pt.SegmentChain(np.zeros((3, 3, 2)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match=message):
        p.score(rows)


@pytest.mark.parametrize("n_tags", [2, 5, 8])
def test_both_paths_agree(n_tags):
    sentences = [random_scores(n, 6, n_tags, seed=3) for n in (30, 1, 12, 7, 40)]
    for segments, _ in sentences[:3]:
        segments[np.random.default_rng(0).random(segments.shape) < 0.3] = -np.inf
        segments[:, 0, 0] = 0.0
        segments[5 % len(segments), :, :] = -np.inf  # no segment begins here
        segments[max(5 % len(segments) - 1, 0), 1:3, :] = 0.0
        for first in range(3 if len(segments) > 3 else 0):
            segments[first, 2 - first, :] = -np.inf  # no segment ends behind the third word
            segments[first, 3 - first, :] = 0.0
        segments[0, 0, 1] = -1.0
    assert_both_paths_agree(sentences)


def test_rows_of_any_number_of_cells():
    """Below a register, and with every remainder behind whole ones."""
    for longest, n_tags in [(1, 1), (2, 1), (3, 1), (1, 3), (3, 3), (5, 3), (6, 2), (2, 13)]:
        assert_both_paths_agree([random_scores(n, longest, n_tags) for n in (1, 2, 9, 3)])


@pytest.mark.parametrize("n_tags", [4, 12, 16, 20, 21, 24, 25, 45, 50])
def test_rows_of_as_many_tags_as_registers_hold(n_tags):
    """Products take 24 columns at once, then 12, then 4."""
    assert_both_paths_agree([random_scores(n, 2, n_tags) for n in (3, 1, 4)])


def test_sums_that_grow_and_fall_are_scaled():
    """Beyond what doubles hold, with segments that go across the boundaries where that happens."""
    nothing = np.zeros((3, 3))
    growing = np.zeros((400, 6, 3)), nothing
    # The largest transition leads from the best tag to a bad one, so that no structure gains it.
    falling = np.zeros((400, 6, 3)), nothing - 30.0
    falling[0][:, :, 1:], falling[1][0, 1] = -30.0, 0.0
    far = random_scores(400, 6, 3, scale=40.0)
    closed = random_scores(400, 6, 3)
    closed[0][:, 1:, 0], closed[0][50:60, 0], closed[0][50, 5, 1] = -np.inf, -np.inf, 3.0
    high = random_scores(400, 6, 3)[0] + 1000.0, nothing - 700.0
    low = random_scores(400, 6, 3)[0] - 1000.0, nothing + 700.0
    assert_both_paths_agree([growing, falling, far, closed, high, low])


@pytest.mark.parametrize("cost, is_safe", [(20.0, True), (150.0, False)])
def test_what_falls_too_far_is_done_in_logarithms(cost, is_safe):
    """All lose at every boundary, so that what has become 0 in a long segment would grow."""
    segments, pairwise = np.zeros((7, 6, 2)), np.full((2, 2), -cost)
    segments[:, :, 1], pairwise[0, 1] = -cost, 0.0
    segments -= cost * 1.3 * np.arange(6)[:, None]
    p, truth = pt.SegmentChain(segments, pairwise), truth_of((segments, pairwise))
    assert p.inference.state[-1].all() == is_safe
    close(p.log_partition, truth.log_partition)
    close(flat(p.marginals), truth.marginals)


def test_what_would_underflow_is_done_in_logarithms():
    segments, pairwise = random_scores(6, 3, 3, seed=5)
    pairwise[0, :] = -800.0
    pairwise[:, 0] = -800.0
    segments[:, :, 1:] -= 900.0
    segments[0, :, 0] = -np.inf
    p, truth = pt.SegmentChain(segments, pairwise), truth_of((segments, pairwise))
    assert not p.inference.state[-1].any()
    close(p.log_partition, truth.log_partition)
    close(flat(p.marginals), truth.marginals)
    direction = np.random.default_rng(1).normal(size=truth.scores.size)
    close(p.flat_covariance_product(direction), truth.covariance @ direction)


def test_a_batch_with_tables_of_its_own():
    sentences = [
        random_scores(n, 3, 2, seed) for n, seed in ((5, 0), (2, 1), (4, 2), (5, 3), (1, 4))
    ]
    together = pt.SegmentChain([s for s, _ in sentences], [t for _, t in sentences])
    for index, scores in enumerate(sentences):
        truth = truth_of(scores)
        close(together.log_partition[index], truth.log_partition)
        close(together.marginals.pairwise[index].ravel(), truth.marginals[-4:])
        close(together.marginals.segments[index].ravel(), truth.marginals[:-4])


@pytest.mark.parametrize(
    "column, expected",
    [
        (0, [(0, 1, 0), (1, 2, 0), (2, 3, 1)]),
        (1, [(0, 1, 0), (1, 3, 0)]),
        (2, [(0, 1, 0), (1, 2, 1), (2, 3, 0)]),
        (3, [(0, 2, 0), (2, 3, 0)]),
        (4, [(0, 1, 1), (1, 2, 0), (2, 3, 0)]),
    ],
)
def test_every_choice_of_a_sample_has_a_uniform_number_of_its_own(column, expected):
    """Where all are 0 the first of everything is taken: words one by one, from the right, tag 0."""
    p = pt.SegmentChain(np.zeros((3, 2, 2)), np.zeros((2, 2)))
    uniforms, rows, n_rows = np.zeros((1, 6)), np.zeros((1, 3, 3), dtype=np.int64), np.zeros(1, int)
    uniforms[0, column] = 0.999
    segment_sample.sample(p.scores, 0, 3, 2, 2, uniforms, rows, n_rows)
    assert [tuple(row) for row in rows[0, 3 - n_rows[0] :].tolist()] == expected
