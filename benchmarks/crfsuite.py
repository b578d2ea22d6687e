"""Taggers beside python-crfsuite, from file to within 1 % of the optimum: seconds.

    python -m benchmarks.crfsuite [DATA] [--quick]

CoNLL-2000 with the template of CRF++'s chunking example, and EWT with our default features; with
weights for all pairs of attribute and tag, and for observed ones. The optimum is where our own run
ends. For EWT, CRFsuite gets its attributes for nothing: they are ours. Each run is a process by
itself, of three minutes at most, and starts with what PARTITA_BENCH_WITH says, such as
`chrt -f 20`. About 15 minutes. Memory is `benchmarks.memory`.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.crfsuite_features import TEMPLATE, plain_names
from benchmarks.tagger import attribute_names, crfsuite_trainer
from benchmarks.tagger_data import Task, data_folder, read_chunking, read_parts_of_speech
from benchmarks.timing import Table, aim, optional, show_help, write_json
from partita import Tagger

CLOSE, L2 = 1.01, 1.0
N_THEIRS = 160
"""Iterations of CRFsuite at most; within 1 % of the optimum it is after fewer on both corpora."""
RUNS = ("partita, 1 thread", "partita, 2 threads", "python-crfsuite")

Reader = Callable[[Path, bool], Task]
TASKS: dict[str, tuple[Reader, str | None]] = {
    "CoNLL-2000": (read_chunking, TEMPLATE),
    "EWT UPOS": (read_parts_of_speech, None),
}


def fitted(task: Task, features: str | None, n_threads: int, **options: Any) -> Tagger:
    """A tagger for a task, which allows any tag after any other, as CRFsuite does.

    By L-BFGS, as CRFsuite: our default for words alone does not go to the optimum.
    """
    tagger = Tagger(tag_column=task.column, scheme=None, l2=L2, progress=False, workers=n_threads)
    tagger.set_params(optimiser="lbfgs")
    return tagger.set_params(features=features, **options).fit(task.train)


def ours(data: Path, quick: bool, name: str, pairs: str, n_threads: int) -> dict[str, Any]:
    """From file to the optimum; when the loss came within 1 % of it."""
    read, features = TASKS[name]
    start = time.perf_counter()
    tagger = fitted(read(data, quick), features, n_threads, pairs=pairs)
    seconds = time.perf_counter() - start
    assert tagger.training_ is not None
    history, best = tagger.training_.history, tagger.training_.loss
    record = next(each for each in history if each.loss <= CLOSE * best)
    return {
        "seconds": seconds - history[-1].seconds + record.seconds,
        "iterations": record.iteration,
        "optimum": best,
    }


def theirs(data: Path, quick: bool, name: str, pairs: str, optimum: float) -> dict[str, Any]:
    """The same by CRFsuite; its iterations begin with a first evaluation that it does not time."""
    pycrfsuite = optional("pycrfsuite")
    read, features = TASKS[name]
    given = None if features else fitted(read(data, quick), None, 1, max_iterations=1)
    start = time.perf_counter()
    task = read(data, quick)
    if given is None:
        rows = [plain_names(sentence) for sentence in task.train]
    else:
        began = time.perf_counter()
        rows = attribute_names(given, task.train)
        start += time.perf_counter() - began
    trainer = crfsuite_trainer(pycrfsuite, rows, task, L2, N_THEIRS, dense=pairs == "all")
    before = time.perf_counter() - start

    def noted(message: str) -> None:
        # CRFsuite cannot be told to stop before its last iteration; the process can.
        if trainer.logparser.feed(message) == "iteration":
            steps = trainer.logparser.iterations
            if steps[-1]["loss"] <= CLOSE * optimum:
                print(json.dumps(so_far(steps, len(steps))), flush=True)
                os._exit(0)

    def so_far(steps: list[dict[str, Any]], iterations: int | str) -> dict[str, Any]:
        seconds = before + sum(step["time"] for step in steps)
        return {"seconds": seconds, "iterations": iterations, "optimum": steps[-1]["loss"]}

    trainer.message = noted
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
    return so_far(trainer.logparser.iterations, f"more than {N_THEIRS}")


def run(data: Path, quick: bool, name: str, pairs: str, library: str, optimum: float) -> None:
    """One run, in a process of its own; prints what was found."""
    if library == "python-crfsuite":
        print(json.dumps(theirs(data, quick, name, pairs, optimum)))
        return
    # What is compiled already has to be loaded.
    fitted(read_parts_of_speech(data, quick=True), None, 1, max_iterations=2, pairs=pairs)
    print(json.dumps(ours(data, quick, name, pairs, RUNS.index(library) + 1)))


def run_alone(data: Path, quick: bool, *rest: Any) -> dict[str, Any]:
    """The same in another process; nothing where the library is not installed."""
    command = [sys.executable, "-m", "benchmarks.crfsuite", str(data), *["--quick"] * quick]
    with_what = [*shlex.split(os.environ.get("PARTITA_BENCH_WITH", "")), *command]
    done = subprocess.run(
        [*with_what, "--run", *map(str, rest)], stdout=subprocess.PIPE, text=True, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def race(data: Path, quick: bool) -> Table:
    """Seconds from file to within 1 % of the optimum."""
    table = Table("From file to a loss within 1 % of the optimum")
    libraries = RUNS if optional("pycrfsuite") else RUNS[:2]
    for name in TASKS:
        for pairs in ("all", "observed"):
            found: dict[str, dict[str, Any]] = {}
            for library in libraries:
                optimum = found[RUNS[0]]["optimum"] if found else 0.0
                found[library] = run_alone(data, quick, name, pairs, library, optimum)
            for library, values in found.items():
                slower = found.get(RUNS[2], {}).get("seconds", np.nan) / values["seconds"]
                row = {"task": name, "pairs": pairs, "library": library, **values}
                table.add(**row, **{"CRFsuite takes times that": float(slower)})
                print(table.rows[-1], file=sys.stderr, flush=True)
    return table


def found_lines(times: Table) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """For the top of the page: what was found, and what we aim at."""
    headlines, aims = [], []
    for row in times.rows:
        ratio, library = row["CRFsuite takes times that"], row["library"]
        if library == "python-crfsuite" or np.isnan(ratio):
            continue
        what = f"{row['task']}, {row['pairs']} pairs, file to within 1 % of the optimum, {library}"
        headlines.append(
            {
                "what": what,
                "ours": f"{row['seconds']:.3g} s",
                "peers": f"CRFsuite {ratio:.3g} times that",
            }
        )
        aims.append(aim(f"{what}: CRFsuite over it", ratio, least=8 if "2" in library else 5))
    return headlines, aims


def main() -> None:
    """Measure, print, and write benchmarks/results/crfsuite.json."""
    data, quick = data_folder(), "--quick" in sys.argv[1:]
    if "--run" in sys.argv:
        place = sys.argv.index("--run")
        name, pairs, library, optimum = sys.argv[place + 1 : place + 5]
        run(data, quick, name, pairs, library, float(optimum))
        return
    for pairs in ("all", "observed"):  # The first run compiles.
        fitted(read_chunking(data, quick=False), TEMPLATE, 1, max_iterations=2, pairs=pairs)
    tables = [race(data, quick)]
    for table in tables:
        print(table)
    if not quick:
        print(f"\nWritten to {write_json('crfsuite', tables, *found_lines(*tables))}")


if __name__ == "__main__":
    show_help(__doc__)
    main()
