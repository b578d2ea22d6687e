"""The demonstration: the main jobs of the library on the sample data, and a report of the run.

    partita demo --output report.html

runs all sections, says what it does, and writes one HTML file that needs no network.
"""

import os
import platform
import signal
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context

from partita import __version__
from partita.demo import (
    alignment,
    best_tree,
    calibration,
    covariance_product,
    data,
    entropy_gradient,
    parsing,
    rules,
    spans,
    tagging,
    translation,
)
from partita.demo.page import DemoReport, Section
from partita.demo.settings import Part, Settings, timed
from partita.files import atomic_writer
from partita.training.threads import n_cores

INTRODUCTION = (
    "Partita trains models of tag sequences, trees and translations, and answers every question "
    "about them exactly. This page was written by one run of its demonstration; every number on "
    "it comes from that run."
)
# Strands run side by side, each in a process of its own, since most of a first run is compilation,
# which one process does one by one. What is timed runs behind them, alone.
STRANDS: tuple[tuple[Part, ...], ...] = (
    (data.section, tagging.section, calibration.section, spans.section, parsing.section),
    (rules.section, alignment.section, translation.section),
)
TIMED: tuple[Part, ...] = (
    entropy_gradient.section,
    covariance_product.section,
    best_tree.section,
)

Path = str | os.PathLike[str]


def write_report(
    path: Path,
    *,
    seed: int = 0,
    quick: bool = False,
    n_processes: int | None = None,
    say: Callable[[str], None],
) -> float:
    """Run all sections, write the report to `path`, and give the seconds that it took.

    `n_processes` is 1 for everything in this process, and as many as there are cores, at most one
    for each strand, if left out; `say` must then be a function of a module.
    """
    start = time.perf_counter()
    settings = Settings(seed, quick, say)
    n_processes = n_processes or min(len(STRANDS), n_cores())
    sections = [*_strands(settings, n_processes), *_sections(TIMED, settings)]
    seconds = time.perf_counter() - start
    report = DemoReport("What Partita does", INTRODUCTION, sections, _facts(settings, seconds))
    with atomic_writer(path) as file:
        file.write(report.html().encode("utf-8"))
    return seconds


def _strands(settings: Settings, n_processes: int) -> list[Section]:
    """The sections of all strands, in order."""
    run = partial(_sections, settings=settings)
    if n_processes == 1:
        return [section for strand in STRANDS for section in run(strand)]
    # Processes are started anew: a copy of this one could inherit a lock that nobody opens again.
    with get_context("spawn").Pool(n_processes, initializer=_leave_interrupts) as pool:
        return [section for sections in pool.map(run, STRANDS, chunksize=1) for section in sections]


def _sections(parts: Sequence[Part], settings: Settings) -> list[Section]:
    return [timed(part, settings) for part in parts]


def _leave_interrupts() -> None:
    """Ctrl-C is for the first process, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _facts(settings: Settings, seconds: float) -> dict[str, str]:
    return {
        "Command": f"partita demo --seed {settings.seed}{' --quick' * settings.quick}",
        "When": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Took": f"{seconds:.0f} s",
        "Partita": __version__,
        "Python": sys.version.split()[0],
        "With": ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")),
        "Machine": f"{platform.system()} {platform.machine()}, {n_cores()} cores",
    }
