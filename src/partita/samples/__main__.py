"""Copy the sample files into a folder: `python -m partita.samples [FOLDER]`."""

import argparse
import filecmp
import shutil
from pathlib import Path

from partita import samples


def main() -> None:
    """Copy all files, and say so; what somebody has changed stays, unless he wants it anew."""
    parser = argparse.ArgumentParser("python -m partita.samples", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("."), metavar="FOLDER")
    parser.add_argument(
        "--overwrite", action="store_true", help="also files that are there and were changed"
    )
    options = parser.parse_args()
    folder: Path = options.folder
    files = sorted(samples.FOLDER.iterdir())
    changed = [file.name for file in files if _is_other(folder / file.name, file)]
    if changed and not options.overwrite:
        parser.error(
            f"{folder} has other files of these names, whose contents would be lost: "
            f"{', '.join(changed)}. Name another folder, or say --overwrite."
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        shutil.copy(file, folder)
    parser.exit(message=f"Copied to {folder}: {', '.join(file.name for file in files)}.\n")


def _is_other(place: Path, file: Path) -> bool:
    """Whether something is there that is no copy of a file."""
    return place.exists() and not (place.is_file() and filecmp.cmp(place, file, shallow=False))


if __name__ == "__main__":
    main()
