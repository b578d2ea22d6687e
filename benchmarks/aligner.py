"""Aligners: error rates on Hansards and English-Czech for the generative models, and their times.

    PARTITA_DATA=... python -m benchmarks.aligner [DATA] [--quick] [--threads N]

DATA is a folder with hansards/{train,dev}.{e,f}, dev.a and czenali_en_cs/{train,dev}.{en,cs},
*.sure (or the variable PARTITA_DATA). As is usual, the words of the development pairs are learnt
from, too, but for the rows that say "unseen"; their links never are. The dev part of Hansards has
37 pairs, so that its figures are off by two points easily: intervals are printed.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.timing import Table, aim, write_json
from partita import Aligner
from partita.data.alignments import Alignment, read_alignments
from partita.data.bitext import Bitext, read_bitext
from partita.estimators.alignment.models import HiddenMarkovAlignment
from partita.evaluation.alignments import alignment_scores

FOUND_BY = (
    ("forward", {"decoder": "viterbi", "symmetrisation": "forward"}),
    ("backward", {"decoder": "viterbi", "symmetrisation": "backward"}),
    ("intersection", {"decoder": "viterbi", "symmetrisation": "intersection"}),
    ("grow-diag", {"decoder": "viterbi", "symmetrisation": "grow-diag"}),
    ("product > 0.1", {"symmetrisation": "intersection", "threshold": 0.1}),
    ("mean > 0.5", {"symmetrisation": "mean", "threshold": 0.5}),
    ("least risk", {"decoder": "risk", "symmetrisation": "mean"}),
)
"""Titles of columns, and the arguments of `predict` that choose the links."""

PEERS = (
    ("fast_align (elsewhere, with the 447 test pairs)", 19.6, 18.0, 13.2, 17.4),
    ("eflomal (elsewhere, the same)", "", "", 6.8, ""),
)

Task = tuple[Bitext, Bitext, Sequence[Alignment]]


def read_task(folder: Path, source: str, target: str, links: str, quick: bool) -> Task:
    """Training and development pairs, and the links of the latter."""
    train, dev = (
        read_bitext(folder / f"{part}.{source}", folder / f"{part}.{target}")
        for part in ("train", "dev")
    )
    if quick:
        train = Bitext(train[:3000], train.name)
    return train, dev, read_alignments(folder / f"dev.{links}", dev)


def fitted(task: Task, unseen: bool, options: dict[str, Any]) -> tuple[Aligner, float]:
    """An aligner and the seconds it took to learn, reading not counted."""
    train, dev, _ = task
    source, target = train.source, train.target
    if not unseen:
        source, target = source + dev.source, target + dev.target
    begin = time.perf_counter()
    aligner = Aligner(progress=False, **options).fit(source, target)
    return aligner, time.perf_counter() - begin


def judged(aligner: Aligner, task: Task, measure: str) -> tuple[dict[str, str], str]:
    """A score in per cent for each way of choosing links, and the interval of the last but one."""
    _, dev, gold = task
    cells, interval = {}, ""
    for title, options in FOUND_BY:
        found = aligner.predict(dev.source, dev.target, **options)
        value, low, high = getattr(alignment_scores(gold, found, n_samples=300), measure)
        cells[title] = f"{100 * value:.1f}"
        if title == "mean > 0.5":
            interval = f"{100 * low:.1f} to {100 * high:.1f}"
    return cells, interval


def compare(
    title: str, task: Task, measure: str, runs: Sequence[tuple[str, bool, dict[str, Any]]]
) -> Table:
    """One table: a row for each model."""
    table = Table(title)
    for name, unseen, options in runs:
        aligner, seconds = fitted(task, unseen, options)
        cells, interval = judged(aligner, task, measure)
        table.add(model=name, **cells, interval_of_mean=interval, seconds=round(seconds, 1))
        print(table.rows[-1], file=sys.stderr)
    return table


def pace(data: Path, quick: bool, n_threads: int) -> Table:
    """Seconds from files to both models, and pairs a second when they are used."""
    table = Table(f"Hansards: from files to models of both directions, {n_threads} thread(s)")
    for model in ("model1", "hmm"):
        begin = time.perf_counter()
        train, _, _ = read_task(data / "hansards", "e", "f", "a", quick)
        source, target = train.source, train.target
        aligner = Aligner(model=model, progress=False, workers=n_threads).fit(source, target)
        learning = time.perf_counter() - begin
        begin = time.perf_counter()
        n_aligned = len(aligner.predict(source[:5000], target[:5000]))
        table.add(
            model=model,
            pairs=len(source),
            iterations="5" if model == "model1" else "5 of Model 1, 5",
            seconds=round(learning, 1),
            pairs_aligned_a_second=round(n_aligned / (time.perf_counter() - begin)),
        )
    return table


def read_arguments(name: str) -> tuple[argparse.Namespace, Path]:
    """Those of a benchmark of aligners, and the folder of the data, which is there."""
    parser = argparse.ArgumentParser(prog=f"benchmarks.{name}")
    parser.add_argument("data", nargs="?", default=os.environ.get("PARTITA_DATA", ""))
    parser.add_argument("--quick", action="store_true", help="3,000 pairs, and nothing is written")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    data = Path(arguments.data)
    if not (data / "hansards" / "train.e").is_file():
        raise SystemExit(
            f"{data / 'hansards' / 'train.e'} is not there; name the folder of the data: "
            f"python -m benchmarks.{name} DATA, or set PARTITA_DATA."
        )
    return arguments, data


def main() -> None:
    arguments, data = read_arguments("aligner")
    shared = {"workers": arguments.threads}
    hansards = read_task(data / "hansards", "e", "f", "a", arguments.quick)
    czech = read_task(data / "czenali_en_cs", "en", "cs", "sure", arguments.quick)
    alone = {"model": HiddenMarkovAlignment(agreement=False), **shared}
    smooth = {"model": HiddenMarkovAlignment(agreement=False, alpha=0.01), **shared}
    tables = [
        compare(
            "Hansards, alignment error rate on dev, per cent (English is the source)",
            hansards,
            "error_rate",
            [
                ("Model 1", False, {"model": "model1", **shared}),
                ("HMM, each direction alone", False, alone),
                ("HMM, each direction alone, alpha 0.01", False, smooth),
                ("the same, capitals told apart", False, {"lowercase": False, **smooth}),
                ("HMM in agreement", False, shared),
                ("the same, capitals told apart", False, {"lowercase": False, **shared}),
                ("HMM in agreement, dev unseen", True, shared),
            ],
        ),
        compare(
            "English-Czech, F1 on dev, per cent (1,800 pairs, all links sure)",
            czech,
            "f1",
            [
                ("Model 1", False, {"model": "model1", **shared}),
                ("HMM in agreement", False, shared),
                ("Model 1, 5 letters", False, {"model": "model1", "n_letters": 5, **shared}),
                ("HMM alone, 5 letters", False, {"n_letters": 5, **alone}),
                ("HMM in agreement, 5 letters", False, {"n_letters": 5, **shared}),
                ("HMM in agreement, 5 letters, dev unseen", True, {"n_letters": 5, **shared}),
            ],
        ),
        pace(data, arguments.quick, arguments.threads),
    ]
    for name, *values in PEERS:
        titles = [title for title, _ in FOUND_BY[:4]]
        tables[0].add(model=name, **dict(zip(titles, map(str, values), strict=True)))
    for table in tables:
        print(table)
    if not arguments.quick:
        seconds = next(row["seconds"] for row in tables[-1].rows if row["model"] == "hmm")
        name = (
            f"HMM in agreement, Hansards from files to model, {arguments.threads} threads: seconds"
        )
        aims = [aim(name, seconds, most=14)] if arguments.threads == 2 else []
        print(f"\nWritten to {write_json('aligner', tables, aims=aims)}")


if __name__ == "__main__":
    main()
