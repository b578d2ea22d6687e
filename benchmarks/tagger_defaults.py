"""What the defaults of taggers are worth on little data: one option at a time, beside CRFsuite.

    python -m benchmarks.tagger_defaults [DATA] [--only Greek Basque EWT CoNLL-2000]

DATA is the folder of the corpora (or PARTITA_DATA). Learnt from the first 1,000 sentences at most
(--most), judged on development parts: accuracy of universal tags out of words alone, F1 of chunks.
Classes of words are learnt from the words of the whole training part. CRFsuite gets the features of
sklearn-crfsuite's tutorial, or more of the same kind (affixes of up to four letters, two words on
each side, pairs of words), with its default penalty and with a mixed one, 100 iterations.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tagger import as_dictionary
from benchmarks.tagger_data import Task, read_chunking
from benchmarks.timing import Table, optional, write_json

# isort: split
from partita import Tagger
from partita.data.formats import read_sentences
from partita.estimators.tagging.word_classes import WordClasses
from partita.training import AdaGrad

TREEBANKS = {
    "Greek": "ud_grc_ptnk/grc_ptnk",
    "Basque": "ud_eu_bdt/eu_bdt",
    "EWT": "ud_en_ewt/en_ewt",
}
VARIANTS: tuple[dict[str, Any], ...] = (
    {},
    {"lexicon": True},
    {"min_count": 1},
    {"min_count": 2},
    {"l2": 1.0},
    {"l2": 0.03},
    {"pairs": "observed"},
    {"boundaries": True},
    {"optimiser": AdaGrad()},
    {"optimiser": AdaGrad(average_from=5)},
)
"""The defaults, and what is changed of them."""
CLASSES = 100
PENALTIES: tuple[dict[str, float], ...] = ({"c2": 1.0}, {"c1": 0.1, "c2": 0.1})
"""Of CRFsuite."""


def task_of(data: Path, name: str) -> Task:
    """All sentences of a corpus, and its development part."""
    if name == "CoNLL-2000":
        return read_chunking(data, quick=False)
    parts = [
        list(read_sentences(data / f"{TREEBANKS[name]}-ud-{part}.conllu"))
        for part in ("train", "dev")
    ]
    return Task(name, *parts, "UPOS")


def variants(whole: Task, most: int) -> Table:
    """Every variant on the first sentences of a corpus, and CRFsuite."""
    task = Task(whole.name, whole.train[:most], whole.dev, whole.column)
    classes = WordClasses(n_classes=CLASSES).fit(whole.train)
    table = Table(f"{task.name}: {len(task.train):,} sentences, {task.n_words:,} words")
    for options in (*VARIANTS, {"classes": classes}):
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
    if task.column == "UPOS" and optional("pycrfsuite") is not None:
        for name, features in (("a tutorial", as_dictionary), ("a careful user", obvious)):
            for penalty in PENALTIES:
                row = f"python-crfsuite, features of {name}, {penalty}"
                table.add(tagger=row, per_cent=theirs(task, features, penalty))
    return table


def obvious(words: Sequence[str], place: int) -> dict[str, Any]:
    """Features that a careful user of CRFsuite writes."""
    word, lower = words[place], words[place].lower()
    found = {**as_dictionary(words, place), "word": word, "hyphen": "-" in word}
    for size in (1, 2, 3, 4):
        found |= {f"end{size}": lower[-size:], f"start{size}": lower[:size]}
    for offset in (-2, -1, 1, 2):
        inside = 0 <= place + offset < len(words)
        other = words[place + offset].lower() if inside else "-"
        found[f"{offset:+}"] = other
        if abs(offset) == 1:
            found |= {f"{offset:+}:end3": other[-3:], f"{offset:+}:both": f"{other} {lower}"}
    return found


def theirs(
    task: Task,
    features: Callable[[Sequence[str], int], dict[str, Any]],
    penalty: dict[str, float],
) -> str:
    """The accuracy of CRFsuite."""
    pycrfsuite = optional("pycrfsuite")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.set_params({**penalty, "max_iterations": 100, "feature.possible_transitions": True})
    rows = [
        [
            [features(words, place) for place in range(len(words))]
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
    arguments.add_argument("--most", type=int, default=1000, help="sentences to learn from")
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the corpora are, or set PARTITA_DATA.")
    tables = [variants(task_of(options.data, name), options.most) for name in options.only]
    for table in tables:
        print(table)
    print(write_json("tagger_defaults", tables))


if __name__ == "__main__":
    main()
