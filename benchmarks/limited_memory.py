"""A command that trains from files with a quarter of the memory that its encoded corpus takes.

    python -m benchmarks.scale --only limited

Of Linux alone, which limits the address space of a process; that of the program itself, with a
corpus of a twentieth of the size, is not counted.
"""

import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import Table

COMMAND = (
    "import sys; from partita.cli import main; status = main(sys.argv[1:]);"
    "print(open('/proc/self/status').read().partition('VmPeak:')[2].split()[0]); sys.exit(status)"
)
"""The command, and then the most kilobytes of addresses that it ever had."""


def train(text: Path, model: Path, kilobytes: int | None = None) -> int:
    """Train a tagger by the command; the most kilobytes of addresses that it took."""
    options = "--tag-column 1 --workers 1 --min-count 10 --max-iterations 2 --no-progress"
    line = ["train", "tagger", str(text), "-o", str(model), "--cache", f"{model}.cache"]

    def limit() -> None:
        if kilobytes is not None:
            resource.setrlimit(resource.RLIMIT_AS, (1024 * kilobytes,) * 2)

    done = subprocess.run(
        [sys.executable, "-c", COMMAND, *line, *options.split()],
        capture_output=True,
        text=True,
        preexec_fn=limit,
        check=True,
    )
    return int(done.stdout.split()[-1])


def limited(short: Path, long: Path) -> Table:
    """Both texts have the same vocabulary; the long one is what memory is too small for."""
    table = Table("Limited: a tagger from files with a quarter of the memory of its corpus")
    folder = long.parent
    base = train(short, folder / "short.model")
    free = train(long, folder / "free.model")
    size = sum(each.stat().st_size for each in (folder / "free.model.cache").iterdir())
    taken = train(long, folder / "limited.model", base + size // 4096)
    same = (folder / "free.model").read_bytes() == (folder / "limited.model").read_bytes()
    table.add(
        corpus_megabytes=size / 1e6,
        allowed_megabytes=size / 4e6,
        taken_megabytes=(taken - base) / 1e3,
        taken_without_limit=(free - base) / 1e3,
        same_model=same,
    )
    return table
