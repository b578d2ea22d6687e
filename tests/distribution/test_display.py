"""What notebooks show of a distribution: drawings with its own numbers."""

from xml.etree import ElementTree

import numpy as np
import pytest

import partita as pt

SVG = "{http://www.w3.org/2000/svg}"
RNG = np.random.default_rng(0)


def drawings(distribution):
    """The pictures in the HTML, which must be well-formed."""
    html = distribution._repr_html_()
    return list(ElementTree.fromstring(html).iter(f"{SVG}svg"))


def tips(drawing, name):
    found = (each.find(f"{SVG}title") for each in drawing.iter(f"{SVG}{name}"))
    return [each.text for each in found if each is not None]


@pytest.mark.parametrize("pairwise", [np.zeros((3, 3)), RNG.normal(size=(3, 3, 3))])
def test_a_chain_shows_its_marginals(pairwise):
    p = pt.LinearChain(RNG.normal(size=(4, 3)), pairwise)
    (drawing,) = drawings(p)
    expected = [f"{i}: {t} {m:.3f}" for (i, t), m in np.ndenumerate(p.marginals.unary)]
    assert sorted(tips(drawing, "circle")) == sorted(expected)
    assert f"entropy {p.entropy:.4g} nats" in p._repr_html_()


@pytest.mark.parametrize("kind", [pt.ProjectiveTree, pt.SpanningTree])
@pytest.mark.parametrize("labels", [(), (2,)])
def test_a_tree_shows_its_best_heads_and_its_marginals(kind, labels):
    p = kind(RNG.normal(size=(4, 4, *labels)), labelled=bool(labels))
    tree, heat = drawings(p)
    heads = p.argmax[0] if labels else p.argmax
    marginals = p.marginals.sum(axis=-1) if labels else p.marginals
    arcs = [tip for tip in tips(tree, "path") if "→" in tip]
    for word, head in enumerate(heads, start=1):
        name = head or "root"
        probability = f"probability {marginals[head, word]:.3f}"
        assert any(tip.startswith(f"{name} → {word}") and probability in tip for tip in arcs)
    assert len(tips(heat, "rect")) == (marginals[:, 1:] >= 0.005).sum()


def test_a_forest_shows_its_likeliest_edges():
    graph = pt.Hypergraph(heads=[0, 1, 2, 2], tails=[[], [], [0, 1], [1, 1]], root=2)
    p = pt.HypergraphDistribution(graph, [0.0, 0.0, 1.0, 0.0])
    (drawing,) = drawings(p)
    assert tips(drawing, "rect")[0].startswith("1: 1 ← : 1.26")


def test_of_a_batch_the_first_few():
    p = pt.LinearChain([np.zeros((2, 2))] * 7, np.zeros((2, 2)))
    assert len(drawings(p)) == 3
    assert "sentence 2 of 7" in p._repr_html_()
    assert "and 4 more sentences" in p._repr_html_()


def test_nothing_is_shown_where_there_is_no_structure():
    assert pt.LinearChain(np.full((2, 2), -np.inf), np.zeros((2, 2)))._repr_html_() is None


def test_long_sentences():
    assert drawings(pt.LinearChain(np.zeros((200, 2)), np.zeros((2, 2))))
    assert not drawings(pt.SpanningTree(np.zeros((91, 91))))
