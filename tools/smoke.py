"""What a user does first, in a few seconds: arrays, a tagger, the command. Run by tools/matrix.py.

It uses what is installed, not the sources: run it from another folder.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import partita as pt

EXTRAS = {
    "torch": "import partita.torch",
    "ray": "from partita import Tagger; Tagger(workers='ray:1').fit([['a']], [['x']])",
    "label": "from partita.cli import main; exit(main('label a -o b --tags A'.split()))",
}
"""What needs an extra."""


def main() -> int:
    """Print what works."""
    source = Path(pt.__file__).parent
    assert "site-packages" in str(source), f"{source} is not what was installed"
    check_arrays()
    with tempfile.TemporaryDirectory() as folder:
        check_command(Path(folder))
        for extra in sys.argv[1:]:
            check_missing(extra, Path(folder))
    sys.stdout.write(f"partita {pt.__version__}, NumPy {np.__version__}: all is well\n")
    return 0


def check_arrays() -> None:
    """Exact answers of every structure that has kernels of its own."""
    p = pt.LinearChain(np.zeros((3, 2)), np.zeros((2, 2)))
    assert abs(p.log_partition - np.log(8)) < 1e-12
    assert abs(p.entropy - np.log(8)) < 1e-12
    assert abs(pt.ProjectiveTree(np.zeros((4, 4))).log_partition - np.log(12)) < 1e-12
    assert abs(pt.SpanningTree(np.zeros((4, 4))).log_partition - np.log(16)) < 1e-12


def check_command(folder: Path) -> None:
    """Train a tagger on a sample, and ask it."""
    from partita import samples

    data, model = str(samples.path("chunks-dev.txt")), str(folder / "chunks.model")
    train = ["train", "tagger", data, "-o", model, "--max-iterations", "5"]
    for arguments in (train, ["evaluate", model, data], ["predict", model, data]):
        run = subprocess.run(
            [sys.executable, "-m", "partita.cli", *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert run.returncode == 0, f"partita {' '.join(arguments)}: {run.stderr}"


def check_missing(extra: str, folder: Path) -> None:
    """Without an extra, what needs it says in its last line how to install it."""
    (folder / "a").write_text("a b\n")
    run = subprocess.run(
        [sys.executable, "-c", EXTRAS[extra]], capture_output=True, text=True, cwd=folder
    )
    assert run.returncode != 0, f"{extra} is there"
    last = run.stderr.strip().splitlines()[-1]
    assert f"partita[{extra}]" in run.stderr, f"{extra}: {last}"
    sys.stdout.write(f"without {extra}: {last}\n")


if __name__ == "__main__":
    sys.exit(main())
