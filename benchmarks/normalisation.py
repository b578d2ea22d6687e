"""Taggers normalised over whole sequences and at every step, with the same features.

    python -m benchmarks.normalisation DATA [--quick]

Conditional random fields against maximum-entropy Markov models: EWT parts of speech (accuracy on
the development part) and CoNLL-2000 chunks (accuracy and F1 on the last tenth of train.txt), learnt
from every fourth training sentence.
"""

import sys

from benchmarks.tagger_data import Task, data_folder, read_chunking, read_parts_of_speech
from benchmarks.timing import Table, show_help, write_json
from partita import Tagger

EVERY = 4
WORD_ALONE = "FORM[0]\nFORM[0].lower.suffix3\nFORM[0].shape\ntransition:"


def compared(task: Task, features: str | None, max_iterations: int) -> dict[str, float]:
    """What each normalisation reaches, in per cent."""
    found: dict[str, float] = {}
    gold = [sentence.column(task.column) for sentence in task.dev]
    for normalisation in ("global", "local"):
        tagger = Tagger(
            features=features,
            normalisation=normalisation,
            tag_column=task.column,
            max_iterations=max_iterations,
            progress=False,
        ).fit(task.train[::EVERY])
        found[f"{normalisation}_accuracy"] = 100 * tagger.score(task.dev, gold)
        if task.name == "CoNLL-2000":
            found[f"{normalisation}_f1"] = task.judged(tagger)
    return found


def main() -> None:
    """Both corpora, with the default features and with those of the word alone."""
    quick = "--quick" in sys.argv
    data = data_folder()
    table = Table("Normalised over sequences (global) and at every step (local), per cent on dev")
    for read in (read_parts_of_speech, read_chunking):
        task = read(data, quick)
        columns = WORD_ALONE.replace("FORM", "0") if task.name == "CoNLL-2000" else WORD_ALONE
        for name, features in (("default", None), ("word alone", columns)):
            row = compared(task, features, 10 if quick else 100)
            table.add(task=task.name, features=name, **row)
            print(table.rows[-1], flush=True)
    print(table)
    if not quick:
        write_json("normalisation", [table])


if __name__ == "__main__":
    show_help(__doc__)
    main()
