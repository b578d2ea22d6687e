"""Chu-Liu-Edmonds step by step finds what the library finds."""

import numpy as np
import pytest

import partita as pt
from partita.baselines.contraction import contraction_trace
from partita.demo.best_tree import nested_cycles


def test_trace_finds_the_best_tree():
    rng = np.random.default_rng(0)
    for n_words in (1, 2, 3, 6):
        for _ in range(20):
            arcs = 10 * rng.normal(size=(n_words + 1, n_words + 1))
            arcs[0, rng.random(n_words + 1) < 0.3] = -np.inf
            arcs[0, 1] = -20.0
            trace = contraction_trace(arcs)
            p = pt.SpanningTree(arcs)
            assert trace.score == pytest.approx(p.score(p.argmax))
            assert trace.score == pytest.approx(p.score(trace.heads))
            assert f"score {trace.score:g}" in str(trace)


@pytest.mark.parametrize("scale", [10.0, 1e-3, 1000.0])
def test_trace_with_a_single_root(scale):
    rng = np.random.default_rng(1)
    n_lowered = 0
    for n_words in (1, 2, 3, 6):
        for _ in range(20):
            arcs = scale * rng.normal(size=(n_words + 1, n_words + 1))
            arcs[0] += scale  # the root attracts
            p = pt.SpanningTree(arcs, single_root=True)
            trace = contraction_trace(arcs, single_root=True)
            assert (trace.heads == 0).sum() == 1
            assert trace.score == pytest.approx(p.score(p.argmax), rel=1e-9, abs=1e-12)
            n_lowered += (contraction_trace(arcs).heads == 0).sum() > 1
    assert n_lowered > 10
    only_roots = np.full((3, 3), -np.inf)
    only_roots[0, 1:] = 0.0
    with pytest.raises(ValueError, match="single_root wants one"):
        contraction_trace(only_roots, single_root=True)


def test_trace_names_the_word_that_is_cut_off():
    arcs = np.zeros((3, 3))
    arcs[:, 2] = -np.inf
    with pytest.raises(ValueError, match="no arc reaches word 2"):
        contraction_trace(arcs)
    with pytest.raises(ValueError, match="expected one for each"):
        contraction_trace(np.zeros((3, 3)), ["only"])
    with pytest.raises(ValueError, match=r"\(n\+1, n\+1\)"):
        contraction_trace(np.zeros((3, 4)))


@pytest.mark.parametrize("single_root", [False, True])
def test_as_many_cycles_as_words(single_root):
    arcs = nested_cycles(12)
    trace = contraction_trace(arcs, single_root=single_root)
    assert sum(line.startswith("cycle") for line in trace.steps) == 11
    heads = pt.SpanningTree(arcs, single_root=single_root).argmax
    assert trace.score == arcs[heads, np.arange(1, 13)].sum()
