"""Relations by a second model, which sees the tree, beside a score for every labelled arc.

    PARTITA_DATA=... python -m benchmarks.arc_labels [--sentences N]

EWT and Basque, development parts with gold tags and morphology, scored as in `benchmarks.parser`;
default options, but one model each, learnt from the first N sentences (3,000 if left out). Decision
14 is about these figures.
"""

import argparse
import os
import sys
import time
from pathlib import Path

from benchmarks.parser import BASQUE, EWT, figures, fitted, treebank
from benchmarks.timing import Table, write_json

TREEBANKS = {"EWT": EWT, "Basque": BASQUE}
WAYS = ("second", "joint")


def main() -> None:
    """Run the benchmark, print the tables and write the results."""
    if "PARTITA_DATA" not in os.environ:
        sys.exit("PARTITA_DATA is not set; it must name the folder of the treebanks.")
    arguments = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    arguments.add_argument("--sentences", type=int, default=3000, help="of the training parts")
    options = arguments.parse_args()
    data, tables = Path(os.environ["PARTITA_DATA"]), []
    for title, name in TREEBANKS.items():
        train, dev = (treebank(data, name, part) for part in ("train", "dev"))
        train = train[: options.sentences]
        table = Table(f"{title} dev, percent, learnt from {len(train):,} sentences, one model")
        for way in WAYS:
            began = time.process_time()
            parser = fitted(train, labels=way, n_models=1, workers=1)
            seconds = {"training, CPU s": round(time.process_time() - began)}
            for decoder in ("best", "risk", "joint"):
                found = figures(parser, dev, decoder=decoder)
                table.add(labels=way, decoder=decoder, **found, **seconds)
                print(title, table.rows[-1], file=sys.stderr)
        tables.append(table)
        print(table)
    print(write_json("arc_labels", tables))


if __name__ == "__main__":
    main()
