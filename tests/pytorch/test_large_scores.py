"""Scores of any size on tensors: the answers on arrays, or the sentences that refuse them."""

import numpy as np
import pytest
import torch

import partita as pt
import partita.torch as ptt
from cases import flat, magnified
from structures_on_tensors import CASES, leaves, on_tensors, tensors, vector

QUESTIONS = {
    "log_partition": lambda p, structure: p.log_partition,
    "marginals": lambda p, structure: p.marginals,
    "max_marginals": lambda p, structure: p.max_marginals,
    "entropy": lambda p, structure: p.entropy,
    "renyi_entropy": lambda p, structure: p.renyi_entropy(0.5),
    "number": lambda p, structure: p.renyi_entropy(0.0),
    "cross_entropy": lambda p, structure: p.cross_entropy(p),
    "kl_divergence": lambda p, structure: p.kl_divergence(p),
    "score": lambda p, structure: p.score(structure),
    "log_prob": lambda p, structure: p.log_prob(structure),
    "argmax": lambda p, structure: p.score(p.argmax),
    "k_best": lambda p, structure: [score for _, score in p.k_best(3)],
    "sample": lambda p, structure: [p.sample(size, generator()) for size in (1, 3)],
    "distinct": lambda p, structure: p.sample(2, generator(), replace=False),
    "count": lambda p, structure: p.count,
}


def generator():
    return np.random.default_rng(0)


def answer(question, p, structure):
    """The numbers of an answer, or the sentence that refuses it."""
    try:
        return numbers(question(p, structure))
    except ValueError as error:
        return str(error)


def numbers(values):
    """All numbers in nested lists and tuples of tensors or arrays."""
    if isinstance(values, list | tuple):
        return np.concatenate([np.zeros(0), *map(numbers, values)])
    values = values.detach() if isinstance(values, torch.Tensor) else values
    return np.ravel(np.asarray(values, dtype=np.float64))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_answers_are_those_on_arrays(case, monkeypatch):
    rng, n_answers = np.random.default_rng(3), 0
    for _ in range(8):
        scores = magnified(case, rng)
        structures, _ = case.enumerate(scores)
        structure = structures[rng.integers(len(structures))]
        p, q = case.build(scores), on_tensors(case, tensors(scores), monkeypatch)
        for name, question in QUESTIONS.items():
            expected, found = (answer(question, each, structure) for each in (p, q))
            if isinstance(expected, str) or isinstance(found, str):
                assert (name, found) == (name, expected)
            else:
                np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9, err_msg=name)
                n_answers += 1
    assert n_answers >= 40


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_are_those_on_arrays(case, monkeypatch):
    rng, n_checked = np.random.default_rng(1), 0
    for _ in range(8):
        scores = magnified(case, rng)
        leaf = tensors(scores)
        p, q = case.build(scores), on_tensors(case, leaf, monkeypatch)
        try:
            marginals, best = flat(p.marginals), p.argmax
            found = [q.log_partition, q.log_prob(best), q.entropy, q.score(best)]
        except ValueError:
            continue
        counts = flat(p.indicators(best))
        wanted = [marginals, counts - marginals, flat(p.entropy_gradient()), counts]
        for number, gradient in zip(found, wanted, strict=True):
            slopes = torch.autograd.grad(number, leaves(leaf), retain_graph=True)
            np.testing.assert_allclose(vector(list(slopes)), gradient, rtol=1e-9, atol=1e-9)
        n_checked += 1
    assert n_checked >= 2


def test_what_is_out_of_reach_still_has_a_gradient():
    unary = torch.tensor([[1e17, 0.0, -np.inf]], dtype=torch.float64, requires_grad=True)
    p = ptt.LinearChain(unary, torch.zeros(3, 3))
    assert p.log_prob([1]).item() == -1e17
    p.log_prob([1]).backward()
    assert unary.grad.tolist() == [[-1.0, 1.0, 0.0]]
    assert p.log_prob([2]).item() == -np.inf


def test_large_scores_in_blocks_of_sentences(monkeypatch):
    monkeypatch.setattr("partita.torch.threads.BLOCK", 20)
    arcs = np.random.default_rng(0).normal(size=(4, 4, 4)) + 1e12
    p, q = pt.SpanningTree(arcs), ptt.SpanningTree(torch.tensor(arcs))
    np.testing.assert_allclose(q.log_partition, p.log_partition, rtol=1e-15)
    np.testing.assert_allclose(q.marginals, p.marginals, rtol=1e-12)
    assert torch.equal(q.argmax, torch.tensor(p.argmax))
    assert q.count == p.count == [16] * 4


def test_max_marginals_of_a_batch_come_in_its_form(monkeypatch):
    case = next(case for case in CASES if case.name == "chain-shared")
    scores = case.random_scores(np.random.default_rng(0), 3)
    p = on_tensors(case, tensors(scores, dtype=torch.float32), monkeypatch)
    assert {leaf.dtype for leaf in leaves(p.max_marginals)} == {torch.float32}
    assert not any(leaf.requires_grad for leaf in leaves(p.max_marginals))
    np.testing.assert_allclose(
        vector(p.max_marginals), flat(case.build(scores).max_marginals), rtol=1e-5
    )
