"""Install the wheel as users do, with old and new versions, and try it: `make test-matrix`.

    python -m tools.matrix                    every environment whose Python is here
    python -m tools.matrix oldest             those whose name begins so

The wheel is built once. Each environment is a clean one in a temporary folder; Pythons are looked
for as python3.x on the path, in /usr/bin and among those of pyenv. In `read-only` neither the
installed files nor the home folder can be written to; root becomes nobody then.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SMOKE = ROOT / "tools" / "smoke.py"
NOBODY = 65534
"""The user who owns nothing."""


@dataclass(frozen=True)
class Environment:
    """A Python, versions to insist on, extras to install, and extras to miss."""

    name: str
    python: str
    versions: tuple[str, ...] = ()
    extras: str = ""
    missing: tuple[str, ...] = ("torch", "ray", "label")
    is_read_only: bool = False


ENVIRONMENTS = (
    Environment("oldest", "3.11", ("numpy==1.26.0", "scipy==1.11.1", "numba==0.60.0")),
    Environment("newest-3.11", "3.11"),
    Environment("newest-3.12", "3.12"),
    Environment("newest-3.13", "3.13"),
    Environment("newest-3.14", "3.14"),
    Environment("extras", "3.12", (), "[plot,progress,label,translate]", ("torch", "ray")),
    Environment("read-only", "3.11", (), is_read_only=True),
)


def main() -> int:
    """Print a line for each environment; status 1 if one fails."""
    parser = argparse.ArgumentParser(prog="python -m tools.matrix", description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(each.name for each in ENVIRONMENTS))
    options = parser.parse_args()
    chosen = [
        e for e in ENVIRONMENTS if not options.names or e.name.startswith(tuple(options.names))
    ]
    with tempfile.TemporaryDirectory(prefix="partita-matrix-") as folder:
        os.chmod(folder, 0o755)
        wheel = built(Path(folder))
        failed = [each.name for each in chosen if not tried(each, wheel, Path(folder))]
    sys.stdout.write(f"failed: {', '.join(failed)}\n" if failed else "all environments work\n")
    return 1 if failed else 0


def built(folder: Path) -> Path:
    """The wheel of the sources as they are."""
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(pip, check=True)
    [wheel] = folder.glob("*.whl")
    return wheel


def tried(environment: Environment, wheel: Path, folder: Path) -> bool:
    """Whether the smoke test passes in an environment; one whose Python is missing is left out."""
    python = found_python(environment)
    if python is None:
        sys.stdout.write(f"{environment.name:12} left out: no Python {environment.python} here\n")
        return True
    began = time.monotonic()
    home = folder / environment.name
    subprocess.run([python, "-m", "venv", str(home)], check=True)
    installed = str(home / "bin" / "python")
    pip = [installed, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    steps = [
        [*pip, f"{wheel}{environment.extras}", *environment.versions],
        [installed, str(copied(SMOKE, folder)), *environment.missing],
    ]
    for step in steps:
        is_smoke = step is steps[-1]
        run = subprocess.run(
            step, capture_output=True, text=True, cwd=folder, **surroundings(environment, is_smoke)
        )
        if run.returncode:
            sys.stdout.write(f"{environment.name:12} FAILED\n{run.stdout}{run.stderr}\n")
            return False
    lines = run.stdout.strip().splitlines()
    seconds = time.monotonic() - began
    sys.stdout.write(
        f"{environment.name:12} Python {environment.python}, {lines[-1]}, {seconds:.0f} s\n"
    )
    for line in lines[:-1]:
        sys.stdout.write(f"{'':12} {line[:150]}\n")
    sys.stdout.flush()
    shutil.rmtree(home)
    return True


def surroundings(environment: Environment, is_smoke: bool = True) -> dict[str, Any]:
    """How a step runs: without our own settings, and read-only where that is what is tried."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH",)}
    if not (environment.is_read_only and is_smoke):
        return {"env": kept}
    kept |= {
        "HOME": "/nonexistent",
        "XDG_CACHE_HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return {"env": kept, **({"user": NOBODY, "group": NOBODY} if os.getuid() == 0 else {})}


def copied(path: Path, folder: Path) -> Path:
    """A copy outside of the sources, so that nothing of them is imported."""
    copy = folder / path.name
    shutil.copy(path, copy)
    return copy


def found_python(environment: Environment) -> str | None:
    """The path of a Python that the environment can run."""
    version = environment.python
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [shutil.which(f"python{version}"), f"/usr/bin/python{version}"]
    for place in [*places, *sorted(map(str, pyenv.glob(f"{version}.*/bin/python")))]:
        if place is None or not Path(place).exists():
            continue
        try:
            step = [place, "-c", "import ensurepip"]
            run = subprocess.run(step, capture_output=True, cwd="/", **surroundings(environment))
        except OSError:
            continue
        if run.returncode == 0:
            return place
    return None


if __name__ == "__main__":
    sys.exit(main())
