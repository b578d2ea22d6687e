"""Fuzz everything for a while, or a number of inputs: `make fuzz`.

    python -m tools.fuzz                     a minute for each target, the seed of today
    python -m tools.fuzz --seconds 3600 readers
    python -m tools.fuzz --inputs 1000 --seed 0 scores commands

Every target runs in a process of its own, so that a crash of the interpreter is a finding too. What
breaks is written to build/fuzz; a line of it in tools/fuzz/corpus makes it part of `make test`.
"""

import argparse
import multiprocessing
import sys
import time
from multiprocessing.process import BaseProcess

from tools.fuzz.session import Counter, fuzz, killed_by
from tools.fuzz.targets import TARGETS

HANGING = 1800.0
"""Seconds for one input after which nobody waits any longer.

Many: on a machine with much else to do, the first input of its kind is compiled for minutes.
"""


def main() -> int:
    """Print what was tried and what was found; status 1 if anything was."""
    parser = argparse.ArgumentParser(prog="python -m tools.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=float, default=60.0, help="for each target")
    parser.add_argument("--inputs", type=int, help="for each target, instead of a time")
    parser.add_argument("--seed", type=int, default=int(time.time()) // 86400)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    n_findings = 0
    for name in options.targets:
        tried = context.Value("q", 0, lock=False)
        arguments = (name, options.seed, options.inputs, options.seconds, tried)
        process = context.Process(target=fuzz, args=arguments)
        process.start()
        watch(process, tried)
        if process.exitcode not in (0, 1):
            path = killed_by(name, options.seed, tried.value)
            sys.stdout.write(f"{name}: the interpreter ended ({process.exitcode})\n  {path}\n")
        n_findings += process.exitcode != 0
    return 1 if n_findings else 0


def watch(process: BaseProcess, tried: Counter) -> None:
    """Wait until a process ends; end it if one input takes it minutes, in compiled code as well."""
    before = 0  # as long as it makes what inputs are derived from
    while process.is_alive():
        process.join(HANGING)
        if process.is_alive() and 0 < tried.value == before:
            process.kill()
        before = tried.value


if __name__ == "__main__":
    sys.exit(main())
