"""Copy the sample files into a folder: `python -m partita.samples [FOLDER]`."""

import argparse
import shutil
from pathlib import Path

from partita import samples


def main() -> None:
    """Copy all files, and say so."""
    parser = argparse.ArgumentParser("python -m partita.samples", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("."), metavar="FOLDER")
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted(samples.FOLDER.iterdir())
    for file in files:
        shutil.copy(file, folder)
    parser.exit(message=f"Copied to {folder}: {', '.join(file.name for file in files)}.\n")


if __name__ == "__main__":
    main()
