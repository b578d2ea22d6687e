"""The figures of the documents: what stands in them, and what is refused."""

from xml.etree import ElementTree

import numpy as np
import pytest

from partita import show
from partita.baselines.contraction import contraction_trace
from partita.structures.tree_tools import all_trees, crossing_arcs

SVG = "{http://www.w3.org/2000/svg}"
TREE = ("straight", (0, 0), ("inverted", ("straight", (1, 2), (2, 3)), (3, 1)))


def parsed(drawing):
    root = ElementTree.fromstring(drawing.text)
    assert root.find(f"{SVG}title").text
    assert root.find(f"{SVG}desc").text
    return root


def inked(drawing, name, ink):
    return [
        each
        for each in parsed(drawing).iter(f"{SVG}{name}")
        if ink in each.get("class", "").split()
    ]


def texts(drawing):
    return ["".join(each.itertext()) for each in parsed(drawing).iter(f"{SVG}text")]


class TestTrellisEdge:
    @pytest.mark.parametrize("word", [1, 2, 4])
    def test_strong_lines_are_those_of_sequences_with_the_edge(self, word):
        n, s = 5, 3
        drawing = show.trellis_edge(list("abcde"), list("XYZ"), word, 2, 0)
        # Into the left tag s lines, out of the right one s, and s² between all other words.
        before = s * (word - 1 > 0) + s * s * max(word - 2, 0)
        behind = s * (word + 1 < n) + s * s * max(n - word - 2, 0)
        assert len(inked(drawing, "line", "accent-line")) == before + behind
        assert len(inked(drawing, "line", "contrast-line")) == 1
        assert len(inked(drawing, "line", "grid-line")) == (n - 1) * s * s - before - behind - 1
        assert len(inked(drawing, "circle", "contrast")) == 2
        assert {"alpha(Z)", "psi", "beta(X)", "a", "e", "Y"} <= set(texts(drawing))

    @pytest.mark.parametrize(
        "word, left, message", [(0, 0, "word is 0"), (2, 0, "word is 2"), (1, 3, "tag 3 came")]
    )
    def test_edges_that_are_none(self, word, left, message):
        with pytest.raises(ValueError, match=message):
            show.trellis_edge(["a", "b"], ["X", "Y"], word, left, 0)


class TestConstrainedTrellis:
    def test_arrows_lead_to_the_fixed_words(self):
        drawing = show.constrained_trellis(list("abcdef"), list("XYZ"), 2, [1, 0])
        arrows = inked(drawing, "polygon", "accent")
        assert len(arrows) == 9 + 3 + 3 + 9
        tips = [tuple(map(float, each.get("points").split()[0].split(","))) for each in arrows]
        backs = [tuple(map(float, each.get("points").split()[1].split(","))) for each in arrows]
        rightwards = [tip[0] > back[0] for tip, back in zip(tips, backs, strict=True)]
        assert sum(rightwards) == 12
        assert len(inked(drawing, "circle", "contrast")) == 2
        assert len(inked(drawing, "line", "contrast-line")) == 1
        assert {"H alpha", "fixed", "H beta"} <= set(texts(drawing))

    def test_all_words_fixed(self):
        drawing = show.constrained_trellis(["a", "b"], ["X", "Y"], 0, [1, 1])
        assert "H alpha" not in texts(drawing)
        assert not inked(drawing, "polygon", "accent")

    @pytest.mark.parametrize("first, fixed", [(0, []), (1, [0, 0]), (-1, [0]), (0, [2])])
    def test_what_cannot_be_fixed(self, first, fixed):
        with pytest.raises(ValueError, match="expected"):
            show.constrained_trellis(["a", "b"], ["X", "Y"], first, fixed)


class TestTrees:
    @pytest.mark.parametrize("single_root, n", [(False, 12), (True, 7)])
    def test_all_parses_of_three_words(self, single_root, n):
        parses = list(all_trees(3, projective=True, single_root=single_root))
        drawing = show.trees(["John", "saw", "Mary"], parses)
        assert len(list(parsed(drawing).iter(f"{SVG}g"))) == n
        assert texts(drawing).count("saw") == n
        assert len(list(parsed(drawing).iter(f"{SVG}path"))) == 3 * n
        assert f"{n} dependency trees" in parsed(drawing).find(f"{SVG}title").text

    def test_columns(self):
        wide, narrow = (show.trees(["a"], [[0]] * 6, columns=c) for c in (6, 2))
        assert float(parsed(wide).get("width")) == 3 * float(parsed(narrow).get("width"))
        with pytest.raises(ValueError, match="0 trees came"):
            show.trees(["a"], [])

    def test_crossing_arcs_have_another_ink(self):
        heads = [2, 4, 4, 0, 2, 7, 5, 4]
        crossing = {arc for pair in crossing_arcs(heads) for arc in pair}
        drawing = show.tree(list("abcdefgh"), heads, marked=crossing)
        assert len(inked(drawing, "path", "contrast-line")) == len(crossing) > 1
        assert len(inked(drawing, "path", "accent-line")) == 8 - len(crossing)


class TestContraction:
    def trace(self, single_root=False):
        arcs = np.full((4, 4), -np.inf)
        arcs[0, 1:] = [9, 10, 9]
        arcs[1, 2:] = [20, 3]
        arcs[2, [1, 3]] = [30, 30]
        arcs[3, 1:3] = [11, 0]
        return contraction_trace(arcs, ["John", "saw", "Mary"], single_root=single_root)

    def test_the_example_of_mcdonald(self):
        graphs = self.trace().graphs
        assert [step.names for step in graphs] == [
            ["root", "John", "saw", "Mary"],
            ["root", "Mary", "c1"],
            ["root", "John", "saw", "Mary"],
        ]
        assert graphs[0].cycle == [1, 2]
        assert (0, 2, 40.0) in graphs[1].arcs
        assert sorted(graphs[2].best) == [(0, 2), (2, 1), (2, 3)]
        drawing = show.contraction(graphs)
        assert len(list(parsed(drawing).iter(f"{SVG}g"))) == 3
        assert len(inked(drawing, "path", "contrast-line")) == 2
        assert len(inked(drawing, "path", "accent-line")) == 1 + 2 + 3
        assert {"40", "31", "c1"} <= set(texts(drawing))

    def test_nothing_to_draw(self):
        with pytest.raises(ValueError, match="0 steps came"):
            show.contraction([])


class TestDerivation:
    source, target = ["a", "b", "c", "d"], ["A", "D", "B", "C"]

    def test_both_trees_have_every_rule(self):
        drawing = show.derivation(self.source, self.target, TREE)
        assert len(inked(drawing, "circle", "accent")) == 4
        assert len(inked(drawing, "circle", "contrast")) == 2
        assert len(inked(drawing, "line", "faint-line")) == 4  # links
        assert set(self.source + self.target) <= set(texts(drawing))
        assert "b with B" in parsed(drawing).find(f"{SVG}desc").text

    def test_boxes_of_the_grid(self):
        drawing = show.derivation_grid(self.source, self.target, TREE)
        assert len(inked(drawing, "rect", "accent-line")) == 2
        (inverted,) = inked(drawing, "rect", "contrast-line")
        straight = inked(drawing, "rect", "accent-line")
        widths = sorted(float(each.get("width")) for each in straight)
        assert widths[0] < float(inverted.get("width")) < widths[1]
        assert len(list(parsed(drawing).iter(f"{SVG}circle"))) == 4

    def test_words_without_partner(self):
        tree = ("straight", ("straight", (0, 0), (1, None)), (None, 1))
        drawing = show.derivation(["a", "b"], ["A", "B"], tree)
        assert len(inked(drawing, "line", "faint-line")) == 1

    @pytest.mark.parametrize(
        "tree, message",
        [
            (("straight", (0, 0), (1, 0)), "target words|no neighbours"),
            (("straight", (0, 1), (1, 0)), "no neighbours in this order"),
            (("crossed", (0, 0), (1, 1)), "expected 'straight' or 'inverted'"),
            ((0, 0), "expected each of 0 to 1 once"),
        ],
    )
    def test_trees_that_are_none(self, tree, message):
        with pytest.raises(ValueError, match=message):
            show.derivation(["a", "b"], ["A", "B"], tree)
