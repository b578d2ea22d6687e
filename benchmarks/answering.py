"""Words tagged and sentences parsed a second, in memory and from file to file: see `scale`."""

import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.made_text import write_text
from benchmarks.timing import Table, Turns, best_time, seconds_of
from partita import DependencyParser, Tagger, samples
from partita.data import read_sentences

FAST = "/dev/shm"
"""A folder in memory, where there is one."""


def answers(n_words: int, n_copies: int) -> list[Table]:
    """Words tagged and sentences parsed a second: in memory, and from file to file, all told.

    As many words are parsed in memory as are tagged. One thread and two take turns, and figures are
    medians; a gain is that of the median round. Files are long (twelve times the words, and so many
    copies of a treebank), so that the start of the command, which is measured beside, is a twelfth
    or less of what one worker takes; a shorter file gains less. They lie in memory where there is a
    folder for that: how long a disk takes to have a file safe (0.2 to 6 s here) is nothing that
    workers change.
    """
    tags = Table(f"Tagging: {n_words:,} words in memory, {12 * n_words:,} in a file")
    trees = Table(f"Parsing: short sentences, {100 * n_copies:,} in a file")
    with tempfile.TemporaryDirectory(dir=FAST if os.path.isdir(FAST) else None) as name:
        folder = Path(name)
        write_text(folder / "train.txt", 50_000)
        write_text(folder / "new.txt", n_words)
        (folder / "long.txt").write_text(12 * (folder / "new.txt").read_text())
        model: Any = Tagger(max_iterations=10, tag_column="1")
        model.fit(read_sentences(folder / "train.txt")).save(folder / "tagger")
        sentences = [list(each.column("0")) for each in read_sentences(folder / "new.txt")]
        here = in_memory(model, sentences, (1, 2))
        starts, files = by_command(folder / "tagger", folder / "long.txt", (1, 2))
        for row in gained((1, 2), here, starts, files):
            tags.add(
                workers=row.workers,
                words_a_second=n_words / row.seconds,
                gain=row.gain,
                words_from_file_to_file=12 * n_words / row.of_files,
                gain_of_files=row.gain_of_files,
                seconds_to_start=row.start,
            )
        # A cluster of this one machine shows what it costs, once.
        tags.add(workers="ray:2", words_a_second=n_words / in_memory_on_ray(model, sentences))
        treebank = samples.path("treebank-dev.conllu")
        model = DependencyParser(n_models=1, max_iterations=2, progress=False)
        model.fit(read_sentences(treebank)).save(folder / "parser")
        (folder / "trees.conllu").write_text(n_copies * treebank.read_text())
        treebank_sentences = list(read_sentences(treebank))
        many = n_words // sum(map(len, treebank_sentences)) * treebank_sentences
        here = in_memory(model, many, (1, 2))
        starts, files = by_command(folder / "parser", folder / "trees.conllu", (1, 2))
        for row in gained((1, 2), here, starts, files):
            trees.add(
                workers=row.workers,
                words_each=sum(map(len, many)) / len(many),
                sentences_a_second=len(many) / row.seconds,
                gain=row.gain,
                sentences_from_file_to_file=100 * n_copies / row.of_files,
                gain_of_files=row.gain_of_files,
                seconds_to_start=row.start,
            )
    return [tags, trees]


class Gained(NamedTuple):
    """What some workers took, and how many times as long one worker did."""

    workers: int
    seconds: float
    gain: float
    start: float
    of_files: float
    gain_of_files: float


def gained(workers: Sequence[int], here: Turns, starts: Turns, files: Turns) -> Iterator[Gained]:
    """In memory, of a file of next to nothing, and of a long one."""
    rows = here.medians, here.gains, starts.medians, files.medians, files.gains
    return itertools.starmap(Gained, zip(workers, *rows, strict=True))


def in_memory(model: Any, sentences: list[Any], workers: Sequence[int]) -> Turns:
    """Seconds for sentences that are there already."""

    def predict(count: int) -> None:
        model.set_params(workers=count)
        model.predict(sentences)

    return Turns.of([partial(predict, count) for count in workers], 15)


def in_memory_on_ray(model: Any, sentences: list[Any]) -> float:
    """Seconds by a cluster of two workers."""
    model.set_params(workers="ray:2")
    return best_time(lambda: model.predict(sentences), 2)


def by_command(model: Path, text: Path, workers: Sequence[int]) -> tuple[Turns, Turns]:
    """Seconds from file to file by the command: for next to nothing, and for all of a text."""
    short, out = text.with_name(f"short{text.suffix}"), str(text.with_name("out"))
    short.write_text(text.read_text()[:10_000].rpartition("\n\n")[0] + "\n\n")
    # As on a user's machine, Python's byte code is there from the second time on.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}

    def predict(path: Path, count: int) -> None:
        line = ["predict", str(model), str(path), "-o", out, "--workers", str(count)]
        subprocess.run(
            [sys.executable, "-m", "partita", *line],
            check=True,
            capture_output=True,
            env=environment,
        )

    starts = Turns.of([partial(predict, short, count) for count in workers], 3)
    whole = [partial(predict, text, count) for count in workers]
    return starts, Turns([[seconds_of(each) for each in whole] for _ in range(3)])
