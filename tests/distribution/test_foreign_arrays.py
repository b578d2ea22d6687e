"""Scores that are no NumPy arrays: buffers, arrays of other libraries, sparse matrices."""

from array import array

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import partita as pt

ARCS = np.random.default_rng(0).normal(size=(4, 4))


class Converting:
    """An array of another library, by the old protocol."""

    def __array__(self, dtype=None, copy=None):
        return ARCS if dtype is None else ARCS.astype(dtype)


class Lending:
    """And by the new one alone."""

    def __init__(self, values=ARCS):
        self.values = values

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


FORMS = {
    "more digits": lambda: ARCS.astype(np.longdouble),
    "a buffer": lambda: memoryview(array("d", ARCS.ravel())).cast("B").cast("d", shape=ARCS.shape),
    "__array__": Converting,
    "__dlpack__": Lending,
    "Fortran order": lambda: np.asfortranarray(ARCS),
    "every other cell": lambda: np.repeat(np.repeat(ARCS, 2, axis=0), 2, axis=1)[::2, ::2],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [pt.SpanningTree, pt.ProjectiveTree])
def test_arrays_of_other_libraries_are_scores(kind, form):
    found, expected = kind(FORMS[form]()), kind(ARCS)
    assert found.log_partition == expected.log_partition
    np.testing.assert_array_equal(found.marginals, expected.marginals)
    np.testing.assert_array_equal(kind([FORMS[form]()] * 2).marginals[1], expected.marginals)


def test_a_table_for_all_sentences_is_lent():
    unary, table = np.arange(8.0).reshape(4, 2), np.eye(2)
    p = pt.LinearChain([Lending(unary), Lending(unary[:2])], Lending(table))
    expected = pt.LinearChain([unary, unary[:2]], table)
    np.testing.assert_array_equal(p.log_partition, expected.log_partition)
    np.testing.assert_array_equal(p.marginals.pairwise, expected.marginals.pairwise)


def test_a_mask_is_not_lost():
    masked = np.ma.masked_array(ARCS, mask=ARCS > 1.0)
    with pytest.raises(ValueError, match=r"arcs is a masked array.*arcs.filled\(-np.inf\)"):
        pt.SpanningTree(masked)
    filled = pt.SpanningTree(masked.filled(-np.inf))
    assert filled.log_partition < pt.SpanningTree(ARCS).log_partition
    nothing = np.ma.masked_array(ARCS)
    assert pt.SpanningTree(nothing).log_partition == pt.SpanningTree(ARCS).log_partition


def test_results_go_to_other_libraries_without_a_copy():
    marginals = pt.SpanningTree(ARCS).marginals
    assert np.shares_memory(np.from_dlpack(marginals), marginals)


def test_a_sparse_matrix_does_not_say_what_it_leaves_out():
    with pytest.raises(ValueError, match=r"arcs is a sparse csr_array.*arcs.toarray\(\)"):
        pt.SpanningTree(sparse.csr_array(ARCS))


def test_a_tensor_that_wants_a_gradient_is_not_cut_off_from_it():
    torch = pytest.importorskip("torch")
    tensor = torch.tensor(ARCS)
    np.testing.assert_array_equal(
        pt.SpanningTree(tensor).marginals, pt.SpanningTree(ARCS).marginals
    )
    with pytest.raises(ValueError, match=r"arcs is no array of numbers.*grad.*partita\.torch"):
        pt.SpanningTree(tensor.requires_grad_())


def column_of(arrays):
    column = np.empty(len(arrays), dtype=object)
    column[:] = arrays
    return column


COLUMNS = {
    "array of objects": column_of,
    "series of arrays": lambda arrays: pd.Series(arrays, index=range(7, 7 + len(arrays))),
    "series of lists": lambda arrays: pd.Series([array.tolist() for array in arrays]),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_a_column_of_arrays_is_a_list_of_sentences(column):
    rng = np.random.default_rng(0)
    unary = [rng.normal(size=(n_words, 2)) for n_words in (4, 2, 3)]
    tables = [rng.normal(size=(n_words - 1, 2, 2)) for n_words in (4, 2, 3)]
    for pairwise in (tables[0][0], tables):
        expected = pt.LinearChain(unary, pairwise)
        p = pt.LinearChain(column(unary), column(tables) if pairwise is tables else pairwise)
        np.testing.assert_array_equal(p.log_partition, expected.log_partition)
        for found, each in zip(p.marginals.unary, expected.marginals.unary, strict=True):
            np.testing.assert_array_equal(found, each)
        values = p.expectation((column(unary), None))
        np.testing.assert_array_equal(values, expected.expectation((unary, None)))
    arcs = [ARCS, ARCS[:3, :3]]
    found = pt.ProjectiveTree(column(arcs)).log_partition
    np.testing.assert_array_equal(found, pt.ProjectiveTree(arcs).log_partition)


NESTED = {
    "chain": (pt.LinearChain, [(3, 2), (2, 2)]),
    "chain by position": (pt.LinearChain, [(3, 2), (2, 2, 2)]),
    "projective trees": (pt.ProjectiveTree, [(4, 4)]),
    "spanning trees": (pt.SpanningTree, [(4, 4)]),
    "segments": (pt.SegmentChain, [(3, 2, 2), (2, 2)]),
    "siblings": (pt.SiblingTree, [(4, 4), (4, 4, 4)]),
    "constituents": (pt.ConstituencyTree, [(3, 3)]),
}


@pytest.mark.parametrize("kind, shapes", NESTED.values(), ids=NESTED)
def test_nested_lists_with_the_axes_of_a_sentence_are_one(kind, shapes):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape) for shape in shapes]
    expected = kind(*arrays).log_partition
    assert kind(*(array.tolist() for array in arrays)).log_partition == expected
    # One axis more is a list of sentences.
    assert kind(*([array.tolist()] for array in arrays)).log_partition.tolist() == [expected]


def test_a_nested_table_may_come_once_for_a_list_of_sentences():
    unary = [np.zeros((3, 2)), np.zeros((1, 2))]
    p = pt.LinearChain(unary, [[0.0, -np.inf], [0.0, 0.0]])
    assert np.exp(p.log_partition).round(9).tolist() == [4.0, 2.0]
