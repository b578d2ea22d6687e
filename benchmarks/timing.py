"""What every benchmark shares: timing, the machine, a table that prints itself and writes JSON."""

import importlib
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("numpy", "scipy", "numba", "torch", "torch-struct", "pytorch-crf", "hmmlearn", "supar")
MOST_OF_A_PRODUCT = 1.7 * 1.25
"""Marginals that a covariance product may take: prototypes took 1.2 to 1.7, and kernels are to be
within a quarter of them."""


def show_help(text: str | None) -> None:
    """Print what a benchmark says of itself and end, if the command line asks for that."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(text)
        raise SystemExit(0)


def best_time(function: Callable[[], Any], repeats: int = 20, seconds: float = 2.0) -> float:
    """Shortest of several runs in seconds, after one that warms up: the machine is noisy."""
    return best_times([function], repeats, seconds)[0]


def best_times(
    functions: Sequence[Callable[[], Any]], repeats: int = 20, seconds: float = 2.0
) -> list[float]:
    """The same for several that are run in turn: for ratios, since noise then is of both alike."""
    for function in functions:
        function()
    best, deadline = [float("inf")] * len(functions), time.perf_counter() + seconds * len(functions)
    for _ in range(repeats):
        for index, function in enumerate(functions):
            start = time.perf_counter()
            function()
            best[index] = min(best[index], time.perf_counter() - start)
        if time.perf_counter() > deadline:
            break
    return best


@dataclass
class Turns:
    """Seconds of some functions that ran in turn: a row for each round, a column for each."""

    rounds: list[list[float]]

    @classmethod
    def of(cls, functions: Sequence[Callable[[], Any]], n_rounds: int) -> "Turns":
        """After a round that warms up."""
        for function in functions:
            function()
        return cls([[seconds_of(function) for function in functions] for _ in range(n_rounds)])

    @property
    def medians(self) -> list[float]:
        """The usual time of each."""
        return [median(column) for column in zip(*self.rounds, strict=True)]

    @property
    def gains(self) -> list[float]:
        """How many times the first takes what each does, in the median of the rounds.

        What the machine does meanwhile is of the whole round, so that a ratio has less of it.
        """
        ratios = [[row[0] / seconds for seconds in row] for row in self.rounds]
        return [median(column) for column in zip(*ratios, strict=True)]


def seconds_of(function: Callable[[], Any]) -> float:
    """What it takes once."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


DGEMM_SIZE = 512
"""Of the square matrices whose product is timed."""


def dgemm() -> Callable[[], Any]:
    """NumPy's matrix product, 2 * DGEMM_SIZE**3 floating-point operations."""
    matrix = np.random.default_rng(0).normal(size=(DGEMM_SIZE, DGEMM_SIZE))
    return lambda: matrix @ matrix


def dgemm_rate() -> float:
    """NumPy's matrix product on one thread, in floating-point operations a second."""
    return 2 * DGEMM_SIZE**3 / best_time(dgemm())


def machine() -> dict[str, Any]:
    """What the numbers were measured on."""
    processor = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else ():
        if line.startswith("model name"):
            processor = line.partition(":")[2].strip()
            break
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    return {
        "processor": processor,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": versions,
        "dgemm_gflops": round(dgemm_rate() / 1e9, 1),
    }


def optional(name: str) -> Any:
    """A peer to compare with, or None and a message where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        print(
            f"{name} is not installed and left out; `make bench-...` installs it.", file=sys.stderr
        )
        return None


@dataclass
class Table:
    """Rows of named values with a title, printed as Markdown."""

    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    def add(self, **row: Any) -> None:
        """Append a row."""
        self.rows.append(row)

    def __str__(self) -> str:
        names = list(dict.fromkeys(name for row in self.rows for name in row))
        lines = [f"\n{self.title}\n", "| " + " | ".join(names) + " |", "|---" * len(names) + "|"]
        lines += [
            "| " + " | ".join(_shown(row.get(name, "")) for name in names) + " |"
            for row in self.rows
        ]
        return "\n".join(lines)


def aim(
    what: str, found: float, *, least: float | None = None, most: float | None = None
) -> dict[str, Any]:
    """What we aim at, what was found, and whether that is enough; for `write_json`."""
    wanted = [] if least is None else [f"at least {least:,.4g}"]
    wanted += [] if most is None else [f"at most {most:,.4g}"]
    enough = (least is None or found >= least) and (most is None or found <= most)
    return {
        "what": what,
        "aim": " and ".join(wanted),
        "found": f"{found:,.4g}",
        "reached": "yes" if enough else "no",
    }


def measured_commit() -> str | None:
    """The commit of the sources, with a plus sign behind it if they have changed since."""
    folder = Path(__file__).parent
    found = []
    for command in (["rev-parse", "--short", "HEAD"], ["status", "--porcelain", "../src"]):
        done = subprocess.run(
            ["git", *command], cwd=folder, capture_output=True, text=True, check=False
        )
        if done.returncode:
            return None
        found.append(done.stdout.strip())
    return found[0] + ("+" if found[1] else "")


def write_json(
    name: str,
    tables: list[Table],
    headlines: Sequence[dict[str, Any]] = (),
    aims: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write tables, machine and commit to benchmarks/results/NAME.json.

    `headlines` are lines for the summary on top of the page: what, ours, peers. Of the `aims`
    (see `aim`), the page lists those that are missed first.
    """
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    content = {
        "commit": measured_commit(),
        "machine": machine(),
        "headlines": list(headlines),
        "aims": list(aims),
        "tables": [vars(table) for table in tables],
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
    return path


EARLIER = "of commit"
"""Behind the titles of tables, and as a column of rows, that were measured before the others."""


def earlier_tables(name: str, new: Sequence[Table]) -> list[Table]:
    """The tables of the last results that are not made again; by the first words of their titles.

    They say of which commit they are, since the results name that of the new ones.
    """
    commit, kept = _last_results(name)
    titles = {table.title.partition(":")[0] for table in new}
    kept = [table for table in kept if table.title.partition(":")[0] not in titles]
    for table in kept:
        if f"({EARLIER}" not in table.title:
            table.title += f" ({EARLIER} {commit})"
    return kept


def earlier_aims(name: str, new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same for aims, told from each other by what they are about."""
    stored = json.loads((RESULTS / f"{name}.json").read_text())
    again, kept = {each["what"] for each in new}, []
    for each in stored.get("aims", ()):
        what, mark, commit = each["what"].partition(f" ({EARLIER} ")
        if what not in again:
            behind = commit if mark else f"{stored['commit']})"
            kept.append({**each, "what": f"{what} ({EARLIER} {behind}"})
    return kept


def earlier_rows(name: str, column: str, new: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The same for rows of the only table, told from each other by what they have in a column."""
    commit, tables = _last_results(name)
    values = {row[column] for row in new}
    rows = [row for table in tables for row in table.rows if row[column] not in values]
    return [{**row, EARLIER: row.get(EARLIER, commit)} for row in rows]


def if_earlier(row: Mapping[str, Any]) -> str:
    """What is to stand behind something that was taken from a row."""
    return f" ({EARLIER} {row[EARLIER]})" if EARLIER in row else ""


def _last_results(name: str) -> tuple[str | None, list[Table]]:
    """The commit and the tables."""
    path = RESULTS / f"{name}.json"
    found = json.loads(path.read_text()) if path.exists() else {"commit": None, "tables": []}
    return found["commit"], [Table(**each) for each in found["tables"]]


def spread(values: Sequence[float], sign: str = "") -> str:
    """Mean and standard deviation of several runs, in print."""
    mean = f"{np.mean(values):{sign}.2f}"
    return f"{mean} ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else mean


def times_ours(row: Mapping[str, Any], peers: Sequence[str]) -> str:
    """What the peers of a row take, in multiples of what we take; without those that are not there.

    >>> times_ours({"SuPar / partita": 10.06, "torch-struct / partita": 2064.4}, ["SuPar", "ufal"])
    'SuPar 10.1 times that'
    """
    there = [(name, row.get(f"{name} / partita")) for name in peers]
    return ", ".join(f"{name} {_shown(ratio)} times that" for name, ratio in there if ratio)


def _shown(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:,.0f}" if 1000 <= abs(value) < np.inf else f"{value:.3g}"
