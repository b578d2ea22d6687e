"""A real browser for tests: Chromium from the system's packages."""

import os
import shutil

import pytest

CANDIDATES = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Without these, Chromium looks for updates and the like at every start.
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip


def launched():
    """A browser; a test that finds none is skipped, and says what to install."""
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
