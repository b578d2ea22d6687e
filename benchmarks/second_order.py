"""Parsers of the second order beside the first: accuracy, and speed of training.

    python -m benchmarks.second_order [DATA] [--only EWT Basque Greek speed] [--sentences N]

DATA is the folder of the treebanks (or PARTITA_DATA). All figures are of development parts with
gold tags and morphology, scored as in `benchmarks.parser`. Where arcs cross (Basque, Greek) there
are two ways to an answer whose arcs may cross: labels that remember lifted arcs, and the best by
the second order out of the first order's exact 32 best spanning trees.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.parser import BASQUE, EWT, GREEK, figures, treebank
from benchmarks.timing import Table, write_json

# isort: split
import numpy as np

import partita as pt
from partita.data.sentences import Sentence
from partita.estimators.parsing.learning import BATCHES_PER_STEP, lessons_of, prepare
from partita.estimators.parsing.material import read_material, trees_of
from partita.structures.sibling_forests import sibling_places
from partita.training import AdaGrad, build_corpus
from partita.training.optimisers import CorpusProblem

TREEBANKS = {"EWT": EWT, "Basque": BASQUE, "Greek": GREEK}
DECODERS = ("best", "risk", "joint")
N_CANDIDATES = 32
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Of the second order, in what candidates are compared by."""


def accuracy(data: Path, name: str, most: int | None) -> Table:
    """Both orders on a treebank, and ways to crossing arcs where it has many."""
    train = treebank(data, TREEBANKS[name], "train")[:most]
    dev = treebank(data, TREEBANKS[name], "dev")
    table = Table(f"{name} dev, percent, learnt from {len(train):,} sentences")
    parsers = {}
    orders: dict[str, dict[str, object]] = {"first": {}, "second": {"order": 2}}
    if name != "EWT":
        orders["second, arcs never cross"] = {"order": 2, "pseudo_projective": False}
    for order, options in orders.items():
        began = time.process_time()
        parser = pt.DependencyParser(progress=False, workers=1, **options).fit(train)
        seconds = time.process_time() - began
        for decoder in DECODERS:
            found = figures(parser, dev, decoder=decoder)
            table.add(order=order, decoder=decoder, **found, **{"training, CPU s": round(seconds)})
            print(name, table.rows[-1], file=sys.stderr)
        parsers[order] = parser
    if name != "EWT":
        rescored(table, parsers["first"], parsers["second"], dev)
    for one, other in (("first", "second"), ("second", "first")):
        for decoder in ("best", "joint"):
            found = figures(parsers[one], dev, decoder=decoder, rescorer=parsers[other])
            table.add(order=f"{one}, rescored by the {other}", decoder=decoder, **found)
    return table


def rescored(
    table: Table, first: pt.DependencyParser, second: pt.DependencyParser, dev: list[Sentence]
) -> None:
    """The first order's best trees, compared by a mixture of both orders' scores; UAS only."""
    gold, _ = trees_of(dev, None)
    n_right = np.zeros(len(SHARES), dtype=np.int64)
    best_trees = first.k_best(dev, N_CANDIDATES)
    for sentence, right, found in zip(dev, gold, best_trees, strict=True):
        scores = second.distribution(sentence)
        (arcs,), (siblings,) = scores.structures.split_arrays(scores.scores)
        trees = [heads for (heads, _), _ in found]
        places = [sibling_places(heads) for heads in trees]
        of_second = [
            arcs[rows[:, 0], rows[:, 2]].sum() + siblings[tuple(rows.T)].sum() for rows in places
        ]
        of_first = np.array([log_prob for _, log_prob in found])
        for index, share in enumerate(SHARES):
            best = np.argmax((1 - share) * of_first + share * np.array(of_second))
            n_right[index] += (trees[best] == right).sum()
    for share, n in zip(SHARES, n_right.tolist(), strict=True):
        uas = f"{100 * n / sum(map(len, dev)):.2f}"
        table.add(order=f"{N_CANDIDATES} best of the first, share {share} of the second", UAS=uas)


def speed(data: Path) -> Table:
    """Training passes of both orders on one thread."""
    table = Table("Training passes, one thread: AdaGrad, default features")
    for name in ("EWT", "Greek"):
        sentences = treebank(data, TREEBANKS[name], "train")
        for order in (1, 2):
            options = pt.DependencyParser(projective=True, order=order)
            prepared = prepare(options, read_material(sentences, None, None, single_root=True))
            objective, batches = lessons_of(options, prepared).assemble()
            problem = CorpusProblem(build_corpus(objective, batches, workers=1, n_shards=1))
            optimiser = AdaGrad(rate=0.01, batches_per_step=BATCHES_PER_STEP)
            state = optimiser.start(problem, np.zeros(problem.n_weights))
            times = []
            for _ in range(3):
                began = time.perf_counter()
                state = optimiser.step(problem, state)
                times.append(time.perf_counter() - began)
            pace = round(len(sentences) / min(times))
            table.add(treebank=name, order=order, seconds=min(times), **{"sentences/s": pace})
    return table


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", default=[*TREEBANKS, "speed"])
    arguments.add_argument("--sentences", type=int, help="of the training part, all if left out")
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the treebanks are, or set PARTITA_DATA.")
    names = [name for name in TREEBANKS if name in options.only]
    tables = [accuracy(options.data, name, options.sentences) for name in names]
    if "speed" in options.only:
        tables.append(speed(options.data))
    for table in tables:
        print(table)
    if options.sentences is None:
        print(write_json("second_order", tables))


if __name__ == "__main__":
    main()
