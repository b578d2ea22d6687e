"""One target, input after input, in one process."""

import json
import shutil
import sys
import time
import traceback
from pathlib import Path
from random import Random

from tools.fuzz.target import scratch
from tools.fuzz.targets import TARGETS

FOUND = Path("build") / "fuzz"


def fuzz(name: str, seed: int, n_inputs: int | None, seconds: float) -> None:
    """Try inputs of one target; exit with 1 if there are findings."""
    FOUND.mkdir(parents=True, exist_ok=True)
    current = FOUND / f"{name}-running.json"
    folder, kinds, tried = scratch(), set[str](), 0
    try:
        target = TARGETS[name](folder)
        began = time.monotonic()
        while tried < n_inputs if n_inputs is not None else time.monotonic() - began < seconds:
            case = target.draw(Random(f"{name} {seed} {tried}"))
            # Written before it is tried, for the case that the interpreter does not survive it.
            current.write_text(json.dumps(case))
            tried += 1
            try:
                target.check(case)
            except Exception as error:
                kind = _where(error)
                if kind not in kinds:
                    kinds.add(kind)
                    path = FOUND / f"{name}-{seed}-{tried}.json"
                    path.write_text(json.dumps(case) + "\n")
                    sys.stdout.write(f"{name}: {kind}\n  {path}\n")
                    sys.stdout.flush()
        current.unlink(missing_ok=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(f"{name}: {tried:,} inputs from seed {seed}, {len(kinds)} findings\n")
    sys.exit(1 if kinds else 0)


def _where(error: Exception) -> str:
    """The error and the last line of ours, by which findings are told apart."""
    frames = traceback.extract_tb(error.__traceback__)
    last = frames[-1]
    return f"{type(error).__name__} at {last.filename}:{last.lineno}: {str(error)[:300]}"
