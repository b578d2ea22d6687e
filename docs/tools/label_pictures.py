"""Pictures of `partita label` for tutorial and README: a sitting in a real browser, by keyboard.

    python docs/tools/label_pictures.py

The sentences are the made-up ones that ship with the package, and the right tags are typed, so the
pictures show what a person would see. Needs the extras [label] and [browser], Chromium and Pillow.
"""

import shutil
import subprocess
import sys
import tempfile
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from partita import samples

FOLDER = Path(__file__).parents[1] / "tutorials"
N_WORDS = 250
"""Words to label before the last picture."""
STATE = """() => ({
  sentence: Number(document.querySelector("#question-title").textContent.split(" ")[1]) - 1,
  words: [...document.querySelectorAll("#sentence .word")].flatMap((each, word) =>
    each.classList.contains("asked") ? [word] : []),
  current: [...document.querySelectorAll("#sentence .word")]
    .findIndex((each) => each.classList.contains("current")),
  values: [...document.querySelectorAll("#choices .choice")].map((each) => each.dataset.value),
  shown: document.querySelector("#view-question").dataset.shown,
})"""


def main() -> None:
    """Label, and take the pictures."""
    sentences = samples.treebank("train")
    tags = [sentence.column("UPOS") for sentence in sentences]
    names = sorted({tag for each in tags for tag in each})
    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder, "raw.txt")
        raw.write_text("".join(" ".join(each.column("FORM")) + "\n" for each in sentences))
        judges = Path(folder, "dev.txt")
        judges.write_text("\n".join(map(_columns, samples.treebank("dev"))))
        command = ["label", str(raw), "--pretokenised", "--tags", ",".join(names)]
        command += ["--held-out", str(judges), "-o", "labelled.txt"]
        server = subprocess.Popen(
            [sys.executable, "-m", "partita.cli", *command],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        assert server.stdout is not None
        try:
            with sync_playwright() as playwright:
                path = shutil.which("chromium")
                browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
                page = browser.new_page(viewport={"width": 1080, "height": 800})
                page.goto(server.stdout.readline().strip())
                page.wait_for_selector("body[data-ready=true]")
                _sit(page, tags)
                browser.close()
        finally:
            server.terminate()
            server.wait()
        shutil.copy(Path(folder, "labelled.txt"), tempfile.gettempdir())


def _sit(page: Page, tags: list[tuple[str, ...]]) -> None:
    _picture(page, 1)
    n_words, is_taken = 0, False
    while n_words < N_WORDS:
        state = page.evaluate(STATE)
        said, words = tags[state["sentence"]], state["words"]
        for word in words:
            state = page.evaluate(STATE)
            number = state["values"].index(said[word])
            if number < 10:
                page.keyboard.press("1234567890"[number])
            else:
                page.keyboard.press("f")
                page.keyboard.type(said[word])
                page.keyboard.press("Enter")
            if word != words[-1]:
                page.wait_for_function(f"(at) => ({STATE})().current !== at", arg=state["current"])
            if n_words > 0.8 * N_WORDS and word == words[0] and len(words) > 2 and not is_taken:
                # In the midst of a question: what was chosen moves the rest.
                _picture(page, 2)
                is_taken = True
        n_words += len(words)
        page.keyboard.press("Enter")
        page.wait_for_function(f"(shown) => ({STATE})().shown !== shown", arg=state["shown"])
    page.wait_for_timeout(6000)
    _picture(page, 3)
    page.keyboard.press("/")
    page.wait_for_selector("#answers .row")
    _picture(page, 4)
    print(page.inner_text("#figures"))


def _picture(page: Page, number: int) -> None:
    """A picture with few colours, which is small."""
    taken = Image.open(BytesIO(page.screenshot())).convert("RGB")
    path = FOLDER / f"labelling-{number}.png"
    taken.quantize(48).save(path, optimize=True)
    print(f"written to {path}, {path.stat().st_size // 1024} KB")


def _columns(sentence: object) -> str:
    rows = zip(sentence.column("FORM"), sentence.column("UPOS"), strict=True)  # type: ignore[attr-defined]
    return "".join(f"{word}\t{tag}\n" for word, tag in rows)


if __name__ == "__main__":
    main()
