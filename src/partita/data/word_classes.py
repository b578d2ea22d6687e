"""Files of word classes: the path of a class in a tree, a word of it, and how often it came.

One word a line, with tabs between them, as programs for Brown clusters write them:

    0010	dogs	12
    0010	cats	9
"""

import os
from collections.abc import Mapping

from partita.data.errors import DataError
from partita.data.text import read_text, write_text


def read_word_classes(path: str | os.PathLike[str]) -> dict[str, str]:
    """The class of every word; what stands behind the word is not looked at."""
    classes: dict[str, str] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line:
            continue
        name, *rest = line.split("\t")
        if not name or not rest or not rest[0]:
            raise DataError(
                os.fspath(path), number, f"found {line!r}; expected a class, a tab and a word."
            )
        classes[rest[0]] = name
    return classes


def write_word_classes(
    path: str | os.PathLike[str], classes: Mapping[str, str], counts: Mapping[str, int]
) -> None:
    """Write the class of every word, alike classes together, frequent words first."""
    order = sorted(classes, key=lambda word: (classes[word], -counts[word], word))
    lines = [f"{classes[word]}\t{word}\t{counts[word]}\n" for word in order]
    write_text(path, "".join(lines))
