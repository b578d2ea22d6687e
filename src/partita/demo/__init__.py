"""The demonstration: the main jobs of the library on the sample data, and a report of the run.

    partita demo --output report.html

runs all sections, says what it does, and writes one HTML file that needs no network.
"""

import os
import platform
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version

from partita import __version__
from partita.demo import (
    alignment,
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
from partita.demo.page import Report
from partita.demo.settings import Part, Settings, timed
from partita.files import atomic_writer

INTRODUCTION = (
    "Partita trains models of tag sequences, trees and translations, and answers every question "
    "about them exactly. This page was written by one run of its demonstration; every number on "
    "it comes from that run."
)
PARTS: tuple[Part, ...] = (
    data.section,
    tagging.section,
    calibration.section,
    spans.section,
    parsing.section,
    rules.section,
    alignment.section,
    translation.section,
    entropy_gradient.section,
    covariance_product.section,
)

Path = str | os.PathLike[str]


def write_report(
    path: Path, *, seed: int = 0, quick: bool = False, say: Callable[[str], None]
) -> float:
    """Run all sections, write the report to `path`, and give the seconds that it took."""
    start = time.perf_counter()
    settings = Settings(seed, quick, say)
    sections = [timed(part, settings) for part in PARTS]
    seconds = time.perf_counter() - start
    report = Report("What Partita does", INTRODUCTION, sections, _facts(settings, seconds))
    with atomic_writer(path) as file:
        file.write(report.html().encode("utf-8"))
    return seconds


def _facts(settings: Settings, seconds: float) -> dict[str, str]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "Command": f"partita demo --seed {settings.seed}{' --quick' * settings.quick}",
        "When": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "Took": f"{seconds:.0f} s",
        "Partita": __version__,
        "Python": sys.version.split()[0],
        "With": ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")),
        "Machine": f"{platform.system()} {platform.machine()}, {cores} cores",
    }
