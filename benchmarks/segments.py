"""Segments beside tags: `Segmenter` and `Tagger` with the same features of words.

    python -m benchmarks.segments [DATA] [--only CoNLL-2000 Cora WNUT17]

DATA is a folder with conll2000, cora_citations and wnut17 (or the variable PARTITA_DATA).
CoNLL-2000 has no development part: the last tenth of its training part is one here. Fields of Cora
are words in a row with the same label. All figures are F1 of whole segments, on development parts.
On CoNLL-2000 all models learn by 20 passes of AdaGrad, which is better there and takes a minute
instead of a quarter of an hour; elsewhere by at most 100 iterations of L-BFGS, the default.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.timing import Table, write_json

# isort: split
from partita import Segmenter, Tagger
from partita.data.formats import read_sentences
from partita.data.sentences import Sentence
from partita.evaluation.chunks import chunk_scores

MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "Tagger": (Tagger, {}),
    "Segmenter, words alone": (Segmenter, {"segment_features": False}),
    "Segmenter": (Segmenter, {}),
}


BY_PASSES: dict[str, Any] = {"optimiser": "adagrad"}
TO_THE_END: dict[str, Any] = {"optimiser": "lbfgs", "max_iterations": 100}


class SegmentTask(NamedTuple):
    """A training and a development part, and the column of their tags."""

    name: str
    train: Sequence[Sentence]
    dev: Sequence[Sentence]
    column: str
    options: dict[str, Any]
    """How all models are trained."""


def tasks(data: Path, only: Sequence[str]) -> Iterator[SegmentTask]:
    """The three corpora, or those of some names."""
    if "CoNLL-2000" in only:
        chunked = list(read_sentences(data / "conll2000" / "train.txt"))
        n_train = len(chunked) * 9 // 10
        yield SegmentTask("CoNLL-2000", chunked[:n_train], chunked[n_train:], "2", BY_PASSES)
    if "Cora" in only:
        fields = [
            list(read_sentences(data / "cora_citations" / f"citation_{part}.txt"))
            for part in ("train.300.0", "dev")
        ]
        yield SegmentTask("Cora", *fields, "1", TO_THE_END)
    if "WNUT17" in only:
        entities = [
            list(read_sentences(data / "wnut17" / name))
            for name in ("wnut17train.conll", "emerging.dev.conll")
        ]
        yield SegmentTask("WNUT17", *entities, "1", TO_THE_END)


def in_scheme(tags: Sequence[str]) -> list[str]:
    """Tags as they are, or with B- and I- before them where equal ones in a row are a segment."""
    if all(tag == "O" or tag[:2] in ("B-", "I-") for tag in tags):
        return list(tags)
    edges = [("", tags[0]), *pairwise(tags)]
    return [f"{'I' if before == tag else 'B'}-{tag}" for before, tag in edges]


def compared(task: SegmentTask) -> Table:
    """Every model on a corpus."""
    n_words = sum(map(len, task.train))
    table = Table(f"{task.name}: {len(task.train):,} sentences, {n_words:,} words")
    gold = [in_scheme(sentence.column(task.column)) for sentence in task.dev]
    for name, (model, options) in MODELS.items():
        began = time.process_time()
        estimator = model(tag_column=task.column, progress=False, workers=1)
        fitted = estimator.set_params(**options, **task.options).fit(task.train)
        seconds = time.process_time() - began
        scores = chunk_scores(gold, [in_scheme(tags) for tags in fitted.predict(task.dev)])
        table.add(
            model=name,
            precision=f"{100 * scores.overall.precision:.2f}",
            recall=f"{100 * scores.overall.recall:.2f}",
            F1=f"{100 * scores.overall.f1:.2f}",
            weights=len(fitted.weights_),
            passes=fitted.training_.n_iterations,
            **{"training, CPU s": seconds},
        )
        print(task.name, table.rows[-1], file=sys.stderr)
    return table


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", default=["CoNLL-2000", "Cora", "WNUT17"])
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the corpora are, or set PARTITA_DATA.")
    tables = [compared(task) for task in tasks(options.data, options.only)]
    for table in tables:
        print(table)
    print(write_json("segments", tables))


if __name__ == "__main__":
    main()
