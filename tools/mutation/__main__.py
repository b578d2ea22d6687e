"""Make mistakes in the sources and count those that no test notices: `make mutation`.

    python -m tools.mutation                       a sample of 400 mutants, seed 0
    python -m tools.mutation --sample 0            all of them, for a night
    python -m tools.mutation --only kernels/chains

Everything runs without compilation (NUMBA_DISABLE_JIT=1), where a kernel is a Python function whose
code can be exchanged. First every test runs once, in a process of its own, and the lines it passes
are kept (in build/mutation.npz, for the next time, if it is interrupted too); a test that takes
long is left out. Then each
mutant is tried on the tests that pass its line, quick ones of every kind first, until one fails.
A mutant that takes all the time it is given, or the process with it, is noticed as well.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np

AREAS = ("kernels", "structures", "distribution", "objectives")
TESTS = [
    *(f"src/partita/{area}" for area in AREAS),
    *(f"tests/{area}" for area in ("conformance", *AREAS, "features", "grammars")),
    "tests/training/test_scaling.py",
]
ROOT = Path(__file__).parents[2]


def main() -> int:
    """Print the score, and every mutant that survives."""
    options = _arguments()
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    # The tests' modules are imported without compilation, so these come after it.
    import pytest

    from tools.mutation.trial import Trial

    os.chdir(ROOT)
    trial = Trial(AREAS, options)
    arguments = ["-q", "-s", "-p", "no:faulthandler", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*arguments, *options.tests], plugins=[trial])
    if status or not trial.verdicts:
        return int(status) or 1
    report(trial.verdicts)
    return 0


def report(verdicts: list[tuple[str, str]]) -> None:
    """Mutants that survive, and the share of those that do not, by folder."""
    for name, verdict in sorted(verdicts):
        if not verdict.startswith("killed"):
            sys.stdout.write(f"{verdict}: {name}\n")
    totals, killed = Counter[str](), Counter[str]()
    for name, verdict in verdicts:
        for area in (_area(name), "all"):
            totals[area] += 1
            killed[area] += verdict.startswith("killed")
    for area in sorted(totals):
        share = 100 * killed[area] / totals[area]
        sys.stdout.write(f"{area:24} {killed[area]:5} of {totals[area]:5} killed, {share:.1f} %\n")


def _area(name: str) -> str:
    folders = name.partition(":")[0].split("/")[:-1]
    return "/".join(folders[:2])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--only", default="", help="only files whose path has this in it")
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests per mutant")
    parser.add_argument("--longest", type=float, default=15.0, help="seconds of a test, watched")
    parser.add_argument("--most", type=int, default=40, help="cases of one test that are used")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "mutation.npz")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    return parser.parse_args()


def chosen(n_mutants: int, sample: int, seed: int) -> np.ndarray:
    """The numbers of the mutants to try.

    >>> chosen(10, 3, seed=0).tolist() == chosen(10, 3, seed=0).tolist()
    True
    """
    if not 0 < sample < n_mutants:
        return np.arange(n_mutants)
    return np.sort(np.random.default_rng(seed).choice(n_mutants, sample, replace=False))


if __name__ == "__main__":
    sys.exit(main())
