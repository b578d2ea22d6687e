"""The page for labelling, answered by simulated annotators: words until the model is good.

    python -m benchmarks.labelling [DATA] [--quick]

`partita label` is started as a person would start it, from words without tags, and asked and
answered through the page's own interface: EWT parts of speech (the first 500 sentences of the
training part; the first 500 of the development part judge) and Cora citations (300 references).
One annotator is always right, the other wrong about 5 % of the words. Four ways to work:

* asked: the words that the page asks for;
* sentences asked for: the sentence that it asks about, opened and answered as a whole;
* random words: five words in a row, anywhere; random sentences: one after the other.
"""

import itertools
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.tagger_data import data_folder
from benchmarks.timing import RESULTS, Table, show_help, write_json
from partita import show
from partita.data.formats import read_sentences, write_sentences
from partita.data.sentences import Sentence
from partita.label import TagTask
from partita.label.effort import Effort

WAYS = ("asked", "sentences asked for", "random words", "random sentences")
WRONG = (0.0, 0.05)
SHARES = (0.97, 0.99)
N_WORDS = 5
"""Of a random question, and the most of one that the page asks."""
FULL_ROUNDS = 12
"""Rounds of learning from all labels; more change nothing that the table shows."""
Tags = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Corpus:
    """Sentences with their tags in the last column, and those that judge the model."""

    name: str
    pool: Sequence[Sentence]
    judges: Sequence[Sentence]
    column: str
    step: int
    """Words to answer between two looks at the accuracy."""

    def tags(self, wrong: float = 0.0) -> Tags:
        """What an annotator says of every word; wrong answers are the same in every sitting."""
        rng = np.random.default_rng(0)
        names = sorted({tag for each in self.pool for tag in each.column(self.column)})
        said = []
        for sentence in self.pool:
            said.append(
                [
                    str(rng.choice([name for name in names if name != tag]))
                    if rng.random() < wrong
                    else tag
                    for tag in sentence.column(self.column)
                ]
            )
        return said

    @property
    def n_words(self) -> int:
        """Words of the pool."""
        return sum(map(len, self.pool))

    def without_tags(self) -> list[Sentence]:
        """The pool as `partita label` gets it."""
        return [each.replaced(self.column, ["?"] * len(each)) for each in self.pool]

    def full_accuracy(self, wrong: float) -> float:
        """With every word of the pool labelled."""
        judged = self.judges, [each.column(self.column) for each in self.judges]
        tags = self.tags(wrong)
        names = sorted({tag for each in tags for tag in each})
        task = TagTask(self.without_tags(), names, column=self.column, held_out=judged)
        model = None
        for _ in range(FULL_ROUNDS):
            model = task.learn([list(each) for each in tags], model)
        accuracy = task.held_out(model)
        assert accuracy is not None
        return accuracy


def read_corpora(data: Path, *, quick: bool) -> list[Corpus]:
    ewt, cora = data / "ud_en_ewt", data / "cora_citations"
    most = 60 if quick else 500
    train, dev = (
        [
            Sentence({"0": each.column("FORM"), "1": each.column("UPOS")})
            for each in list(read_sentences(ewt / f"en_ewt-ud-{part}.conllu"))[:most]
        ]
        for part in ("train", "dev")
    )
    references = list(read_sentences(cora / "citation_train.300.0.txt"))[: 30 if quick else None]
    return [
        Corpus("EWT parts of speech", train, dev, "1", 50 if quick else 200),
        Corpus(
            "Cora citations",
            [replace(each, before=(), after=()) for each in references],
            list(read_sentences(cora / "citation_dev.txt"))[: 30 if quick else None],
            "1",
            50 if quick else 100,
        ),
    ]


class Page:
    """The page of a server that was started by the command, as a program sees it."""

    def __init__(self, folder: Path, corpus: Corpus) -> None:
        write_sentences(folder / "pool.txt", corpus.without_tags(), "columns")
        write_sentences(folder / "judges.txt", list(corpus.judges), "columns")
        names = sorted({tag for each in corpus.pool for tag in each.column(corpus.column)})
        options = ["--tag-column", corpus.column, "--tags", ",".join(names), "--workers", "1"]
        options += ["--held-out", str(folder / "judges.txt"), "--n-words", str(N_WORDS)]
        options += ["-o", str(folder / "out.txt")]
        self._server = subprocess.Popen(
            [sys.executable, "-m", "partita.cli", "label", str(folder / "pool.txt"), *options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._server.stdout is not None
        self._address = self._server.stdout.readline().strip()
        self._numbers = itertools.count()

    def call(self, name: str, **body: Any) -> Any:
        """What the server says to one request of the page."""
        request = urllib.request.Request(
            f"{self._address}api/{name}",
            json.dumps({"tab": "benchmark", **body}).encode(),
            {"Content-Type": "application/json", "Origin": self._address.rsplit("/", 2)[0]},
        )
        with urllib.request.urlopen(request, timeout=600) as response:
            return json.load(response)

    def answer(self, sentence: int, tags: Mapping[int, str], n_words: int) -> None:
        """Say what some words are; the time is what such an answer usually takes."""
        self.call(
            "answer",
            id=str(next(self._numbers)),
            sentence=sentence,
            values=[[word, "tag", tag] for word, tag in tags.items()],
            seconds=float(Effort().seconds(len(tags), n_words)),
        )

    def progress(self) -> Any:
        """The panel, once the model has learnt from all answers."""
        while True:
            found = self.call("progress")
            if not found["learning"]:
                return found
            time.sleep(0.05)

    def close(self) -> None:
        """End the server."""
        self._server.terminate()
        self._server.wait()


def questions(way: str, page: Page, corpus: Corpus) -> Iterator[tuple[int, range]]:
    """Sentences and words of them to answer, until nothing is left."""
    rng = np.random.default_rng(1)
    lengths = [len(each) for each in corpus.pool]
    if way == "random sentences":
        yield from ((int(each), range(lengths[each])) for each in rng.permutation(len(lengths)))
    elif way == "random words":
        pieces = [
            (sentence, range(first, min(first + N_WORDS, n)))
            for sentence, n in enumerate(lengths)
            for first in range(0, n, N_WORDS)
        ]
        yield from (pieces[each] for each in rng.permutation(len(pieces)))
    else:
        while not (found := page.call("question")).get("done"):
            words = range(found["first"], found["last"] + 1)
            yield found["sentence"], words if way == "asked" else range(lengths[found["sentence"]])


@dataclass(frozen=True)
class Sitting:
    """What one annotator reached in one way."""

    way: str
    wrong: float
    points: list[tuple[int, float, float]]
    """Words asked for, minutes of work at usual times, and accuracy."""

    def needed(self, accuracy: float) -> tuple[int, float] | None:
        """Words and minutes until the accuracy is reached."""
        return next(((n, t) for n, t, value in self.points if value >= accuracy), None)


def sat(way: str, wrong: float, corpus: Corpus, enough: float) -> Sitting:
    """Answer until the accuracy is enough, or nothing is left."""
    said, points = corpus.tags(wrong), []
    with tempfile.TemporaryDirectory() as folder:
        page = Page(Path(folder), corpus)
        try:
            answered, n_new = [[False] * len(each) for each in said], 0
            for sentence, words in questions(way, page, corpus):
                new = {word: said[sentence][word] for word in words if not answered[sentence][word]}
                for word in new:
                    answered[sentence][word] = True
                page.answer(sentence, new, len(said[sentence]))
                n_new += len(new)
                if n_new >= corpus.step:
                    n_new, found = 0, page.progress()
                    points.append((found["asked"], found["minutes"], found["held_out"]))
                    if found["held_out"] >= enough:
                        break
            else:
                found = page.progress()
                points.append((found["asked"], found["minutes"], found["held_out"]))
        finally:
            page.close()
    print(way, wrong, points[-1], file=sys.stderr, flush=True)
    return Sitting(way, wrong, points)


def table_of(corpus: Corpus, full: Mapping[float, float], sittings: Sequence[Sitting]) -> Table:
    """Words that each way needs; never, where all words are not enough."""
    table = Table(
        f"{corpus.name}: {corpus.n_words:,} words in the pool; words to label, and minutes of work "
        f"at usual times, for 97 and 99 % of the accuracy with all of them, {100 * full[0.0]:.2f} %"
    )
    for sitting in sittings:
        row: dict[str, Any] = {
            "way": sitting.way,
            "wrong answers": f"{100 * sitting.wrong:.0f} %",
        }
        for share in SHARES:
            found = sitting.needed(share * full[0.0])
            row[f"words for {100 * share:.0f} %"] = "never" if found is None else found[0]
            row[f"minutes for {100 * share:.0f} %"] = "" if found is None else round(found[1])
        row["with all words"] = f"{100 * full[sitting.wrong]:.2f}"
        table.add(**row)
    return table


def picture(corpus: Corpus, full: float, sittings: Sequence[Sitting]) -> show.Svg:
    """Accuracy against words, of the annotator who is right."""
    return show.curves(
        {
            each.way: [(n, 100 * accuracy) for n, _, accuracy in each.points]
            for each in sittings
            if not each.wrong
        },
        x_label="words labelled",
        y_label="accuracy on held-out sentences, %",
        title=f"{corpus.name}, labelled on the page",
        best=100 * full,
    )


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    tables = []
    for number, corpus in enumerate(read_corpora(data_folder(), quick=quick), start=1):
        full = {wrong: corpus.full_accuracy(wrong) for wrong in WRONG}
        enough = SHARES[-1] * full[0.0]
        # Each has a server of its own with one thread, and no time is measured.
        with ThreadPoolExecutor(2) as pool:
            chosen = itertools.product(WRONG, WAYS)
            waiting = [pool.submit(sat, way, wrong, corpus, enough) for wrong, way in chosen]
        sittings = [each.result() for each in waiting]
        tables.append(table_of(corpus, full, sittings))
        print(tables[-1])
        drawn = picture(corpus, full[0.0], sittings)
        if not quick:
            (RESULTS / f"labelling-{number}.svg").write_text(drawn.text)
    if not quick:
        print(f"\nWritten to {write_json('labelling', tables)}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
