"""Copy the sample files into a folder: `python -m partita.samples [FOLDER]`."""

import shutil
import sys
from pathlib import Path

from partita import samples


def main() -> None:
    """Copy all files, and say so."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(samples.FOLDER.iterdir())
    for file in files:
        shutil.copy(file, folder)
    sys.stderr.write(f"Copied to {folder}: {', '.join(file.name for file in files)}.\n")


if __name__ == "__main__":
    main()
