"""The page in a real browser: by keys and by mouse, killed, in two tabs, with a hostile corpus."""

import contextlib

import pytest

from browsers import CONTRAST
from partita.data.formats import read_sentences
from partita.data.sentences import Sentence
from partita.label import Sitting, TagTask
from small_corpus import GOLD, gold_tags, right, served, tag_task, tree_task

CHOSEN = """([word, kind, value]) => {
  const choice = [...document.querySelectorAll("#choices .choice")]
    .findIndex((each) => each.dataset.value === value);
  return choice < 0 ? null : "1234567890"[choice];
}"""
WHERE = """() => document.querySelector("#choices-title").textContent + "/" +
  [...document.querySelectorAll("#sentence .word")]
    .findIndex((each) => each.classList.contains("current"))"""
SHOWN = """(before) => document.querySelector("#view-question").dataset.shown !== before &&
  document.querySelector("#status").textContent !== "Saving …" """


class Reader:
    """A person who reads the page and presses keys; complaints of the browser are kept."""

    def __init__(self, browser, address, **options):
        self.page = browser.new_page(**options)
        self.complaints, self.requests = [], []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)
        self.page.wait_for_selector("body[data-ready=true]")

    def text(self, selector):
        return self.page.inner_text(selector)

    @property
    def sentence(self):
        """The number of the sentence that is shown, from 0."""
        return int(self.text("#question-title").split()[1]) - 1

    @property
    def is_done(self):
        return self.text("#question-title") == "Everything is labelled"

    def asked(self):
        """The question as its slots: word and kind."""
        is_tag = self.text("#choices-title").startswith("tag")
        kinds = ["tag"] if is_tag else ["head", "relation"]
        words = self.page.evaluate(
            """() => [...document.querySelectorAll("#sentence .word")]
               .flatMap((each, word) => each.classList.contains("asked") ? [word] : [])"""
        )
        slots = [{"word": word, "kind": kind} for word in words for kind in kinds]
        return {"sentence": self.sentence, "slots": slots}

    def then(self, action):
        """Do something that brings another question, and wait for it."""
        before = self.page.get_attribute("#view-question", "data-shown")
        action()
        self.page.wait_for_function(SHOWN, arg=before)

    def press(self, key):
        self.then(lambda: self.page.keyboard.press(key))

    def choose(self, values):
        """Every slot by its number key, one after the other."""
        for number, ((word, kind), value) in enumerate(values.items(), start=1):
            before = self.page.evaluate(WHERE)
            self.page.keyboard.press(self.page.evaluate(CHOSEN, [word, kind, value]))
            if number < len(values):
                self.page.wait_for_function(f"(before) => ({WHERE})() !== before", arg=before)

    def answer(self):
        """The right answer, by keyboard alone."""
        question = self.asked()
        self.choose(right(question))
        self.press("Enter")
        return question

    def close(self):
        self.page.close()


@contextlib.contextmanager
def reading(browser, sitting, **options):
    """A reader of a sitting's page, which is served for so long."""
    for page in served(sitting):
        reader = Reader(browser, page.address, **options)
        try:
            yield reader
            assert reader.complaints == []
            assert all(url.startswith(page.address) for url in reader.requests)
        finally:
            reader.close()


def test_a_whole_sitting_by_keyboard(browser, sitting):
    with reading(browser, sitting) as reader:
        for _ in range(30):
            if reader.is_done:
                break
            reader.answer()
        assert reader.is_done
        assert reader.text("#status") == "Saved"
    sitting.write()
    columns = [sentence.column("1") for sentence in read_sentences(sitting.output)]
    assert columns == [tuple(gold_tags(number)) for number in range(len(GOLD))]


def test_heads_and_relations_by_keyboard(browser, tmp_path):
    sitting = Sitting(tree_task(), tmp_path / "out.txt")
    with reading(browser, sitting) as reader:
        questions = [reader.answer() for _ in range(2)]
        for question in questions:
            for (word, kind), value in right(question).items():
                head, relation = sitting.ledger.label((question["sentence"], word))
                assert value == (str(head) if kind == "head" else relation)
    sitting.close()


def test_undo_skip_search_and_a_second_look_by_keyboard(browser, sitting):
    with reading(browser, sitting) as reader:
        first = reader.answer()["sentence"]
        assert reader.sentence != first
        reader.press("u")
        assert (reader.sentence, reader.text("#status")) == (first, "Undone")
        assert "took this back" in reader.text("#question-about")
        reader.answer()
        skipped = reader.sentence
        reader.press("s")
        assert (reader.sentence != skipped, reader.text("#status")) == (True, "Skipped")
        keys = reader.page.keyboard
        # The filter takes letters that are keys elsewhere, and leaves with its first choice.
        reader.press("o")
        assert reader.text("#question-about") == "Opened by you."
        keys.press("/")
        keys.type(gold_tags(first)[0])
        reader.page.wait_for_selector("#answers .row")
        found = reader.text("#answers .row .said")
        assert found in {tag for number in range(len(GOLD)) for tag in gold_tags(number)}
        reader.then(lambda: reader.page.click("#answers .row"))
        assert reader.sentence == first
        # Somebody thinks better of it: a changed answer is one to look at again.
        before, now = found, "VERB" if found != "VERB" else "NOUN"
        word = reader.asked()["slots"][0]["word"]
        reader.choose({(word, "tag"): now})
        reader.press("Enter")
        keys.press("r")
        reader.page.wait_for_selector("#review .row")
        assert "changed" in reader.text("#review .row")
        assert sitting.ledger.label((first, word)) == now != before
        keys.press("?")
        assert reader.page.is_visible("#help")


def test_keys_in_quick_succession_are_each_about_their_own_word(browser, sitting):
    with reading(browser, sitting) as reader:
        n_asked = len(reader.asked()["slots"])
        sentence, words = reader.sentence, [slot["word"] for slot in reader.asked()["slots"]]
        for _ in range(n_asked):
            reader.page.keyboard.press("2")
        reader.press("Enter")
        labels = [sitting.ledger.label((sentence, word)) for word in words]
        assert None not in labels


def test_spans_are_drawn_as_spans_and_by_touch(browser, tmp_path):
    words = ("Ada", "Lovelace", "met", "Mary")
    task = TagTask([Sentence({"FORM": words})], ["B-PER", "I-PER", "O"], column="tag")
    sitting = Sitting(task, tmp_path / "out.txt")
    size = {"width": 400, "height": 800}
    with reading(browser, sitting, viewport=size, has_touch=True, is_mobile=True) as reader:
        reader.then(lambda: reader.page.tap("#open"))
        for value in ("B-PER", "I-PER", "O", "B-PER"):
            before = reader.page.evaluate(WHERE)
            reader.page.tap(f'#choices [data-value="{value}"]')
            if value != "B-PER" or before.endswith("/0"):
                reader.page.wait_for_function(f"(before) => ({WHERE})() !== before", arg=before)
        reader.page.wait_for_function(
            "() => document.querySelectorAll('#sentence .word.span.from').length === 2"
        )
        assert reader.page.locator("#sentence .word.span").count() == 3
        reader.then(lambda: reader.page.tap("#accept"))
        assert reader.is_done
    assert sitting.ledger.known() == [["B-PER", "I-PER", "O", "B-PER"]]
    sitting.close()


def test_a_head_is_chosen_by_a_click_on_its_word(browser, tmp_path):
    sitting = Sitting(tree_task(), tmp_path / "out.txt")
    with reading(browser, sitting) as reader:
        sentence = reader.sentence
        word = reader.asked()["slots"][0]["word"]
        others = reader.page.locator("#sentence .word:not(.asked)")
        head = int(others.first.locator(".number").inner_text())
        others.first.click()
        reader.page.wait_for_selector(f'#choices [data-value="{head}"][aria-checked="true"]')
        reader.then(lambda: reader.page.click("#accept"))
        assert sitting.ledger.label((sentence, word))[0] == head
    sitting.close()


def test_hostile_words_and_tags_are_text(browser, tmp_path):
    words = (
        "<script>alert(1)</script>",
        '"><img',
        "src=x",
        "onerror=alert(2)>",
        "&amp;",
        "\u202e]]>",
    )
    tags = ["<b>bold</b>", "x' onclick='alert(3)", "</svg><script>alert(4)</script>"]
    sitting = Sitting(
        TagTask([Sentence({"FORM": words})] * 2, tags, column="tag"), tmp_path / "out.txt"
    )
    with reading(browser, sitting) as reader:
        reader.press("o")
        reader.page.keyboard.press("1")
        reader.press("Enter")
        forms = reader.page.locator("#sentence .form").all_inner_texts()
        assert forms[0] == words[0]
        assert reader.page.locator("main script, main img, main b, main [onclick]").count() == 0
        reader.page.keyboard.press("/")
        reader.page.wait_for_selector("#answers .row")
        assert reader.page.locator("main script, main img, main b, main [onclick]").count() == 0
        assert "alert" in reader.text("#answers")
    sitting.close()


def test_two_tabs_ask_for_different_words_and_take_back_their_own(browser, sitting):
    for page in served(sitting):
        one, two = Reader(browser, page.address), Reader(browser, page.address)
        assert one.sentence != two.sentence
        first, second = one.answer(), two.answer()
        assert sitting.progress()["answers"] == 2
        one.press("u")
        assert one.sentence == first["sentence"]
        held = [record["sentence"] for record in sitting.ledger.held()]
        assert held == [second["sentence"]]
        assert one.complaints + two.complaints == []
        one.close()
        two.close()


def test_a_server_that_was_ended_gets_the_answer_when_it_is_back_and_once(browser, tmp_path):
    first = Sitting(tag_task(), tmp_path / "out.txt")
    pages = served(first)
    page = next(pages)
    reader = Reader(browser, page.address)
    question = reader.asked()
    reader.choose(right(question))
    reader.page.wait_for_function("() => document.querySelector('#alarm').hidden")
    next(pages, None)
    # As after kill -9, nothing is closed in good order.
    first.journal.close()
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_selector("#alarm:not([hidden])")
    assert "does not answer" in reader.text("#alarm")
    second = Sitting(tag_task(), tmp_path / "out.txt")
    assert second.progress()["asked"] == 0
    for _ in served(second, page.server):
        reader.page.wait_for_function(
            "() => document.querySelector('#status').textContent === 'Saved'"
        )
        progress = second.progress()
        assert (progress["answers"], progress["asked"]) == (1, len(question["slots"]))
    reader.close()
    second.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_telephone_and_can_be_read(browser, sitting, scheme):
    size = {"width": 400, "height": 800}
    with reading(browser, sitting, viewport=size, color_scheme=scheme) as reader:
        reader.answer()
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= 400
        for selector in ("#question-about", ".choice .name", ".choice .p", "dt", "#where",
                         ".word.asked .form", "#drawing svg text.quiet"):  # fmt: skip
            assert reader.page.evaluate(CONTRAST, selector) >= 4.5, selector
        # Everything that can be pressed has a name, and the choices say which one holds.
        for button in reader.page.locator("button:visible").all():
            assert button.get_attribute("aria-label") or button.inner_text().strip()
        assert reader.page.locator('[role=radiogroup] [aria-checked="true"]').count() == 1
        assert reader.page.evaluate("document.activeElement.closest('#sentence') !== null")
