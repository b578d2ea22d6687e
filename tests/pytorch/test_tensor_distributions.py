"""Distributions on tensors: values by enumeration, gradients by finite differences."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import partita as pt
import partita.torch as ptt
from cases import batch, flat, like
from structures_on_tensors import CASES, checkable, filled, leaves, on_tensors, tensors, vector

RNG = np.random.default_rng(0)


@pytest.fixture(params=CASES, ids=str)
def case(request):
    return request.param


@pytest.fixture
def build(case, monkeypatch):
    return lambda scores: on_tensors(case, scores, monkeypatch)


def scores_of(case, n_words, kind="normal", seed=0):
    """Scores of one sentence; "forbidden" ones keep at least one structure."""
    rng = np.random.default_rng([seed, n_words])
    scores = case.random_scores(rng, n_words)
    if kind == "normal":
        return scores
    structures, counts = case.enumerate(scores)
    kept = np.asarray(counts)[rng.integers(len(structures))] != 0
    allowed = kept | (rng.random(flat(scores).size) < 0.6)
    return like(scores, np.where(allowed, flat(scores), -np.inf))


def close(actual, expected):
    if isinstance(actual, torch.Tensor):
        actual = actual.detach().numpy()
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-9)


@pytest.mark.parametrize("kind", ["normal", "forbidden"])
def test_values_by_enumeration(case, kind, build):
    for n_words in case.sizes:
        scores = scores_of(case, n_words, kind)
        truth, p = case.oracle(scores), build(tensors(scores))
        other_scores = like(scores, flat(scores) + RNG.normal(size=flat(scores).size))
        other, q = case.oracle(other_scores), build(tensors(other_scores))
        values = RNG.normal(size=flat(scores).size)
        close(p.log_partition, truth.log_partition)
        close(vector(p.marginals), truth.marginals)
        close(p.entropy, truth.entropy)
        close(p.expectation(tensors(like(scores, values))), truth.marginals @ values)
        support = truth.probabilities > 0
        cross = -(truth.probabilities[support] * np.log(other.probabilities[support])).sum()
        close(p.cross_entropy(q), cross)
        close(p.kl_divergence(q), cross - truth.entropy)
        for alpha in (0.0, 0.5, 2.0):
            close(p.renyi_entropy(alpha), truth.renyi_entropy(alpha))
        close(p.renyi_entropy(1 + 1e-12), truth.entropy)
        for structure, total in list(zip(truth.structures, truth.totals, strict=True))[:5]:
            close(p.score(structure), total)
            close(p.log_prob(structure), total - truth.log_partition)
        close(p.score(p.argmax), truth.totals.max())
        best = p.k_best(3)
        close([score for _, score in best], np.sort(truth.totals[support])[::-1][:3])
        close([p.score(structure).item() for structure, _ in best], [score for _, score in best])
        allowed = (truth.counts[int(truth.totals.argmax())] != 0) | (values > 0)
        restricted = p.restricted(like(scores, allowed))
        close(restricted.log_partition, truth.restricted(allowed).log_partition)
        direction = tensors(like(scores, values))
        close(vector(p.covariance_product(direction)), truth.covariance @ values)


QUANTITIES = {
    "log_partition": lambda p, values, target: p.log_partition,
    "log_prob": lambda p, values, target: p.log_prob(target),
    "marginals": lambda p, values, target: tuple(leaves(p.marginals)),
    "entropy": lambda p, values, target: p.entropy,
    "expectation": lambda p, values, target: p.expectation(values),
    "renyi_entropy": lambda p, values, target: p.renyi_entropy(2.0),
    "renyi_entropy near 1": lambda p, values, target: p.renyi_entropy(1 + 1e-9),
}


@pytest.fixture(params=["one", "list"])
def form(request):
    return request.param


def scores_in(form, case, kind):
    """Scores of the largest sentence that is quickly differenced, or of a ragged list."""
    small = case.sizes[:3]
    if form == "one":
        return scores_of(case, small[-1], kind)
    return batch([scores_of(case, n_words, kind) for n_words in small])


@pytest.mark.parametrize("kind", ["normal", "forbidden"])
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_gradients(case, kind, form, quantity, build):
    scores = checkable(tensors(scores_in(form, case, kind)))
    values = tensors(like_form(scores))
    target = build(scores).argmax
    inputs = leaves(scores)

    def function(*moved):
        return QUANTITIES[quantity](build(filled(scores, moved)), values, target)

    # Along a random direction, which a wrong derivative of any input changes.
    assert gradcheck(function, inputs, fast_mode=True)
    if quantity in ("log_partition", "log_prob"):
        assert gradgradcheck(function, inputs, fast_mode=True)


def like_form(scores):
    """Random numbers in the form of some tensors."""
    return filled(scores, [RNG.normal(size=leaf.shape) for leaf in leaves(scores)])


def test_gradients_by_both_distributions_and_by_values(case, build):
    scores, others = (tensors(scores_in("one", case, kind)) for kind in ("normal", "normal"))
    inputs = [*leaves(scores), *leaves(others)]
    n = len(inputs) // 2
    for name in ("cross_entropy", "kl_divergence"):

        def function(*moved, name=name):
            p, q = build(filled(scores, moved[:n])), build(filled(others, moved[n:]))
            return getattr(p, name)(q)

        assert gradcheck(function, inputs, fast_mode=True)

    def expectation(*moved):
        return build(scores).expectation(filled(others, moved))

    assert gradcheck(expectation, leaves(others), fast_mode=True)

    def product(*moved):
        return tuple(leaves(build(scores).covariance_product(filled(others, moved))))

    assert gradcheck(product, leaves(others), fast_mode=True)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_forbidden_part_has_gradient_zero(case, quantity, build):
    scores = tensors(scores_in("list", case, "forbidden"))
    p = build(scores)
    result = QUANTITIES[quantity](p, tensors(like_form(scores)), p.argmax)
    sum(tensor.square().sum() for tensor in leaves(result)).backward()
    for leaf in leaves(scores):
        # What is given once serves every sentence, so it has a gradient if any of them uses it.
        assert torch.isfinite(leaf.grad).all()
        assert (leaf.grad[leaf == -torch.inf] == 0).all()


def test_the_score_of_a_forbidden_structure():
    arcs = torch.zeros(3, 3, requires_grad=True)
    forbidden = arcs.masked_fill(torch.tensor([[0, 1, 0], [0, 0, 0], [0, 0, 0]]).bool(), -torch.inf)
    p = ptt.SpanningTree(forbidden)
    assert p.log_prob([0, 1]).item() == -np.inf
    p.log_prob([0, 1]).backward()
    assert torch.isfinite(arcs.grad).all()


def test_scores_of_a_thousand(case, build):
    for n_words in case.sizes[:3]:
        scores = like(
            case.random_scores(RNG, n_words),
            1000.0 * RNG.choice([-1.0, 0.0, 1.0], size=flat(case.random_scores(RNG, n_words)).size),
        )
        truth, leaf = case.oracle(scores), tensors(scores)
        build(leaf).entropy.backward()
        close(build(leaf).entropy, truth.entropy)
        gradient = np.concatenate([tensor.grad.numpy().ravel() for tensor in leaves(leaf)])
        close(gradient, -truth.covariance @ truth.scores)


def test_float32_in_float32_out(case, build):
    scores = tensors(scores_in("list", case, "normal"), dtype=torch.float32)
    exact = build(filled(scores, [leaf.detach().double() for leaf in leaves(scores)]))
    p = build(scores)
    for single, double in zip(
        leaves([p.marginals, p.log_partition, p.entropy]),
        leaves([exact.marginals, exact.log_partition, exact.entropy]),
        strict=True,
    ):
        assert single.dtype == torch.float32
        # Computed in float64 and rounded at the end.
        assert torch.equal(single, double.float())
    p.entropy.sum().backward()
    assert all(leaf.grad.dtype == torch.float32 for leaf in leaves(scores))


def test_third_derivatives_are_refused(case, build):
    scores = tensors(scores_in("one", case, "normal"))
    (gradient, *_) = torch.autograd.grad(build(scores).entropy, leaves(scores), create_graph=True)
    with pytest.raises(NotImplementedError, match="third derivative"):
        gradient.sum().backward()


def test_answers_before_and_behind_a_backward_pass():
    arcs = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    p = ptt.ProjectiveTree(arcs)
    with torch.no_grad():
        assert not p.entropy.requires_grad
    p.log_partition.backward()
    close(arcs.grad, p.marginals.detach())
    arcs.grad = None
    p.entropy.backward()
    close(arcs.grad, p.numpy.entropy_gradient())


def test_what_a_caller_writes_changes_no_later_answer():
    p = ptt.SpanningTree(torch.zeros(4, 4))
    first = p.marginals.clone()
    p.marginals.zero_()
    p.argmax.zero_()
    assert torch.equal(p.marginals, first)
    assert p.argmax.max() > 0


@pytest.mark.parametrize("question", ["log_partition", "marginals", "entropy"])
def test_scores_that_were_changed_in_place_have_no_gradient(question):
    leaf = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    scores = leaf * 1.0
    p = ptt.SpanningTree(scores)
    expected = getattr(ptt.SpanningTree(leaf), question).detach()
    scores.zero_()
    with pytest.raises(RuntimeError, match=r"changed in place by Zero.*make the distribution anew"):
        getattr(p, question)
    # Values are those of the scores that were read.
    with torch.no_grad():
        assert torch.equal(getattr(p, question), expected)


def test_the_second_derivative_of_scores_that_were_changed_in_place_is_refused():
    leaf = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)
    scores = leaf * 1.0
    log_partition = ptt.SpanningTree(scores).log_partition
    scores.zero_()
    # The first one knows all that it needs.
    torch.autograd.grad(log_partition, leaf, retain_graph=True)
    with pytest.raises(RuntimeError, match="changed in place by Zero"):
        torch.autograd.grad(log_partition, leaf, create_graph=True)


def test_a_parameter_that_has_moved_gets_the_gradient_where_it_was():
    arcs = torch.nn.Parameter(torch.randn(4, 4, dtype=torch.float64))
    p = ptt.SpanningTree(arcs)
    expected = p.marginals.detach()
    with torch.no_grad():
        arcs.zero_()
    p.log_partition.backward()
    assert torch.equal(arcs.grad, expected)


UNREADABLE = {
    "complex": lambda: torch.zeros(3, 3) * 1j,
    "sparse": lambda: torch.zeros(3, 3).to_sparse(),
    "no data": lambda: torch.zeros(3, 3, device="meta"),
}


@pytest.mark.parametrize("form", UNREADABLE)
def test_a_tensor_without_an_array_of_real_numbers_is_refused(form):
    with pytest.raises(ValueError, match="expected a dense one of real numbers"):
        ptt.SpanningTree(UNREADABLE[form]())
    with pytest.raises(ValueError, match=r"in torch.vmap and torch.func give a batch"):
        torch.vmap(lambda arcs: ptt.SpanningTree(arcs).log_partition)(torch.zeros(2, 3, 3))


def test_one_tensor_for_several_hypergraphs():
    forest = ptt.Hypergraph([0, 0, 1], [(), (), (0, 0)], root=1)
    scores = torch.tensor([[0.0, 0.5, 1.0], [1.0, 0.0, 0.0]], requires_grad=True)
    p = ptt.HypergraphDistribution([forest] * 2, scores)
    p.log_partition.sum().backward()
    assert torch.equal(scores.grad, torch.stack(p.marginals))
    alone = ptt.HypergraphDistribution(forest, scores[1]).marginals
    assert torch.equal(p.marginals[1], alone)
    with pytest.raises(ValueError, match="scores is None; expected one score per edge"):
        ptt.HypergraphDistribution(forest, None)


def test_a_mistake_is_explained_as_on_arrays():
    with pytest.raises(ValueError, match=r"arcs has shape \(3, 4\); expected \(n\+1, n\+1\)"):
        ptt.SpanningTree(torch.zeros(3, 4))
    with pytest.raises(ValueError, match="sentence 0 .* has no structure"):
        ptt.SpanningTree(torch.full((3, 3), -torch.inf)).log_partition  # noqa: B018
    with pytest.raises(ValueError, match="compared with a SpanningTree"):
        ptt.ProjectiveTree(torch.zeros(3, 3)).kl_divergence(ptt.SpanningTree(torch.zeros(3, 3)))
    with pytest.raises(ValueError, match="compared with a float"):
        ptt.ProjectiveTree(torch.zeros(3, 3)).kl_divergence(1.0)
    with pytest.raises(ValueError, match="expected a tuple"):
        ptt.LinearChain(torch.zeros(3, 3), torch.zeros(3, 3)).expectation(torch.zeros(3, 3))
    with pytest.raises(ValueError, match="alpha is 1"):
        ptt.SpanningTree(torch.zeros(3, 3)).renyi_entropy(1)
    with pytest.raises(ValueError, match="expected a tensor"):
        ptt.SpanningTree("arcs")


def test_samples():
    p = ptt.LinearChain(torch.tensor([[0.0, np.log(3.0)]]), torch.zeros(2, 2))
    assert p.sample(4000, np.random.default_rng(0)).double().mean() == pytest.approx(0.75, abs=0.03)
    torch.manual_seed(1)
    first = p.sample(20)
    torch.manual_seed(1)
    assert torch.equal(p.sample(20), first)
    assert first.dtype == torch.int64
    own = torch.Generator().manual_seed(1)
    assert torch.equal(p.sample(20, own), first)
    assert not torch.equal(p.sample(20, own), first)  # it has moved on


def test_signatures_and_names():
    # `help` names the types; all that NumPy takes for an array would fill a screen.
    for kind in (pt.LinearChain, pt.SpanningTree, pt.SegmentChain, pt.Hypergraph):
        assert "numpy" not in str(inspect.signature(kind))
    assert str(ptt.SpanningTree.__signature__).startswith("(arcs: Any, single_root: bool = False")
    assert repr(ptt.SpanningTree(torch.zeros(2, 3, 3))) == (
        "SpanningTree(2 sentences, 18 parts, on tensors)"
    )


def test_without_pytorch_the_message_says_what_to_do():
    code = "import sys; sys.modules['torch'] = None\nimport partita.torch"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "pip install 'partita[torch]'" in done.stderr.splitlines()[-1]


def test_every_distribution_on_arrays_has_one_on_tensors():
    names = [name for name in pt.__all__ if hasattr(getattr(pt, name), "covariance_product")]
    assert len(names) >= 4
    assert [name for name in names if not hasattr(ptt, name)] == []
