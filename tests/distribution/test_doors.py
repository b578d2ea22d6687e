"""How arrays go in and come out: masks, what structures return, and where a bad number is."""

import numpy as np
import pytest

import partita as pt
from cases import CASES, batch, padded
from partita.distribution.parts import PartDistribution
from partita.kernels import parts as part_kernels
from partita.kernels.doors import padded as padded_kernels
from partita.structures.array_structures import ArrayStructures
from partita.structures.base import Inference
from partita.structures.chains import Chains
from partita.structures.forms import Form
from partita.structures.part_arrays import PartArray
from partita.structures.slopes import single_slopes

TABLE = np.zeros((2, 2))
MASK = np.array([[True, False, True], [False, True, False]])
ROWS = ("forest", "segments", "constituents", "own-structure")
NUMBER_A_WORD = [case for case in CASES if not case.name.startswith(ROWS)]
"""Segments and spans say themselves which words they are of."""


def test_a_word_that_is_masked_out_is_not_there():
    rng = np.random.default_rng(0)
    arcs = rng.normal(size=(1, 6, 6))
    mask = np.array([[True, False, True, True, False]])
    kept = [0, 1, 3, 4]
    p, q = pt.SpanningTree(arcs, mask=mask), pt.SpanningTree(arcs[0][np.ix_(kept, kept)])
    assert p.log_partition == pytest.approx(q.log_partition, abs=1e-12)
    np.testing.assert_allclose(p.marginals[0][np.ix_(kept, kept)], q.marginals, atol=1e-12)
    assert p.marginals[0, 2].sum() == p.marginals[0, :, 5].sum() == 0.0
    # Heads count the words of the array, not those that are left.
    np.testing.assert_array_equal(p.argmax[0, [0, 2, 3]], np.array([0, 1, 3, 4])[q.argmax])
    assert p.argmax[0, [1, 4]].tolist() == [-1, -1]
    with pytest.raises(ValueError, match="expected 0 to 3"):
        p.score(np.array([[0, -1, 2, 1, -1]]))  # word 2 is not there
    with pytest.raises(ValueError, match=r"has shape \(3,\); expected \(5,\)"):
        p.score([np.array([0, 1, 1])])


SECOND = {"mask": np.array([[False, True]])}
"""The second of two places has the only word."""
TREE = pt.SpanningTree(np.zeros((1, 3, 3)), **SECOND)
CONSTITUENTS = pt.ConstituencyTree(np.zeros((1, 2, 2)), **SECOND)
SEGMENTS = pt.SegmentChain(np.zeros((1, 2, 1, 1)), np.zeros((1, 1)), **SECOND)


@pytest.mark.parametrize(
    ("p", "structure"),
    [
        (TREE, [-1, -2]),
        (TREE, [0, 3]),
        (TREE, [0.0, 0.5]),
        (CONSTITUENTS, [[1, -1]]),
        (CONSTITUENTS, [[1, 2**40]]),
        (SEGMENTS, [[-1, 0, 0]]),
        (SEGMENTS, [[1, 3, 0]]),
        (SEGMENTS, [[0.5, 2, 0]]),
    ],
)
def test_structures_name_places_of_the_padded_array(p, structure):
    """Below 0 would be counted from the end, and taken for another word."""
    with pytest.raises(ValueError, match=r"expected whole numbers from 0 to \d+, places of the"):
        p.score([np.array(structure)])


@pytest.mark.parametrize("p", [SEGMENTS, CONSTITUENTS], ids=["segments", "constituents"])
def test_rows_of_another_shape_in_a_masked_array(p):
    for structure in ([1, 2, 0], [[1, 1, 0, 0]], [[[1, 1]]]):
        with pytest.raises(ValueError, match=r"of sentence 0 .* expected"):
            p.score([np.array(structure)])


@pytest.mark.parametrize("case", NUMBER_A_WORD, ids=str)
def test_structures_are_as_wide_as_a_padded_batch(case):
    """Or hold one number for each word; padding is not read, and nothing else is cut off."""
    rng = np.random.default_rng(0)
    scores = [case.random_scores(rng, n_words) for n_words in (3, 2)]
    given = batch(scores)
    listed = case.build(given)
    arrays = given if isinstance(given, tuple) else (given,)
    kinds = listed.structures.arrays
    assert listed.structures.one_per_word
    rows = [
        array if kind.n_axes == 0 else padded(array, kind, [range(3), range(2)], 5)
        for array, kind in zip(arrays, kinds, strict=True)
    ]
    p = case.build(rows[0] if len(rows) == 1 else tuple(rows), n_words=[3, 2])
    best, expected = p.argmax, listed.log_prob(listed.argmax)
    np.testing.assert_allclose(p.log_prob(best), expected, atol=1e-12)

    def changed(change):
        return tuple(map(change, best)) if isinstance(best, tuple) else change(best)

    np.testing.assert_allclose(p.log_prob(changed(lambda row: row * 1)), expected, atol=1e-12)
    for wrong in (lambda row: np.pad(row, [(0, 0), (0, 1)]), lambda row: row[:, :4]):
        with pytest.raises(ValueError, match=r"sentence 0 has shape .*expected \(5,\).*or \(3,\)"):
            p.log_prob(changed(wrong))
        with pytest.raises(ValueError, match=r"sentence 0 has shape .*Pad it to the width"):
            p.score(changed(wrong))
    if not isinstance(best, tuple):
        np.testing.assert_allclose(p.log_prob([best[0, :3], best[1]]), expected, atol=1e-12)
        with pytest.raises(ValueError, match=r"sentence 1 has shape \(3,\); expected \(5,\)"):
            p.log_prob([best[0], best[1, :3]])


def test_a_table_between_words_belongs_to_the_word_it_leads_to():
    tables = np.arange(8.0).reshape(1, 2, 2, 2) ** 2
    p = pt.LinearChain(np.zeros((1, 3, 2)), tables, mask=np.array([[True, False, True]]))
    q = pt.LinearChain(np.zeros((2, 2)), tables[0, 1])
    np.testing.assert_allclose(p.marginals.pairwise[0, 1], q.marginals.pairwise, atol=1e-15)
    assert (p.marginals.pairwise[0, 0] == 0).all()


def test_a_mask_without_holes_is_n_words():
    unary = np.random.default_rng(1).normal(size=(2, 3, 2))
    p = pt.LinearChain(unary, TABLE, mask=np.array([[True, True, False], [True, False, False]]))
    q = pt.LinearChain(unary, TABLE, n_words=[2, 1])
    np.testing.assert_array_equal(p.log_partition, q.log_partition)
    assert p._form.order is None


@pytest.mark.parametrize(
    "unary, options, message",
    [
        (np.zeros((2, 3, 2)), {"mask": MASK, "n_words": [2, 1]}, "both came"),
        (np.zeros((2, 3, 2)), {"mask": MASK.astype(int)}, "array of int64"),
        (np.zeros((2, 3, 2)), {"mask": MASK[:, :2]}, r"shape \(2, 2\); expected booleans of"),
        (np.zeros((2, 3, 2)), {"mask": MASK & [[True], [False]]}, r"mask\[1\] has no word"),
        (np.zeros((3, 2)), {"mask": MASK[0]}, "mask came with scores that are not padded"),
        (np.full((2, 3, 2), np.nan), {"mask": MASK}, r"unary\[0\]\[0, 0\] is nan"),
        (np.zeros((2, 3, 2)) + [[[0], [0], [np.inf]]], {"mask": MASK}, r"\[0\]\[2, 0\] is inf"),
    ],
)
def test_masks_that_are_none(unary, options, message):
    with pytest.raises(ValueError, match=message):
        pt.LinearChain(unary, TABLE, **options)


def test_nobody_looks_at_what_is_masked_out():
    unary = np.where(MASK[:, :, None], 0.0, [np.nan, np.inf])
    assert pt.LinearChain(unary, TABLE, mask=MASK).log_partition.tolist() == pytest.approx(
        [2 * np.log(2), np.log(2)]
    )


class Short(Chains):
    """A structure whose author has a mistake in one method."""

    def infer(self, scores):
        found = super().infer(scores)
        return Inference(found.log_partition, found.marginals[:-1], found.state)


class Single(Chains):
    def covariance_product(self, scores, inference, direction):
        return super().covariance_product(scores, inference, direction).astype(np.float32)


def test_what_a_structure_returns_is_checked():
    scores = np.zeros(8)
    p = PartDistribution.from_flat(Short([2], 2, shared=True), scores)
    with pytest.raises(ValueError, match=r"Short.infer gave marginals of shape \(7,\)"):
        p.marginals  # noqa: B018
    p = PartDistribution.from_flat(Single([2], 2, shared=True), scores)
    with pytest.raises(ValueError, match="Single.covariance_product gave values .* type float32"):
        p.flat_covariance_product(scores)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool])
@pytest.mark.parametrize("order", ["C", "F"])
def test_any_numbers_in_any_order_of_memory(dtype, order):
    given = np.random.default_rng(2).integers(2, size=(3, 4, 2)).astype(dtype)
    p = pt.LinearChain(np.asarray(given, order=order), TABLE, n_words=[4, 1, 2])
    q = pt.LinearChain([given[0], given[1, :1], given[2, :2]], TABLE)
    np.testing.assert_array_equal(p.log_partition, q.log_partition)
    np.testing.assert_array_equal(p.marginals.unary[2, :2], q.marginals.unary[2])


def test_the_form_of_a_flat_vector_may_be_given():
    chains = Chains([1, 2], 2, shared=False)
    p = pt.LinearChain.from_flat(chains, np.zeros(10), Form("padded", 3, (False, False)))
    assert p.marginals.unary.shape == (2, 3, 2)
    assert p.marginals.pairwise.shape == (2, 2, 2, 2)


def test_scores_that_cannot_be_added_up_are_an_error():
    graph = pt.Hypergraph([0, 1, 2, 2], [[], [], [0, 1], [1, 1]], 2)
    p = pt.HypergraphDistribution(graph, [0.0, 1e308, 0.0, 0.0])
    # The best derivation is known, though no double holds its score.
    assert p.argmax.tolist() == p.sample(1, np.random.default_rng(0))[0].tolist() == [3, 1, 1]
    assert p.marginals.tolist() == [0.0, 2.0, 0.0, 1.0]
    for ask in (lambda: p.best_score, lambda: p.log_partition, lambda: p.k_best(2)):
        with pytest.raises(ValueError, match=r"beyond the largest double, 1.8e\+308"):
            ask()


def test_a_distribution_says_what_it_is():
    p = pt.LinearChain([np.zeros((2, 2)), np.zeros((1, 2))], TABLE)
    assert repr(p) == "LinearChain(2 sentences of 1 to 2 words, 2 tags, 14 parts)"
    assert repr(pt.SpanningTree(np.zeros((4, 4)))) == "SpanningTree(3 words, 16 parts)"
    labelled = pt.ProjectiveTree(np.zeros((2, 2, 3)), labelled=True)
    assert repr(labelled) == "ProjectiveTree(1 word, 3 labels, 12 parts)"
    graph = pt.Hypergraph(heads=[0, 1, 2, 2], tails=[[], [], [0, 1], [1, 1]], root=2)
    forest = pt.HypergraphDistribution(graph, np.zeros(4))
    assert repr(forest) == "HypergraphDistribution(1 forest, 4 edges)"


def test_names_are_checked_and_stay():
    p = pt.LinearChain([np.zeros((2, 2)), np.zeros((1, 2))], TABLE)
    found = p.named([["dogs", "bark"], ["yes"]], ["N", "V"])
    assert p.names is None
    assert found.with_scores(found.scores).names == found.names
    with pytest.raises(ValueError, match=r"sentences of \[2\] words; expected \[2, 1\]"):
        p.named(["dogs", "bark"])
    with pytest.raises(ValueError, match="3 names of tags or labels came; expected 2"):
        p.named([["dogs", "bark"], ["yes"]], ["N", "V", "D"])


def test_the_best_score_and_the_parts_of_a_structure():
    p = pt.LinearChain(np.array([[0.0, 1.0], [2.0, 0.0]]), TABLE)
    assert p.best_score == 3.0
    found = p.indicators([1, 0])
    assert found.unary.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert found.pairwise.tolist() == [[0.0, 0.0], [1.0, 0.0]]
    assert p.expectation(p.marginals) >= 0


def test_batches_of_the_same_lengths_have_the_same_structures():
    unary = np.random.default_rng(3).normal(size=(2, 3, 2))
    p, q = (pt.LinearChain(unary, TABLE, n_words=[2, 3]) for _ in range(2))
    assert p.structures is q.structures
    others = (
        pt.LinearChain(unary, TABLE, n_words=[3, 2]),
        pt.LinearChain(unary, TABLE),
        pt.LinearChain(np.zeros((2, 3, 4)), np.zeros((4, 4)), n_words=[2, 3]),
        pt.LinearChain(unary, np.zeros((2, 2, 2, 2)), n_words=[2, 3]),
    )
    assert all(p.structures is not other.structures for other in others)
    arcs = np.zeros((2, 3, 3))
    trees = [pt.SpanningTree(arcs), pt.SpanningTree(arcs, True), pt.ProjectiveTree(arcs)]
    assert len({id(tree.structures) for tree in trees}) == 3


def test_what_comes_out_is_nobody_elses():
    rng = np.random.default_rng(4)
    for p in (
        pt.LinearChain(rng.normal(size=(3, 2)), TABLE),
        pt.LinearChain(rng.normal(size=(2, 3, 2)), TABLE),
        pt.LinearChain(list(rng.normal(size=(2, 3, 2))), rng.normal(size=(2, 2))),
        pt.SpanningTree(rng.normal(size=(4, 4))),
        pt.SpanningTree(rng.normal(size=(2, 4, 4))),
        pt.ProjectiveTree(list(rng.normal(size=(2, 4, 4)))),
    ):
        kept = p.inference.marginals.copy()
        arrays = p.marginals if isinstance(p.marginals, tuple) else (p.marginals,)
        for array in arrays:
            for view in array if isinstance(array, list) else [array]:
                view[...] = np.nan
        np.testing.assert_array_equal(p.inference.marginals, kept)


def test_what_goes_in_may_change_afterwards():
    arcs = np.random.default_rng(5).normal(size=(2, 4, 4))
    p, before = pt.SpanningTree(arcs), pt.SpanningTree(arcs.copy()).marginals
    arcs[...] = 0.0
    np.testing.assert_array_equal(p.marginals, before)


def test_roots_are_one_or_many():
    arcs = np.zeros((2, 4, 4))
    assert pt.SpanningTree(arcs, np.True_).structures is pt.SpanningTree(arcs, True).structures
    with pytest.raises(ValueError, match=r"single_root is \[3, 2\]; expected True or False"):
        pt.SpanningTree(arcs, [3, 2])


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("more", [0, 2])
@pytest.mark.parametrize("case", [case for case in CASES if case.is_padded], ids=str)
def test_slopes_in_single_precision_take_the_form_of_the_scores(case, more, once):
    """In one pass what times a factor for each sentence, rounded, and the common form give."""
    rng, n_words = np.random.default_rng(16), [case.sizes[-1], case.sizes[0], case.sizes[-1]]
    together = case.build(batch([case.random_scores(rng, n) for n in n_words]))
    scores = [case.random_scores(rng, n) for n in n_words]
    fields = batch(scores) if isinstance(scores[0], tuple) else (scores,)
    places, n_padded = [np.arange(n) for n in n_words], max(n_words) + more
    given = [
        padded(field, array, places, n_padded) if array.n_axes else np.stack(field)
        for field, array in zip(fields, together.structures.arrays, strict=True)
    ]
    for index in case.once if once else ():
        given[index] = given[index][0]
    p = case.build(tuple(given) if len(given) > 1 else given[0], n_words=n_words)
    parts, factors = rng.normal(size=p.structures.n_parts), rng.normal(size=len(n_words))
    expected = p._shaped(parts * np.repeat(factors, np.diff(p.structures.part_offsets)))
    found = single_slopes(p.structures, p._form, parts, factors)
    for mine, theirs in zip(found, expected if len(found) > 1 else (expected,), strict=True):
        assert mine.dtype == np.float32
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def test_slopes_of_one_sentence_and_of_lists():
    unary, parts = np.zeros((3, 2)), np.arange(10.0)
    p = pt.LinearChain(unary, TABLE)
    found = single_slopes(p.structures, p._form, parts, np.array([2.0]))
    np.testing.assert_array_equal(found[0], 2 * parts[:6].reshape(3, 2))
    np.testing.assert_array_equal(found[1], 2 * parts[6:].reshape(2, 2))
    listed = pt.LinearChain([unary], TABLE)
    assert single_slopes(listed.structures, listed._form, parts, np.ones(1)) is None
    holes = pt.LinearChain(np.zeros((2, 3, 2)), TABLE, mask=MASK)
    assert single_slopes(holes.structures, holes._form, np.zeros(14), np.ones(2)) is None


@pytest.mark.parametrize("n_cells", [*range(10), 15, 16, 17])
def test_cells_that_are_no_scores_are_noticed(n_cells):
    rng = np.random.default_rng(n_cells)
    scores = rng.choice([0.0, 1.5, -np.inf, np.inf, np.nan], size=n_cells)
    is_odd, out = not (scores < np.inf).all(), np.empty(n_cells)
    assert padded_kernels.copy(scores, out) == (is_odd, 1.5 if 1.5 in scores else 0.0)
    np.testing.assert_array_equal(out, scores)


@pytest.mark.parametrize("extra", [-1, 0, 1])
@pytest.mark.parametrize("n_sentences", [0, 1, 5])
def test_where_the_arrays_of_sentences_begin(n_sentences, extra):
    n_words = np.random.default_rng(extra + 1).integers(1, 6, size=n_sentences)
    kinds = [PartArray(str(n_axes), n_axes, extra, (2, 3)) for n_axes in range(4)]
    sets = ArrayStructures.__new__(Chains)
    ArrayStructures.__init__(sets, n_words, kinds)
    sizes = np.array([(n_words + extra) ** n_axes * 6 for n_axes in range(4)])
    ends = np.concatenate([[0], sizes.T.cumsum()]).reshape(-1)
    np.testing.assert_array_equal(sets.part_offsets, ends[::4])
    np.testing.assert_array_equal(np.transpose(sets.array_starts).ravel(), ends[:-1])
    np.testing.assert_array_equal(sets.word_offsets, np.concatenate([[0], n_words.cumsum()]))
    assert (sets.n_parts, sets.largest_length) == (ends[-1], max(n_words, default=0))
    is_even = len({*n_words.tolist()}) == 1
    assert sets.n_parts_each == (ends[4] if is_even else None)
    for first, second in zip(sets.split_arrays(np.arange(sets.n_parts)), sizes, strict=True):
        assert [part.size for part in first] == second.tolist()
        assert all((np.diff(part.ravel()) == 1).all() for part in first)


@pytest.mark.parametrize("wrong", [0, -1, 4, 2**63, 2**64 - 1])
def test_numbers_of_words_that_cannot_be(wrong):
    kind = np.int64 if wrong < 2**63 else np.uint64
    with pytest.raises(ValueError, match=rf"n_words\[1\] is {wrong}; expected 1 to 3"):
        pt.LinearChain(np.zeros((2, 3, 2)), TABLE, n_words=np.array([2, wrong], dtype=kind))


@pytest.mark.parametrize("n_cells", range(10))
@pytest.mark.parametrize("choices", [[0.25, -0.5, 0.0], [0.125, -np.inf], [-3.0, np.nan, 0.5]])
def test_the_largest_number_and_whether_all_are_numbers(n_cells, choices):
    values = np.random.default_rng(n_cells).choice(choices, size=n_cells)
    finite = values[np.isfinite(values)]
    expected = np.abs(finite).max(initial=0.0), finite.size == n_cells
    assert part_kernels.largest(values) == expected
