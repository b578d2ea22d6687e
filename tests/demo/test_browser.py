"""The report in a real browser: it draws everything, asks for nothing, and complains of nothing."""

import os
import shutil

import pytest

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Without these, Chromium looks for updates and the like at every start.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
VIEWS = [(1280, 900, "light"), (1280, 900, "dark"), (390, 844, "light")]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install 'partita[browser]'"
    )
    path = os.environ.get("PARTITA_BROWSER") or next(
        filter(None, map(shutil.which, CANDIDATES)), None
    )
    if path is None:
        pytest.skip(
            "no browser is installed: on Debian, apt install chromium; elsewhere name one by "
            "PARTITA_BROWSER"
        )
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield found
        found.close()


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


CONTRAST = """selector => {
  const numbers = colour => colour.match(/[0-9.]+/g).map(Number).slice(0, 3);
  const light = colour => {
    const [r, g, b] = numbers(colour).map(value => value / 255)
      .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const element = document.querySelector(selector);
  const style = getComputedStyle(element);
  const ink = light(element instanceof SVGElement ? style.fill : style.color);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
}"""
