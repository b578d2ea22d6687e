"""What the defaults of taggers are worth on little data, beside CRFsuite, and each option alone.

    python -m benchmarks.tagger_defaults [DATA] [--only draws options]

DATA is the folder of the corpora (or PARTITA_DATA); all figures are of development parts: accuracy
of tags out of words alone, F1 of chunks. "draws": the default beside CRFsuite, learnt from three
draws of some hundred sentences; CRFsuite gets the features of sklearn-crfsuite's tutorial, or more
of the same kind (affixes of up to four letters, two words on each side, pairs of words), with
penalties that suit it better than its default, 100 iterations. "options": one change at a time, by
20 passes of AdaGrad; classes of words are learnt from the words of the whole training part, and
second-order transitions are `benchmarks.tag_triples`. About 20 minutes; memory is
`benchmarks.memory`.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crfsuite_features import as_dictionary, obvious, words_of
from benchmarks.tag_triples import tagged
from benchmarks.tagger_data import Task, read_chunking
from benchmarks.timing import Table, aim, optional, spread, write_json

# isort: split
from partita import Tagger
from partita.data.formats import read_sentences
from partita.estimators.tagging.word_classes import WordClasses
from partita.training import AdaGrad

TREEBANKS = {
    "Ancient Greek": "ud_grc_ptnk/grc_ptnk",
    "Basque": "ud_eu_bdt/eu_bdt",
    "EWT": "ud_en_ewt/en_ewt",
}
PENN = "Penn tags of CoNLL-2000"
DRAWS: tuple[tuple[str, tuple[int, ...]], ...] = (
    ("Ancient Greek", (250, 500)),
    ("Basque", (500, 1000, 2000)),
    ("EWT", (500, 1000, 2000)),
    (PENN, (500,)),
)
N_DRAWS = 3
MEASURED = (("Ancient Greek", None), ("Basque", 2000), ("EWT", 1000), ("EWT", None),
            ("CoNLL-2000", None))  # fmt: skip
"""Corpora, and how many of their first sentences the options are measured on."""
OPTIONS: dict[str, dict[str, Any]] = {
    "default features": {},
    "lexicon of tags seen": {"lexicon": True},
    "classes of words": {"classes": 200},
    "rare words: nothing left out": {"min_count": 1},
    "rare words: only what comes twice": {"min_count": 2},
    "averaged weights": {"optimiser": AdaGrad(average_from=5)},
    "weights of observed pairs alone": {"pairs": "observed"},
    "l2=0.03": {"l2": 0.03},
    "l2=1": {"l2": 1.0},
}
"""What is changed of the defaults."""
SECOND_ORDER = "second-order transitions"
AHEAD = "ahead of the best of these"


@cache
def task_of(data: Path, name: str) -> Task:
    """All sentences of a corpus, and its development part."""
    if name in ("CoNLL-2000", PENN):
        task = read_chunking(data, quick=False)
        return task if name == "CoNLL-2000" else Task(name, task.train, task.dev, "1")
    parts = [
        list(read_sentences(data / f"{TREEBANKS[name]}-ud-{part}.conllu"))
        for part in ("train", "dev")
    ]
    return Task(name, *parts, "UPOS")


def fitted(task: Task, **options: Any) -> Tagger:
    columns = ["0"] if task.name == PENN else None
    tagger = Tagger(tag_column=task.column, columns=columns, progress=False, workers=1)
    return tagger.set_params(**options).fit(task.train)


# ---------------------------------------------------------------------- draws


def draws(data: Path) -> Table:
    """The default beside CRFsuite."""
    table = Table(f"Default beside CRFsuite: per cent right, mean and spread of {N_DRAWS} draws")
    for name, sizes in DRAWS:
        whole = task_of(data, name)
        for size in sizes:
            found: dict[str, list[float]] = {}
            for seed in range(N_DRAWS):
                for each, per_cent in compared(whole, size, seed):
                    found.setdefault(each, []).append(per_cent)
            row = {each: spread(values) for each, values in found.items()}
            table.add(corpus=name, sentences=size, **row)
            theirs_best = max(list(found)[2:], key=lambda each: np.mean(found[each]), default=None)
            if theirs_best is not None:
                ahead = np.subtract(found["default"], found[theirs_best])
                table.rows[-1][AHEAD] = spread(ahead, "+")
            print(table.rows[-1], file=sys.stderr)
    return table


def compared(whole: Task, size: int, seed: int) -> Sequence[tuple[str, float]]:
    """The default, L-BFGS and CRFsuite on a draw."""
    order = np.random.default_rng(seed).permutation(len(whole.train))[:size]
    chosen = [whole.train[index] for index in order]
    task = Task(whole.name, chosen, whole.dev, whole.column)
    found = [
        ("default", task.judged(fitted(task))),
        ("L-BFGS", task.judged(fitted(task, optimiser="lbfgs"))),
    ]
    if optional("pycrfsuite") is not None:
        for name, (features, penalty) in THEIRS.items():
            found.append((f"CRFsuite, {name}", theirs(task, features, penalty)))
    return found


Describe = Callable[[Sequence[str], int], dict[str, Any]]
THEIRS: dict[str, tuple[Describe, dict[str, float]]] = {
    "tutorial's features, c2=0.1": (as_dictionary, {"c2": 0.1}),
    "more features, c2=0.1": (obvious, {"c2": 0.1}),
    "more features, c1=c2=0.1": (obvious, {"c1": 0.1, "c2": 0.1}),
}


def trained(task: Task, features: Describe, penalty: dict[str, float], path: str) -> None:
    """A model of CRFsuite in a file; the features of a sentence are forgotten when it has them."""
    trainer = optional("pycrfsuite").Trainer(verbose=False)
    trainer.set_params({**penalty, "max_iterations": 100, "feature.possible_transitions": True})
    for sentence in task.train:
        words = words_of(sentence)
        rows = [features(words, place) for place in range(len(words))]
        trainer.append(rows, sentence.column(task.column))
    trainer.train(path)


def theirs(task: Task, features: Describe, penalty: dict[str, float]) -> float:
    """The accuracy of CRFsuite."""
    right, tagger = [], optional("pycrfsuite").Tagger()
    with tempfile.NamedTemporaryFile() as file:
        trained(task, features, penalty, file.name)
        tagger.open(file.name)
        for sentence in task.dev:
            words = words_of(sentence)
            found = tagger.tag([features(words, place) for place in range(len(words))])
            right += [a == b for a, b in zip(sentence.column(task.column), found, strict=True)]
    return 100 * float(np.mean(right))


# ---------------------------------------------------------------------- options


def one_at_a_time(data: Path) -> Table:
    """Every option by itself, by AdaGrad."""
    table = Table("One change at a time: per cent right (chunk F1 of CoNLL-2000), 20 passes")
    for row in (*OPTIONS, SECOND_ORDER):
        table.add(changed=row)
        for name, most in MEASURED:
            n_sentences = len(task_of(data, name).train[:most])
            table.rows[-1][f"{name}, {n_sentences:,}"] = f"{changed(data, name, most, row):.2f}"
        print(table.rows[-1], file=sys.stderr)
    return table


def changed(data: Path, name: str, most: int | None, row: str) -> float:
    """What one change gives on one corpus."""
    whole = task_of(data, name)
    task = Task(name, whole.train[:most], whole.dev, whole.column)
    if row == SECOND_ORDER:
        return task.of_tags(tagged(task.train, task.column, task.dev))
    options = {"optimiser": "adagrad", **OPTIONS[row]}
    if "classes" in options:
        options["classes"] = classes_of(data, name, options["classes"])
    return task.judged(fitted(task, **options))


@cache
def classes_of(data: Path, name: str, n_classes: int) -> WordClasses:
    return WordClasses(n_classes=n_classes).fit(task_of(data, name).train)


# ---------------------------------------------------------------------- the command

PARTS: dict[str, Callable[[Path], Table]] = {
    "draws": draws,
    "options": one_at_a_time,
}


def aims_of(tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Ahead of CRFsuite everywhere."""
    rows = [row for table in tables for row in table.rows if AHEAD in row]
    if not rows:
        return []
    least = min(float(row[AHEAD].split()[0]) for row in rows)
    return [aim("default tagger, points ahead of CRFsuite, least of all draws", least, least=0.0)]


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", choices=PARTS, default=list(PARTS))
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the corpora are, or set PARTITA_DATA.")
    tables = [PARTS[part](options.data) for part in options.only]
    for table in tables:
        print(table)
    print(write_json("tagger_defaults", tables, aims=aims_of(tables)))


if __name__ == "__main__":
    main()
