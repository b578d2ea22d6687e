"""`partita compile [WHAT ...]`: compile now what would be compiled at its first use."""

import subprocess
import sys
import threading
import time
from queue import Empty, SimpleQueue

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
DONE = "done"
"""What a process answers when a piece of work is."""
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
    """As many processes as there are cores, each of which does one piece of work after another."""
    from partita.training.threads import n_cores

    for name in options.what:
        if name not in WHAT:
            raise ValueError(f"WHAT is {name!r}; expected one of {', '.join(WHAT)}.")
    waiting: SimpleQueue[str] = SimpleQueue()
    wanted = sorted(options.what or WHAT, key=lambda name: name != LONGEST)
    for name in wanted:
        waiting.put(name)
    finished: SimpleQueue[tuple[str, str | None]] = SimpleQueue()
    began, failed = time.monotonic(), 0
    for _ in range(min(options.workers or n_cores(), len(wanted))):
        threading.Thread(target=_compile_in_turn, args=(waiting, finished), daemon=True).start()
    for done in range(1, len(wanted) + 1):
        name, error = finished.get()
        seconds = time.monotonic() - began
        state = "compiled" if error is None else f"failed: {error}"
        say(f"[{done}/{len(wanted)}, {seconds:4.0f} s] {name}: {state}")
        failed += error is not None
    return 1 if failed else 0


def _compile_in_turn(
    waiting: "SimpleQueue[str]", finished: "SimpleQueue[tuple[str, str | None]]"
) -> None:
    """Pieces of work as long as there are some, in a process that begins anew if it ends early."""
    process: subprocess.Popen[str] | None = None
    while not waiting.empty():
        try:
            name = waiting.get_nowait()
        except Empty:
            break
        if process is None or process.poll() is not None:
            process = _begin()
        finished.put((name, _compile(process, name)))
    if process is not None:
        process.communicate()


def _begin() -> "subprocess.Popen[str]":
    """A process that does the pieces of work that it reads, since it takes a second to begin."""
    code = "from partita.cli.first_uses import do_what_is_read; do_what_is_read()"
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    return subprocess.Popen(
        [sys.executable, "-c", code], stdin=pipe, stdout=pipe, stderr=nothing, text=True
    )


def _compile(process: "subprocess.Popen[str]", name: str) -> str | None:
    """Has a piece of work done; what went wrong, if something did."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        print(name, file=process.stdin, flush=True)
        answer = process.stdout.readline().strip()
    except BrokenPipeError:
        answer = ""
    if not answer:
        process.communicate()
        return f"its process ended with status {process.returncode}"
    return None if answer == DONE else answer
