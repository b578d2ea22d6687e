"""Make mistakes in the sources and count those that no test notices: `make mutation`.

    python -m tools.mutation                       a sample of 400 mutants, seed 0
    python -m tools.mutation --sample 0            all of them, for a night
    python -m tools.mutation --only kernels/chains structures/doors
    python -m tools.mutation --sample 0 --only "trees/gibbs.py find_blocked:"
    python -m tools.mutation --go-on               the rest, after a run that was ended by Ctrl-C
    python -m tools.mutation --again               what survived last time, after new tests

Everything runs without compilation (NUMBA_DISABLE_JIT=1), where a kernel is a Python function whose
code can be exchanged. First every test runs once, in a process of its own, and the lines it passes
are kept (in build/mutation.npz, for the next time, if it is interrupted too); a test that takes
long is left out. Then each mutant is tried on the tests that pass its line, first the one that
noticed it the last time (build/mutation.json), then quick ones of every kind, until one fails.
A mutant that takes all the time it is given, or the process with it, is noticed as well. Those
that change no answer are listed in equivalent.txt, with reasons.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

import numpy as np

from tools.mutation.mutants import Mutant

AREAS = ("kernels", "structures", "distribution", "objectives")
ESTIMATORS = ("model1", "hmm_alignment", "translator", "proposals", "tags_at_once")
"""Whose tests are the first to pass some kernels."""
TESTS = [
    *(f"src/partita/{area}" for area in AREAS),
    *(f"src/partita/{area}" for area in ("features", "grammars")),
    *(f"tests/{area}" for area in ("conformance", *AREAS, "features", "grammars", "baselines")),
    *(
        f"tests/training/test_{name}.py"
        for name in (
            "scaling",
            "optimisers",
            "chain_steps",
            "pair_steps",
            "mini_batches",
            "tagged_batches",
        )
    ),
    *(f"tests/estimators/test_{name}.py" for name in ESTIMATORS),
    *(f"tests/text/test_{name}.py" for name in ("neighbour_classes", "templates")),
    "tests/evaluation/test_bleu.py",
]
ROOT = Path(__file__).parents[2]
REASONS = Path(__file__).with_name("equivalent.txt")
"""Mutants that change no answer."""


def main() -> int:
    """Print the score, and every mutant that survives."""
    options = _arguments()
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    # As many sizes as `make test` tries with compilation.
    os.environ["PARTITA_ALL_SIZES"] = "1"
    # The tests' modules are imported without compilation, so these come after it.
    import pytest

    from tools.mutation.trial import Trial

    os.chdir(ROOT)
    trial = Trial(AREAS, options)
    arguments = ["-q", "-s", "-p", "no:faulthandler", "-p", "no:cacheprovider", "-p", "no:xdist"]
    status = pytest.main([*arguments, *options.tests], plugins=[trial])
    if status or not trial.verdicts:
        return int(status) or 1
    report(trial.verdicts, known_reasons(REASONS))
    return 0


def report(verdicts: list[tuple[Mutant, str]], reasons: dict[str, str]) -> None:
    """Mutants that survive, and the share of those that do not, by folder."""
    totals, killed, excused = Counter[str](), Counter[str](), Counter[str]()
    for mutant, verdict in sorted(verdicts, key=lambda each: str(each[0])):
        is_killed, is_excused = verdict == "killed", mutant.name in reasons
        if is_killed and is_excused:
            _say(f"killed, though it is said to change nothing: {mutant}")
        elif not is_killed:
            _say(f"{reasons.get(mutant.name, verdict)}: {mutant}")
        for area in ("/".join(mutant.path.split("/")[:-1][:2]), "all"):
            totals[area] += 1
            killed[area] += is_killed
            excused[area] += is_excused and not is_killed
    for area in sorted(totals):
        n, wrong = totals[area], totals[area] - excused[area]
        share, of_wrong = 100 * killed[area] / n, 100 * killed[area] / max(wrong, 1)
        _say(
            f"{area:24} {killed[area]:5} of {n:5} killed, {share:5.1f} %; without the "
            f"{excused[area]:3} that change no answer {of_wrong:5.1f} %"
        )


def known_reasons(path: Path) -> dict[str, str]:
    """Why mutants change no answer, by their names; a reason stands above those it is true of."""
    found, reason = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            reason = line.removeprefix("# ")
        elif line:
            found[line] = reason
    return found


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--sample", type=int, default=400, help="how many mutants; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="which sample")
    parser.add_argument("--go-on", action="store_true", help="leave out what was tried last time")
    parser.add_argument("--again", action="store_true", help="only those that survived last time")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="only with one of these in the name"
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at once")
    parser.add_argument("--budget", type=float, default=10.0, help="seconds of tests per mutant")
    parser.add_argument("--longest", type=float, default=3.0, help="seconds of a test, watched")
    parser.add_argument("--most", type=int, default=12, help="cases of a test for a structure")
    parser.add_argument("--kept", type=Path, default=ROOT / "build" / "mutation.npz")
    parser.add_argument("--noticed", type=Path, default=ROOT / "build" / "mutation.json")
    parser.add_argument("--verdicts", type=Path, default=ROOT / "build" / "verdicts.json")
    parser.add_argument("--tests", nargs="+", default=list(TESTS))
    return parser.parse_args()


def chosen(n_mutants: int, sample: int, seed: int) -> np.ndarray:
    """The numbers of the mutants to try, in an order by chance: what is first is a sample, too.

    >>> chosen(10, 3, seed=0).tolist() == chosen(10, 5, seed=0)[:3].tolist()
    True
    """
    order = np.random.default_rng(seed).permutation(n_mutants)
    return order[:sample] if sample else order


if __name__ == "__main__":
    sys.exit(main())
