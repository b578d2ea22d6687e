"""Active learning with conditional random fields: words to label, by strategy.

    python -m benchmarks.active [DATA] [--quick]

`partita simulate` on parts of real corpora: EWT parts of speech (a pool of the first 1,000
sentences of the training part, the first 500 of the development part to measure on; attributes of
the word, its affixes and shape, and its neighbours) and Cora citations (300 references, default
features). Every strategy begins with the same random sentences; each model starts from the last.
"""

import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.tagger_data import data_folder
from benchmarks.timing import Table, show_help, write_json
from partita import Tagger
from partita.data.formats import read_sentences
from partita.estimators.tagging.simulation import Simulation, TaggedCorpus, simulate

TEMPLATES = """
FORM[0].lower
FORM[-1].lower
FORM[1].lower
FORM[0].lower.prefix3
FORM[0].lower.suffix2
FORM[0].lower.suffix3
FORM[0].shape
FORM[0].capital
FORM[0].digit
"""
STRATEGIES = (
    ("random", False),
    ("entropy", False),
    ("entropy", True),
    ("token_entropy", True),
    ("span", True),
)
"""Each with whether it is divided by the number of words."""


def corpus(path: Path, column: str, n_sentences: int | None = None) -> TaggedCorpus:
    sentences = list(read_sentences(path))[:n_sentences]
    return TaggedCorpus(sentences, [sentence.column(column) for sentence in sentences])


def replayed(
    title: str,
    tagger: Tagger,
    pool: TaggedCorpus,
    test: TaggedCorpus,
    n_seeds: int,
    batch_words: int,
) -> Table:
    """Words that each strategy needs, averaged over random first sentences."""
    table = Table(
        f"{title}: {pool.n_words:,} words in the pool, words labelled for 99 and 97 % of the "
        f"accuracy with all of them, mean of {n_seeds} seeds"
    )
    for strategy, per_word in STRATEGIES:
        start = time.perf_counter()
        runs = [
            simulate(
                tagger,
                pool,
                test,
                strategies=[strategy],
                seed_words=batch_words,
                batch_words=batch_words,
                per_word=per_word,
                n_words=5,
                seed=seed,
            )
            for seed in range(n_seeds)
        ]
        name = strategy + (" per word" if per_word and strategy != "span" else "")
        table.add(
            strategy=name.replace("_", " "),
            **{f"words_for_{share}": _needed(runs, strategy, share / 100) for share in (99, 97)},
            share_of_pool_99=f"{_share(runs, strategy, pool):.2f}",
            full_accuracy=f"{100 * np.mean([run.full.accuracy for run in runs]):.2f}",
            minutes=(time.perf_counter() - start) / 60,
        )
        print(table.rows[-1], file=sys.stderr, flush=True)
    return table


def _needed(runs: list[Simulation], strategy: str, share: float) -> int:
    """The mean number of words; all of the pool where it takes all of it."""
    return round(np.mean([run.words_needed(share)[strategy] or run.full.n_words for run in runs]))


def _share(runs: list[Simulation], strategy: str, pool: TaggedCorpus) -> float:
    return _needed(runs, strategy, 0.99) / pool.n_words


def tables(data: Path, *, quick: bool = False) -> list[Table]:
    """The replays on both corpora."""
    options = {"workers": 1, "progress": False, "max_iterations": 10 if quick else 60}
    ewt, cora = data / "ud_en_ewt", data / "cora_citations"
    n_seeds, most = (1, 60) if quick else (2, None)
    return [
        replayed(
            "EWT parts of speech",
            Tagger(features=TEMPLATES, tag_column="UPOS", **options),
            corpus(ewt / "en_ewt-ud-train.conllu", "UPOS", most or 1000),
            corpus(ewt / "en_ewt-ud-dev.conllu", "UPOS", most or 500),
            n_seeds,
            1000,
        ),
        replayed(
            "Cora citations",
            Tagger(tag_column="1", **options),
            corpus(cora / "citation_train.300.0.txt", "1", most),
            corpus(cora / "citation_dev.txt", "1"),
            n_seeds,
            500,
        ),
    ]


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    found = tables(data_folder(), quick=quick)
    for table in found:
        print(table)
    if not quick:
        print(f"\nWritten to {write_json('active', found)}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
