"""Taggers from a few labels: alone, with entropy regularisation, with expectation constraints.

    python -m benchmarks.semisupervised [DATA] [--unlabelled N] [--quick]

Cora: the two subsets of 25 labelled references with 1,000 unlabelled ones. The 250 labelled
references that are in neither subset chose the settings; the figures are of the development part.
EWT: 50 sentences drawn by a seed, the others without their tags (the first N of them with
--unlabelled N), measured on the development part; the draws of seeds 0 and 1 chose the settings,
and the figures are of the seeds after them.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tagger_data import Sentences, data_folder, number_after
from benchmarks.timing import Table, write_json
from partita import Tagger
from partita.data.constraints import read_constraints
from partita.data.formats import read_sentences

ENTROPY = {"entropy_weight": 0.03}


class Draw(NamedTuple):
    """A few sentences with tags and many without."""

    labelled: Sentences
    unlabelled: Sentences


def cora_draws(data: Path, n_unlabelled: int | None) -> tuple[list[Draw], Sentences]:
    folder = data / "cora_citations"
    unlabelled = list(read_sentences(folder / "citation_unlabeled.txt"))[:n_unlabelled]
    draws = [
        Draw(list(read_sentences(folder / f"citation_train.25.{subset}.txt")), unlabelled)
        for subset in (0, 1)
    ]
    return draws, list(read_sentences(folder / "citation_dev.txt"))


def ewt_draws(
    data: Path, n_unlabelled: int | None, seeds: Sequence[int]
) -> tuple[list[Draw], Sentences]:
    folder = data / "ud_en_ewt"
    train = list(read_sentences(folder / "en_ewt-ud-train.conllu"))
    draws = []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(len(train))
        shuffled = [train[index] for index in order]
        last = None if n_unlabelled is None else 50 + n_unlabelled
        draws.append(Draw(shuffled[:50], shuffled[50:last]))
    return draws, list(read_sentences(folder / "en_ewt-ud-dev.conllu"))


def compared(
    title: str, draws: list[Draw], dev: Sentences, column: str, constraints: Path, **options: Any
) -> Table:
    """The accuracy on the development part of each way of learning, for each draw."""
    n_words = sum(map(len, draws[0].unlabelled))
    table = Table(f"{title}, {len(draws[0].unlabelled):,} sentences ({n_words:,} words) unlabelled")
    ways: dict[str, dict[str, Any]] = {
        "labels alone": {},
        "with tag shares": {"share_weight": 1.0},
        "with entropy and tag shares": ENTROPY,
        "with entropy alone": {**ENTROPY, "share_weight": 0.0},
        "with expectation constraints": {"constraints": read_constraints(constraints)},
    }
    alone = None
    for name, way in ways.items():
        start = time.perf_counter()
        found = []
        for draw in draws:
            tagger = Tagger(tag_column=column, workers=1, progress=False, **way, **options)
            tags = [sentence.column(column) for sentence in draw.labelled]
            # Not the column: that of the unlabelled sentences is not to be seen.
            tagger.fit(draw.labelled, tags, unlabelled=draw.unlabelled if way else ())
            found.append(100 * tagger.score(dev))
        alone = np.mean(found) if alone is None else alone
        table.add(
            learning=name,
            accuracy=f"{np.mean(found):.2f}",
            gain=f"{np.mean(found) - alone:+.2f}",
            draws=" ".join(f"{each:.2f}" for each in found),
            minutes=(time.perf_counter() - start) / 60,
        )
        print(table.rows[-1], file=sys.stderr, flush=True)
    return table


def tables(data: Path, *, quick: bool = False, n_unlabelled: int | None = None) -> list[Table]:
    """The comparison on both corpora."""
    most = 100 if quick else n_unlabelled
    rules = data / "ge_constraints"
    options = {"max_iterations": 5 if quick else 100}
    return [
        compared(
            "Cora citations, 25 labelled references, the two subsets",
            *cora_draws(data, most),
            "1",
            rules / "cora_gold_word_expectations.mallet.txt",
            **options,
        ),
        compared(
            "EWT parts of speech, 50 labelled sentences, three draws",
            *ewt_draws(data, most, range(2, 5)),
            "UPOS",
            rules / "ewt_upos_gold_word_expectations.mallet.txt",
            **options,
        ),
    ]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    found = tables(data_folder(), quick=quick, n_unlabelled=number_after("--unlabelled"))
    for table in found:
        print(table)
    if not quick:
        print(f"\nWritten to {write_json('semisupervised', found)}")


if __name__ == "__main__":
    main()
