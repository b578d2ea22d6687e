"""`partita compile [WHAT ...]`: compile now what would be compiled at its first use."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from partita.cli.options import Commands, Options, add_command, say

WHAT = {
    "chain": "distributions over tag sequences",
    "segments": "distributions over segments with tags",
    "projective": "distributions over projective trees",
    "spanning": "distributions over spanning trees",
    "siblings": "distributions over projective trees with scores of siblings",
    "constituents": "distributions over binary trees of spans",
    "forest": "distributions over derivations of hypergraphs",
    "tagger": "training and using taggers",
    "hmm": "training and using hidden Markov models",
    "segmenter": "training and using segmenters",
    "parser": "training and using parsers",
    "aligner": "training and using aligners",
    "translator": "training and using translators",
}
"""The first ones are what the others need, so they come first."""
LONGEST = "translator"
"""It takes as long as four others, shares little with them, and would end alone on one core."""


def add(commands: Commands) -> None:
    """The command and its arguments."""
    parser = add_command(commands, "compile", run, "compile now what else the first use compiles")
    parser.epilog = "; ".join(f"{name}: {text}" for name, text in WHAT.items()) + "."
    parser.add_argument(
        "what", nargs="*", metavar="WHAT", help=f"{', '.join(WHAT)} (default: everything)"
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes (default: all cores)")


def run(options: Options) -> int:
    """A process for each piece of work, as many at a time as there are cores."""
    from partita.training.threads import n_cores

    for name in options.what:
        if name not in WHAT:
            raise ValueError(f"WHAT is {name!r}; expected one of {', '.join(WHAT)}.")
    wanted = sorted(options.what or WHAT, key=lambda name: name != LONGEST)
    began, failed = time.monotonic(), 0
    with ThreadPoolExecutor(options.workers or n_cores()) as pool:
        runs = {pool.submit(_compile, name): name for name in wanted}
        for done, future in enumerate(as_completed(runs), start=1):
            name, error = runs[future], future.result()
            seconds = time.monotonic() - began
            state = "compiled" if error is None else f"failed: {error}"
            say(f"[{done}/{len(wanted)}, {seconds:4.0f} s] {name}: {state}")
            failed += error is not None
    return 1 if failed else 0


def _compile(name: str) -> str | None:
    """Runs a small piece of work in a process of its own; its last words if it fails."""
    code = f"from partita.cli.first_uses import FIRST_USES; FIRST_USES[{name!r}]()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    lines = done.stderr.strip().split("\n")
    return None if done.returncode == 0 else lines[-1]
