"""Features as users of CRFsuite write them; without NumPy, which CRFsuite does not need."""

from collections.abc import Sequence
from typing import Any

TEMPLATE = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U10:%x[-2,1]
U11:%x[-1,1]
U12:%x[0,1]
U13:%x[1,1]
U14:%x[2,1]
U15:%x[-2,1]/%x[-1,1]
U16:%x[-1,1]/%x[0,1]
U17:%x[0,1]/%x[1,1]
U18:%x[1,1]/%x[2,1]
U20:%x[-2,1]/%x[-1,1]/%x[0,1]
U21:%x[-1,1]/%x[0,1]/%x[1,1]
U22:%x[0,1]/%x[1,1]/%x[2,1]
B
"""
"""The template of CRF++'s chunking example."""


def plain_names(sentence: Any) -> list[list[str]]:
    """The attributes of CRF++'s chunking template, as a user of CRFsuite writes them."""
    columns = [sentence.column("0"), sentence.column("1")]
    n_words = len(columns[0])

    def at(column: int, place: int) -> str:
        if place < 0:
            return f"_B{place}"
        return columns[column][place] if place < n_words else f"_B+{place - n_words + 1}"

    patterns = [((0, k),) for k in range(-2, 3)] + [((1, k),) for k in range(-2, 3)]
    patterns += [((0, -1), (0, 0)), ((0, 0), (0, 1))]
    patterns += [((1, k), (1, k + 1)) for k in range(-2, 2)]
    patterns += [((1, k), (1, k + 1), (1, k + 2)) for k in range(-2, 1)]
    return [
        [
            f"{number}=" + "/".join(at(column, place + offset) for column, offset in pattern)
            for number, pattern in enumerate(patterns)
        ]
        for place in range(n_words)
    ]


def as_dictionary(words: Sequence[str], place: int) -> dict[str, Any]:
    """The features of a word in sklearn-crfsuite's tutorial, without parts of speech."""
    word = words[place]
    features: dict[str, Any] = {
        "bias": 1.0,
        "word.lower()": word.lower(),
        "word[-3:]": word[-3:],
        "word[-2:]": word[-2:],
        "word.isupper()": word.isupper(),
        "word.istitle()": word.istitle(),
        "word.isdigit()": word.isdigit(),
    }
    for offset, edge in ((-1, "BOS"), (1, "EOS")):
        if not 0 <= place + offset < len(words):
            features[edge] = True
            continue
        other = words[place + offset]
        features[f"{offset:+}:word.lower()"] = other.lower()
        features[f"{offset:+}:word.istitle()"] = other.istitle()
        features[f"{offset:+}:word.isupper()"] = other.isupper()
    return features


def words_of(sentence: Any) -> Sequence[str]:
    return sentence.column("FORM" if "FORM" in sentence.names else "0")


def obvious(words: Sequence[str], place: int) -> dict[str, Any]:
    """Features that a careful user of CRFsuite writes."""
    word, lower = words[place], words[place].lower()
    found = {**as_dictionary(words, place), "word": word, "hyphen": "-" in word}
    for size in (1, 2, 3, 4):
        found |= {f"end{size}": lower[-size:], f"start{size}": lower[:size]}
    for offset in (-2, -1, 1, 2):
        inside = 0 <= place + offset < len(words)
        other = words[place + offset].lower() if inside else "-"
        found[f"{offset:+}"] = other
        if abs(offset) == 1:
            found |= {f"{offset:+}:end3": other[-3:], f"{offset:+}:both": f"{other} {lower}"}
    return found
