"""Taggers from a few labels: five draws of each way of using text whose labels are not known.

    python -m benchmarks.semisupervised [DATA] [--unlabelled N] [--quick]

Cora: 25 labelled references (the two subsets that come with the corpus, and three more of 25 from
the 250 references that are in neither), 1,000 unlabelled ones. EWT: 50 sentences drawn by a seed,
others without their tags. `--unlabelled N` takes the first N of these. Measured on the development
parts. Settings were chosen before, on Cora by the 250 references, on EWT by draws of other seeds.

What has labels costs the same in every row: as many tags as the 25 references or 50 sentences have.
"""

import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tagger_data import Sentences, data_folder, number_after
from benchmarks.timing import Table, show_help, spread, write_json
from partita import Tagger
from partita.data.constraints import read_constraints
from partita.data.formats import read_sentences
from partita.data.schemes import UNKNOWN
from partita.estimators.tagging.selection import rank, take

ENTROPY = {"entropy_weight": 0.03}
N_DRAWS = 5
N_REFERENCES, N_SENTENCES = 25, 50
MAX_ITERATIONS = 60
SPAN = 5
"""Words of a span that the model asks for."""
N_ROUNDS = 5
"""Of asking, the first of which is a random one."""


class Draw(NamedTuple):
    """A few sentences with tags, many without, and all those whose tags one could ask for."""

    labelled: Sentences
    unlabelled: Sentences
    pool: Sentences

    @property
    def n_labels(self) -> int:
        """What the labels cost."""
        return sum(map(len, self.labelled))


class Setting(NamedTuple):
    """A corpus, and how its taggers are trained."""

    title: str
    draws: list[Draw]
    dev: Sentences
    column: str
    expectations: Path
    options: dict[str, Any]

    def tags(self, sentences: Sentences) -> list[Any]:
        return [sentence.column(self.column) for sentence in sentences]

    def tagger(self, **way: Any) -> Tagger:
        return Tagger(tag_column=self.column, workers=1, progress=False, **way, **self.options)


def cora(data: Path, n_unlabelled: int | None, options: dict[str, Any]) -> Setting:
    folder = data / "cora_citations"
    unlabelled = list(read_sentences(folder / "citation_unlabeled.txt"))[:n_unlabelled]
    pool = list(read_sentences(folder / "citation_train.300.0.txt"))
    subsets = [list(read_sentences(folder / f"citation_train.25.{n}.txt")) for n in (0, 1)]
    seen = {tuple(each.column("0")) for subset in subsets for each in subset}
    others = [each for each in pool if tuple(each.column("0")) not in seen]
    order = np.random.default_rng(0).permutation(len(others))
    while len(subsets) < N_DRAWS:
        chosen, order = order[:N_REFERENCES], order[N_REFERENCES:]
        subsets.append([others[index] for index in chosen])
    return Setting(
        f"Cora citations, {N_REFERENCES} labelled references",
        [Draw(subset, unlabelled, pool) for subset in subsets],
        list(read_sentences(folder / "citation_dev.txt")),
        "1",
        data / "ge_constraints" / "cora_gold_word_expectations.mallet.txt",
        options,
    )


def ewt(data: Path, n_unlabelled: int | None, options: dict[str, Any]) -> Setting:
    folder = data / "ud_en_ewt"
    train = list(read_sentences(folder / "en_ewt-ud-train.conllu"))
    draws = []
    for seed in range(2, 2 + N_DRAWS):
        order = np.random.default_rng(seed).permutation(len(train))
        last = None if n_unlabelled is None else N_SENTENCES + n_unlabelled
        shuffled = [train[index] for index in order[:last]]
        draws.append(Draw(shuffled[:N_SENTENCES], shuffled[N_SENTENCES:], shuffled))
    return Setting(
        f"EWT parts of speech, {N_SENTENCES} labelled sentences",
        draws,
        list(read_sentences(folder / "en_ewt-ud-dev.conllu")),
        "UPOS",
        data / "ge_constraints" / "ewt_upos_gold_word_expectations.mallet.txt",
        options,
    )


# ---------------------------------------------------------------------- ways of learning


def learnt(setting: Setting, number: int, **way: Any) -> float:
    """The accuracy with whole sentences labelled, and the others beside them if `way` uses them."""
    draw = setting.draws[number]
    # Not the column: that of the unlabelled sentences is not to be seen.
    tagger = setting.tagger(**way).fit(
        draw.labelled, setting.tags(draw.labelled), unlabelled=draw.unlabelled if way else ()
    )
    return float(tagger.score(setting.dev))


def half_of_the_tags(setting: Setting, number: int) -> float:
    """The same number of tags, but those of every second word of twice as many sentences."""
    draw = setting.draws[number]
    rng = np.random.default_rng(number)
    sentences, rows = [], []
    n_left = draw.n_labels
    for index in rng.permutation(len(draw.pool)):
        if not n_left:
            break
        sentence = draw.pool[index]
        [row] = setting.tags([sentence])
        shown = rng.random(len(row)) < 0.5
        sentences.append(sentence)
        rows.append([tag if keep else UNKNOWN for tag, keep in zip(row, shown, strict=True)])
        n_left = max(n_left - int(shown.sum()), 0)
    tagger = setting.tagger().fit(sentences, rows)
    return float(tagger.score(setting.dev))


def asked(setting: Setting, number: int, strategy: str) -> float:
    """The same number of tags, of the words that the model itself asks for, round by round.

    Not by `simulate`, which would train a model on all of the pool as well.
    """
    draw = setting.draws[number]
    gold = setting.tags(draw.pool)
    shown = [[UNKNOWN] * len(row) for row in gold]
    tagger: Tagger | None = None
    for turn in range(N_ROUNDS):
        rest = [index for index, row in enumerate(shown) if UNKNOWN in row]
        ranked = rank(
            tagger,
            [draw.pool[index] for index in rest],
            strategy if tagger is not None else "random",
            n_words=SPAN,
            fixed=[shown[index] for index in rest] if tagger is not None else None,
            seed=number,
        )
        n_known = sum(tag != UNKNOWN for row in shown for tag in row)
        for choice in take(ranked, draw.n_labels * (turn + 1) // N_ROUNDS - n_known):
            here, words = rest[choice.sentence], slice(choice.first, choice.last + 1)
            shown[here][words] = gold[here][words]
        used = [index for index, row in enumerate(shown) if any(tag != UNKNOWN for tag in row)]
        tagger = setting.tagger(warm_start=tagger).fit(
            [draw.pool[index] for index in used], [shown[index] for index in used]
        )
    assert tagger is not None
    return float(tagger.score(setting.dev))


def ways(setting: Setting) -> dict[str, Callable[[int], float]]:
    """By the name in the table."""
    with_text = {
        "labels alone": {},
        "with tag shares": {"share_weight": 1.0},
        "with entropy and tag shares": ENTROPY,
        "with entropy alone": {**ENTROPY, "share_weight": 0.0},
        "with expectations of words": {"constraints": read_constraints(setting.expectations)},
    }
    return {
        **{name: partial(learnt, setting, **way) for name, way in with_text.items()},
        "every second tag of twice the sentences": partial(half_of_the_tags, setting),
        "sentences that the model asks for": partial(asked, setting, strategy="entropy"),
        f"spans of {SPAN} words that the model asks for": partial(asked, setting, strategy="span"),
    }


def compared(setting: Setting) -> Table:
    """Mean and standard deviation over draws, of the accuracy and of the gain."""
    first = setting.draws[0]
    n_labels = np.mean([draw.n_labels for draw in setting.draws])
    table = Table(
        f"{setting.title} ({n_labels:,.0f} tags), {len(first.unlabelled):,} sentences "
        f"({sum(map(len, first.unlabelled)):,} words) without, mean and standard deviation of "
        f"{len(setting.draws)} draws"
    )
    alone = np.zeros(0)
    for name, way in ways(setting).items():
        start = time.perf_counter()
        found = 100 * np.array([way(number) for number in range(len(setting.draws))])
        alone = found if not alone.size else alone
        table.add(
            learning=name,
            accuracy=spread(found),
            gain=spread(found - alone, "+"),
            draws=" ".join(f"{each:.1f}" for each in found),
            minutes=(time.perf_counter() - start) / 60,
        )
        print(table.rows[-1], file=sys.stderr, flush=True)
    return table


def tables(data: Path, *, quick: bool = False, n_unlabelled: int | None = None) -> list[Table]:
    """The comparison on both corpora, side by side."""
    most = 100 if quick else n_unlabelled
    options = {"max_iterations": 5 if quick else MAX_ITERATIONS}
    settings = [build(data, most, options) for build in (cora, ewt)]
    if quick:
        return [compared(setting._replace(draws=setting.draws[:1])) for setting in settings]
    with ProcessPoolExecutor(len(settings)) as pool:
        return list(pool.map(compared, settings))


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    found = tables(data_folder(), quick=quick, n_unlabelled=number_after("--unlabelled"))
    for table in found:
        print(table)
    if not quick:
        print(f"\nWritten to {write_json('semisupervised', found)}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
