"""Parsers of the second order beside the first: accuracy, and speed of training and parsing.

    python -m benchmarks.second_order [DATA] [--only EWT Basque Greek speed] [--sentences N]

DATA is the folder of the treebanks (or PARTITA_DATA). All figures are of development parts with
gold tags and morphology, scored as in `benchmarks.parser`. Where arcs cross (Basque, Greek) there
are two ways to an answer whose arcs may cross: labels that remember lifted arcs, and the best by
the second order out of the first order's exact 32 best spanning trees. The whole takes about a
quarter of an hour on one thread.
"""

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.parser import BASQUE, EWT, GREEK, figures, treebank
from benchmarks.timing import Table, aim, earlier_aims, earlier_tables, write_json

# isort: split
import numpy as np

import partita as pt
from partita.data.sentences import Sentence
from partita.estimators.parsing.learning import BATCHES_PER_STEP, lessons_of, prepare
from partita.estimators.parsing.material import read_material
from partita.training import AdaGrad, build_corpus
from partita.training.optimisers import CorpusProblem

TREEBANKS = {"EWT": EWT, "Basque": BASQUE, "Greek": GREEK}
DECODERS = ("best", "risk", "joint")
LEAST = {"EWT": (89.2, 87.6)}
"""Attachment scores, unlabelled and labelled, that we aim at with `order=2` and nothing else."""
LEAST_GAIN = 0.7
"""Of the second order on Basque, where arcs cross, in points of UAS."""
LEAST_PACE = 300
"""Sentences a second in training."""


def accuracy(data: Path, name: str, most: int | None) -> Table:
    """Both orders on a treebank, and each with the other's help."""
    train = treebank(data, TREEBANKS[name], "train")[:most]
    dev = treebank(data, TREEBANKS[name], "dev")
    table = Table(f"{name} dev, percent, learnt from {len(train):,} sentences")
    parsers = {}
    for number, order in enumerate(("first", "second"), start=1):
        began = time.process_time()
        parser = pt.DependencyParser(order=number, progress=False, workers=1).fit(train)
        seconds = {"training, CPU s": round(time.process_time() - began)}
        for decoder in DECODERS:
            found = timed(parser, dev, decoder=decoder)
            table.add(order=order, decoder=decoder, **found, **seconds)
            print(name, table.rows[-1], file=sys.stderr)
        parsers[order] = parser
    for one, other in (("first", "second"), ("second", "first")):
        for decoder in ("best", "joint"):
            found = timed(parsers[one], dev, decoder=decoder, rescorer=parsers[other])
            table.add(order=f"{one}, rescored by the {other}", decoder=decoder, **found)
    return table


def timed(
    parser: pt.DependencyParser, dev: list[Sentence], **options: object
) -> dict[str, str | int]:
    """Attachment scores, and how fast the answers were found."""
    began = time.process_time()
    found: dict[str, str | int] = {**figures(parser, dev, **options)}
    pace = len(dev) / (time.process_time() - began)
    return {**found, "parsing and scoring, sentences/s": round(pace)}


def speed(data: Path) -> Table:
    """Training passes of both orders on one thread."""
    table = Table("Training passes, one thread, CPU time: AdaGrad, default features")
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
                began = time.process_time()
                state = optimiser.step(problem, state)
                times.append(time.process_time() - began)
            pace = round(len(sentences) / min(times))
            table.add(treebank=name, order=order, seconds=min(times), **{"sentences/s": pace})
    return table


def found_aims(tables: dict[str, Table]) -> list[dict[str, Any]]:
    """What we aim at, of the tables that are there."""
    rows = {
        (name, row["order"], row["decoder"]): row
        for name, table in tables.items()
        for row in table.rows
        if "decoder" in row
    }
    aims = []
    for name, least in LEAST.items():
        if name in tables:
            # What `predict` gives if nobody says otherwise.
            found = rows[name, "second", "joint"]
            for measure, value in zip(("UAS", "LAS"), least, strict=True):
                what = f"parser, order=2: {measure} on {name} dev"
                aims.append(aim(what, float(found[measure]), least=value))
    if "Basque" in tables:
        for decoder in ("best", "joint"):
            uas = [
                float(rows["Basque", order, decoder]["UAS"])
                for order in ("first", "second, rescored by the first")
            ]
            what = f"parser: UAS on Basque dev, both orders less the first, decoder={decoder!r}"
            aims.append(aim(what, uas[1] - uas[0], least=LEAST_GAIN))
    for row in tables["speed"].rows if "speed" in tables else ():
        if row["order"] == 2:
            what = f"parser, order=2: sentences of {row['treebank']} a second in a pass, one thread"
            aims.append(aim(what, row["sentences/s"], least=LEAST_PACE))
    return aims


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
    tables = {name: accuracy(options.data, name, options.sentences) for name in names}
    if "speed" in options.only:
        tables["speed"] = speed(options.data)
    for table in tables.values():
        print(table)
    if options.sentences is None:
        found, aims = list(tables.values()), found_aims(tables)
        every = found + earlier_tables("second_order", found)
        print(write_json("second_order", every, aims=aims + earlier_aims("second_order", aims)))


if __name__ == "__main__":
    main()
