"""The report in a real browser: it draws everything, asks for nothing, and complains of nothing."""

import pytest

from browsers import CONTRAST

VIEWS = [(1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light")]

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width, height, scheme", VIEWS)
def test_the_report_is_drawn_and_asks_for_nothing(browser, report, tmp_path, width, height, scheme):
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    complaints, requests = [], []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.append(request.url))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(report.as_uri())
    assert complaints == []
    assert [url for url in requests if not url.startswith("data:")] == [report.as_uri()]

    figures = page.locator("figure")
    assert figures.count() >= 10
    for figure in figures.all():
        drawing = figure.locator("svg")
        assert drawing.is_visible()
        box = drawing.bounding_box()
        assert box["width"] > 100
        assert box["height"] > 100
        assert figure.locator("figcaption").inner_text()
    # The page itself never scrolls sideways; wide drawings scroll within it.
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for link in page.locator("nav a").all():
        assert page.locator(link.get_attribute("href")).is_visible()
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_the_paper(browser, report, scheme):
    """Contrast of at least 4.5, as WCAG asks for text."""
    page = browser.new_page(color_scheme=scheme)
    page.goto(report.as_uri())
    for selector in ("p", "figcaption", "nav a", "figure svg text.ink", "figure svg text.quiet"):
        assert page.evaluate(CONTRAST, selector) >= 4.5, selector
    page.close()
