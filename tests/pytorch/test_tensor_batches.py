"""Batches of tensors: forms, ends of chains, blocks and threads."""

import multiprocessing

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import partita as pt
import partita.torch as ptt
from partita.torch import threads

N_WORDS = torch.tensor([4, 1, 3])
TREES = [(ptt.ProjectiveTree, pt.ProjectiveTree), (ptt.SpanningTree, pt.SpanningTree)]


def random(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator, dtype=torch.float64).requires_grad_()


def check(build, *inputs):
    """Log-partition twice, marginals and entropy once, by random projections."""
    assert gradcheck(lambda *x: build(*x).log_partition, inputs, fast_mode=True)
    assert gradgradcheck(lambda *x: build(*x).log_partition, inputs, fast_mode=True)
    assert gradcheck(lambda *x: tuple(build(*x).marginals), inputs, fast_mode=True)
    assert gradcheck(lambda *x: build(*x).entropy, inputs, fast_mode=True)


@pytest.mark.parametrize("trees, on_arrays", TREES)
@pytest.mark.parametrize("labels", [(), (2,)])
def test_padded_trees(trees, on_arrays, labels):
    options = {"single_root": True, "labelled": bool(labels)}
    arcs = random(3, 5, 5, *labels)
    check(lambda x: trees(x, n_words=N_WORDS, **options), arcs)
    p = trees(arcs, n_words=N_WORDS, **options)
    q = on_arrays(arcs.detach().numpy(), n_words=N_WORDS.numpy(), **options)
    np.testing.assert_array_equal(p.marginals.detach(), q.marginals)
    np.testing.assert_array_equal(p.log_partition.detach(), q.log_partition)
    structure = p.argmax
    np.testing.assert_array_equal(*map(np.asarray, (structure, q.argmax)))
    np.testing.assert_allclose(p.log_prob(structure).detach(), q.log_prob(q.argmax), rtol=1e-12)


TABLES = {"once": (3, 3), "by sentence": (3, 3, 3), "by position": (3, 3, 3, 3)}


@pytest.mark.parametrize("tables", TABLES)
def test_padded_chains(tables):
    unary, pairwise = random(3, 4, 3), random(*TABLES[tables])
    ends = random(3), random(3) * 2

    def build(unary, pairwise, start, stop):
        return ptt.LinearChain(unary, pairwise, start=start, stop=stop, n_words=N_WORDS)

    check(build, unary, pairwise, *ends)
    p = build(unary, pairwise, *ends)
    arrays = (x.detach().numpy() for x in (unary, pairwise, *ends))
    unary, pairwise, start, stop = arrays
    q = pt.LinearChain(unary, pairwise, start=start, stop=stop, n_words=N_WORDS.numpy())
    for mine, its in zip(p.marginals, q.marginals, strict=True):
        np.testing.assert_array_equal(mine.detach(), its)
    assert isinstance(p.marginals, type(q.marginals))


def test_lists_with_tables_once_and_a_forbidden_start():
    unaries = [random(n, 3) for n in (2, 1, 4)]
    table = random(3, 3)
    start = torch.tensor([0.0, -torch.inf, 0.5], dtype=torch.float64, requires_grad=True)

    def build(*x):
        return ptt.LinearChain(list(x[:3]), x[3], start=x[4])

    inputs = *unaries, table, start
    assert gradcheck(lambda *x: build(*x).log_partition, inputs)
    assert gradgradcheck(lambda *x: build(*x).log_partition, inputs)
    build(*inputs).entropy.sum().backward()
    assert start.grad[1] == 0
    assert torch.isfinite(start.grad).all()


def test_arrays_and_other_numbers_are_taken_too():
    p = ptt.LinearChain(np.zeros((3, 2)), torch.zeros(2, 2, dtype=torch.int64))
    assert p.log_partition.dtype == torch.float64
    assert p.log_partition.exp().item() == pytest.approx(8.0)
    assert ptt.SpanningTree(torch.zeros(3, 3, dtype=torch.int32)).log_partition.dtype == (
        torch.get_default_dtype()
    )


def test_one_part_of_a_chain_may_have_nothing_to_say():
    p = ptt.LinearChain(random(3, 2), random(2, 2))
    expected = p.expectation((torch.ones(3, 2), None))
    assert expected.item() == pytest.approx(3.0)


BATCHES = {
    "chain": lambda: ptt.LinearChain(random(90, 25, 20), random(20, 20)),
    "chain by position": lambda: ptt.LinearChain(random(40, 12, 9), random(40, 11, 9, 9)),
    "projective": lambda: ptt.ProjectiveTree(
        random(200, 26, 26), n_words=torch.arange(200) % 25 + 1
    ),
    "spanning, labels": lambda: ptt.SpanningTree(random(30, 21, 21, 5), labelled=True),
    "forest": lambda: ptt.HypergraphDistribution(
        [pt.Hypergraph([0, 1] * 800, [(), (0,)] * 800, root=1)] * 40,
        [random(1600) for _ in range(40)],
    ),
}


@pytest.fixture
def small_blocks(monkeypatch):
    """Batches as small as these are cut into blocks, too."""
    monkeypatch.setattr(threads, "BLOCK", 2**14)


@pytest.mark.parametrize("name", BATCHES)
def test_any_number_of_threads_gives_the_same(name, small_blocks):
    before = torch.get_num_threads()
    found = []
    try:
        for n_threads in (1, 2, 5):
            torch.set_num_threads(n_threads)
            p = BATCHES[name]()
            assert p._engine is not p.numpy
            answers = [p.log_partition, p.entropy, *gradients(p)]
            structures = str(p.argmax), str(p.k_best(2)), str(p.sample(2, np.random.default_rng(0)))
            found.append((answers, structures))
    finally:
        torch.set_num_threads(before)
    for answers, structures in found[1:]:
        assert all(map(torch.equal, answers, found[0][0]))
        assert structures == found[0][1]


def gradients(p):
    """Those of the entropy, by the flat scores."""
    flat = p._flat.detach().requires_grad_()
    p._with(p.numpy, flat).entropy.sum().backward()
    return [flat.grad]


@pytest.mark.parametrize("name", BATCHES)
def test_blocks_give_what_the_whole_gives(name, small_blocks, monkeypatch):
    blocks = BATCHES[name]()
    monkeypatch.setattr(threads, "BLOCK", 2**40)
    whole = BATCHES[name]()
    assert whole._engine is whole.numpy
    for mine, its in zip(gradients(blocks), gradients(whole), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        blocks.log_partition.detach(), whole.log_partition.detach(), rtol=1e-13
    )
    assert str(blocks.argmax) == str(whole.argmax)
    rngs = [np.random.default_rng(0) for _ in range(2)]
    assert str(blocks.sample(3, rngs[0])) == str(whole.sample(3, rngs[1]))


def test_a_sentence_without_structure_is_named_in_any_block(small_blocks):
    arcs = torch.zeros(90, 26, 26)
    arcs[77, :, 3] = -torch.inf
    with pytest.raises(ValueError, match="sentence 77"):
        ptt.SpanningTree(arcs).log_partition  # noqa: B018


def test_a_kind_of_structure_that_cannot_be_cut_is_computed_whole(small_blocks, monkeypatch):
    monkeypatch.setattr(threads, "some", lambda structures, sentences: None)
    p = BATCHES["chain"]()
    assert p._engine is p.numpy


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_makes_threads_of_its_own():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        expected = BATCHES["chain"]().log_partition.sum().item()
        child = multiprocessing.get_context("fork").Process(target=_same, args=(expected,))
        child.start()
        child.join(60)
        assert child.exitcode == 0
    finally:
        torch.set_num_threads(before)


def _same(expected):
    assert BATCHES["chain"]().log_partition.sum().item() == expected
