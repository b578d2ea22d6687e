"""The corpora of the taggers' benchmarks, and what their commands have in common."""

import os
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from partita import Tagger
from partita.data.formats import read_sentences
from partita.data.sentences import Sentence
from partita.evaluation.chunks import chunk_scores

Sentences = Sequence[Sentence]


class Task:
    """A training and a development part, the column of the tags, and how to judge them."""

    def __init__(self, name: str, train: Sentences, dev: Sentences, column: str) -> None:
        self.name, self.train, self.dev, self.column = name, train, dev, column
        self.n_words = sum(map(len, train))

    def judged(self, tagger: Tagger) -> float:
        """Chunk F1 or accuracy on the development part, in per cent."""
        return self.of_tags(tagger.predict(self.dev))

    def of_tags(self, found: Sequence[Sequence[str]]) -> float:
        """The same of tags for each sentence of the development part."""
        gold = [sentence.column(self.column) for sentence in self.dev]
        if self.name == "CoNLL-2000":
            return 100 * chunk_scores(gold, found).overall.f1
        pairs = zip(chain.from_iterable(gold), chain.from_iterable(found), strict=True)
        return 100 * float(np.mean([right == tag for right, tag in pairs]))


def read_chunking(data: Path, quick: bool) -> Task:
    sentences = list(read_sentences(data / "conll2000" / "train.txt"))
    sentences = sentences[: 500 if quick else None]
    n_train = len(sentences) * 9 // 10
    return Task("CoNLL-2000", sentences[:n_train], sentences[n_train:], "2")


def read_parts_of_speech(data: Path, quick: bool) -> Task:
    folder = data / "ud_en_ewt"
    train, dev = (
        list(read_sentences(folder / f"en_ewt-ud-{part}.conllu"))[: 500 if quick else None]
        for part in ("train", "dev")
    )
    return Task("EWT UPOS", train, dev, "UPOS")


def data_folder() -> Path:
    """The folder that the command line names, or PARTITA_DATA."""
    arguments = sys.argv[1:]
    folders = [
        argument
        for index, argument in enumerate(arguments)
        if not argument.startswith("-") and not (index and arguments[index - 1] in VALUED)
    ]
    data = Path(folders[0] if folders else os.environ.get("PARTITA_DATA", ""))
    if not (data / "conll2000" / "train.txt").is_file():
        raise SystemExit(
            f"{data / 'conll2000' / 'train.txt'} is not there; name the folder of the data: "
            "python -m benchmarks.tagger DATA, or PARTITA_DATA=DATA make bench-tagger."
        )
    return data


VALUED = ("--unlabelled",)
"""Options with a value behind them."""


def number_after(option: str) -> int | None:
    """The whole number behind an option of the command line, if it is there."""
    arguments = sys.argv[1:]
    return int(arguments[arguments.index(option) + 1]) if option in arguments else None
