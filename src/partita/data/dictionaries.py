"""Dictionaries of tags: the tags that words may have."""

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
