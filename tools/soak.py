"""Train and predict for minutes on end, kill runs in the middle, watch the memory: `make soak`.

    python -m tools.soak --seconds 600 --victims 3

One process trains every kind of estimator and asks it, again and again, and looks at its own memory
after each round; beside it, in threads, runs of the command are killed, interrupted or let be,
each at a moment of chance, and what they leave behind is checked: a checkpoint can be resumed from,
a model file is whole or not there, an interrupted run keeps its model, nothing partial stays,
and a run that comes to its end has the weights of one that nobody disturbed, bit for bit.
"""

import argparse
import gc
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from partita import Aligner, DependencyParser, HiddenMarkovTagger, Segmenter, Tagger, samples
from partita.data import read_bitext, read_columns, read_conllu
from partita.training.interruption import heed_interruptions
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
    parser.add_argument("--victims", type=int, default=1, help="runs of the command at a time")
    options = parser.parse_args()
    # What a shell starts in the background ignores Ctrl-C, and so would what is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began, sizes = time.monotonic(), list[int]()
    with tempfile.TemporaryDirectory(prefix="partita-soak-") as folder:
        victims = [Victims(Path(folder, str(n)), options.seed + n) for n in range(options.victims)]
        # Ctrl-C ends it with what there is: estimators would take it for a wish to them alone.
        with heed_interruptions() as interruption, ExitStack() as threads:
            for each in victims:
                threads.enter_context(each.beside())
            while len(sizes) <= WARM_UP or time.monotonic() - began < options.seconds:
                work()
                if interruption.is_requested:
                    break
                gc.collect()
                sizes.append(resident())
                seconds, size = time.monotonic() - began, sizes[-1] / 2**20
                _say(f"round {len(sizes)}: {size:.1f} MiB, {seconds:.0f} s; {summary(victims)}")
    if len(sizes) <= WARM_UP:
        _say(f"{len(sizes)} rounds, too few to compare; {summary(victims)}")
        return 1
    first, last = sizes[WARM_UP], sizes[-1]
    _say(
        f"{len(sizes)} rounds: {first / 2**20:.1f} MiB after round {WARM_UP + 1}, at most "
        f"{max(sizes[WARM_UP:]) / 2**20:.1f}, {last / 2**20:.1f} at the end; {summary(victims)}"
    )
    return 1 if last - first > GROWTH or any(each.lost for each in victims) else 0


class Victims:
    """Runs of the command, one after the other, that are ended whenever it happens.

    Each goes on from the checkpoint of the one before, until one comes to its end.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir()
        self.folder, self.rng = folder, random.Random(seed)
        self.model, self.checkpoint = folder / "victim.model", folder / "victim.checkpoint"
        self.log = folder / "victim.log"
        self.killed = self.interrupted = self.midway = self.finished = self.resumed = (
            self.n_runs
        ) = 0
        self.lost: list[str] = []
        self.is_over = threading.Event()
        self.expected, self.seconds = b"", 0.0
        """The weights of a run that nobody disturbs, and how long it takes."""

    @contextmanager
    def beside(self) -> Iterator[None]:
        """Runs in a thread for the time of a block."""
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield
        finally:
            self.is_over.set()
            thread.join()

    def run(self) -> None:
        """Start runs and end them until it is over; an error of our own counts as a loss."""
        try:
            began = time.monotonic()
            _, errors = (whole := self.started()).communicate()
            self.seconds = time.monotonic() - began
            self.check(whole.returncode, None, errors)
            self.expected = self.weights()
            while not self.is_over.is_set():
                self.one_run()
        except Exception as error:
            self.lost.append(repr(error))
            raise

    def started(self) -> subprocess.Popen[str]:
        """A run, which goes on from where the last one was ended."""
        self.model.unlink(missing_ok=True)
        self.log.unlink(missing_ok=True)
        data, files = str(samples.path("chunks-train.txt")), ["-o", str(self.model), "--resume"]
        files += ["--checkpoint", str(self.checkpoint), "--log", str(self.log)]
        command = [sys.executable, "-m", "partita.cli", "train", "tagger", data, *files]
        # Few digits of a penalty, so that there are many iterations to be killed in.
        options = ["--checkpoint-seconds", "0.1", "--max-iterations", "150", "--l2", "1e-4"]
        nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
        return subprocess.Popen([*command, *options], stdout=nothing, stderr=pipe, text=True)

    def one_run(self) -> None:
        """Begin a run, end it at a moment of chance, and look at what it left."""
        resumes = self.checkpoint.exists()
        process, kind = self.started(), KILLS[self.n_runs % len(KILLS)]
        self.n_runs += 1
        sent: signal.Signals | None = None
        try:
            _, errors = process.communicate(timeout=self.seconds * self.rng.uniform(0.02, 1.1))
        except subprocess.TimeoutExpired:
            sent = kind
            process.send_signal(kind)
            _, errors = process.communicate()
        self.resumed += resumes
        # The machine may have more to do than at first, or less.
        if process.returncode == 0:
            self.finished += 1
            self.seconds *= 0.9
        elif sent == signal.SIGKILL:
            self.killed += 1
        elif sent is not None:
            self.interrupted += 1
        if sent is not None and self.has_begun():
            self.midway += 1
        elif sent is not None:
            self.seconds *= 1.1
        self.check(process.returncode, sent, errors)

    def check(self, status: int, sent: signal.Signals | None, errors: str) -> None:
        """Nothing is damaged or lost, and no run ends with a traceback."""
        has_begun = self.has_begun()
        allowed = {0}
        if sent is not None:
            allowed.add(-signal.SIGKILL if sent == signal.SIGKILL else 1)
            # A run that has nothing yet, or has written its model, is ended as any program is.
            allowed |= {-sent} if not has_begun or self.model.exists() else set()
        if "Traceback" in errors or status not in allowed:
            self.lost.append(f"status {status}, {errors[-300:]}")
        try:
            if status == 0 or self.model.exists() or (has_begun and status == 1):
                read_model(self.model)
            if self.checkpoint.exists():
                read_model(self.checkpoint, kind="checkpoint")
            if status == 0 and self.expected and self.weights() != self.expected:
                self.lost.append("a run that was resumed has other weights")
        except (OSError, ValueError) as error:
            self.lost.append(str(error))
        if status == 0:
            self.checkpoint.unlink(missing_ok=True)
            kept = {self.model.name, self.log.name}
            self.lost += [path.name for path in self.folder.iterdir() if path.name not in kept]

    def has_begun(self) -> bool:
        """Whether the last run came to an iteration."""
        return self.log.exists() and '"iteration"' in self.log.read_text()

    def weights(self) -> bytes:
        """The weights of the model that is there."""
        return bytes(read_model(self.model).arrays["weights"].tobytes())


def summary(victims: Sequence[Victims]) -> str:
    """What became of all runs."""
    killed, interrupted, midway, finished, resumed = (
        sum(getattr(each, name) for each in victims)
        for name in ("killed", "interrupted", "midway", "finished", "resumed")
    )
    lost = [error for each in victims for error in each.lost]
    return (
        f"{killed} runs killed, {interrupted} interrupted, {midway} of these while they learned, "
        f"{finished} finished, {resumed} resumed, {len(lost)} lost{''.join(f': {e}' for e in lost)}"
    )


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


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
