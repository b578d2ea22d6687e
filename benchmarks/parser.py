"""The dependency parser on real treebanks: speed and accuracy.

    python -m benchmarks.parser [DATA] [--only speed accuracy crossing]
    python -m benchmarks.parser [DATA] --speed    # what we aim at, in some minutes

DATA is the folder of the treebanks (or PARTITA_DATA). Speed: training passes and parsing of EWT,
on one thread and on two. Accuracy: EWT dev with gold tags, as the CoNLL 2018 shared task scores it
(all words, subtypes of relations dropped). Crossing: projective and not, in training and in
decoding, on Basque and Ancient Greek.
"""

import argparse
import os
import sys
import time
from copy import copy
from pathlib import Path
from typing import Any

from benchmarks.timing import Table, aim, best_time, write_json

# isort: split
import numpy as np

import partita as pt
from partita.data.conllu import read_conllu
from partita.data.sentences import Sentence
from partita.estimators.parsing.learning import BATCHES_PER_STEP, lessons_of, prepare
from partita.estimators.parsing.material import read_material
from partita.evaluation.trees import compare_trees
from partita.training import AdaGrad, build_corpus
from partita.training.optimisers import CorpusProblem

PART = 4000
"""Sentences of EWT that `--speed` learns from: how fast a parser is hardly depends on them."""
EWT, BASQUE, GREEK = "ud_en_ewt/en_ewt", "ud_eu_bdt/eu_bdt", "ud_grc_ptnk/grc_ptnk"


def treebank(data: Path, name: str, part: str) -> list[Sentence]:
    """The sentences of a part of a treebank."""
    return read_conllu(data / f"{name}-ud-{part}.conllu")


def fitted(sentences: list[Sentence], **options: object) -> pt.DependencyParser:
    """A parser with default options, but for some."""
    return pt.DependencyParser(progress=False, **options).fit(sentences)


def figures(parser: pt.DependencyParser, gold: list[Sentence], **options: object) -> dict[str, str]:
    """UAS and LAS in percent."""
    found = compare_trees(gold, parser.predict(gold, **options))
    without = found.without_punctuation()
    return {
        "UAS": f"{100 * found.uas:.2f}",
        "LAS": f"{100 * found.las:.2f}",
        "UAS without punctuation": f"{100 * without.uas:.2f}",
        "LAS without punctuation": f"{100 * without.las:.2f}",
    }


# ---------------------------------------------------------------------- speed


def training_problem(sentences: list[Sentence], n_threads: int, projective: bool) -> CorpusProblem:
    """EWT as `DependencyParser` trains on it, to take passes one by one."""
    options = pt.DependencyParser(projective=projective)
    material = read_material(sentences, None, None, single_root=True)
    objective, batches = lessons_of(options, prepare(options, material)).assemble()
    return CorpusProblem(build_corpus(objective, batches, workers=n_threads, n_shards=1))


def passes(table: Table, sentences: list[Sentence], n_threads: int, projective: bool) -> None:
    """Time of a training pass: scores, inference, gradient, and the moves of the weights."""
    problem = training_problem(sentences, n_threads, projective)
    optimiser = AdaGrad(rate=0.01, batches_per_step=BATCHES_PER_STEP)
    state = optimiser.start(problem, np.zeros(problem.n_weights))
    times, gradients = [], []
    for _ in range(3):
        began = time.perf_counter()
        state = optimiser.step(problem, state)
        times.append(time.perf_counter() - began)
        began = time.perf_counter()
        problem.value_and_gradient(state.weights, 0)
        gradients.append(time.perf_counter() - began)
    table.add(
        trees="projective" if projective else "all",
        threads=n_threads,
        seconds=min(times),
        **{
            "sentences/s": round(len(sentences) / min(times)),
            "sentences/s, gradient alone": round(len(sentences) / min(gradients)),
        },
    )


def parsing(table: Table, parser: pt.DependencyParser, sentences: list[Sentence]) -> None:
    """Time from sentences as the reader gives them to heads, and to heads and labels."""
    unlabelled = copy(parser)
    unlabelled.label_model_, unlabelled.label_weights_ = None, None
    for what, model in (("heads", unlabelled), ("heads and labels", parser)):
        for n_threads in (1, 2):
            model.set_params(workers=n_threads)
            times = []
            for _ in range(4):
                began = time.perf_counter()
                model.predict(sentences)
                times.append(time.perf_counter() - began)
            n_words = sum(map(len, sentences))
            table.add(
                what=what,
                threads=n_threads,
                seconds=min(times),
                **{
                    "sentences/s": round(len(sentences) / min(times)),
                    "words/s": round(n_words / min(times)),
                },
            )


# ---------------------------------------------------------------------- tables


def speed(data: Path, parser: pt.DependencyParser) -> list[Table]:
    """Passes over EWT train, and parsing of EWT dev."""
    train, dev = treebank(data, EWT, "train"), treebank(data, EWT, "dev")
    training = Table("Training passes over EWT (12,544 sentences): AdaGrad, default features")
    for projective in (True, False):
        for n_threads in (1, 2):
            passes(training, train, n_threads, projective)
    found = Table("Parsing EWT dev, from sentences as read")
    parsing(found, parser, dev)
    return [training, found, decoding(parser, dev)]


def decoding(parser: pt.DependencyParser, sentences: list[Sentence]) -> Table:
    """What the joint decoder costs beside the plain one, one thread."""
    table = Table("Decoders on EWT dev, heads and labels, one thread")
    parser.set_params(workers=1)
    for decoder in ("best", "joint"):
        seconds = best_time(lambda d=decoder: parser.predict(sentences, decoder=d), 3, 20.0)
        table.add(decoder=decoder, **{"sentences/s": round(len(sentences) / seconds)})
    return table


def found_aims(tables: list[Table]) -> list[dict[str, Any]]:
    """What we aim at, from the tables of `speed`."""
    training, parsed, decoders = (table.rows for table in tables[:3])
    passes_ = {row["threads"]: row["sentences/s"] for row in training if row["trees"] != "all"}
    speeds = {row["what"]: row["sentences/s"] for row in parsed if row["threads"] == 1}
    plain, joint = (row["sentences/s"] for row in decoders)
    found = [
        aim("parser: sentences a second in a pass, one thread", passes_[1], least=1800),
        aim("parser: sentences a second in a pass, two threads", passes_[2], least=3200),
        aim("parser: sentences a second to heads", speeds["heads"], least=8000),
        aim("parser: sentences a second with labels", speeds["heads and labels"], least=6500),
        aim("parser: the joint decoder over the plain one, in time", plain / joint, most=3),
    ]
    return found


def speed_alone(data: Path) -> None:
    """Speeds and what we aim at, by a parser of part of EWT; printed, and not written."""
    part = treebank(data, EWT, "train")[:PART]
    parser = fitted(part, workers=1, n_models=1, max_iterations=4)
    tables = speed(data, parser)
    for table in tables:
        print(table)
    for each in found_aims(tables):
        print(each)


def accuracy(data: Path, parser: pt.DependencyParser) -> list[Table]:
    """EWT dev, gold tags and morphology."""
    dev = treebank(data, EWT, "dev")
    table = Table("EWT dev, gold tags and morphology, percent")
    for name, options in {
        "best tree": {},
        "tree of least risk": {"decoder": "risk"},
        "most probable labelled tree of eight": {"decoder": "joint"},
        "the same, at most one subject": {"decoder": "joint", "one_subject": True},
    }.items():
        table.add(decoder=name, **figures(parser, dev, **options))
    return [table]


def crossing(data: Path) -> list[Table]:
    """Projective and not, in training and in decoding."""
    tables = []
    for title, name in (("Basque BDT", BASQUE), ("Ancient Greek PTNK", GREEK)):
        train, dev = treebank(data, name, "train"), treebank(data, name, "dev")
        table = Table(f"{title} dev, percent")
        for trained in (True, False):
            parser = fitted(train, projective=trained)
            for decoded in (True, False):
                for decoder in ("best", "risk"):
                    table.add(
                        training="projective" if trained else "all trees",
                        decoding="projective" if decoded else "all trees",
                        decoder=decoder,
                        **figures(parser, dev, decoder=decoder, projective=decoded),
                    )
        tables.append(table)
    return tables


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA"), type=Path)
    arguments.add_argument("--only", nargs="*", default=["speed", "accuracy", "crossing"])
    arguments.add_argument("--speed", action="store_true", help="speeds alone, nothing is written")
    options = arguments.parse_args()
    if options.data is None:
        sys.exit("Say where the treebanks are, or set PARTITA_DATA.")
    if options.speed:
        speed_alone(options.data)
        return
    tables, aims = [], []
    if {"speed", "accuracy"} & set(options.only):
        began = time.perf_counter()
        parser = fitted(treebank(options.data, EWT, "train"), workers=1)
        seconds = time.perf_counter() - began
        whole = Table("Training on EWT with default options, one thread, labels included")
        whole.add(seconds=seconds, passes=parser.training_.n_iterations)
        tables.append(whole)
        if "accuracy" in options.only:
            tables += accuracy(options.data, parser)
        if "speed" in options.only:
            tables += (speeds := speed(options.data, parser))
            aims = found_aims(speeds)
    if "crossing" in options.only:
        tables += crossing(options.data)
    for table in tables:
        print(table)
    print(write_json("parser", tables, aims=aims))


if __name__ == "__main__":
    main()
