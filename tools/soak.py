"""Train and predict for minutes on end, kill runs in the middle, watch the memory: `make soak`.

    python -m tools.soak --seconds 600

One process trains every kind of estimator and asks it, again and again, and looks at its own memory
after each round; beside it, runs of the command are killed or interrupted at random moments, and
what they leave behind is checked: a checkpoint can be resumed from, a model file is whole or not
there, and nothing partial stays.
"""

import argparse
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from partita import Aligner, DependencyParser, HiddenMarkovTagger, Segmenter, Tagger, samples
from partita.data import read_bitext, read_columns, read_conllu
from partita.training.model_file import read_model

WARM_UP = 3
"""Rounds after which everything is compiled and every cache is full."""
GROWTH = 16 << 20
"""Bytes of memory between the first round behind that and the last that are no leak."""
KILLS = (signal.SIGKILL, signal.SIGINT, signal.SIGKILL, signal.SIGTERM)
"""How runs end, in turn."""


def main() -> int:
    """Print a line for each round; status 1 if memory grows, or something is lost."""
    parser = argparse.ArgumentParser(prog="python -m tools.soak", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng, began, counts = random.Random(options.seed), time.monotonic(), Counts()
    sizes: list[int] = []
    with tempfile.TemporaryDirectory(prefix="partita-soak-") as folder:
        victims = Victims(Path(folder), rng, counts)
        while len(sizes) <= WARM_UP or time.monotonic() - began < options.seconds:
            victims.start()
            work()
            victims.end()
            gc.collect()
            sizes.append(resident())
            seconds, size = time.monotonic() - began, sizes[-1] / 2**20
            sys.stdout.write(f"round {len(sizes)}: {size:.1f} MiB, {seconds:.0f} s, {counts}\n")
            sys.stdout.flush()
    first, last = sizes[WARM_UP], sizes[-1]
    sys.stdout.write(
        f"{len(sizes)} rounds: {first / 2**20:.1f} MiB after round {WARM_UP + 1}, "
        f"{last / 2**20:.1f} MiB at the end; {counts}\n"
    )
    return 1 if last - first > GROWTH or counts.lost else 0


class Counts:
    """What became of the runs that were ended."""

    def __init__(self) -> None:
        self.killed = self.interrupted = self.finished = self.resumed = 0
        self.lost: list[str] = []

    def __str__(self) -> str:
        return (
            f"{self.killed} runs killed, {self.interrupted} interrupted, {self.finished} finished, "
            f"{self.resumed} resumed, {len(self.lost)} lost{''.join(f': {e}' for e in self.lost)}"
        )


class Victims:
    """Runs of the command, one at a time, that are ended whenever it happens."""

    def __init__(self, folder: Path, rng: random.Random, counts: Counts) -> None:
        self.folder, self.rng, self.counts = folder, rng, counts
        self.model, self.checkpoint = folder / "victim.model", folder / "victim.checkpoint"
        self.kinds = itertools.cycle(KILLS)

    def start(self) -> None:
        """Begin a run, which goes on from where the last one was ended."""
        self.model.unlink(missing_ok=True)
        self.resumes = self.checkpoint.exists()
        data = str(samples.path("chunks-train.txt"))
        files = ["-o", str(self.model), "--checkpoint", str(self.checkpoint), "--resume"]
        command = [sys.executable, "-m", "partita.cli", "train", "tagger", data, *files]
        self.began, self.patience = time.monotonic(), self.rng.uniform(0.5, 15.0)
        self.process = subprocess.Popen(
            [*command, "--checkpoint-seconds", "0.2", "--max-iterations", "400"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # What a shell starts in the background ignores Ctrl-C.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
        )

    def end(self) -> None:
        """End it at a moment of chance, and look at what it left."""
        time.sleep(max(0.0, self.patience - (time.monotonic() - self.began)))
        kind = next(self.kinds)
        is_alive = self.process.poll() is None
        if is_alive:
            self.process.send_signal(kind)
        _, errors = self.process.communicate()
        status = self.process.returncode
        self.counts.resumed += self.resumes
        if not is_alive or status == 0:
            self.counts.finished += 1
        elif kind == signal.SIGKILL:
            self.counts.killed += 1
        else:
            self.counts.interrupted += 1
        self.check(status, errors)

    def check(self, status: int, errors: str) -> None:
        """Nothing is damaged, and no run ends with a traceback."""
        if "Traceback" in errors or status not in (0, 1, -signal.SIGKILL):
            self.counts.lost.append(f"status {status}, {errors[-300:]}")
        try:
            if status == 0 or self.model.exists():
                read_model(self.model)
            if self.checkpoint.exists():
                read_model(self.checkpoint, kind="checkpoint")
        except (OSError, ValueError) as error:
            self.counts.lost.append(str(error))
        if status == 0:
            self.checkpoint.unlink(missing_ok=True)
            left = [path.name for path in self.folder.iterdir() if path.name.endswith(".partial")]
            self.counts.lost += left


def work() -> None:
    """Every kind of estimator learns and answers."""
    chunks = read_columns(samples.path("chunks-dev.txt"))[:40]
    trees = read_conllu(samples.path("treebank-dev.conllu"))[:40]
    pairs = read_bitext(samples.path("bitext-dev.txt"))[:40]
    words = [list(zip(each.column("0"), each.column("1"), strict=True)) for each in chunks]
    tags = [each.column("2") for each in chunks]
    few: dict[str, Any] = {"max_iterations": 10, "progress": False}
    tagger = Tagger(**few).fit(words, tags)
    tagger.predict_marginals(words)
    tagger.k_best(words, 3)
    forms = [each.column("0") for each in chunks]
    HiddenMarkovTagger(max_iterations=3, progress=False).fit(forms, tags).predict(forms)
    Segmenter(**few).fit(words, tags).predict(words)
    parser = DependencyParser(n_bits=14, label_bits=14, **few).fit(trees)
    parser.predict(trees)
    parser.entropy(trees)
    source, target = [pair.source for pair in pairs], [pair.target for pair in pairs]
    Aligner(progress=False).fit(source, target).predict(source, target)


def resident() -> int:
    """Bytes of memory that this process holds."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
