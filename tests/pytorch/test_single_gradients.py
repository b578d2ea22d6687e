"""Gradients of tensors in single precision, which go back in one pass, are those of doubles."""

import pytest
import torch

import partita.torch as ptt

N_WORDS = torch.tensor([4, 1, 3])
CHAINS = {
    "shared": (3, 3),
    "by sentence": (3, 3, 3),
    "by position": (3, 3, 3, 3),
}


def random(*shape):
    generator = torch.Generator().manual_seed(sum(shape))
    return torch.randn(shape, generator=generator)


def gradients(build, given, quantity, dtype):
    """Of a weighted sum over the sentences, each with a weight of its own."""
    tensors = [tensor.detach().to(dtype).requires_grad_() for tensor in given]
    p = build(*tensors)
    values = p.log_partition if quantity == "log-partition" else p.log_prob(p.argmax)
    (values * torch.arange(1, 1 + values.numel()).view(values.shape)).sum().backward()
    return [tensor.grad for tensor in tensors]


def check(build, *given):
    for quantity in ("log-partition", "log-probability"):
        singles = gradients(build, given, quantity, torch.float32)
        doubles = gradients(build, given, quantity, torch.float64)
        for single, double in zip(singles, doubles, strict=True):
            assert single.dtype == torch.float32
            assert single.shape == double.shape
            torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("trees", [ptt.ProjectiveTree, ptt.SpanningTree])
@pytest.mark.parametrize("labels", [(), (3,)])
def test_trees(trees, labels):
    options = {"single_root": True, "labelled": bool(labels)}
    check(lambda arcs: trees(arcs, **options), random(5, 5, *labels))
    check(lambda arcs: trees(arcs, **options), random(3, 5, 5, *labels))
    check(lambda arcs: trees(arcs, n_words=N_WORDS, **options), random(3, 5, 5, *labels))
    # Rows of padding behind the longest sentence.
    check(lambda arcs: trees(arcs, n_words=N_WORDS, **options), random(3, 7, 7, *labels))
    mask = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 1, 1]]).bool()
    check(lambda arcs: trees(arcs, mask=mask, **options), random(3, 5, 5, *labels))
    check(lambda *arcs: trees(list(arcs), **options), random(3, 3, *labels), random(4, 4, *labels))


def test_several_arrays_and_words_along_three_axes():
    check(
        lambda arcs, siblings: ptt.SiblingTree(arcs, siblings, n_words=N_WORDS),
        random(3, 6, 6),
        random(3, 6, 6, 6),
    )
    check(
        lambda segments, pairwise: ptt.SegmentChain(segments, pairwise, n_words=N_WORDS),
        random(3, 4, 2, 3),
        random(3, 3),
    )


@pytest.mark.parametrize("tables", CHAINS)
@pytest.mark.parametrize("names", [(), ("start",), ("stop",), ("start", "stop")])
def test_chains_with_ends(tables, names):
    def build(unary, pairwise, *ends):
        return ptt.LinearChain(
            unary, pairwise, n_words=N_WORDS, **dict(zip(names, ends, strict=True))
        )

    ends = [random(3) * (2 + index) for index in range(len(names))]
    check(build, random(3, 4, 3), random(*CHAINS[tables]), *ends)


def test_chains_of_more_tags_than_lanes():
    check(
        lambda *x: ptt.LinearChain(x[0], x[1], start=x[2], stop=x[3]),
        random(2, 3, 7),
        random(7, 7),
        random(7),
        random(7),
    )


def test_types_that_differ():
    unary = random(2, 3, 4).requires_grad_()
    pairwise = random(4, 4).double().requires_grad_()
    start = random(4).half().requires_grad_()
    ptt.LinearChain(unary, pairwise, start=start).log_partition.sum().backward()
    assert [x.grad.dtype for x in (unary, pairwise, start)] == [
        torch.float32,
        torch.float64,
        torch.float16,
    ]
    torch.testing.assert_close(start.grad.sum().item(), 2.0, rtol=1e-2, atol=0)
    torch.testing.assert_close(pairwise.grad.sum().item(), 4.0)


@pytest.mark.parametrize("n_words", [None, N_WORDS])
@pytest.mark.parametrize("slopes", [torch.ones(3), torch.tensor([0.3, -2.0, 7.0])])
def test_gradients_that_are_asked_for_again(n_words, slopes):
    arcs = random(3, 5, 5)
    double = arcs.double().requires_grad_()
    (ptt.ProjectiveTree(double, n_words=n_words).log_partition * slopes).sum().backward()
    single = arcs.clone().requires_grad_()
    p = ptt.ProjectiveTree(single, n_words=n_words)
    total = (p.log_partition * slopes).sum()
    found = [torch.autograd.grad(total, single, retain_graph=True)[0] for _ in range(2)]
    found += torch.autograd.grad((p.log_partition * slopes).sum(), single)
    for gradient in found:
        torch.testing.assert_close(gradient.double(), double.grad, rtol=2.0**-22, atol=0)
    # Each has memory of its own.
    found[0].zero_()
    assert found[1].abs().sum() > 0
    torch.testing.assert_close(p.marginals.sum(dim=(1, 2)), p.marginals.sum(dim=(1, 2)).round())


def test_a_parameter_that_is_moved_between_forward_and_backward():
    arcs = random(3, 5, 5).requires_grad_()
    p = ptt.ProjectiveTree(arcs)
    expected = ptt.ProjectiveTree(arcs.detach().clone()).marginals
    with torch.no_grad():
        arcs.zero_()
    p.log_partition.sum().backward()
    torch.testing.assert_close(arcs.grad, expected, rtol=2.0**-23, atol=0)
