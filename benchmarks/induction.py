"""Hidden Markov models: tags from words alone, speed beside hmmlearn, and what asking saves.

    PARTITA_DATA=... python -m benchmarks.induction [--quick] [--speed] [--ways NAME ...]

English EWT: learnt from the words of the training part (12,544 sentences), judged there (as is
usual for induction) and on the development part. `--speed` times expectation-maximisation only,
`--ways` learns in some ways only; each replaces its rows among the results.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import (
    RESULTS,
    Table,
    aim,
    best_time,
    earlier_aims,
    earlier_tables,
    measured_commit,
    optional,
    write_json,
)
from partita.data.conllu import read_conllu
from partita.estimators.tagging.emission_features import USUAL_VIEWS
from partita.estimators.tagging.hidden_markov_tagger import HiddenMarkovTagger
from partita.estimators.tagging.simulation import TaggedCorpus, simulate
from partita.estimators.tagging.word_classes import WordClasses
from partita.evaluation import many_to_one

N_TAGS = 17
CLASSES = "features and classes"
"""The way that also sees 100 classes of words, which start by chance, too."""
SHARED = "features, words by frequency"
OLDER = " (not measured again, commit: "
"""Behind the title of a table that `--ways` left as it was."""
WAYS: dict[str, dict[str, Any]] = {
    "alpha 0": {"alpha": 0.0},
    "alpha 0.1": {"alpha": 0.1},
    "features": {"features": "usual", "l2": 10.0, "min_count": 1},
    SHARED: {
        "features": [*USUAL_VIEWS, "punctuation"],
        "base": "frequency",
        "fold_case": True,
        "own_count": 20,
        "l2": 3.0,
        "min_count": 1,
    },
    "classes": {"start": "classes", "alpha": 0.1},
    CLASSES: {"start": "classes", "features": "usual", "l2": 10.0, "min_count": 1},
}
"""Plain models, some with features (Berg-Kirkpatrick et al. 2010), some from classes of words."""


def read(part: str, most: int | None) -> TaggedCorpus:
    """Words and universal tags of a part of EWT."""
    folder = Path(os.environ["PARTITA_DATA"]) / "ud_en_ewt"
    sentences = read_conllu(folder / f"en_ewt-ud-{part}.conllu")[:most]
    return TaggedCorpus(
        [list(sentence.column("FORM")) for sentence in sentences],
        [list(sentence.column("UPOS")) for sentence in sentences],
    )


def induction(
    train: TaggedCorpus,
    dev: TaggedCorpus,
    n_starts: int,
    max_iterations: int,
    ways: Sequence[str] = tuple(WAYS),
) -> Table:
    """Many-to-one accuracy of each random start, and its spread."""
    table = Table(
        f"Induced tags: {N_TAGS}, {train.n_words:,} words, {max_iterations} iterations; "
        "many-to-one accuracy in percent over random starts"
    )
    for name in ways:
        options, rows = WAYS[name], []
        for seed in range(n_starts):
            classes = None
            if name == CLASSES:
                classes = WordClasses(n_classes=100, start="random", seed=seed)
                classes.fit(train.sentences)
            tagger = HiddenMarkovTagger(
                n_tags=N_TAGS,
                max_iterations=max_iterations,
                loss_tolerance=0.0,
                seed=seed,
                classes=classes,
                **options,
            )
            began = time.perf_counter()
            tagger.fit(train.sentences)
            seconds = (time.perf_counter() - began) / max_iterations
            shares = [
                100 * many_to_one(part.tags, tagger.predict(part.sentences))[0]
                for part in (train, dev)
            ]
            rows.append([*shares, tagger.histories_[0][-1], seconds])
            print(name, seed, np.round(rows[-1], 2), file=sys.stderr)
        found = np.array(rows)
        likeliest = int(np.argmax(found[:, 2]))
        table.add(
            model=name,
            starts=n_starts,
            train_mean=found[:, 0].mean(),
            train_sd=found[:, 0].std(ddof=1),
            train_min=found[:, 0].min(),
            train_max=found[:, 0].max(),
            train_of_likeliest=found[likeliest, 0],
            dev_mean=found[:, 1].mean(),
            dev_sd=found[:, 1].std(ddof=1),
            seconds_per_iteration=found[:, 3].min(),
            commit=measured_commit(),
        )
    return table


def speed(train: TaggedCorpus) -> tuple[Table, list[dict[str, Any]]]:
    """Seconds an iteration of expectation-maximisation, from the same start, beside hmmlearn."""
    table = Table(f"Expectation-maximisation, {train.n_words:,} words, {N_TAGS} tags")
    options = {"n_tags": N_TAGS, "alpha": 0.0, "loss_tolerance": 0.0}
    best = {(workers, count): float("inf") for workers in (1, 2) for count in (1, 21)}
    # In turn: what else the machine does then falls on one and two threads alike.
    for _ in range(5):
        for workers, count in best:
            tagger = HiddenMarkovTagger(max_iterations=count, workers=workers, **options)
            seconds = best_time(lambda: tagger.fit(train.sentences), 1)
            best[workers, count] = min(best[workers, count], seconds)
    one, two = ((best[workers, 21] - best[workers, 1]) / 20 for workers in (1, 2))
    table.add(library="partita, one thread", seconds_per_iteration=one)
    table.add(library="partita, two threads", seconds_per_iteration=two, times_one_thread=one / two)
    what = "Hidden Markov model, expectation-maximisation: two threads, times as fast as one"
    hmm = optional("hmmlearn.hmm")
    if hmm is not None:
        order = tagger.symbols_
        flat = [word for sentence in train.sentences for word in sentence]
        numbers = order.numbers(flat)[:, None]
        lengths = [len(sentence) for sentence in train.sentences]
        theirs = {"n_iter": 3, "tol": -np.inf, "n_features": len(order), "random_state": 0}
        seconds_of_three = best_time(
            lambda: hmm.CategoricalHMM(N_TAGS, implementation="scaling", **theirs).fit(
                numbers, lengths
            ),
            2,
            seconds=20.0,
        )
        table.add(library="hmmlearn, scaling", seconds_per_iteration=seconds_of_three / 3)
    return table, [aim(what, one / two, least=1.2)]


def supervised(train: TaggedCorpus, dev: TaggedCorpus) -> Table:
    """Counts of a labelled corpus: accuracy and speed."""
    table = Table("Trained on labels (counts, alpha 0.01)")
    training = best_time(lambda: HiddenMarkovTagger().fit(train.sentences, train.tags), 3)
    tagger = HiddenMarkovTagger().fit(train.sentences, train.tags)
    tagging = best_time(lambda: tagger.predict(dev.sentences), 3)
    table.add(
        words=train.n_words,
        dev_accuracy=100 * tagger.score(dev.sentences, dev.tags),
        seconds_to_train=training,
        words_tagged_per_second=dev.n_words / tagging,
    )
    return table


def asking(train: TaggedCorpus, dev: TaggedCorpus, n_sentences: int) -> Table:
    """Words to label until 99 % of the full accuracy, by strategy, over three draws of the seed."""
    pool = TaggedCorpus(train.sentences[:n_sentences], train.tags[:n_sentences])
    table = Table(
        f"Active learning with the supervised model: {pool.n_words:,} words in the pool, words "
        "labelled for 99 and 97 % of the accuracy with all labels, mean of three seeds"
    )
    plain = ("random", "entropy", "token_entropy", "least_confidence", "n_best", "density")
    for per_word, strategies in ((False, plain), (True, ("entropy", "density"))):
        runs = [
            simulate(
                HiddenMarkovTagger(),
                pool,
                dev,
                strategies=strategies,
                seed_words=1000,
                batch_words=2000,
                per_word=per_word,
                seed=seed,
            )
            for seed in range(3)
        ]
        for strategy in strategies:
            needed = [[run.words_needed(share)[strategy] for run in runs] for share in (0.99, 0.97)]
            table.add(
                strategy=strategy + " per word" * per_word,
                words_for_99=int(np.mean(needed[0])),
                words_for_97=int(np.mean(needed[1])),
                share_of_pool_99=float(np.mean(needed[0])) / pool.n_words,
            )
    return table


def replaced(found: Table) -> tuple[list[Table], list[dict[str, Any]]]:
    """The tables and aims of the results, with some rows of a table made again."""
    stored = json.loads((RESULTS / "induction.json").read_text())
    tables, aims = [Table(**each) for each in stored["tables"]], aims_of(found)
    aims += earlier_aims("induction", aims)
    order, older = list(WAYS), f"{OLDER}{stored.get('commit', 'older than commits are kept')})"
    for table in tables:
        if table.title == found.title:
            names = [row["model"] for row in found.rows]
            rows = found.rows + [row for row in table.rows if row["model"] not in names]
            found.rows = sorted(rows, key=lambda row: order.index(row["model"]))
        elif OLDER not in table.title:
            table.title += older
    return [*(table for table in tables if table.title != found.title), found], aims


def aims_of(induced: Table) -> list[dict[str, Any]]:
    """What features of words must bring without classes of words."""
    what = "Hidden Markov model with features, no classes: many-to-one accuracy, five starts"
    means = [row["train_mean"] for row in induced.rows if row["model"] == SHARED]
    return [aim(what, mean, least=62.0) for mean in means]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--quick", action="store_true")
    arguments.add_argument("--speed", action="store_true")
    arguments.add_argument("--ways", nargs="+", choices=WAYS)
    asked = arguments.parse_args()
    if "PARTITA_DATA" not in os.environ:
        sys.exit("PARTITA_DATA is not set; it must name the folder that holds ud_en_ewt.")
    quick = asked.quick
    size = (2, 5) if quick else (5, 150)
    train, dev = read("train", 500 if quick else None), read("dev", 200 if quick else None)
    if asked.ways:
        induced = induction(train, dev, *size, asked.ways)
        print(induced)
        if not quick:
            tables, aims = replaced(induced)
            print(write_json("induction", tables, aims=aims))
        return
    fastest, aims = speed(train)
    print(fastest, flush=True)
    if asked.speed:
        if not quick:
            tables = [fastest, *earlier_tables("induction", [fastest])]
            print(write_json("induction", tables, aims=aims + earlier_aims("induction", aims)))
        return
    tables = [fastest, supervised(train, dev)]
    print(tables[-1], flush=True)
    tables.append(induction(train, dev, *size))
    aims += aims_of(tables[-1])
    print(tables[-1], flush=True)
    tables.append(asking(train, dev, 200 if quick else 3000))
    print(tables[-1], flush=True)
    if not quick:
        print(f"\nWritten to {write_json('induction', tables, aims=aims)}")


if __name__ == "__main__":
    main()
