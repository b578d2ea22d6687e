"""Plots hold the points that were given, at the places where they belong."""

from xml.etree import ElementTree

import numpy as np
import pytest

from partita import show
from partita.evaluation import reliability

SVG = "{http://www.w3.org/2000/svg}"


def places(text):
    return np.array([pair.split(",") for pair in text.split()], dtype=float)


def test_curves_are_at_their_values():
    curves = {"<one>": [(0, 0.5), (5, 0.7), (10, 0.9)], "two": [(0, 0.5)]}
    drawing = show.curves(curves, title="a < b", x_label="x & x", y_label="y", best=1.0)
    root = ElementTree.fromstring(drawing.text)
    assert root.find(f"{SVG}title").text == "a < b"
    first, second = (places(line.get("points")) for line in root.iter(f"{SVG}polyline"))
    np.testing.assert_allclose(first[1], (first[0] + first[2]) / 2, rtol=0, atol=0.11)
    assert first[0, 1] > first[2, 1]  # up is down in SVG
    assert (second[0] == first[0]).all()
    names = ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]
    assert {"<one>", "two", "x & x", "y"} <= set(names)


def test_logarithmic_axes():
    points = [(1, 1e-3), (10, 1e-2), (100, 1e-1)]
    drawing = show.curves({"a": points}, x_label="x", y_label="y", logarithmic="xy")
    root = ElementTree.fromstring(drawing.text)
    line = places(next(root.iter(f"{SVG}polyline")).get("points"))
    np.testing.assert_allclose(line[1], (line[0] + line[2]) / 2, rtol=0, atol=0.11)
    with pytest.raises(ValueError, match="expected numbers above 0 on a logarithmic axis"):
        show.curves({"a": [(0, 1)]}, x_label="x", y_label="y", logarithmic="x")


def test_names_of_curves_do_not_touch():
    curves = {f"curve {index}": [(0, 0), (1, 1 + index / 1000)] for index in range(8)}
    root = ElementTree.fromstring(show.curves(curves, x_label="x", y_label="y").text)
    heights = sorted(
        float(each.get("y"))
        for each in root.iter(f"{SVG}text")
        if "".join(each.itertext()).startswith("curve")
    )
    assert np.diff(heights).min() >= 14.9


def test_curves_without_points():
    for nothing in ({}, {"a": []}):
        with pytest.raises(ValueError, match="no points to draw"):
            show.curves(nothing, x_label="x", y_label="y")
    with pytest.raises(ValueError, match="no finite point"):
        show.curves({"a": [(0, np.nan)]}, x_label="x", y_label="y")
    show.curves({"a": [(1, 1)], "empty": []}, x_label="x", y_label="y")


def test_bars_of_reliability_are_as_high_as_the_share_that_is_right():
    bins = reliability([0.95, 0.96, 0.45, 0.2], [True, False, True, False])
    root = ElementTree.fromstring(show.reliability(bins, title="a < b & c").text)
    bars = [each for each in root.iter(f"{SVG}rect") if each.get("class") == "accent"]
    heights = np.array([float(each.get("height")) for each in bars])
    np.testing.assert_allclose(heights / heights.max(), [0.0, 1.0, 0.5], rtol=0, atol=1e-3)
    assert root.find(f"{SVG}title").text == "a < b & c"


def test_bars():
    root = ElementTree.fromstring(show.bars({"plus": 2.0, "minus": -1.0, "nothing": 0.0}).text)
    bars = {
        each.find(f"{SVG}title").text: float(each.get("width"))
        for each in root.iter(f"{SVG}rect")
        if each.find(f"{SVG}title") is not None
    }
    assert bars["nothing: 0.0"] == 0
    assert abs(bars["plus: 2.0"] / bars["minus: -1.0"] - 2) < 0.01
    ElementTree.fromstring(show.bars({"nothing": 0.0}).text)
    with pytest.raises(ValueError, match="no values to draw"):
        show.bars({})
