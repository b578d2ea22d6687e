"""What the defaults of taggers are worth on little data: one option at a time, beside CRFsuite.

    python -m benchmarks.tagger_defaults [DATA] [--only Greek Basque EWT CoNLL-2000]

DATA is the folder of the corpora (or PARTITA_DATA). Learnt from the first 2,000 sentences at most,
judged on development parts: accuracy of universal tags out of words alone, F1 of chunks. CRFsuite
gets the features of sklearn-crfsuite's tutorial and its own default penalty.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.tagger import as_dictionary
from benchmarks.tagger_data import Task, read_chunking
from benchmarks.timing import Table, optional, write_json

# isort: split
from partita import Tagger
from partita.data.formats import read_sentences

TREEBANKS = {
    "Greek": "ud_grc_ptnk/grc_ptnk",
    "Basque": "ud_eu_bdt/eu_bdt",
    "EWT": "ud_en_ewt/en_ewt",
}
MOST = 2000
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"l2": 1.0},
    {"l2": 0.3},
    {"l2": 0.03},
    {"min_count": 2},
    {"pairs": "observed"},
    {"pairs": "observed", "l2": 1.0},
    {"boundaries": True},
    {"optimiser": "adagrad"},
)
"""The defaults, and what is changed of them."""


def task_of(data: Path, name: str) -> Task:
    """The first sentences of a corpus, and its development part."""
    if name == "CoNLL-2000":
        whole = read_chunking(data, quick=False)
        return Task(name, whole.train[:MOST], whole.dev, whole.column)
    parts = [
        list(read_sentences(data / f"{TREEBANKS[name]}-ud-{part}.conllu"))
        for part in ("train", "dev")
    ]
    return Task(name, parts[0][:MOST], parts[1], "UPOS")


def variants(task: Task) -> Table:
    """Every variant on a corpus, and CRFsuite."""
    table = Table(f"{task.name}: {len(task.train):,} sentences, {task.n_words:,} words")
    for options in VARIANTS:
        began = time.process_time()
        tagger = Tagger(tag_column=task.column, progress=False, workers=1, **options)
        tagger.fit(task.train)
        seconds = time.process_time() - began
        changed = ", ".join(f"{name}={value!r}" for name, value in options.items())
        table.add(
            tagger=changed or "defaults",
            per_cent=f"{task.judged(tagger):.2f}",
            weights=len(tagger.weights_),
            **{"training, CPU s": round(seconds, 1)},
        )
        print(task.name, table.rows[-1], file=sys.stderr)
    pycrfsuite = optional("pycrfsuite")
    if pycrfsuite is not None and task.column == "UPOS":
        table.add(tagger="python-crfsuite, features of a tutorial", per_cent=theirs(task))
    return table


def theirs(task: Task) -> str:
    """The accuracy of CRFsuite."""
    pycrfsuite = optional("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    rows = [
        [
            [as_dictionary(words, place) for place in range(len(words))]
            for words in (sentence.column("FORM") for sentence in part)
        ]
        for part in (task.train, task.dev)
    ]
    for row, sentence in zip(rows[0], task.train, strict=True):
        trainer.append(row, sentence.column(task.column))
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        found = [tagger.tag(row) for row in rows[1]]
    gold = [sentence.column(task.column) for sentence in task.dev]
    pairs = [pair for both in zip(gold, found, strict=True) for pair in zip(*both, strict=True)]
    return f"{100 * sum(right == tag for right, tag in pairs) / len(pairs):.2f}"


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", default=[*TREEBANKS, "CoNLL-2000"])
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the corpora are, or set PARTITA_DATA.")
    tables = [variants(task_of(options.data, name)) for name in options.only]
    for table in tables:
        print(table)
    print(write_json("tagger_defaults", tables))


if __name__ == "__main__":
    main()
