"""Taggers beside python-crfsuite: accuracy and time; and what few or no labels can do.

    python -m benchmarks.tagger [DATA] [--quick] [--speed]

DATA is a folder with conll2000/train.txt, ud_en_ewt/*.conllu, cora_citations and ge_constraints (or
the variable PARTITA_DATA). CoNLL-2000 has no development part: the last tenth of its training part
is one here, and training sees the first nine tenths. Both libraries get the same attributes
(python-crfsuite as lists of names, all pairs with tags as here) and the same penalty, so that they
seek the same optimum (how soon they come near it, and in how much memory, is
`benchmarks.crfsuite`). After the times come `benchmarks.semisupervised` and `benchmarks.active`,
which take longest and have commands of their own; --speed leaves them out.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import active, semisupervised
from benchmarks.crfsuite_features import TEMPLATE, as_dictionary
from benchmarks.tagger_data import (
    Sentences,
    Task,
    data_folder,
    number_after,
    read_chunking,
    read_parts_of_speech,
)
from benchmarks.timing import Table, best_time, optional, show_help, write_json
from partita import Tagger
from partita.text.extraction import TemplateFeatures
from partita.text.words import read_words


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
    for pairs, n_threads in (("all", 1), ("all", 2), ("observed", 1), ("observed", 2)):
        tagger = Tagger(tag_column=task.column, progress=False, workers=n_threads, **options)
        # CRFsuite allows any tag after any other.
        tagger.set_params(max_iterations=n_iterations, pairs=pairs, scheme=None).fit(task.train)
        assert tagger.training_ is not None
        table.add(
            library=f"partita, {pairs} weights",
            threads=n_threads,
            weights=int(np.count_nonzero(tagger.weights_)),
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
    train, dev = (attribute_names(tagger, part) for part in (task.train, task.dev))
    trainer = crfsuite_trainer(pycrfsuite, train, task, tagger.l2, n_iterations, dense=dense)
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


def crfsuite_trainer(
    pycrfsuite: Any,
    rows: Iterable[Any],
    task: Task,
    l2: float,
    n_iterations: int,
    *,
    dense: bool,
) -> Any:
    """A trainer of CRFsuite with its data, ready to train."""
    trainer = pycrfsuite.Trainer(verbose=False)
    for row, sentence in zip(rows, task.train, strict=True):
        trainer.append(row, sentence.column(task.column))
    trainer.set_params(
        {
            "c2": l2 / 2,  # CRFsuite's penalty is c2 times the squares
            "max_iterations": n_iterations,
            "feature.possible_states": dense,
            "feature.possible_transitions": dense,
        }
    )
    return trainer


def attribute_names(tagger: Tagger, sentences: Sentences) -> list[list[list[str]]]:
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


def dictionaries(task: Task, n_iterations: int) -> Table:
    """Words tagged a second, given the dictionaries of features of sklearn-crfsuite's tutorial."""
    table = Table(f"{task.name}: words tagged a second, given dictionaries of features")
    train, dev = (
        [[as_dictionary(words, place) for place in range(len(words))] for words in forms]
        for forms in (
            [sentence.column("FORM") for sentence in part] for part in (task.train, task.dev)
        )
    )
    tags = [sentence.column(task.column) for sentence in task.train]
    n_words = sum(map(len, dev))
    tagger = Tagger(progress=False, max_iterations=n_iterations).fit(train, tags)
    table.add(library="partita", words_per_second=n_words / best_time(lambda: tagger.predict(dev)))
    pycrfsuite = optional("pycrfsuite")
    if pycrfsuite is not None:
        trainer = crfsuite_trainer(pycrfsuite, train, task, tagger.l2, n_iterations, dense=True)
        with tempfile.NamedTemporaryFile() as file:
            trainer.train(file.name)
            other = pycrfsuite.Tagger()
            other.open(file.name)
            seconds = best_time(lambda: [other.tag(rows) for rows in dev])
        table.add(library="python-crfsuite", words_per_second=n_words / seconds)
    print(table, file=sys.stderr)
    return table


def speed_tables(data: Path, quick: bool) -> list[Table]:
    """Everything that is measured in seconds."""
    most = {"max_iterations": 10 if quick else 150}
    n_iterations = 10 if quick else 30
    chunking, tagging = (
        lambda: read_chunking(data, quick),
        lambda: read_parts_of_speech(data, quick),
    )
    Tagger(tag_column="UPOS", max_iterations=1).fit(tagging().train[:5])  # compiles
    return [
        accuracies(
            [
                ("CRF++ template", chunking, {"features": TEMPLATE, **most}),
                ("default", chunking, most),
                ("default", tagging, most),
            ]
        ),
        beside_crfsuite(tagging(), n_iterations),
        beside_crfsuite(chunking(), n_iterations, features=TEMPLATE),
        dictionaries(tagging(), n_iterations),
    ]


def main() -> None:
    data, quick = data_folder(), "--quick" in sys.argv[1:]
    parts: dict[str, Callable[[], list[Table]]] = {"tagger": lambda: speed_tables(data, quick)}
    if "--speed" not in sys.argv:
        few = number_after("--unlabelled")
        parts["semisupervised"] = lambda: semisupervised.tables(data, quick=quick, n_unlabelled=few)
        parts["active"] = lambda: active.tables(data, quick=quick)
    for name, make in parts.items():
        tables = make()
        for table in tables:
            print(table)
        if not quick:
            print(f"\nWritten to {write_json(name, tables)}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
