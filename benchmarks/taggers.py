"""Taggers: accuracy and time on CoNLL-2000 chunks and EWT parts of speech, beside python-crfsuite.

    python -m benchmarks.taggers [DATA] [--quick]

DATA is a folder with conll2000/train.txt and ud_en_ewt/*.conllu (or the variable PARTITA_DATA).
CoNLL-2000 has no development part: the last tenth of its training part is one here, and training
sees the first nine tenths. Both libraries get the same attributes (python-crfsuite as lists of
names, all pairs with tags as here) and the same penalty, so that they seek the same optimum.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import Table, best_time, optional, write_json
from partita import Tagger
from partita.data.formats import read_sentences
from partita.data.sentences import Sentence
from partita.estimators.extraction import TemplateFeatures
from partita.estimators.words import read_words
from partita.evaluation.chunks import chunk_scores

TEMPLATE = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]
B
"""
"""The template of CRF++'s chunking example."""

Sentences = Sequence[Sentence]


class Task:
    """A training and a development part, the column of the tags, and how to judge them."""

    def __init__(self, name: str, train: Sentences, dev: Sentences, column: str) -> None:
        self.name, self.train, self.dev, self.column = name, train, dev, column
        self.n_words = sum(map(len, train))

    def judged(self, tagger: Tagger) -> float:
        """Chunk F1 or accuracy on the development part, in per cent."""
        gold = [sentence.column(self.column) for sentence in self.dev]
        if self.name == "CoNLL-2000":
            return 100 * chunk_scores(gold, tagger.predict(self.dev)).overall.f1
        return 100 * tagger.score(self.dev, gold)


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


def accuracies(runs: Sequence[tuple[str, Callable[[], Task], dict[str, Any]]]) -> Table:
    """From files to trained models: how good, how long."""
    table = Table("From file to model: accuracy (chunk F1 for CoNLL-2000) on development parts")
    for name, read, options in runs:
        start = time.perf_counter()
        task = read()
        tagger = Tagger(tag_column=task.column, progress=False, **options).fit(task.train)
        seconds = time.perf_counter() - start
        assert tagger.training_ is not None
        table.add(
            task=task.name,
            features=name,
            weights=len(tagger.weights_),
            iterations=tagger.training_.n_iterations,
            seconds_from_file=seconds,
            loss=tagger.training_.loss,
            per_cent=f"{task.judged(tagger):.2f}",
            words_per_second=sum(map(len, task.dev)) / best_time(lambda: tagger.predict(task.dev)),
        )
        print(table.rows[-1], file=sys.stderr)
    return table


def beside_crfsuite(task: Task, n_iterations: int, **options: Any) -> Table:
    """Seconds an iteration, at the same attributes and the same penalty."""
    table = Table(f"{task.name}: {n_iterations} iterations of L-BFGS at the same attributes")
    for n_threads in (1, 2):
        tagger = Tagger(tag_column=task.column, progress=False, n_threads=n_threads, **options)
        tagger.set_params(max_iterations=n_iterations).fit(task.train)
        assert tagger.training_ is not None
        table.add(
            library="partita",
            threads=n_threads,
            weights=len(tagger.weights_),
            seconds_per_iteration=_pace([record.seconds for record in tagger.training_.history]),
            loss=tagger.training_.loss,
            accuracy=100 * tagger.score(task.dev),
            words_per_second=sum(map(len, task.dev)) / best_time(lambda: tagger.predict(task.dev)),
        )
    pycrfsuite = optional("pycrfsuite")
    if pycrfsuite is not None:
        for dense in (True, False):
            table.add(**_crfsuite(pycrfsuite, tagger, task, n_iterations, dense=dense))
    print(table, file=sys.stderr)
    return table


def _pace(seconds: Sequence[float]) -> float:
    """The median of the seconds that iterations took, without the first, which compiles."""
    return float(np.median(np.diff(seconds)))


def _crfsuite(
    pycrfsuite: Any, tagger: Tagger, task: Task, n_iterations: int, *, dense: bool
) -> dict[str, Any]:
    """One run of CRFsuite, `dense` with a weight for every attribute and tag, as Partita has."""
    train, dev = (_names(tagger, part) for part in (task.train, task.dev))
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, sentence in zip(train, task.train, strict=True):
        trainer.append(row, sentence.column(task.column))
    trainer.set_params(
        {
            "c2": tagger.l2 / 2,  # CRFsuite's penalty is c2 times the squares
            "max_iterations": n_iterations,
            "feature.possible_states": dense,
            "feature.possible_transitions": dense,
        }
    )
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        other = pycrfsuite.Tagger()
        other.open(file.name)
        start = time.perf_counter()
        found = [other.tag(row) for row in dev]
        seconds = time.perf_counter() - start
    gold = [tag for sentence in task.dev for tag in sentence.column(task.column)]
    right = sum(a == b for a, b in zip(gold, chain.from_iterable(found), strict=True))
    last = trainer.logparser.last_iteration
    return {
        "library": "python-crfsuite" + (", all weights" if dense else ", observed weights"),
        "threads": 1,
        "weights": trainer.logparser.featgen_num_features,
        "seconds_per_iteration": float(
            np.median([step["time"] for step in trainer.logparser.iterations])
        ),
        "loss": last["loss"],
        "accuracy": 100 * right / len(gold),
        "words_per_second": len(gold) / seconds,
    }


def _names(tagger: Tagger, sentences: Sentences) -> list[list[list[str]]]:
    """The attributes of every word by name, as python-crfsuite wants them."""
    features = tagger.model_.features
    assert isinstance(features, TemplateFeatures)
    rows = features.encode(read_words(sentences, features.columns)).words
    names = [features.name(number) for number in range(features.n_attributes)]
    named = [names[number] for number in rows.ids.tolist()]
    ends = rows.offsets.tolist()
    words = [named[begin:end] for begin, end in zip(ends[:-1], ends[1:], strict=True)]
    result, start = [], 0
    for sentence in sentences:
        result.append(words[start : start + len(sentence)])
        start += len(sentence)
    return result


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    folders = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    data = Path(folders[0] if folders else os.environ.get("PARTITA_DATA", ""))
    if not (data / "conll2000" / "train.txt").is_file():
        raise SystemExit(
            f"{data / 'conll2000' / 'train.txt'} is not there; name the folder of the data: "
            "python -m benchmarks.taggers DATA, or PARTITA_DATA=DATA make bench-taggers."
        )
    most = {"max_iterations": 10 if quick else 150}
    chunking, tagging = (
        lambda: read_chunking(data, quick),
        lambda: read_parts_of_speech(data, quick),
    )
    Tagger(tag_column="UPOS", max_iterations=1).fit(tagging().train[:5])  # compiles
    tables = [
        accuracies(
            [
                ("CRF++ template", chunking, {"features": TEMPLATE, **most}),
                ("default", chunking, most),
                ("default", tagging, most),
            ]
        ),
        beside_crfsuite(tagging(), 10 if quick else 30),
        beside_crfsuite(chunking(), 10 if quick else 30, features=TEMPLATE),
    ]
    for table in tables:
        print(table)
    if not quick:
        print(f"\nWritten to {write_json('taggers', tables)}")


if __name__ == "__main__":
    main()
