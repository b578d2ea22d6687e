"""Forms of batches, the fast and the safe path, and bad input."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import partita as pt
from cases import all_chains, flat
from oracle import Oracle
from partita.kernels.chains import log as chain_log
from partita.structures.chains import Chains

N_WORDS = np.array([2, 5, 1])


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    unaries = [rng.normal(size=(n, 3)) for n in N_WORDS]
    return unaries, rng.normal(size=(3, 3)), [rng.normal(size=(n - 1, 3, 3)) for n in N_WORDS]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-9)


def pad(arrays, shape):
    result = np.full((len(arrays), *shape), 99.0)
    for row, array in zip(result, arrays, strict=True):
        row[tuple(map(slice, array.shape))] = array
    return result


def test_transitions_given_once_are_summed_over_the_batch(arrays):
    unaries, table, _ = arrays
    together = pt.LinearChain(unaries, table)
    singly = [pt.LinearChain(unary, table) for unary in unaries]
    assert together.marginals.pairwise.shape == (3, 3)
    np.testing.assert_allclose(
        together.marginals.pairwise,
        sum(p.marginals.pairwise for p in singly),
        rtol=1e-9,
        atol=1e-12,
    )
    np.testing.assert_allclose(
        together.max_marginals.pairwise,
        np.max([p.max_marginals.pairwise for p in singly], axis=0),
        rtol=1e-9,
        atol=1e-12,
    )
    direction = ([unary**2 for unary in unaries], table**2)
    np.testing.assert_allclose(
        together.covariance_product(direction).pairwise,
        sum(
            p.covariance_product((unary**2, table**2)).pairwise
            for p, unary in zip(singly, unaries, strict=True)
        ),
        rtol=1e-9,
        atol=1e-12,
    )


def test_padded_batches_give_padded_results(arrays):
    unaries, table, tables = arrays
    p = pt.LinearChain(pad(unaries, (6, 3)), pad(tables, (5, 3, 3)), n_words=N_WORDS)
    listed = pt.LinearChain(unaries, tables)
    np.testing.assert_array_equal(p.log_partition, listed.log_partition)
    assert p.marginals.unary.shape == (3, 6, 3)
    assert p.marginals.pairwise.shape == (3, 5, 3, 3)
    for row, n, marginals in zip(p.marginals.unary, N_WORDS, listed.marginals.unary, strict=True):
        np.testing.assert_array_equal(row[:n], marginals)
        assert (row[n:] == 0).all()
    assert p.argmax.shape == (3, 6)
    assert (p.argmax[0, 2:] == -1).all()
    np.testing.assert_allclose(p.score(p.argmax), listed.best.scores, rtol=1e-9, atol=1e-12)
    assert p.sample(4, np.random.default_rng(0)).shape == (3, 4, 6)
    assert p.entropy_lattices.before.shape == (3, 6, 3)
    shared = pt.LinearChain(pad(unaries, (6, 3)), np.stack([table] * 3), n_words=N_WORDS)
    assert shared.marginals.pairwise.shape == (3, 3, 3)
    everything = pt.LinearChain(np.zeros((2, 4, 3)), table)
    assert everything.log_partition.shape == (2,)


@pytest.mark.parametrize("dtype", [np.int64, np.int8])
def test_tags_of_a_batch_may_come_as_one_array(dtype):
    rng = np.random.default_rng(1)
    unary, table, tags = (
        rng.normal(size=(2, 4, 3)),
        rng.normal(size=(3, 3)),
        np.array([[0, 2, 1, 2], [2, 0, 0, 1]], dtype=dtype),
    )
    p = pt.LinearChain(unary, table)
    for form in (tags, [*tags], tags.tolist()):
        expected = [
            unary[b, np.arange(4), row].sum() + table[row[:-1], row[1:]].sum()
            for b, row in enumerate(tags)
        ]
        close(p.score(form), expected)
    for wrong in (-1, 3):
        bad = tags.copy()
        bad[1, 2] = wrong
        with pytest.raises(ValueError, match="the tags of sentence 1 range from"):
            p.score(bad)


def test_results_of_a_flat_vector_are_lists(arrays):
    unaries, _, tables = arrays
    p = pt.LinearChain(unaries, tables)
    flat_form = pt.LinearChain.from_flat(p.structures, p.scores)
    for found, expected in zip(flat_form.marginals, p.marginals, strict=True):
        assert isinstance(found, list)
        for mine, theirs in zip(found, expected, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_an_empty_batch_is_a_batch():
    for p in (pt.LinearChain([], np.zeros((2, 2))), pt.LinearChain(np.zeros((0, 4, 2)), [])):
        assert p.log_partition.shape == (0,)
        assert p.entropy.shape == (0,)
        assert p.k_best(2) == []
        assert len(p.argmax) == 0
        assert p.covariance() == []
        assert len(p.entropy_lattices.before) == 0
        assert p.constrained_entropy(0, []).shape == (0,)


def test_an_empty_batch_has_the_shapes_of_its_arrays():
    p = pt.LinearChain(np.zeros((0, 4, 2)), np.zeros((2, 2)))
    assert p.marginals.unary.shape == (0, 4, 2)
    np.testing.assert_array_equal(p.marginals.pairwise, np.zeros((2, 2)))
    np.testing.assert_array_equal(p.max_marginals.pairwise, np.full((2, 2), -np.inf))
    assert pt.LinearChain([], np.zeros((3, 3))).marginals.pairwise.shape == (3, 3)


def test_no_structure_uses_padding(arrays):
    unaries, table, _ = arrays
    p = pt.LinearChain(pad(unaries, (6, 3)), table, n_words=N_WORDS)
    assert (p.max_marginals.unary[2, 1:] == -np.inf).all()


def test_k_far_beyond_the_number_of_sequences():
    assert len(two_tags().k_best(10**12)) == 4


def test_one_sentence_takes_a_table_as_nested_lists():
    p = pt.LinearChain(np.zeros((2, 2)), [[0.0, 1.0], [0.0, 0.0]])
    assert p.log_partition == pytest.approx(np.log(3 + np.e))


def test_one_word_and_one_tag():
    assert pt.LinearChain(np.array([[2.5]]), np.zeros((1, 1))).log_partition == 2.5
    p = pt.LinearChain(np.full((4, 1), 0.5), np.full((1, 1), -1.0))
    assert p.log_partition == pytest.approx(-1.0)
    assert p.entropy == pytest.approx(0.0)
    np.testing.assert_array_equal(p.marginals.pairwise, [[3.0]])


def test_a_direction_may_leave_out_half(arrays):
    unaries, table, _ = arrays
    p = pt.LinearChain(unaries[1], table)
    both = p.covariance_product((unaries[1], np.zeros((3, 3))))
    np.testing.assert_allclose(
        p.covariance_product((unaries[1], None)).pairwise, both.pairwise, atol=1e-15, rtol=0
    )
    allowed = np.ones((5, 3), dtype=bool)
    allowed[2, :2] = False
    assert p.restricted((allowed, None)).argmax[2] == 2


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 12), st.integers(1, 9), st.sampled_from([1.0, 30.0, 300.0, 3000.0]),
    st.booleans(), st.integers(0, 2**32),
)  # fmt: skip
def test_the_fast_path_and_the_safe_one_agree(n_words, n_tags, sigma, shared, seed):
    rng = np.random.default_rng(seed)
    chains = Chains([n_words], n_tags, shared=shared)
    scores = np.where(
        rng.random(chains.n_parts) < 0.1, -np.inf, sigma * rng.normal(size=chains.n_parts)
    )
    inference = chains.infer(scores)
    log_partition, marginals = np.empty(1), np.empty(chains.n_parts)
    stride = 0 if shared else n_tags**2
    chain_log.marginals(
        scores, *chains.shape, stride, np.zeros(1, dtype=np.int64), log_partition, marginals
    )
    np.testing.assert_allclose(inference.log_partition, log_partition, rtol=1e-13, atol=1e-12)
    np.testing.assert_allclose(inference.marginals, marginals, atol=1e-9, rtol=0)


def test_the_safe_path_is_taken_where_probabilities_underflow():
    scores = 1000.0 * np.random.default_rng(0).normal(size=Chains([9], 4, shared=True).n_parts)
    *_, unsafe = Chains([9], 4, shared=True).infer(scores).state
    assert unsafe.size == 1
    *_, unsafe = Chains([9], 4, shared=True).infer(scores / 1000).state
    assert unsafe.size == 0


BAD_INPUT = {
    "unary has shape (3,); expected (n, s)": lambda: pt.LinearChain(np.zeros(3), np.zeros((2, 2))),
    "unary of sentence 1 has shape (2, 2, 2)": lambda: pt.LinearChain(
        [np.zeros((2, 2)), np.zeros((2, 2, 2))], np.zeros((2, 2))
    ),
    "[2, 3] as s; expected the same number": lambda: pt.LinearChain(
        [np.zeros((2, 2)), np.zeros((2, 3))], np.zeros((2, 2))
    ),
    "pairwise has shape (3, 3); expected (2, 2)": lambda: pt.LinearChain(
        np.zeros((4, 2)), np.zeros((3, 3))
    ),
    "pairwise has shape (4, 2, 2); expected (3, 2, 2)": lambda: pt.LinearChain(
        np.zeros((4, 2)), np.zeros((4, 2, 2))
    ),
    "pairwise has shape (4,)": lambda: pt.LinearChain(np.zeros((4, 2)), np.zeros(4)),
    "An empty sentence has no structure": lambda: pt.LinearChain(
        np.zeros((0, 2)), np.zeros((2, 2))
    ),
    "unary of sentence 1 has shape (0, 2)": lambda: pt.LinearChain(
        [np.zeros((1, 2)), np.zeros((0, 2))], np.zeros((2, 2))
    ),
    "with at least one word and nothing else empty": lambda: pt.LinearChain(
        np.zeros((3, 0)), np.zeros((0, 0))
    ),
    "unary[1, 0] is nan": lambda: pt.LinearChain(
        np.array([[0.0, 0.0], [np.nan, 0.0]]), np.zeros((2, 2))
    ),
    "pairwise[0, 1] is inf": lambda: pt.LinearChain(
        np.zeros((2, 2)), np.array([[0.0, np.inf], [0.0, 0.0]])
    ),
    "unary[1][0, 1] is nan": lambda: pt.LinearChain(
        [np.zeros((1, 2)), np.array([[0.0, np.nan]])], np.zeros((2, 2))
    ),
    "unary is no array of numbers": lambda: pt.LinearChain(
        np.array([["a", "b"]]), np.zeros((2, 2))
    ),
    "n_words[1] is 9; expected 1 to 4": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=[4, 9]
    ),
    "n_words[0] is 0; expected 1 to 4": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=[0, 4]
    ),
    "n_words[1] is 18446744073709551615": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=np.array([1, 2**64 - 1], dtype=np.uint64)
    ),
    "n_words has type float64": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=[1.0, 2.0]
    ),
    "n_words has shape (3,); expected (2,)": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=[1, 1, 1]
    ),
    "n_words came with scores that are not padded": lambda: pt.LinearChain(
        np.zeros((4, 2)), np.zeros((2, 2)), n_words=[4]
    ),
    "pairwise has 1 sentences; expected 2": lambda: pt.LinearChain(
        [np.zeros((1, 2)), np.zeros((1, 2))], [np.zeros((2, 2))]
    ),
    "pairwise is a list of arrays with [2, 3] axes for a batch": lambda: pt.LinearChain(
        [np.zeros((2, 2)), np.zeros((2, 2))], [np.zeros((2, 2)), np.zeros((1, 2, 2))]
    ),
    "more parts than can be counted": lambda: Chains([2**31] * 2, 2**31, shared=False),
    "scores has shape (3,); expected (8,)": lambda: pt.LinearChain.from_flat(
        Chains([2], 2, shared=True), np.zeros(3)
    ),
    "direction has a value that is not finite": lambda: two_tags().covariance_product(
        (np.full((2, 2), np.inf), None)
    ),
    "expected a tuple (unary, pairwise)": lambda: two_tags().expectation(np.zeros((2, 2))),
    "expected booleans": lambda: two_tags().restricted((np.zeros((2, 2)), None)),
    "expected (2,) whole numbers": lambda: two_tags().log_prob([0, 1, 0]),
    "range from 0 to 2; expected 0 to 1": lambda: two_tags().log_prob([0, 2]),
    "alpha is -1": lambda: two_tags().renyi_entropy(-1),
    "k is 0; expected at least 1": lambda: two_tags().k_best(0),
    "size is -1": lambda: two_tags().sample(-1, np.random.default_rng(0)),
    "two distributions over the same parts": lambda: two_tags().cross_entropy(
        pt.LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
    ),
    "a LinearChain (1 sentences, 8 parts) was compared with a str": lambda: (
        two_tags().kl_divergence("q")
    ),
    "k is 1.5; expected at least 1, a whole number": lambda: two_tags().k_best(1.5),
    "size is 2.5": lambda: two_tags().sample(2.5, np.random.default_rng(0)),
    "rng is 7; expected a NumPy Generator": lambda: two_tags().sample(1, 7),
    "unary is no array of numbers (its type is complex128)": lambda: pt.LinearChain(
        np.zeros((2, 2), dtype=complex), np.zeros((2, 2))
    ),
    "n_words is no array": lambda: pt.LinearChain(
        np.zeros((2, 4, 2)), np.zeros((2, 2)), n_words=[[1], [1, 2]]
    ),
    "unary has 0 sentences; expected 1": lambda: pt.LinearChain(
        [np.zeros((2, 2))], np.zeros((2, 2))
    ).expectation((3.0, None)),
    "0 structures came for a batch of 1": lambda: pt.LinearChain(
        [np.zeros((2, 2))], np.zeros((2, 2))
    ).score(None),
    "2 structures came for a batch of 1": lambda: pt.LinearChain(
        [np.zeros((2, 2))], np.zeros((2, 2))
    ).score([[0, 0], [0, 0]]),
}


def two_tags():
    return pt.LinearChain(np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("message", BAD_INPUT)
def test_bad_input_says_what_came_and_what_was_expected(message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        BAD_INPUT[message]()
    assert message in str(error.value)


@pytest.mark.parametrize("n_words", [1, 4])
def test_start_and_stop_are_scores_of_the_first_and_last_tag(n_words):
    rng = np.random.default_rng(n_words)
    unary, table = rng.normal(size=(n_words, 3)), rng.normal(size=(3, 3))
    start, stop = rng.normal(size=(2, 3))
    start[1] = -np.inf
    p = pt.LinearChain(unary, table, start=start, stop=stop)
    structures, counts = all_chains((unary, table))
    truth = Oracle(structures, np.array(counts), flat((unary, table)))
    ends = np.array([start[tags[0]] + stop[tags[-1]] for tags in truth.structures])
    weights = np.exp(truth.totals + ends)
    close(p.log_partition, np.log(weights.sum()))
    close(flat(p.marginals), weights @ truth.counts / weights.sum())
    for tags, total, end in list(zip(truth.structures, truth.totals, ends, strict=True))[:9]:
        close(p.score(tags), total + end)


def test_start_and_stop_of_a_batch_are_given_once():
    rng = np.random.default_rng(0)
    unaries, table = [rng.normal(size=(n, 3)) for n in N_WORDS], rng.normal(size=(3, 3))
    ends = {"start": rng.normal(size=3), "stop": rng.normal(size=3)}
    singly = [pt.LinearChain(unary, table, **ends).log_partition for unary in unaries]
    close(pt.LinearChain(unaries, table, **ends).log_partition, singly)
    padded = pt.LinearChain(pad(unaries, (6, 3)), table, n_words=N_WORDS, **ends)
    close(padded.log_partition, singly)


def test_start_may_be_a_column_of_a_table():
    table = np.arange(6.0).reshape(3, 2)
    unary, pairwise = np.zeros((4, 3)), np.zeros((3, 3))
    p = pt.LinearChain(unary, pairwise, start=table[:, 1], stop=table[::-1, 0])
    q = pt.LinearChain(unary, pairwise, start=table[:, 1].copy(), stop=table[::-1, 0].copy())
    assert p.log_partition == q.log_partition


def test_start_that_is_none():
    shape = np.zeros((4, 2)), np.zeros((2, 2))
    with pytest.raises(ValueError, match=r"start has shape \(3,\); expected \(2,\)"):
        pt.LinearChain(*shape, start=np.zeros(3))
    with pytest.raises(ValueError, match=r"stop\[1\] is nan"):
        pt.LinearChain(*shape, stop=[0.0, np.nan])


def every_cell_k_best(unary, tables, k):
    """The k best by keeping as many at each tag of each word; ties in the order of left tags."""
    lists = [[(score, (tag,))] for tag, score in enumerate(unary[0])]
    for row, table in zip(unary[1:], tables, strict=True):
        ways = [
            [
                (score + table[i, j], (*tags, j))
                for i, each in enumerate(lists)
                for score, tags in each
            ]
            for j in range(len(row))
        ]
        ranked = [sorted(each, key=lambda way: -way[0])[:k] for each in ways]
        lists = [
            [(a + own, tags) for a, tags in each] for each, own in zip(ranked, row, strict=True)
        ]
    found = sorted((way for each in lists for way in each), key=lambda way: -way[0])[:k]
    return [(score, tags) for score, tags in found if score > -np.inf]


@pytest.mark.parametrize("n_words, n_tags, k", [(1, 9, 20), (2, 3, 9), (6, 4, 300), (40, 7, 30)])
@pytest.mark.parametrize("kind", ["random", "tied", "equal", "large", "forbidden"])
def test_the_k_best_are_those_of_a_list_in_every_cell(n_words, n_tags, k, kind):
    rng = np.random.default_rng(n_words)
    sizes = (n_words, n_tags), (n_words - 1, n_tags, n_tags)
    unary, tables = (rng.normal(size=size) for size in sizes)
    if kind in ("tied", "equal"):
        unary, tables = (np.round(array * (kind == "tied")) for array in (unary, tables))
    if kind == "large":
        unary, tables = unary * 1e3, tables * 1e3
    if kind == "forbidden":
        unary[rng.random(unary.shape) < 0.2] = tables[rng.random(tables.shape) < 0.4] = -np.inf
        unary[:, 0] = tables[:, 0, 0] = 0.0
    found = [
        (score, tuple(tags.tolist())) for tags, score in pt.LinearChain(unary, tables).k_best(k)
    ]
    assert found == every_cell_k_best(unary, tables, k)


def test_the_k_best_of_many_words_and_tags_take_little_more_than_the_best():
    """Lists in every cell would take half a minute, and 1.4 GB."""
    rng = np.random.default_rng(0)
    p = pt.LinearChain(rng.normal(size=(300, 200)), rng.normal(size=(200, 200)))
    found = p.k_best(1_000)
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True)
    assert len({tags.tobytes() for tags, _ in found}) == 1_000
    np.testing.assert_array_equal(found[0][0], p.argmax)
    close([p.score(tags) for tags, _ in found[::100]], scores[::100])


@pytest.mark.parametrize("n_words, n_tags", [(1, 5), (30, 2), (25, 40), (60, 7)])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_counts_are_those_in_whole_numbers(n_words, n_tags, share):
    rng = np.random.default_rng(n_words)
    unary, tables = np.zeros((n_words, n_tags)), np.zeros((n_words - 1, n_tags, n_tags))
    unary[rng.random(unary.shape) < share] = tables[rng.random(tables.shape) < share] = -np.inf
    unary[:, 0] = tables[:, 0, 0] = 0.0
    n_ways = (unary[0] == 0).astype(object)
    for row, table in zip(unary[1:], tables, strict=True):
        n_ways = (n_ways @ (table == 0).astype(object)) * (row == 0).astype(object)
    assert pt.LinearChain(unary, tables).count == n_ways.sum()


def test_the_count_of_many_words_and_tags():
    p = pt.LinearChain(np.zeros((300, 200)), np.zeros((200, 200)))
    assert p.count == 200**300
