"""Drawings are well-formed, hold what was asked for, and their sizes mean the probabilities."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from partita import show

SVG = "{http://www.w3.org/2000/svg}"
UGLY = ["<b>&amp;", '"quoted"', "a\x00b", "漢字" * 30, "\ud800", "e\u0301" * 40]


def parsed(drawing):
    root = ElementTree.fromstring(drawing.text)
    assert root.tag == f"{SVG}svg"
    assert root.find(f"{SVG}title").text
    return root


def elements(drawing, name, ink):
    """The elements of one class."""
    found = parsed(drawing).iter(f"{SVG}{name}")
    return [each for each in found if ink in each.get("class", "").split()]


def texts(drawing):
    return ["".join(each.itertext()) for each in parsed(drawing).iter(f"{SVG}text")]


def inside(drawing):
    """Every coordinate of lines, discs, rectangles and text lies on the paper."""
    root = parsed(drawing)
    _, _, width, height = map(float, root.get("viewBox").split())
    for each in root.iter():
        for key, limit in {"x": width, "cx": width, "x1": width, "y": height, "cy": height}.items():
            assert 0 <= float(each.get(key, 0)) <= limit, ElementTree.tostring(each)


def random_marginals(n, seed=0):
    p = np.random.default_rng(seed).dirichlet(np.full(n, 0.2), size=n)
    full = np.zeros((n + 1, n + 1))
    full[0, 1:] = p[:, 0]
    for word in range(1, n + 1):
        full[[head for head in range(1, n + 1) if head != word], word] = p[word - 1, 1:]
    return full


def chain_heads(n):
    return np.arange(n)


class TestTrellis:
    def test_area_of_discs_is_the_probability(self):
        p = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
        drawing = show.trellis(["a", "b"], ["X", "Y", "Z"], p)
        discs = list(parsed(drawing).iter(f"{SVG}circle"))
        areas = np.array([float(disc.get("r")) ** 2 for disc in discs])
        assert len(discs) == 5  # none for what cannot be
        np.testing.assert_allclose(areas / areas.sum() * 2, p[p > 0], rtol=0, atol=2e-3)
        assert len(elements(drawing, "circle", "accent")) == 2

    def test_width_of_transitions_is_their_probability(self):
        pairs = np.array([[[0.6, 0.1], [0.0, 0.3]]])
        drawing = show.trellis(["a", "b"], ["X", "Y"], [[0.7, 0.3], [0.6, 0.4]], transitions=pairs)
        widths = [
            float(each.get("stroke-width")) for each in elements(drawing, "line", "faint-line")
        ]
        np.testing.assert_allclose(
            np.array(widths) / sum(widths), [0.6, 0.1, 0.3], atol=1e-2, rtol=0
        )

    def test_long_sentences_are_broken_into_lines(self):
        n = 60
        p = np.random.default_rng(0).dirichlet(np.ones(5), size=n)
        drawing = show.trellis(["Wörter"] * n, list(range(5)), p)
        assert float(parsed(drawing).get("width")) <= 900
        assert texts(drawing).count("Wörter") == n
        inside(drawing)

    def test_many_tags_that_play_no_part_are_left_out(self):
        p = np.zeros((2, 45))
        p[:, 7], p[:, 9] = 0.75, 0.25
        drawing = show.trellis(["a", "b"], [f"T{tag}" for tag in range(45)], p)
        assert {"T7", "T9", "43 tags are nowhere above 1% and left out"} <= set(texts(drawing))
        assert "T8" not in texts(drawing)

    def test_mistakes(self):
        with pytest.raises(ValueError, match=r"marginals has shape \(1, 2\); expected \(2, 2\)"):
            show.trellis(["a", "b"], ["X", "Y"], [[0.5, 0.5]])
        with pytest.raises(
            ValueError, match="Take the marginals of a distribution, not its scores"
        ):
            show.trellis(["a"], ["X", "Y"], [[3.0, 0.5]])
        with pytest.raises(ValueError, match="from nan"):
            show.trellis(["a"], ["X", "Y"], [[np.nan, 0.5]])
        with pytest.raises(ValueError, match="expected a sequence of at least one word"):
            show.trellis("word", ["X"], [[1.0]])


class TestTree:
    @pytest.mark.parametrize("n", [1, 4, 60])
    def test_thickness_is_the_probability(self, n):
        p, heads = random_marginals(n), chain_heads(n)
        drawing = show.tree([f"w{i}" for i in range(n)], heads, probabilities=p)
        found = {}
        for path in elements(drawing, "path", "accent-line"):
            tip = path.find(f"{SVG}title").text
            found[tip.split(",")[0]] = float(path.get("stroke-width"))
        names = ["root", *(f"w{i}" for i in range(n))]
        expected = {
            f"{names[head]} → {names[word]}": 4.0 * p[head, word]
            for word, head in enumerate(heads, start=1)
        }
        assert found.keys() == expected.keys()
        for arc, width in expected.items():
            assert abs(found[arc] - width) <= 0.0051
        inside(drawing)

    def test_other_likely_arcs_are_faint(self):
        p = np.zeros((3, 3))
        p[0, 1], p[2, 1], p[0, 2], p[1, 2] = 0.7, 0.3, 0.96, 0.04
        drawing = show.tree(["a", "b"], [0, 0], probabilities=p)
        others = elements(drawing, "path", "faint-line")
        assert [each.find(f"{SVG}title").text for each in others] == ["b → a, probability 0.300"]
        assert others[0].get("stroke-width") == "1.2"

    def test_long_sentences_run_down_the_page(self):
        n = 60
        words = ["Donaudampfschifffahrtsgesellschaft"] * n
        drawing = show.tree(words, chain_heads(n), labels=["compound"] * n, tags=["NOUN"] * n)
        width, height = (float(parsed(drawing).get(name)) for name in ("width", "height"))
        assert width < 800 < 1400 < height < 1600
        assert texts(drawing).count("compound") == n

    def test_labels_tags_and_probabilities_are_written(self):
        p = np.zeros((3, 3))
        p[0, 2], p[2, 1] = 1.0, 0.83
        drawing = show.tree(
            ["dogs", "bark"], [2, 0], labels=["nsubj", "root"], tags=["N", "V"], probabilities=p
        )
        assert {"dogs", "bark", "N", "V", "nsubj .83", "root"} <= set(texts(drawing))

    def test_mistakes(self):
        with pytest.raises(ValueError, match=r"heads range from 0 to 3; expected 0 .* to 2"):
            show.tree(["a", "b"], [0, 3])
        with pytest.raises(ValueError, match=r"heads has shape \(1,\)"):
            show.tree(["a", "b"], [0])
        with pytest.raises(ValueError, match="labels has 1 entries; expected 2"):
            show.tree(["a", "b"], [0, 1], labels=["x"])


class TestGrids:
    def test_links_and_gold_links(self):
        drawing = show.alignment(
            ["a", "b"], ["c", "d", "e"], [(0, 0), (1, 2), (0, 0)], sure=[(0, 0)],
            possible=[(0, 0), (0, 1)], probabilities=np.full((2, 3), 0.5),
        )  # fmt: skip
        assert len(elements(drawing, "circle", "ink")) == 2
        squares = elements(drawing, "rect", "contrast-line")
        assert [each.get("stroke-dasharray") for each in squares] == [None, "3 2"]
        assert len(elements(drawing, "rect", "accent")) == 6
        inside(drawing)

    def test_shades_of_arcs_are_probabilities(self):
        p = random_marginals(5)
        shades = elements(show.arcs(list("abcde"), p), "rect", "accent")
        opacity = np.array([float(each.get("fill-opacity")) for each in shades])
        visible = p[:, 1:][p[:, 1:] >= 0.005]
        np.testing.assert_allclose(opacity, 0.85 * visible, rtol=0, atol=0.0051)

    def test_sixty_words(self):
        drawing = show.arcs([f"word{i}" for i in range(60)], random_marginals(60))
        assert float(parsed(drawing).get("width")) < 1200
        inside(drawing)

    def test_mistakes(self):
        with pytest.raises(ValueError, match="links has the link 2-0 between 2 and 1 words"):
            show.alignment(["a", "b"], ["c"], [(2, 0)])


@pytest.mark.parametrize(
    "draw",
    [
        lambda words: show.trellis(words, words, np.full((len(words),) * 2, 1 / len(words))),
        lambda words: show.tree(words, chain_heads(len(words)), labels=words, tags=words),
        lambda words: show.tree(words * 10, chain_heads(10 * len(words)), labels=words * 10),
        lambda words: show.alignment(words, words, [(0, 0)]),
        lambda words: show.arcs(words, np.zeros((len(words) + 1,) * 2)),
    ],
)
def test_any_text_is_escaped(draw):
    drawing = draw(UGLY)
    assert "<b>&amp;" in " ".join(texts(drawing))
    assert "<b>" not in drawing.text
    inside(drawing)


def test_saving_and_display(tmp_path):
    drawing = show.alignment(["ä"], ["b"], [])
    drawing.save(tmp_path / "drawing.svg")
    assert (tmp_path / "drawing.svg").read_text(encoding="utf-8") == drawing.text
    assert drawing._repr_svg_() == drawing.text
    assert [path.name for path in tmp_path.iterdir()] == ["drawing.svg"]


def test_every_colour_has_a_form_for_dark_pages():
    light, dark = show.tree(["a"], [0]).text.split("@media(prefers-color-scheme:dark)")
    names = re.compile(r"\.partita \.([a-z-]+)\{")
    assert set(names.findall(light)) == set(names.findall(dark.split("</style>")[0]))
