"""Dictionaries: the tags that words may have, and lists of phrases."""

from pathlib import Path

from partita.data.errors import DataError
from partita.data.text import read_text


def read_dictionary(path: str) -> dict[str, list[str]]:
    """Words with the tags they may have, "word tag ..." a line."""
    dictionary: dict[str, list[str]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        word, *tags = line.split() or [""]
        if word and not tags:
            raise DataError(
                path, number, f"found {word!r} alone; expected a word and the tags it may have."
            )
        if word:
            dictionary.setdefault(word, []).extend(tags)
    return dictionary


def read_phrases(path: str) -> tuple[str, list[str]]:
    """A list of phrases, one a line with blanks between words, and its name, that of the file."""
    phrases = [" ".join(line.split()) for line in read_text(path).split("\n")]
    return Path(path).name.partition(".")[0], [phrase for phrase in phrases if phrase]
