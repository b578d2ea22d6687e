"""Tags from words and a dictionary: expectation-maximisation against contrastive estimation.

    PARTITA_DATA=... python -m benchmarks.dictionary [--quick]

English EWT, after Smith and Eisner (2005): every sixteenth training sentence (13,045 words) without
its tags, and for every word the tags that it has anywhere in the training part. Judged on the
same words: the share of right tags, of all words and of those that may have several.
"""

import os
import sys
from typing import Any

import numpy as np

from benchmarks.induction import TaggedCorpus, read
from benchmarks.timing import Table, show_help, write_json
from partita import HiddenMarkovTagger

EVERY = 16
METHODS: dict[str, dict[str, Any]] = {
    "EM": {"alpha": 0.1},
    "EM, features": {"features": "usual", "l2": 1.0},
    "contrast, del1": {"neighbourhood": "del1", "l2": 1.0},
    "contrast, trans1": {"neighbourhood": "trans1", "l2": 1.0},
    "contrast, delortrans1": {"neighbourhood": "delortrans1", "l2": 1.0},
    "contrast, dynasearch": {"neighbourhood": "dynasearch", "l2": 1.0},
    "contrast, length": {"neighbourhood": "length", "l2": 1.0},
    "contrast, trans1, features": {"neighbourhood": "trans1", "features": "usual", "l2": 1.0},
}


def dictionary_of(train: TaggedCorpus) -> dict[str, list[str]]:
    """The tags of every word in the training part."""
    found: dict[str, set[str]] = {}
    for words, tags in zip(train.sentences, train.tags, strict=True):
        for word, tag in zip(words, tags, strict=True):
            found.setdefault(word, set()).add(tag)
    return {word: sorted(tags) for word, tags in found.items()}


def main() -> None:
    if "PARTITA_DATA" not in os.environ:
        sys.exit("PARTITA_DATA is not set; it must name the folder that holds ud_en_ewt.")
    quick = "--quick" in sys.argv[1:]
    train = read("train", None)
    dictionary = dictionary_of(train)
    every = 200 if quick else EVERY
    words, tags = train.sentences[::every], train.tags[::every]
    flat = [word for sentence in words for word in sentence]
    gold = np.array([tag for sentence in tags for tag in sentence])
    choices = np.array([len(dictionary[word]) for word in flat])
    table = Table(
        f"Tags from words and a dictionary: {len(flat):,} words of EWT, "
        f"{100 * np.mean(choices > 1):.0f} % of them ambiguous; per cent right"
    )
    chance = 100 / choices
    table.add(method="chance", all_words=chance.mean(), ambiguous=chance[choices > 1].mean())
    for name, options in METHODS.items():
        if quick:
            options = options | {"max_iterations": 5}
        tagger = HiddenMarkovTagger(dictionary=dictionary, min_count=1, **options).fit(words)
        found = np.array([tag for sentence in tagger.predict(words) for tag in sentence])
        right = 100 * (found == gold)
        table.add(
            method=name,
            all_words=right.mean(),
            ambiguous=right[choices > 1].mean(),
            iterations=tagger.training_.n_iterations,
        )
        print(table.rows[-1], flush=True)
    print(table)
    if not quick:
        write_json("dictionary", [table])


if __name__ == "__main__":
    show_help(__doc__)
    main()
